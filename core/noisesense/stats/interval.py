"""Confidence intervals, and how they are made.

`bootstrap_interval` is the bias-corrected and accelerated bootstrap (BCa) at a level that is
widened for small samples: for ``n`` units it takes the percentiles of level ``Φ(−√(n/(n−1)) ·
t(1 − α/2, n − 1))`` instead of ``α/2``, which gives a symmetric sample the width of Student's t
interval. The percentile bootstrap alone covers too rarely on skewed scores with many zeros; the
benchmark ``tests/benchmarks/coverage.py`` prints how often each covers.

With fewer than 50 units, or unequal ones that say no more than 50 equal ones, the bootstrap covers
too rarely (62% with two), and `few_units_interval` takes its place.

Where open verdicts leave a range instead of a figure, `covering` takes the lower end of the
interval of the range's low end and the upper end of that of its high end. Each misses its end on
that side half as often as an interval may miss, so that the two hold the whole range, and in it
the figure that the missing verdicts would have given. Imbens and Manski's interval, which holds
the figure alone, is a little shorter.

Sources: Efron (1987), Better bootstrap confidence intervals, JASA 82; Hesterberg (2015), What
teachers should know about the bootstrap, The American Statistician 69, section 5; Horowitz and
Manski (2000), Nonparametric analysis of randomized experiments with missing covariate and outcome
data, JASA 95; Imbens and Manski (2004), Confidence intervals for partially identified parameters,
Econometrica 72; Stoye (2009), More on confidence intervals for partially identified parameters,
Econometrica 77.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from operator import add, mul
from random import Random
from typing import Literal, NamedTuple

from noisesense.errors import InputError, describe
from noisesense.stats.quantiles import NORMAL, quantile_of_sorted, t_quantile
from noisesense.stats.resampling import (
    Statistic,
    Unit,
    Units,
    columns_of,
    flipped_subsets,
    resampled,
    total,
)

Bounds = tuple[float, float]
"""The lowest and the highest value a figure can have, whichever way the open verdicts fall."""


def mean_bounds(bounds: Sequence[Bounds]) -> Bounds:
    """The mean of the lowest values and that of the highest; of at least one."""
    low, high = (math.fsum(each[end] for each in bounds) / len(bounds) for end in (0, 1))
    return low, high


def difference_bounds(a: Bounds, b: Bounds) -> Bounds:
    """Between what ``b − a`` lies."""
    return b[0] - a[1], b[1] - a[0]


def absolute_bounds(bounds: Bounds) -> Bounds:
    """Between what the absolute value lies."""
    low, high = bounds
    return max(0.0, low, -high), max(high, -low)


_TIE = 1e-12

Method = Literal[
    "bca", "bca-range", "dirichlet", "dirichlet-range", "exact", "sign-flip", "sign-flip-range",
    "t", "t-range", "wilson",
]  # fmt: skip


class Interval(NamedTuple):
    """A confidence interval.

    Attributes:
        low: its lower end.
        high: its upper end.
        confidence: how often such an interval is meant to hold the true figure, e.g. 0.95.
        method: ``"bca"``: the bootstrap; ``"dirichlet"``: random weights, of few units;
            ``"exact"``: all units have the same value, of which a bootstrap makes an interval
            without width; ``"sign-flip"``: of a paired comparison; ``"t"``: normal theory with
            Student's t; ``"wilson"``: of a share of independent cases. With ``-range``: open
            verdicts leave a range, and the interval covers all of it, see `covering`.
        units: how many independent units (samples, or clusters of samples) it rests on.
    """

    low: float
    high: float
    confidence: float
    method: Method
    units: int


class Resampling(NamedTuple):
    """How intervals are made: the same seed gives the same interval."""

    confidence: float = 0.95
    resamples: int = 2000
    seed: int = 0

    def check(self) -> Resampling:
        """Itself. Raises `InputError`."""
        if not 0 < self.confidence < 1:
            raise InputError(
                "a number between 0 and 1", describe(self.confidence), where="confidence"
            )
        if self.resamples < 100:
            raise InputError("100 or more", describe(self.resamples), where="resamples")
        return self


def ratio(sums: Sequence[float]) -> float | None:
    """First sum over second: a mean, where each unit adds (value, 1)."""
    return sums[0] / sums[1] if sums[1] else None


def percentile_level(confidence: float, units: int) -> float:
    """The tail of the bootstrap distribution that is cut off at each end; see the module."""
    t = t_quantile((1 + confidence) / 2, units - 1)
    return NORMAL.cdf(-t * math.sqrt(units / (units - 1)))


def bootstrap_interval(
    units: Units,
    statistic: Statistic,
    resampling: Resampling,
    *,
    limits: tuple[float, float] | None = (0.0, 1.0),
) -> Interval | None:
    """The interval of a statistic of sums over independent units.

    Where all units have the same value *v*, none of ``n`` saw what fewer than ``q`` of them do,
    ``q = 1 − (α/2)^(1/n)`` (Clopper and Pearson 1934; about 3.7 / n): the interval then reaches
    from *v* towards both limits by ``q`` of the way.

    Args:
        units: distinct units and how often each occurs.
        statistic: from the sums over units to the figure.
        resampling: confidence, resamples, seed.
        limits: the lowest and the highest value that `ratio` can have; None for any other
            statistic: units of the same value then have no interval.

    Returns:
        None below two units, or where nothing can be said.
    """
    if statistic is ratio and len(units) <= _KEPT:
        return _ratio_interval(tuple(units.items()), resampling, limits)
    return _bootstrap_interval(units, statistic, resampling, limits)


_KEPT = 200
"""Of so many distinct units an interval is kept: a table, a report and a gate ask for the same."""


@lru_cache(maxsize=64)
def _ratio_interval(
    units: tuple[tuple[Unit, int], ...],
    resampling: Resampling,
    limits: tuple[float, float] | None,
) -> Interval | None:
    return _bootstrap_interval(dict(units), ratio, resampling, limits)


def _bootstrap_interval(
    units: Units,
    statistic: Statistic,
    resampling: Resampling,
    limits: tuple[float, float] | None,
) -> Interval | None:
    count = sum(units.values())
    if count < 2:
        return None
    sums = total(units)
    value = statistic(sums)
    if value is None:
        return None
    if limits is not None and _effective(units) < _FEW:
        return few_units_interval(units, resampling, limits)
    acceleration = _acceleration(units, sums, statistic)
    if acceleration is None:
        if limits is None:
            return None
        return same_value_interval(value, count, resampling.confidence, limits)
    random = Random(resampling.seed)
    values = sorted(resampled(units, statistic, resamples=resampling.resamples, random=random))
    if not values:
        return None
    bias = _bias(values, value)
    tail = percentile_level(resampling.confidence, count)
    low, high = (
        quantile_of_sorted(values, _adjusted(p, bias, acceleration)) for p in (tail, 1 - tail)
    )
    return Interval(low, high, resampling.confidence, "bca", count)


_FEW = 50


def _effective(units: Units) -> float:
    """How many units of one size say as much: ``(Σ size)² / Σ size²`` (Kish 1965)."""
    whole = math.fsum(size * times for (_, size), times in units.items())
    return whole**2 / math.fsum(size**2 * times for (_, size), times in units.items())


def few_units_interval(
    units: Units, resampling: Resampling, limits: tuple[float, float]
) -> Interval:
    """The interval of a ratio of sums over few units: Gaffke's bounds in a half-weight form.

    The units get random weights, ``w ~ Dirichlet(1, …, 1, ½, ½)``, and so do two that nobody saw,
    one at each limit, as large as the unit that a random part is in, ``Σ size² / Σ size``. The
    interval lies between the ``α/2`` and the ``1 − α/2`` quantile of ``Σ w x / Σ w y``, and holds
    the figure itself. For scores that are all 0 or 1 it is Jeffreys' interval, with the quantiles
    of ``Beta(x + ½, n − x + ½)``. Gaffke gives what nobody saw the weight 1, which covers more
    often than asked.

    Args:
        units: what each adds to ``(Σ value, how many)``; at least one.
        resampling: confidence, resamples, seed.
        limits: the lowest and the highest value of the ratio.

    Sources: Gaffke (2005), Three test statistics for a nonparametric one-sided hypothesis on the
    mean of a nonnegative variable, Mathematical Methods of Statistics 14; Learned-Miller and
    Thomas (2019), A new confidence interval for the mean of a bounded random variable,
    arXiv:1905.06208; Brown, Cai and DasGupta (2001), Interval estimation for a binomial
    proportion, Statistical Science 16.
    """
    count, (part, whole) = sum(units.values()), total(units)
    size = whole / _effective(units)
    weights, columns = columns_of(units)
    pairs = list(zip(*columns, strict=True)) + [(limit * size, size) for limit in limits]
    shapes = [*map(float, weights), 0.5, 0.5]
    gamma = Random(resampling.seed).gammavariate
    tops, bottoms = zip(*pairs, strict=True)
    values: list[float] = []
    for _ in range(resampling.resamples):
        drawn = [gamma(shape, 1.0) for shape in shapes]
        values.append(sum(map(mul, drawn, tops)) / sum(map(mul, drawn, bottoms)))
    values.sort()
    tail = (1 - resampling.confidence) / 2
    low, high = (quantile_of_sorted(values, p) for p in (tail, 1 - tail))
    value = part / whole
    return Interval(min(low, value), max(high, value), resampling.confidence, "dirichlet", count)


def covering(
    low: Interval | None,
    high: Interval | None,
    method: Literal["bca-range", "sign-flip-range", "t-range"],
) -> Interval | None:
    """From the interval of a range's low end and that of its high end: one that covers the range.

    None unless there are both.
    """
    if low is None or high is None:
        return None
    if low.method == "dirichlet":
        return Interval(low.low, high.high, low.confidence, "dirichlet-range", low.units)
    return Interval(low.low, high.high, low.confidence, method, low.units)


def same_value_interval(
    value: float, count: int, confidence: float, limits: tuple[float, float]
) -> Interval:
    """What ``count`` units of the same value leave open; see `bootstrap_interval`."""
    reach = 1 - ((1 - confidence) / 2) ** (1 / count)
    low, high = (value + (limit - value) * reach for limit in limits)
    return Interval(low, high, confidence, "exact", count)


def _acceleration(units: Units, sums: list[float], statistic: Statistic) -> float | None:
    """How skewed the units' influence is, by leaving out each once; None if they have none."""
    without = (
        (statistic([whole - part for whole, part in zip(sums, unit, strict=True)]), times)
        for unit, times in units.items()
    )
    left = [(value, times) for value, times in without if value is not None]
    if not left:
        return None
    count = sum(times for _, times in left)
    mean = sum(value * times for value, times in left) / count
    squares = sum(times * (mean - value) ** 2 for value, times in left)
    if math.sqrt(squares) < _TIE:
        return None
    cubes = sum(times * (mean - value) ** 3 for value, times in left)
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


_LIMITS = (-1.0, 1.0)
_ALL_SUBSETS = 12


def sign_flip_interval(units: Units, resampling: Resampling) -> Interval | None:
    """All mean differences that a sign-flip test does not reject.

    If two versions are exchangeable, each pair's difference is as likely to have the other sign.
    The test of a mean difference ``δ`` compares ``Σ s (d − δ)`` over random signs ``s`` with
    ``Σ (d − δ)``. The flipped sum is as large as the observed one iff the mean over the flipped
    pairs is at most ``δ``; the interval therefore lies between the ``α/2`` and the ``1 − α/2``
    quantile of the means over random subsets that each pair enters with probability one half. An
    empty subset bounds nothing. Zero lies outside at most ``α`` of the time, however few pairs
    differ, where the bootstrap is wrong up to three times as often. Of up to 12 pairs all subsets
    are taken, of more as many random ones as there are resamples.

    Where all differences are the same, the interval reaches as far as so many can have missed (see
    `bootstrap_interval`), but not to zero if the test rejects it: from 6 pairs on at 95%.

    Args:
        units: what each pair (or cluster of pairs) adds to ``(Σ difference, how many)``.
        resampling: confidence, resamples, seed.

    Returns:
        None without units.

    Source: Hartigan (1969), Using subsample values as typical values, JASA 64.
    """
    count, tail = sum(units.values()), (1 - resampling.confidence) / 2
    if not count:
        return None
    if len({round(sums[0] / sums[1], 12) for sums in units}) == 1:
        (difference, weight), *_ = units
        same = same_value_interval(difference / weight, count, resampling.confidence, _LIMITS)
        if 2.0**-count > tail:
            return same
        if difference < 0:
            return same._replace(high=min(same.high, -_TIE))
        return same._replace(low=max(same.low, _TIE)) if difference else same
    if count <= _ALL_SUBSETS:
        means = [ratio(sums) for sums in _all_subsets(units)]
    else:
        random = Random(resampling.seed)
        subsets = flipped_subsets(units, resamples=resampling.resamples, random=random)
        # The observed signs, which flip nothing, are one of the possible ones.
        means = [None, *map(ratio, subsets)]
    # Rounded: thirds that cancel leave 1e-17, which is not a difference.
    lows, highs = ([edge if m is None else round(m, 12) for m in means] for edge in _LIMITS)
    rank = math.floor(tail * len(means) + 1e-9)
    low, high = sorted(lows)[rank], sorted(highs)[-1 - rank]
    return Interval(low, high, resampling.confidence, "sign-flip", count)


def _all_subsets(units: Units) -> list[list[float]]:
    """The sums over every subset, the empty one included."""
    subsets = [[0.0, 0.0]]
    for unit, times in units.items():
        for _ in range(times):
            subsets += [list(map(add, sums, unit)) for sums in subsets]
    return subsets
