"""Judges that answer the decomposition and withhold or spoil verdicts, and what is left to know.

One sample of `support.faults`: claim 1 is correct; claim 2 is not, and chunks 0 and 1 entail it;
claim 3 is not, and chunk 1 entails it. Chunk 0 is relevant by the reference's first claim, chunks
1 and 2 are not. Both modes are 1/3 (definition ragas). The bounds are derived by hand, in thirds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from support.faults import mind, pairs
from support.mind import data_of, items_of, reply_of

__all__ = ["SAMPLE", "TRUTH", "WAYS", "SpoiledMind", "Way"]

SAMPLE = pairs()[0][0]
TRUTH = 1 / 3
Thirds = tuple[int, int]


class Way(NamedTuple):
    """One way to spoil verdicts.

    Attributes:
        spoil: what becomes of a reply's text.
        on: of which replies: "chunks" (which claims a chunk entails), "verdicts" (also which the
            reference entails) or "all" (also the claims).
        relevant: the bounds that are left, in thirds; None where no claims are known.
        irrelevant: likewise.
    """

    name: str
    spoil: Callable[[str], str]
    on: str
    relevant: Thirds | None
    irrelevant: Thirds | None


class SpoiledMind:
    """The mind of `support.faults` with a way to spoil its replies."""

    def __init__(self, way: Way) -> None:
        self._mind, self._way = mind(), way

    def answer(self, prompt: str) -> str:
        reply = self._mind.answer(prompt)
        if _about(prompt) in {"chunks": {"chunks"}, "verdicts": {"chunks", "verdicts"}}.get(
            self._way.on, {"chunks", "verdicts", "claims"}
        ):
            return self._way.spoil(reply)
        return reply


def _about(prompt: str) -> str:
    data = data_of(prompt)
    if "text" in data:
        return "claims"
    return "chunks" if "Passage" in data["premise"] else "verdicts"


def _items(change: Callable[[list[dict[str, Any]]], Any]) -> Callable[[str], str]:
    return lambda text: reply_of(change(items_of(text)))


def _said(say: Callable[[bool], Any]) -> Callable[[str], str]:
    return _items(lambda items: [{**item, "entailed": say(item["entailed"])} for item in items])


def _only(kept: bool) -> Callable[[str], str]:
    return _items(lambda items: [item for item in items if item["entailed"] is kept])


_CONTRADICTORY = _items(
    lambda items: [*items, *({**item, "entailed": not item["entailed"]} for item in items)]
)

# Claims 2 and 3 are known to be incorrect, and nothing else: each of them may count or not.
_NO_CHUNKS = {"relevant": (0, 2), "irrelevant": (0, 2)}
# All three claims may be.
_NOTHING = {"relevant": (0, 3), "irrelevant": (0, 3)}

WAYS = (
    Way("garbage for all", lambda _: "The weather is fine.", "all", None, None),
    Way("refusals of all", lambda _: "I cannot help with that.", "all", None, None),
    Way("garbage for verdicts", lambda _: "Fine.", "verdicts", **_NOTHING),
    Way("garbage for chunks", lambda _: "Fine.", "chunks", **_NO_CHUNKS),
    Way("refused chunks", lambda _: "I cannot help with that.", "chunks", **_NO_CHUNKS),
    Way("nothing on chunks", lambda _: "", "chunks", **_NO_CHUNKS),
    Way("empty lists", _items(lambda _: []), "chunks", **_NO_CHUNKS),
    # Claim 2 is from chunk 0, which the reference's first claim makes relevant: it counts. Chunk
    # 1 entails claims 2 and 3, and it is open whether it is relevant.
    Way("only yes", _only(True), "chunks", (1, 2), (0, 1)),
    # It is also open whether claims 2 and 3 are correct; claim 1 is.
    Way("only yes at all", _only(True), "verdicts", (0, 2), (0, 1)),
    # Chunk 0 does not entail claim 3, and chunk 1 is irrelevant: only claim 2 may be relevant
    # noise, or it comes from chunk 1 alone.
    Way("only no", _only(False), "chunks", (0, 1), (0, 2)),
    Way("null", _said(lambda _: None), "chunks", **_NO_CHUNKS),
    Way("in words", _said(lambda said: "probably" if said else "hardly"), "chunks", **_NO_CHUNKS),
    Way("contradictory", _CONTRADICTORY, "chunks", **_NO_CHUNKS),
    Way(
        "unknown ids",
        _items(lambda items: [{**item, "id": item["id"] + 90} for item in items]),
        "chunks",
        **_NO_CHUNKS,
    ),
)
