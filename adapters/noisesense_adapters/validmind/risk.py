"""ValidMind's three signs of high risk, each with a stated threshold."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from noisesense import ModeSummary, Range
from noisesense.scoring.outcomes import Record


@dataclass(frozen=True)
class RiskThresholds:
    """When a sign counts as present. ValidMind names the signs and leaves the numbers open.

    Attributes:
        high: from this value on a sample's score is high; 0.5: every second claim.
        many: from this share of samples on high scores are many.
        gap: from this distance on the mean is far from the median.
        spread: from this standard deviation on the scores are inconsistent; 0.25 is half of the
            largest possible one, and scores spread evenly from 0 to 1 have 0.29.
    """

    high: float = 0.5
    many: float = 0.1
    gap: float = 0.1
    spread: float = 0.25


@dataclass(frozen=True)
class RiskSign(Record):
    """One sign: is it there, by which figure and threshold.

    Attributes:
        name: ``"high scores"``, ``"mean far from median"`` or ``"high standard deviation"``.
        present: does the figure reach the threshold? None where open verdicts decide it, and
            where there is nothing to measure.
        figure: what was measured, or between what it lies; None where it is undefined.
        threshold: what it was compared with.
        sentence: the same in words.
    """

    name: str
    present: bool | None
    figure: Range | None
    threshold: float
    sentence: str


def risk_signs(mode: ModeSummary, thresholds: RiskThresholds) -> tuple[RiskSign, ...]:
    """The three signs of one mode.

    1. share of samples with ``value >= high`` is at least ``many``;
    2. ``|mean − median| >= gap``, as if the two could move apart freely;
    3. sample standard deviation ``>= spread``.

    Source: ValidMind, test NoiseSensitivity, "Signs of High Risk".
    """
    share = gap = stdev = None
    if mode.mean and mode.median:
        samples = sum(times for _, times in mode.ranges)
        high = [
            sum(times for each, times in mode.ranges if each[end] >= thresholds.high) / samples
            for end in (0, 1)
        ]
        share, gap = Range(*high), mode.mean.minus(mode.median).absolute
        known = None if mode.stdev is None else Range(mode.stdev, mode.stdev)
        stdev = known or (Range(0.0, 1.0) if mode.undetermined else None)
    up = f"share of samples at {thresholds.high:g} up"
    return (
        _sign("high scores", share, thresholds.many, up),
        _sign("mean far from median", gap, thresholds.gap, "distance"),
        _sign("high standard deviation", stdev, thresholds.spread, "standard deviation"),
    )


def _reaches(figure: float, threshold: float) -> bool:
    """Is it at least the threshold? As fractions: 3/10 - 2/10 is 1/10, and less as floats."""
    return Fraction(figure).limit_denominator(10**9) >= Fraction(str(threshold))


def _sign(name: str, figure: Range | None, threshold: float, what: str) -> RiskSign:
    present, answer = None, "undefined"
    if figure is not None:
        low, high = figure
        sure, possible = _reaches(low, threshold), _reaches(high, threshold)
        present = sure if sure == possible else None
        what += f" {low:.3g}" if low == high else f" between {low:.3g} and {high:.3g}"
        answer = {True: "yes", False: "no", None: "undetermined"}[present]
    sentence = f"{name}: {answer} ({what}, threshold {threshold:g})"
    return RiskSign(name, present, figure, threshold, sentence)
