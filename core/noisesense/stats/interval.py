"""Confidence intervals of means and of shares: random weights on the samples, one method for all.

`dirichlet_interval` has the method. How often its intervals cover is printed by the benchmark
``tests/benchmarks/coverage.py``. Of a paired difference see `noisesense.stats.paired`.

Where open verdicts leave a range instead of a figure, the interval goes from the low end of that
of the lowest values to the high end of that of the highest. Each misses its end on that side half
as often as an interval may miss, so that the two hold the whole range, and in it the figure that
the missing verdicts would have given.

Sources: Horowitz and Manski (2000), Nonparametric analysis of randomized experiments with missing
covariate and outcome data, JASA 95; Imbens and Manski (2004), Confidence intervals for partially
identified parameters, Econometrica 72.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from noisesense.scoring.outcomes import Range, extent
from noisesense.stats.numerics import numpy


class Unit(NamedTuple):
    """What one sample, or one cluster of samples, adds to a ratio of sums, such as a mean.

    Attributes:
        low: above the line, at least.
        high: above the line, at most; more than that where verdicts are open.
        size: below the line.
    """

    low: float
    high: float
    size: float


Units = Mapping[Unit, int]
"""Distinct units and how often each occurs."""


def effective_units(units: Units) -> float:
    """Return how many units of one size say as much: ``(Σ size)² / Σ size²`` (Kish 1965).

    0 of nothing.
    """
    whole = math.fsum(unit.size * times for unit, times in units.items())
    squares = math.fsum(unit.size**2 * times for unit, times in units.items())
    return whole**2 / squares if squares else 0.0


def units_of(values: Iterable[tuple[Hashable, Range]]) -> Counter[Unit]:
    """Add up the values of each unit by `unit_of`; return how often each sum occurs."""
    by_unit = defaultdict[Hashable, list[Range]](list)
    for unit, value in values:
        by_unit[unit].append(value)
    units = Counter[Unit]()
    for ranges in by_unit.values():
        units[unit_of(ranges)] += 1
    return units


def unit_of(ranges: Sequence[Range]) -> Unit:
    """Return the sum of a unit's ranges, and how many they are.

    Rounded to 12 decimals: a third and two thirds are one, however they were added.
    """
    whole = sum_range(ranges)
    return Unit(round(whole.low, 12), round(whole.high, 12), len(ranges))


def sum_range(ranges: Sequence[Range]) -> Range:
    """Return the sum of the lowest values and that of the highest; 0 of nothing."""
    low = math.fsum(value.low for value in ranges)
    high = math.fsum(value.high for value in ranges)
    return Range(low, high)


def mean_range(ranges: Sequence[Range]) -> Range | None:
    """Return the mean of the lowest values and that of the highest; None of nothing."""
    return sum_range(ranges).over(len(ranges)) if ranges else None


class Interval(NamedTuple):
    """A confidence interval.

    Attributes:
        low: its lower end.
        high: its upper end. Of a figure that open verdicts leave a range, both cover all of it.
        confidence: how often such an interval is meant to hold the true figure, e.g. 0.95.
        units: how many independent units (samples, or clusters of samples) it rests on.
    """

    low: float
    high: float
    confidence: float
    units: int

    def __str__(self) -> str:
        return interval_text(self)


def interval_text(interval: Range | Interval, *, percent: bool = False) -> str:
    """Return the ends of an interval as text; one number if they are equal.

    With as many decimals, 2 to 4 (of a percentage 0 to 2), as show two digits of its width:
    further ones would say nothing.
    """
    width = interval.high - interval.low
    digits = 4
    if width > 0:
        digits = min(max(1 - math.floor(math.log10(width)), 2), 4)
    form = f".{digits - 2}%" if percent else f".{digits}f"
    return extent((interval.low, interval.high), form)


def tail_of(confidence: float) -> float:
    """Return how often each end of an interval may miss: half of what the interval may."""
    return (1 - confidence) / 2


def mean_interval(units: Units, confidence: float) -> Interval | None:
    """Return the interval of a mean or a share from 0 to 1, over independent units.

    None below two of them, or if none has a size.
    """
    if sum(units.values()) < 2 or not any(unit.size for unit in units):
        return None
    return dirichlet_interval(units, confidence)


RESAMPLES = 2000
"""Of each interval."""
_DRAWN_AT_ONCE = 2**21


def dirichlet_interval(
    units: Units, confidence: float, limits: tuple[float, float] = (0.0, 1.0)
) -> Interval:
    """Return the interval of a ratio of sums: Gaffke's bounds in a half-weight form.

    The units get random weights, ``w ~ Dirichlet(1, …, 1, ½)``, and so does one that nobody saw,
    for each end of its own: at the lower limit for the low end, at the upper for the high one, as
    large as the unit that a random part is in, ``Σ size² / Σ size``. The ends are the ``α/2`` and
    the ``1 − α/2`` quantile of ``Σ w x / Σ w y``, the low one of the lowest values and the high
    one of the highest; the interval holds the figure itself. Of scores that are all 0 or 1 these
    are quantiles of ``Beta(x, n − x + ½)`` and ``Beta(x + ½, n − x)``.
    The same units give the same interval.

    Args:
        units: at least one with a size.
        confidence: how often it is meant to hold the ratio.
        limits: the lowest and the highest value of the ratio.

    Sources: Gaffke (2005), Three test statistics for a nonparametric one-sided hypothesis on the
    mean of a nonnegative variable, Mathematical Methods of Statistics 14; Learned-Miller and
    Thomas (2019), A new confidence interval for the mean of a bounded random variable,
    arXiv:1905.06208.
    """
    np = numpy()
    listed = sorted(units.items())
    values = np.array([unit for unit, _ in listed])
    times = np.array([count for _, count in listed], float)
    draws = np.random.Generator(np.random.PCG64(0))
    low_sum, high_sum, size_sum = (math.fsum(column) for column in values.T * times)
    unseen = draws.standard_gamma(0.5, RESAMPLES) * size_sum / effective_units(units)
    sums: list[Any] = []
    # The weights of many units fill the memory: some resamples at a time.
    at_once = max(_DRAWN_AT_ONCE // len(times), 1)
    for start in range(0, RESAMPLES, at_once):
        count = min(at_once, RESAMPLES - start)
        weights = draws.standard_gamma(times, (count, len(times)))
        sums.append(weights @ values)
    low, high, size = np.concatenate(sums).T
    whole = size + unseen
    lows = (low + limits[0] * unseen) / whole
    highs = (high + limits[1] * unseen) / whole
    low_end = float(np.quantile(lows, tail_of(confidence)))
    high_end = float(np.quantile(highs, 1 - tail_of(confidence)))
    return Interval(
        low=min(low_end, low_sum / size_sum),
        high=max(high_end, high_sum / size_sum),
        confidence=confidence,
        units=int(times.sum()),
    )


class Estimate(NamedTuple):
    """A mean over samples or claims; a range where the judge left verdicts open.

    Attributes:
        low: with every open verdict one way.
        high: with every open verdict the other way.
        interval: of the whole range; None below two units.
        size: how many values it is the mean of.
    """

    low: float
    high: float
    interval: Interval | None
    size: int

    @property
    def value(self) -> float | None:
        """The number, where the two ends meet; None elsewhere."""
        return self.low if self.low == self.high else None
