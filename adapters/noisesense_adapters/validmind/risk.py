"""ValidMind's three signs of high risk, each with a stated threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from noisesense.scoring.records import Record
from noisesense.stats.interval import Bounds, absolute_bounds, difference_bounds


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
        present: does the figure reach the threshold? By the bounds: None where open verdicts
            decide it, and where there is nothing to measure.
        figure: what was measured; None where open verdicts leave it open, or it is undefined.
        bounds: between which ends the figure lies, whichever way the open verdicts fall; None
            where it is undefined. Those of the share are reached; the other two may be wider than
            the figure can move.
        threshold: what it was compared with.
        sentence: the same in words.
    """

    name: str
    present: bool | None
    figure: float | None
    bounds: Bounds | None
    threshold: float
    sentence: str


Distribution = Sequence[tuple[float, int]]


class Figure(NamedTuple):
    """A figure where there is a single one, and what it lies between."""

    value: float | None
    bounds: Bounds | None


def risk_signs(
    chosen: Distribution | None,
    ends: tuple[Distribution, Distribution],
    *,
    mean: Figure,
    median: Figure,
    stdev: Figure,
    thresholds: RiskThresholds,
) -> tuple[RiskSign, ...]:
    """The three signs of one mode.

    1. share of samples with ``value >= high`` is at least ``many``;
    2. ``|mean − median| >= gap``;
    3. sample standard deviation ``>= spread``.

    Args:
        chosen: the values, where every sample has one; else None.
        ends: the samples' lowest values, and their highest.
        mean: of the values.
        median: of the values.
        stdev: of the values.
        thresholds: of the signs.

    Source: ValidMind, test NoiseSensitivity, "Signs of High Risk".
    """
    low, high = (_share(each, thresholds.high) for each in ends)
    share = Figure(
        None if chosen is None else _share(chosen, thresholds.high),
        None if low is None or high is None else (low, high),
    )
    up = f"share of samples at {thresholds.high:g} up"
    return (
        _sign("high scores", share, thresholds.many, up),
        _sign("mean far from median", _gap(mean, median), thresholds.gap, "distance"),
        _sign("high standard deviation", stdev, thresholds.spread, "standard deviation"),
    )


def _share(distribution: Distribution, limit: float) -> float | None:
    high = sum(times for value, times in distribution if value >= limit)
    return high / sum(times for _, times in distribution) if distribution else None


def _gap(mean: Figure, median: Figure) -> Figure:
    """``|mean − median|``, as if the two could move apart freely."""
    value = None
    if mean.value is not None and median.value is not None:
        value = abs(mean.value - median.value)
    if mean.bounds is None or median.bounds is None:
        return Figure(value, None)
    return Figure(value, absolute_bounds(difference_bounds(median.bounds, mean.bounds)))


def _reaches(figure: float, threshold: float) -> bool:
    """Is it at least the threshold? As fractions: 3/10 - 2/10 is 1/10, and less as floats."""
    return Fraction(figure).limit_denominator(10**9) >= Fraction(str(threshold))


def _sign(name: str, figure: Figure, threshold: float, what: str) -> RiskSign:
    (value, bounds), present, answer = figure, None, "undefined"
    if bounds is not None:
        low, high = bounds
        sure, possible = _reaches(low, threshold), _reaches(high, threshold)
        present = sure if sure == possible else None
        value = low if low == high else value
        what += f" {value:.3g}" if low == high else f" between {low:.3g} and {high:.3g}"
        answer = {True: "yes", False: "no", None: "undetermined"}[present]
    sentence = f"{name}: {answer} ({what}, threshold {threshold:g})"
    return RiskSign(name, present, value, bounds, threshold, sentence)
