"""One figure of two versions: is B worse, or is that noise?"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from noisesense.scoring.outcomes import Range, Record
from noisesense.scoring.scoring import Score
from noisesense.stats.interval import (
    Interval,
    Units,
    dirichlet_interval,
    effective_units,
    mean_range,
    units_of,
)
from noisesense.stats.paired import (
    LowEnds,
    critical_t,
    difference_interval,
    fewest_pairs,
    mirrored,
)

Decision = Literal["better", "worse", "same", "undecided"]

Figure = Literal["relevant", "irrelevant", "any", "correct"]
"""The share of claims that each mode counts, the share that are incorrect and come from a chunk,
relevant or not, and how many claims are correct."""


@dataclass(frozen=True)
class FigureComparison(Record):
    """One figure, over the pairs in which both responses have something to measure.

    Attributes:
        figure: ``"relevant"`` or ``"irrelevant"``: the mode's value; ``"any"``: the share of
            claims that are incorrect and come from a chunk, relevant or not; ``"correct"``: how
            many claims of a response are correct, 0 where it claims nothing; undefined where
            nothing was retrieved and so no claims were asked for. Of the first three
            lower is better, of ``"correct"`` higher.
        pairs: how many there are.
        effective: how many pairs, or clusters of equal size, say as much (Kish 1965).
        fewest: fewer of those decide nothing: 6, at 99% confidence 8.
        undetermined: pairs in which the judge left open one version's value or both.
        undefined: scored pairs in which one version or both have nothing to measure.
        mean_a: the mean of A over the pairs.
        mean_b: the mean of B over the pairs.
        difference: the mean of ``b − a``. Whichever way the open verdicts fall, it lies in this
            range.
        interval: of the difference; where that is a range, it covers all of it.
        margin: the difference that does not matter, in the figure's own unit.
        decision: ``"worse"`` or ``"better"``: B, if the interval lies beyond the margin;
            ``"same"``: the interval lies within the margin, and so does one in which a rare pair
            may differ by 1; ``"undecided"``: the pairs do not say, as fewer than 6 never do (at
            99% confidence fewer than 8), or the open verdicts decide.
        left_open: whether B is worse depends on the open verdicts.
    """

    figure: Figure
    pairs: int
    effective: float
    fewest: int
    undetermined: int
    undefined: int
    mean_a: Range | None
    mean_b: Range | None
    difference: Range | None
    interval: Interval | None
    margin: float
    decision: Decision
    left_open: bool

    @property
    def worsening(self) -> tuple[float, float] | None:
        """The interval's ends, above 0 where B is worse: of correct claims, how many fewer B has.

        None without an interval.
        """
        if self.interval is None:
            return None
        low = self.interval.low
        high = self.interval.high
        return (-high, -low) if self.figure == "correct" else (low, high)

    @property
    def side(self) -> Literal["better", "worse"] | None:
        """Is B surely worse than A, or better, be it by less than the margin?

        None: not surely, or there are too few pairs.
        """
        if self.worsening is None or self.too_few:
            return None
        low, high = self.worsening
        if low > 0:
            return "worse"
        return "better" if high < 0 else None

    @property
    def too_few(self) -> bool:
        """Are there too few pairs (or clusters of them) to decide anything?"""
        return self.interval is None or self.effective < self.fewest


def value_of(figure: Figure, score: Score) -> Range | None:
    """Return a sample's value: a share, or of ``"correct"`` how many claims are.

    None without anything to measure (0 with ``empty="zero"``). Of a response without claims
    ``"correct"`` is 0, or None if its list of chunks is empty, too.
    """
    if figure == "correct":
        if score.verdicts.chunks == () and not score.verdicts.response_claims:
            return None  # nothing was retrieved, and the judge not asked for claims
        cells = [claim.correct for claim in score.verdicts.response_claims]
        fewest = cells.count(True)
        most = fewest + cells.count(None)
        return Range(float(fewest), float(most))
    if figure == "any":
        # Not by `measures`: no definition has a say in what comes from a chunk.
        is_measured = score.lack is None or score.empty == "zero"
        return score.from_chunks.bounds if is_measured else None
    return score.bounds(figure)


def compared(
    figure: Figure,
    pairs: Sequence[tuple[Score, Score]],
    units: Sequence[Hashable],
    confidence: float,
    margin: float,
) -> FigureComparison:
    """Compare the versions in one figure, over the pairs in which both have a value.

    Args:
        figure: which one.
        pairs: the scores of A and B, also of samples without something to measure.
        units: what each pair shares with others.
        confidence: of the interval.
        margin: the difference that does not matter; of ``"correct"`` a share of A's mean.
    """
    before: list[Range] = []
    after: list[Range] = []
    differences: list[tuple[Hashable, Range]] = []
    undetermined = 0
    for (x, y), unit in zip(pairs, units, strict=True):
        was = value_of(figure, x)
        now = value_of(figure, y)
        if was is None or now is None:
            continue
        before.append(was)
        after.append(now)
        differences.append((unit, now.minus(was)))
        undetermined += was.value is None or now.value is None
    worsening: Units = units_of(differences)
    mean_a = mean_range(before)
    limit = 1.0
    if figure == "correct" and mean_a is not None:
        worsening = mirrored(worsening)
        limit = max(1.0, *(value.high for value in (*before, *after)))
        margin *= mean_a.high
    interval = difference_interval(worsening, confidence, limit)
    effective = effective_units(worsening)
    fewest = fewest_pairs(confidence)
    decision: Decision = "undecided"
    left_open = False
    if interval is not None and effective >= fewest:
        # A rare pair that nobody saw may differ by all that can be.
        wide = dirichlet_interval(worsening, confidence, (-limit, limit))
        decision = _decision(interval, wide, margin)
        ends = LowEnds(worsening, critical_t(effective, confidence))
        left_open = interval.low <= margin < ends.greatest()
    return FigureComparison(
        figure=figure,
        pairs=len(before),
        effective=effective,
        fewest=fewest,
        undetermined=undetermined,
        undefined=len(pairs) - len(before),
        mean_a=mean_a,
        mean_b=mean_range(after),
        difference=mean_range([difference for _, difference in differences]),
        interval=_turned(interval) if figure == "correct" else interval,
        margin=margin,
        decision=decision,
        left_open=left_open,
    )


def _turned(interval: Interval | None) -> Interval | None:
    return interval and interval._replace(low=-interval.high, high=-interval.low)


def _decision(interval: Interval, wide: Interval, margin: float) -> Decision:
    if interval.low > margin:
        return "worse"
    if interval.high < -margin:
        return "better"
    lowest = min(interval.low, wide.low)
    highest = max(interval.high, wide.high)
    return "same" if -margin <= lowest and highest <= margin else "undecided"
