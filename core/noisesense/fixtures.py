"""The reference examples and the peers' known deviations, shipped as data with the package."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense.scoring.definitions import DefinitionName, Mode
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts


@dataclass(frozen=True)
class ReferenceExample:
    """A worked example somebody published, with the figures of every definition.

    Attributes:
        id: a short name.
        source: where it is printed.
        documented: the figures printed there, by mode; rounded as printed.
        documented_definition: the definition the source computes them by.
        sample: its texts.
        verdicts: restate the explanation printed beside it; chunks filled in.
        expected: ``(relevant, irrelevant)`` by definition, derived by hand.
    """

    id: str
    source: str
    documented: dict[Mode, float]
    documented_definition: DefinitionName
    sample: Sample
    verdicts: Verdicts
    expected: dict[DefinitionName, tuple[float | None, float | None]]


@dataclass(frozen=True)
class RagcheckerExample:
    """One sample of RAGChecker's published example output: verdicts without texts.

    Attributes:
        id: file and position.
        verdicts: the verdicts noise sensitivity needs.
        reference_in_response: for each reference claim, does the response entail it?
        expected: RAGChecker's own metrics, as fractions.
    """

    id: str
    verdicts: Verdicts
    reference_in_response: tuple[bool, ...]
    expected: dict[str, float]


@dataclass(frozen=True)
class Deviation:
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
    evidence: dict[str, Any] = field(default_factory=dict[str, Any])


def fixture_folder() -> Path:
    """The folder ``compat_fixtures``: inside the installed package, or in the checkout."""
    here = Path(__file__).parent
    for folder in (here / "compat_fixtures", here.parents[1] / "compat_fixtures"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"noisesense was installed without its compat_fixtures ({here})")


def reference_examples() -> tuple[ReferenceExample, ...]:
    """The worked examples of ragas' and Promptfoo's documentation."""
    return tuple(_reference(entry) for entry in _load("reference_examples.json")["examples"])


def ragchecker_examples() -> tuple[RagcheckerExample, ...]:
    """RAGChecker's two published example outputs (Apache-2.0)."""
    return tuple(
        RagcheckerExample(
            id=entry["id"],
            verdicts=Verdicts.from_matrices(
                entry["answer2response"], entry["retrieved2response"], entry["retrieved2answer"]
            ),
            reference_in_response=tuple(entry["response2answer"]),
            expected=entry["expected"],
        )
        for entry in _load("ragchecker_examples.json")["samples"]
    )


def deviations(peer: str | None = None) -> tuple[Deviation, ...]:
    """The known deviations of one peer, or of all.

    Raises:
        InputError: no such peer.
    """
    files = sorted(fixture_folder().glob("*deviations.json"))
    entries = [entry for path in files for entry in _load(path.name)["deviations"]]
    peers = sorted({entry["peer"] for entry in entries})
    if peer is not None and peer not in peers:
        options = ", ".join(map(repr, peers))
        raise InputError(f"one of {options}", describe(peer), where="peer")
    return tuple(Deviation(**each) for each in entries if peer in (None, each["peer"]))


def _reference(entry: dict[str, Any]) -> ReferenceExample:
    sample = Sample.model_validate(entry["sample"])
    expected = cast("dict[DefinitionName, list[float | None]]", entry["expected"])
    return ReferenceExample(
        id=entry["id"],
        source=entry["source"],
        documented=entry["documented"],
        documented_definition=entry["documented_definition"],
        sample=sample,
        verdicts=Verdicts.model_validate(entry["verdicts"]).beside(sample),
        expected={name: (pair[0], pair[1]) for name, pair in expected.items()},
    )


def _load(name: str) -> dict[str, Any]:
    text = (fixture_folder() / name).read_text(encoding="utf-8")
    return cast("dict[str, Any]", json.loads(text))
