"""What a comparison says: plain data, made by `noisesense.compare`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from noisesense.scoring.definitions import Category, DefinitionName, Mode
from noisesense.scoring.records import BothModes, Record
from noisesense.stats.interval import Bounds, Interval, absolute_bounds, difference_bounds
from noisesense.stats.pairing import PairedBy

__all__ = [
    "ClaimChange",
    "Comparison",
    "Decision",
    "ModeComparison",
    "PairedBy",
    "SampleChange",
]

Decision = Literal["better", "worse", "undecided"]


@dataclass(frozen=True)
class ModeComparison(Record):
    """One mode, over the pairs in which both responses have claims.

    The headline is the range of differences that the verdicts decide, ``difference_bounds``.

    Attributes:
        mode: ``"relevant"`` or ``"irrelevant"``.
        pairs: how many there are.
        undetermined: of them, those in which the judge left open one version's value or both.
        undefined: scored pairs in which one version or both have nothing to measure.
        bounds_a: of A's mean over the pairs: the mean of the lowest values and of the highest.
        bounds_b: of B's mean.
        mean_a: the mean of A over the pairs; None where its bounds differ, unless the scores were
            made with ``undetermined="low"`` or ``"high"``.
        mean_b: the mean of B over the pairs; likewise.
        difference: ``mean_b − mean_a``; positive: B is noisier. None unless both are given.
        difference_bounds: the mean of (B's lowest − A's highest) and that of (B's highest − A's
            lowest): whichever way the open verdicts fall, the difference lies between.
        interval: of the difference; where its bounds differ, it covers the whole range.
        decision: ``"worse"`` or ``"better"``: B, if the interval lies above or below zero. What
            open verdicts could undo is never decided.
    """

    mode: Mode
    pairs: int
    undetermined: int
    undefined: int
    bounds_a: Bounds | None
    bounds_b: Bounds | None
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    difference_bounds: Bounds | None
    interval: Interval | None
    decision: Decision


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
        a: A's value in each mode; None where it has none.
        b: B's.
        bounds_a: between what A's value lies, in each mode; None where it is undefined.
        bounds_b: B's.
        claims: the claims that changed, those in both versions first. A claim whose verdicts
            went missing is among them, as undetermined.
    """

    id: str
    a: dict[Mode, float | None]
    b: dict[Mode, float | None]
    bounds_a: dict[Mode, Bounds | None]
    bounds_b: dict[Mode, Bounds | None]
    claims: tuple[ClaimChange, ...]

    def difference(self, mode: Mode) -> float | None:
        """``b − a``; None unless both have a value."""
        a, b = self.a[mode], self.b[mode]
        return None if a is None or b is None else b - a

    def difference_bounds(self, mode: Mode) -> Bounds | None:
        """Between what ``b − a`` lies; None unless both have something to measure."""
        a, b = self.bounds_a[mode], self.bounds_b[mode]
        return a and b and difference_bounds(a, b)

    def changed(self, mode: Mode) -> bool:
        """Did the value change, whichever way the open verdicts fall?"""
        bounds = self.difference_bounds(mode)
        if bounds is None:
            return (self.bounds_a[mode] is None) != (self.bounds_b[mode] is None)
        return not bounds[0] <= 0 <= bounds[1]

    @property
    def largest(self) -> float:
        """The larger of the two modes' absolute differences, as far as they are certain."""
        differences = map(self.difference_bounds, self.bounds_a)
        return max((absolute_bounds(each)[0] for each in differences if each), default=0.0)


@dataclass(frozen=True)
class Comparison(Record, BothModes[ModeComparison]):
    """Two versions over the same samples.

    Attributes:
        definition: under which both were scored.
        paired_by: ``"id"``, or ``"question"``: user input and reference.
        pairs: samples that both versions have, failed ones included.
        only_a: ids that only A has.
        only_b: ids that only B has.
        failed: ids (A's) of pairs in which one version or both failed.
        relevant: the relevant mode.
        irrelevant: the irrelevant mode; None if the definition has none.
        changes: the samples that changed, those that changed most first.
        transitions: how many claims went from which kind to which, changed or not.
        clusters: over how many clusters the intervals were made; None: over single pairs.
        warnings: what a reader of the figures must know, in words.
    """

    definition: DefinitionName | None
    paired_by: PairedBy
    pairs: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    failed: tuple[str, ...]
    relevant: ModeComparison | None
    irrelevant: ModeComparison | None
    changes: tuple[SampleChange, ...]
    transitions: dict[tuple[Category | None, Category | None], int]
    clusters: int | None
    warnings: tuple[str, ...]

    @property
    def worse(self) -> tuple[Mode, ...]:
        """The modes in which B is worse, for a check that fails."""
        both = (self.relevant, self.irrelevant)
        return tuple(each.mode for each in both if each and each.decision == "worse")

    def to_dict(self) -> dict[str, Any]:
        """Everything above as plain JSON-ready data."""
        transitions = [
            {"before": before, "after": after, "claims": count}
            for (before, after), count in self.transitions.items()
        ]
        return {**super().to_dict(), "transitions": transitions}
