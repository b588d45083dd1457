"""What the peers published, from ``compat_fixtures``: RAGChecker's example outputs, and where a
peer's figure is known to differ from ours, with the reason."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from noisesense import Verdicts
from noisesense.fixtures import fixture_folder


class RagcheckerExample(NamedTuple):
    """One sample of RAGChecker's published example output: verdicts without texts.

    Attributes:
        id: file and position.
        verdicts: the verdicts noise sensitivity needs.
        expected: RAGChecker's own metrics, as fractions.
    """

    id: str
    verdicts: Verdicts
    expected: dict[str, float]


class Deviation(NamedTuple):
    """Where a peer's figure differs from ours, and why.

    Attributes:
        peer: the other implementation, e.g. ``"ragas"``.
        id: a short name of the difference.
        differs: what the peer gives, and what we give.
        reason: why.
        evidence: data for a test or a reader (an example's id, figures, an upstream issue).
    """

    peer: str
    id: str
    differs: str
    reason: str
    evidence: dict[str, Any] = {}  # noqa: RUF012 - nobody writes to it


def ragchecker_examples() -> tuple[RagcheckerExample, ...]:
    """RAGChecker's two published example outputs (Apache-2.0)."""
    return tuple(
        RagcheckerExample(
            entry["id"],
            Verdicts.from_matrices(
                entry["answer2response"], entry["retrieved2response"], entry["retrieved2answer"]
            ),
            entry["expected"],
        )
        for entry in _load("ragchecker_examples.json")["samples"]
    )


def deviations(peer: str | None = None) -> tuple[Deviation, ...]:
    """The known deviations of one peer, or of all."""
    files = ("deviations.json", "ragas_deviations.json")
    entries = [entry for name in files for entry in _load(name)["deviations"]]
    return tuple(Deviation(**each) for each in entries if peer in (None, each["peer"]))


def _load(name: str) -> Any:
    return json.loads((fixture_folder() / name).read_text("utf-8"))
