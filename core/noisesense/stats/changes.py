"""Which samples are another in version B, and which of their claims."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from noisesense.scoring.definitions import MODES, Category, Mode
from noisesense.scoring.outcomes import Range, Record
from noisesense.scoring.scoring import Score
from noisesense.stats.pairing import same_claims


class ClaimChange(NamedTuple):
    """A claim whose kind is another in B; None: the claim is not in that version's response."""

    text: str
    before: Category | None
    after: Category | None


@dataclass(frozen=True)
class SampleChange(Record):
    """A sample that is another in B: a value that changed for certain, or claims that did.

    Attributes:
        id: A's name for it.
        a: A's value in each mode; None where it is undefined.
        b: B's.
        claims: those that changed (or whose verdicts went missing), those in both versions first.
    """

    id: str
    a: dict[Mode, Range | None]
    b: dict[Mode, Range | None]
    claims: tuple[ClaimChange, ...]

    def apart(self, mode: Mode) -> float:
        """How far the values are apart whichever way the open verdicts fall; 0 if one is None."""
        a = self.a[mode]
        b = self.b[mode]
        return b.minus(a).absolute.low if a and b else 0.0

    @property
    def largest(self) -> float:
        """How far the values are apart in the mode in which they are farther."""
        return max(map(self.apart, MODES))

    def changed(self, mode: Mode) -> bool:
        """Did the value change, whichever way the open verdicts fall?"""
        return self.apart(mode) > 0 or (self.a[mode] is None) != (self.b[mode] is None)


def sample_change(name: str, a: Score, b: Score) -> SampleChange:
    """What changed in a sample."""
    return SampleChange(name, _bounds(a), _bounds(b), _claim_changes(a, b))


def _claim_changes(a: Score, b: Score) -> tuple[ClaimChange, ...]:
    before = a.claims
    after = b.claims
    same = same_claims([claim.text for claim in before], [claim.text for claim in after])
    changes: list[ClaimChange] = []
    for i, j in same.items():
        if before[i].category != after[j].category:
            changes.append(ClaimChange(before[i].text, before[i].category, after[j].category))
    for claim in before:
        if claim.index not in same:
            changes.append(ClaimChange(claim.text, claim.category, None))
    kept = {*same.values()}
    for claim in after:
        if claim.index not in kept:
            changes.append(ClaimChange(claim.text, None, claim.category))
    return tuple(changes)


def _bounds(score: Score) -> dict[Mode, Range | None]:
    return {mode: score.bounds(mode) for mode in MODES}


def largest_first(changes: Iterable[SampleChange]) -> tuple[SampleChange, ...]:
    """Those in which something changed."""
    changed: list[SampleChange] = []
    for change in changes:
        if change.claims or any(map(change.changed, MODES)):
            changed.append(change)
    changed.sort(key=lambda change: (-change.largest, -len(change.claims), change.id))
    return tuple(changed)
