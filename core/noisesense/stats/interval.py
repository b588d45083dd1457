"""Confidence intervals, and how they are made. Two methods for a mean, no more.

With fewer than 50 units, unequal ones that say no more than 50 equal ones, or fewer than 25 that
differ from the commonest, `few_units_interval`: random Dirichlet weights. Else the bias-corrected
and accelerated bootstrap (BCa), at a level widened for small samples: for ``n`` units it takes the
percentiles of level ``Φ(−√(n/(n−1)) · t(1 − α/2, n − 1))`` instead of ``α/2``, which gives a
symmetric sample the width of Student's t interval. How often each covers is printed by the
benchmark ``tests/benchmarks/coverage.py``. Of a paired difference see `noisesense.stats.paired`.

Where open verdicts leave a range instead of a figure, `covering` takes the lowest and the highest
end of the intervals of the range's two ends: mostly the lower end of the one and the upper end of
the other. Each misses its end on that side half as often as an interval may miss, so that the two
hold the whole range, and in it the figure that the missing verdicts would have given.

Sources: Efron (1987), Better bootstrap confidence intervals, JASA 82; Hesterberg (2015), What
teachers should know about the bootstrap, The American Statistician 69, section 5; Horowitz and
Manski (2000), Nonparametric analysis of randomized experiments with missing covariate and outcome
data, JASA 95; Imbens and Manski (2004), Confidence intervals for partially identified parameters,
Econometrica 72.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul, sub
from random import Random
from typing import Literal, NamedTuple

from noisesense.scoring.outcomes import Range, check_between, extent
from noisesense.stats.resampling import (
    NORMAL,
    Statistic,
    Unit,
    Units,
    columns_of,
    quantile_of_sorted,
    resampled,
    t_quantile,
    total,
)


def mean_range(ranges: Sequence[Range]) -> Range | None:
    """The mean of the lowest values and that of the highest; None of nothing."""
    if not ranges:
        return None
    low = math.fsum(value.low for value in ranges)
    high = math.fsum(value.high for value in ranges)
    return Range(low, high).over(len(ranges))


_TIE = 1e-12

Method = Literal["bca", "dirichlet", "t", "binomial", "posterior"]


class Interval(NamedTuple):
    """A confidence interval.

    Attributes:
        low: its lower end.
        high: its upper end. Of a figure that open verdicts leave a range, both cover all of it.
        confidence: how often such an interval is meant to hold the true figure, e.g. 0.95.
        method: ``"bca"``: the bootstrap; ``"dirichlet"``: random weights, of few units, or of
            few that differ; ``"t"``: Student's t, of a paired comparison; ``"binomial"``: of a
            share of independent cases; ``"posterior"``: of one rate among many, see
            `noisesense.stats.shrinkage`.
        units: how many independent units (samples, or clusters of samples) it rests on.
    """

    low: float
    high: float
    confidence: float
    method: Method
    units: int

    def __str__(self) -> str:
        return interval_text(self)


def interval_text(interval: Range | Interval, *, percent: bool = False) -> str:
    """The ends of an interval.

    Of one that is made of random draws as many decimals, 2 to 4, as show two digits of its width:
    further ones would change with the seed.
    """
    width = interval.high - interval.low
    drawn = not isinstance(interval, Interval) or interval.method != "t"
    digits = 4
    if drawn and width > 0:
        digits = min(max(1 - math.floor(math.log10(width)), 2), 4)
    form = f".{digits - 2}%" if percent else f".{digits}f"
    return extent((interval.low, interval.high), form)


@dataclass(frozen=True)
class Resampling:
    """How intervals are made: the same seed gives the same interval.

    Raises:
        InputError: a confidence that is no number between 0 and 1.
    """

    confidence: float = 0.95
    seed: int = 0
    resamples: int = 2000

    def __post_init__(self) -> None:
        check_between(self.confidence, "confidence")

    @property
    def tail(self) -> float:
        """How often each end may miss: half of what the interval may."""
        return (1 - self.confidence) / 2


def ratio(sums: Sequence[float]) -> float | None:
    """First sum over second: a mean, where each unit adds (value, 1)."""
    return sums[0] / sums[1] if sums[1] else None


def units_of(parts: Iterable[tuple[Hashable, float, float]]) -> Counter[Unit]:
    """What each unit adds to a ratio of sums: to each sum the sum of its own parts."""
    values = defaultdict[Hashable, list[float]](list)
    sizes = defaultdict[Hashable, list[float]](list)
    for unit, part, whole in parts:
        values[unit].append(part)
        sizes[unit].append(whole)
    units = Counter[Unit]()
    for unit, unit_values in values.items():
        units[_sum(unit_values), _sum(sizes[unit])] += 1
    return units


def _sum(parts: Sequence[float]) -> float:
    """Rounded: a third and two thirds are one, however they were added."""
    return round(math.fsum(parts), 12)


def ends_of(values: Sequence[tuple[Hashable, Range]]) -> tuple[Counter[Unit], Counter[Unit]]:
    """What each unit adds to a mean of ranges: with their low ends, and with their high ones."""
    lows = units_of((unit, value.low, 1.0) for unit, value in values)
    highs = units_of((unit, value.high, 1.0) for unit, value in values)
    return lows, highs


def mean_interval(
    ends: Sequence[Units], resampling: Resampling, limits: tuple[float, float] = (0.0, 1.0)
) -> Interval | None:
    """Of a ratio of sums over independent units, such as a mean.

    Args:
        ends: what each unit adds to ``(Σ value, how many)``, with the lowest values; and, where
            open verdicts leave a range, with the highest.
        resampling: confidence, resamples, seed.
        limits: the lowest and the highest value of the ratio.

    Returns:
        None below two units.
    """
    # Sorted: what is computed of units goes through them in their order.
    intervals = [_ratio_interval(tuple(sorted(end.items())), resampling, limits) for end in ends]
    return covering(intervals[0], intervals[-1])


@lru_cache(maxsize=64)
def _ratio_interval(
    listed: tuple[tuple[tuple[float, ...], int], ...],
    resampling: Resampling,
    limits: tuple[float, float],
) -> Interval | None:
    # Kept: a table, a report and a gate ask for the same.
    units = dict(listed)
    if sum(units.values()) < 2 or ratio(total(units)) is None:
        return None
    if effective_units(units) >= _FEW and _differing(units) >= _FEW_DIFFER:
        interval = bootstrap_interval(units, ratio, resampling)
        if interval is not None:
            return interval
    return few_units_interval(units, resampling, limits)


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
        """The number, where the two ends meet."""
        return self.low if self.low == self.high else None


def _mean_interval(units: Units) -> Interval | None:
    return mean_interval([units], Resampling())


def estimate(
    values: Sequence[tuple[Hashable, Range]],
    interval_of: Callable[[Units], Interval | None] = _mean_interval,
) -> Estimate | None:
    """The mean of values, each with its unit; None of nothing.

    Args:
        values: from 0 to 1, or as ``interval_of`` expects them.
        interval_of: the interval of a mean from what each unit adds to ``(Σ value, how many)``.
    """
    mean = mean_range([value for _, value in values])
    if mean is None:
        return None
    lows, highs = ends_of(values)
    interval = covering(interval_of(lows), interval_of(highs))
    return Estimate(mean.low, mean.high, interval, len(values))


def covering(low: Interval | None, high: Interval | None) -> Interval | None:
    """From the interval of a range's low end and that of its high end: one that covers the range.

    None unless there are both.
    """
    if low is None or high is None:
        return None
    return low._replace(low=min(low.low, high.low), high=max(low.high, high.high))


_FEW = 50


def effective_units(units: Units) -> float:
    """How many units of one size say as much: ``(Σ size)² / Σ size²`` (Kish 1965)."""
    whole = math.fsum(size * times for (_, size), times in units.items())
    squares = math.fsum(size**2 * times for (_, size), times in units.items())
    return whole**2 / squares


_FEW_DIFFER = 25


def _differing(units: Units) -> int:
    """How many units have another value than the commonest one.

    However many are alike, few others say little: where most samples have no noise, the truth
    lies above the bootstrap's upper end too often.
    """
    values = Counter[float]()
    for (part, size), times in units.items():
        value = part / size if size else 0.0
        values[round(value, 12)] += times
    return values.total() - max(values.values())


def few_units_interval(
    units: Units,
    resampling: Resampling,
    limits: tuple[float, float],
) -> Interval:
    """The interval of a ratio of sums over few units: Gaffke's bounds in a half-weight form.

    The units get random weights, ``w ~ Dirichlet(1, …, 1, ½)``, and so does one that nobody saw,
    for each end of its own: at the lower limit for the low end, at the upper for the high one, as
    large as the unit that a random part is in, ``Σ size² / Σ size``. The ends are the ``α/2`` and
    the ``1 − α/2`` quantile of ``Σ w x / Σ w y``; the interval holds the figure itself. Of scores
    that are all 0 or 1 these are quantiles of ``Beta(x, n − x + ½)`` and ``Beta(x + ½, n − x)``.

    Args:
        units: what each adds to ``(Σ value, how many)``; at least one.
        resampling: confidence, resamples, seed.
        limits: the lowest and the highest value of the ratio.

    Sources: Gaffke (2005), Three test statistics for a nonparametric one-sided hypothesis on the
    mean of a nonnegative variable, Mathematical Methods of Statistics 14; Learned-Miller and
    Thomas (2019), A new confidence interval for the mean of a bounded random variable,
    arXiv:1905.06208.
    """
    count = sum(units.values())
    part, whole = total(units)
    size = whole / effective_units(units)
    weights, (tops, bottoms) = columns_of(units)
    gamma = Random(resampling.seed).gammavariate
    lows: list[float] = []
    highs: list[float] = []
    for _ in range(resampling.resamples):
        drawn = [gamma(shape, 1.0) for shape in weights]
        unseen = gamma(0.5, 1.0) * size
        top = sum(map(mul, drawn, tops))
        bottom = sum(map(mul, drawn, bottoms)) + unseen
        lows.append((top + limits[0] * unseen) / bottom)
        highs.append((top + limits[1] * unseen) / bottom)
    low = quantile_of_sorted(sorted(lows), resampling.tail)
    high = quantile_of_sorted(sorted(highs), 1 - resampling.tail)
    value = part / whole
    return Interval(min(low, value), max(high, value), resampling.confidence, "dirichlet", count)


def bootstrap_interval(
    units: Units, statistic: Statistic, resampling: Resampling
) -> Interval | None:
    """BCa, of a statistic of sums over independent units.

    Args:
        units: distinct units and how often each occurs.
        statistic: from the sums over units to the figure.
        resampling: confidence, resamples, seed.

    Returns:
        None below two units, where the statistic is undefined, and where all units are alike.
    """
    count = sum(units.values())
    if count < 2:
        return None
    sums = total(units)
    value = statistic(sums)
    if value is None:
        return None
    acceleration = _acceleration(units, sums, statistic)
    if acceleration is None:
        return None
    random = Random(resampling.seed)
    values = sorted(resampled(units, statistic, resamples=resampling.resamples, random=random))
    bias = _bias(values, value)
    # As wide as Student's t interval would be; see the module.
    t = t_quantile(1 - resampling.tail, count - 1)
    tail = NORMAL.cdf(-t * math.sqrt(count / (count - 1)))
    low = quantile_of_sorted(values, _adjusted(tail, bias, acceleration))
    high = quantile_of_sorted(values, _adjusted(1 - tail, bias, acceleration))
    return Interval(low, high, resampling.confidence, "bca", count)


def _acceleration(units: Units, sums: list[float], statistic: Statistic) -> float | None:
    """How skewed the units' influence is, by leaving out each once; None if they have none."""
    values: list[tuple[float, int]] = []
    for unit, times in units.items():
        without = statistic(list(map(sub, sums, unit)))
        if without is not None:
            values.append((without, times))
    if not values:
        return None
    count = sum(times for _, times in values)
    mean = sum(value * times for value, times in values) / count
    squares = sum(times * (mean - value) ** 2 for value, times in values)
    if math.sqrt(squares) < _TIE:
        return None
    cubes = sum(times * (mean - value) ** 3 for value, times in values)
    return cubes / (6 * squares * math.sqrt(squares))


def _bias(values: list[float], value: float) -> float:
    """Where the figure stands in its bootstrap distribution, as a normal quantile."""
    below = sum(other < value - _TIE for other in values)
    ties = sum(abs(other - value) <= _TIE for other in values)
    share = (below + ties / 2) / len(values)
    edge = 0.5 / len(values)
    return NORMAL.inv_cdf(min(max(share, edge), 1 - edge))


def _adjusted(p: float, bias: float, acceleration: float) -> float:
    """The percentile BCa takes instead of ``p``."""
    if p <= 0 or p >= 1:
        return p
    shifted = bias + NORMAL.inv_cdf(p)
    scale = 1 - acceleration * shifted
    if scale <= 0:
        return 0.0 if shifted < 0 else 1.0
    return NORMAL.cdf(bias + shifted / scale)
