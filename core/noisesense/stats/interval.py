"""Confidence intervals, and how they are made.

`bootstrap_interval` is the bias-corrected and accelerated bootstrap (BCa) at a level that is
widened for small samples: for ``n`` units it takes the percentiles of level ``Φ(−√(n/(n−1)) ·
t(1 − α/2, n − 1))`` instead of ``α/2``, which gives a symmetric sample the width of Student's t
interval. The percentile bootstrap alone covers too rarely on skewed scores with many zeros; the
benchmark ``tests/benchmarks/coverage.py`` prints how often each covers.

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
from collections.abc import Callable, Sequence
from random import Random
from typing import Literal, NamedTuple

from noisesense.errors import InputError, describe
from noisesense.stats._quantiles import NORMAL, quantile_of_sorted, t_quantile
from noisesense.stats._resampling import Statistic, Unit, Units, resampled, total

__all__ = [
    "Interval",
    "Resampling",
    "bootstrap_interval",
    "covering",
    "percentile_level",
    "ratio",
    "same_value_interval",
]

_TIE = 1e-12

Method = Literal["bca", "bca-range", "exact", "sign-flip", "sign-flip-range", "t", "t-range"]


class Interval(NamedTuple):
    """A confidence interval.

    Attributes:
        low: its lower end.
        high: its upper end.
        confidence: how often such an interval is meant to hold the true figure, e.g. 0.95.
        method: ``"bca"``: the bootstrap; ``"exact"``: all units have the same value, of which a
            bootstrap makes an interval without width; ``"sign-flip"``: of a paired comparison;
            ``"t"``: normal theory with Student's t. With ``-range``: open verdicts leave a range,
            and the interval covers all of it, see `covering`.
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
    how: Resampling,
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
        how: confidence, resamples, seed.
        limits: the lowest and the highest value the statistic can have; None if units of the
            same value are to have no interval.

    Returns:
        None below two units, or where nothing can be said.
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
        return (
            None if limits is None else same_value_interval(value, count, how.confidence, limits)
        )
    found = resampled(units, statistic, resamples=how.resamples, random=Random(how.seed))
    if not found:
        return None
    found.sort()
    bias = _bias(found, value)
    tail = percentile_level(how.confidence, count)
    low, high = (
        quantile_of_sorted(found, _adjusted(p, bias, acceleration)) for p in (tail, 1 - tail)
    )
    return Interval(low, high, how.confidence, "bca", count)


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
    return Interval(low.low, high.high, low.confidence, method, low.units)


def same_value_interval(
    value: float, count: int, confidence: float, limits: tuple[float, float]
) -> Interval:
    """What ``count`` units of the same value leave open; see `bootstrap_interval`."""
    unseen = 1 - ((1 - confidence) / 2) ** (1 / count)
    low = value - (value - limits[0]) * unseen
    high = value + (limits[1] - value) * unseen
    return Interval(low, high, confidence, "exact", count)


def _acceleration(units: Units, sums: list[float], statistic: Statistic) -> float | None:
    """How skewed the units' influence is, by leaving out each once; None if they have none."""
    without = {unit: _left_out(sums, unit, statistic) for unit in units}
    left = [(value, units[unit]) for unit, value in without.items() if value is not None]
    if not left:
        return None
    count = sum(times for _, times in left)
    mean = sum(value * times for value, times in left) / count
    spread = _moment(left, lambda value: (mean - value) ** 2)
    if math.sqrt(spread) < _TIE:
        return None
    return _moment(left, lambda value: (mean - value) ** 3) / (6 * spread * math.sqrt(spread))


def _left_out(sums: list[float], unit: Unit, statistic: Statistic) -> float | None:
    return statistic([whole - part for whole, part in zip(sums, unit, strict=True)])


def _moment(values: list[tuple[float, int]], power: Callable[[float], float]) -> float:
    return sum(times * power(value) for value, times in values)


def _bias(found: list[float], value: float) -> float:
    """Where the figure stands in its bootstrap distribution, as a normal quantile."""
    below = sum(other < value - _TIE for other in found)
    ties = sum(abs(other - value) <= _TIE for other in found)
    share = (below + ties / 2) / len(found)
    edge = 0.5 / len(found)
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
