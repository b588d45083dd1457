"""Which samples changed from version A to version B, and which of their claims."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from noisesense.scoring.definitions import MODES, Category, Mode
from noisesense.scoring.outcomes import Range, Record
from noisesense.scoring.scoring import Score
from noisesense.stats.pairing import same_claims


class ClaimChange(NamedTuple):
    """A claim that is of another kind in B; None: that version's response lacks the claim."""

    text: str
    before: Category | None
    after: Category | None


@dataclass(frozen=True)
class SampleChange(Record):
    """A sample that changed: a value that changed, or claims that did.

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
        if a is None or b is None:
            return 0.0
        return b.minus(a).absolute.low


def sample_change(name: str, a: Score, b: Score) -> SampleChange:
    """Return what changed in a sample."""
    return SampleChange(name, _bounds(a), _bounds(b), _claim_changes(a, b))


def _bounds(score: Score) -> dict[Mode, Range | None]:
    return {mode: score.bounds(mode) for mode in MODES}


def _claim_changes(a: Score, b: Score) -> tuple[ClaimChange, ...]:
    before = a.claims
    after = b.claims
    same = same_claims([claim.text for claim in before], [claim.text for claim in after])
    changes: list[ClaimChange] = []
    for i, j in same.items():
        claim = before[i]
        kind_in_b = after[j].category
        if claim.category != kind_in_b:
            changes.append(ClaimChange(claim.text, claim.category, kind_in_b))
    for claim in before:
        if claim.index not in same:
            changes.append(ClaimChange(claim.text, claim.category, None))
    in_both = {*same.values()}
    for claim in after:
        if claim.index not in in_both:
            changes.append(ClaimChange(claim.text, None, claim.category))
    return tuple(changes)


def largest_first(changes: Iterable[SampleChange]) -> tuple[SampleChange, ...]:
    """Return the samples in which something changed, those that changed most first."""
    changed = [change for change in changes if change.claims or change.a != change.b]
    return tuple(sorted(changed, key=_rank))


def _rank(change: SampleChange) -> tuple[float, int, str]:
    return -max(map(change.apart, MODES)), -len(change.claims), change.id
