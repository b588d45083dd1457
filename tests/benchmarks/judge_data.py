"""What `judge_quality.py` asks about: labeled statements, claims listed by hand, whole samples."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from noisesense import Sample

Answers = list["bool | None"]
DATA = Path(__file__).parent / "data"


def rows(path: Path) -> list[Any]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@dataclass(frozen=True)
class Text:
    """One text with its statements, in an order that tells nothing."""

    kind: str
    half: str
    text: str
    statements: tuple[tuple[str, bool], ...]

    @property
    def asked(self) -> list[str]:
        return [statement for statement, _ in self.statements]


def texts() -> list[Text]:
    return [
        Text(row["kind"], row["half"], row["text"], mixed({True: row["yes"], False: row["no"]}))
        for row in rows(DATA / "entailment.jsonl")
    ]


def mixed(by_truth: dict[bool, list[str]]) -> tuple[tuple[str, bool], ...]:
    pairs = [(each, truth) for truth, all_of in by_truth.items() for each in all_of]
    return tuple(sorted(pairs, key=lambda pair: hashlib.sha256(pair[0].encode()).digest()))


_SKIPPED = frozenset(
    {"a", "an", "the", "of", "in", "on", "at", "to", "is", "was", "are", "were", "be", "been"}
    | {"by", "it", "its", "he", "she", "his", "her", "they", "their", "and", "or", "that", "has"}
    | {"which", "who", "for", "from", "with", "as", "had", "have", "this", "there"}
)


def words(text: str) -> set[str]:
    """Of a text, without those that tell little; of East Asian scripts the pairs of letters."""
    found = {each for each in re.findall(r"[^\W_]+", text.lower()) if each not in _SKIPPED}
    wide = {each for each in found if ord(each[0]) > 0x2E80}
    pairs = {each[at : at + 2] for each in wide for at in range(max(1, len(each) - 1))}
    return (found - wide) | pairs


class Split(NamedTuple):
    """Claims found against the claims listed by hand."""

    listed: int = 0
    found: int = 0
    missed: int = 0
    added: int = 0
    merged: int = 0
    unreadable: int = 0

    def __add__(self, other: Split) -> Split:  # type: ignore[override]
        return Split(*(a + b for a, b in zip(self, other, strict=True)))


def compare(listed: Sequence[str], found: Sequence[str]) -> Split:
    """A claim says a listed one if it has three quarters of its words.

    Missed: listed, said by none. Added: a claim that says none of those listed. Merged: a claim
    that says several.
    """
    says = [
        [len(words(hand) & words(claim)) >= 0.75 * len(words(hand)) for hand in listed]
        for claim in found
    ]
    missed = sum(not any(row[at] for row in says) for at in range(len(listed)))
    added = sum(not any(row) for row in says)
    merged = sum(sum(row) > 1 for row in says)
    return Split(len(listed), len(found), missed, added, merged)


def samples(given: Sequence[Text], count: int) -> list[Sample]:
    """Each: what one text says, right and wrong, with that text and another as chunks."""
    plain = [text for text in given if text.kind == "plain"][: count + 1]
    return [
        Sample(
            user_input="What do the texts say?",
            response=" ".join(text.asked[:3]),
            reference=" ".join(each for each, truth in text.statements if truth),
            retrieved_contexts=[text.text, other.text],
        )
        for text, other in pairwise(plain)
    ]
