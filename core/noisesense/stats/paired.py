"""Is a mean difference between pairs more than chance? Student's t, made monotone.

From few pairs on it decides, see `decides_nothing`, and no worse data say less, see
`difference_interval`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from noisesense.stats.interval import Interval, Resampling, effective_units, few_units_interval
from noisesense.stats.resampling import Unit, Units, t_quantile, total

_TIE = 1e-12

MIN_PAIRS = 6
"""Fewer pairs decide nothing: of five, all worse, chance makes as many in one of 16 runs."""


def decides_nothing(units: float, tail: float) -> bool:
    """Are so few units, all of one sign, no rarer than ``tail``? Below 6 always."""
    return units < MIN_PAIRS or 2.0**-units > tail


def fewest_pairs(tail: float) -> int:
    """Fewer equal pairs decide nothing: 6 at 95%, 8 at 99%; see `decides_nothing`."""
    return max(MIN_PAIRS, math.ceil(-math.log2(tail)))


_USUAL_TAIL = 0.025
_FOUR_OF_SIX = 3.162
"""Just below √10, Student's t where four of six pairs rose by as much and two stayed."""


def _are_fewest(size: float, tail: float) -> bool:
    """Are there six pairs, or hardly more, at 95% confidence or less?"""
    return MIN_PAIRS <= size < MIN_PAIRS + 1 and tail >= _USUAL_TAIL


def critical_t(size: float, tail: float) -> float:
    """How many errors a paired difference must lie away; see `difference_interval`.

    Args:
        size: how many units there are, by Kish; degrees of freedom are one less.
        tail: how often that may be by chance.
    """
    freedom = max(size - 1, 1.0)
    if decides_nothing(size, tail):
        return t_quantile(1 - tail, freedom)
    by_signs = 2.0**-size
    t = t_quantile(1 - (tail - by_signs), freedom)
    return min(t, _FOUR_OF_SIX) if _are_fewest(size, tail) else t


POWER = 0.8


def errors_seen(size: float, tail: float, power: float = POWER) -> float:
    """By how many errors a true difference must lie away to be told with that power."""
    return critical_t(size, tail) + t_quantile(power, max(size - 1, 1.0))


def least_seen(units: Units, resampling: Resampling) -> float:
    """The true difference that 80 of 100 comparisons of such units tell from none."""
    return errors_seen(effective_units(units), resampling.tail) * mean_error(units)


def difference_interval(
    units: Units, resampling: Resampling, limit: float = 1.0
) -> Interval | None:
    """Of a mean difference between pairs: Student's t, so that more difference decides no less.

    Student's lower end is ``mean − t · error``, with the error of `mean_error`. It falls where one
    difference grows far above the others, as that is scatter, too: six differences of 0.1 would
    say more than five of them and one of 1. So the low end is the greatest ``mean − t · error`` of
    all differences that are as large as these or smaller; the high end mirrors it. Hence it
    grows with each difference. If all are the same it is their value, and the far end is that of
    `few_units_interval`.

    Smaller differences are chosen after the fact, which costs: where all signs are equal, which
    chance makes in ``2 ** −units``, the low end is never below the least difference. So this
    probability is taken from ``α/2``: B is called worse where nothing changed in at most 3.3%
    (``tests/benchmarks/coverage.py``). At 95% four of six pairs that rose beside two that stayed
    are enough, t = √10, and none may have fallen: the low end of six is their least difference,
    or just above it. Whatever share of pairs stays, chance makes four or more of six, and none
    that fell, in at most 3.3%. So few units that equal signs are no rarer than
    ``α/2`` (fewer than 6 at 95%) have Student's plain interval.

    Args:
        units: what each pair (or cluster of pairs) adds to ``(Σ difference, how many)``.
        resampling: confidence, resamples, seed.
        limit: no difference is larger.

    Returns:
        None below two units.
    """
    count = sum(units.values())
    if count < 2:
        return None
    part, whole = total(units)
    mean = part / whole
    size = effective_units(units)
    few = decides_nothing(size, resampling.tail)
    differences = [each / n for each, n in units]
    if len({round(difference, 12) for difference in differences}) == 1:
        wide = few_units_interval(units, resampling, (-limit, limit))
        if few or abs(mean) <= _TIE:
            return wide
        return wide._replace(low=mean) if mean > 0 else wide._replace(high=mean)
    t = critical_t(size, resampling.tail)
    if few:
        reach = t * mean_error(units)
        low = mean - reach
        high = mean + reach
    else:
        mirrored: dict[Unit, int] = {(-each, n): times for (each, n), times in units.items()}
        low = _monotone_end(units, t)
        high = -_monotone_end(mirrored, t)
    if _are_fewest(size, resampling.tail):
        low = min(low, math.nextafter(min(differences), math.inf))
        high = max(high, math.nextafter(max(differences), -math.inf))
    return Interval(max(low, -limit), min(high, limit), resampling.confidence, "t", count)


def mean_error(units: Units) -> float:
    """The standard error of a mean over units, by leaving out each in turn (CR3, the jackknife).

    ``√((G − 1) / G · Σ (mean without the unit − mean)²)`` for ``G`` units. Of equal units it is
    ``s / √G``; a large one weighs more than in the usual error, which is too small where one
    unit holds much of the data.

    Source: Bell and McCaffrey (2002), Bias reduction in standard errors for linear regression
    with multi-stage samples, Survey Methodology 28.
    """
    count = sum(units.values())
    part, whole = total(units)
    mean = part / whole
    squares: list[float] = []
    for (each, size), times in units.items():
        influence = (each - mean * size) / (whole - size)
        squares.append(times * influence**2)
    return math.sqrt(math.fsum(squares) * (count - 1) / count)


_HALVINGS = 40


class _End(NamedTuple):
    """``mean − t · error`` at its greatest for one mean, and whether a larger mean gives more."""

    value: float
    rises: bool


def _monotone_end(units: Units, t: float) -> float:
    """The greatest ``mean − t · error`` of all differences as large as these or smaller.

    It is a concave function of the differences, and so is its greatest value for a given mean of
    that mean: the best mean is found by halving.
    """
    part, whole = total(units)
    high = part / whole
    best = _end_at(high, units, t)
    if best.rises:
        return best.value
    least = low = min(each / size for each, size in units)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        end = _end_at(middle, units, t)
        best = max(best, end)
        if end.rises:
            low = middle
        else:
            high = middle
    return max(best.value, least)


class _Distance(NamedTuple):
    """How far the differences of units that are alike add up from the mean.

    Attributes:
        distance: of each such unit.
        size: of each.
        square: that of the size of all others.
        times: how many such units there are.
    """

    distance: float
    size: float
    square: float
    times: int


def _end_at(mean: float, units: Units, t: float) -> _End:
    """``mean − t · error`` of the differences of this mean, none larger than it is, that have the
    least error; and whether a larger mean gives more.

    The error is that of the distances ``e = difference − mean · size``, which add up to 0:
    ``error² = (G − 1) / G · Σ e² / (whole − size)²``. No distance may be larger than it is. The
    least error leaves the smallest as they are and cuts the others at
    ``e = level · (whole − size)²``.
    """
    count = sum(units.values())
    _, whole = total(units)
    distances: list[_Distance] = []
    for (each, size), times in units.items():
        distances.append(_Distance(each - mean * size, size, (whole - size) ** 2, times))
    distances.sort(key=lambda unit: unit.distance / unit.square)
    cut_squares = math.fsum(unit.times * unit.square for unit in distances)
    kept_distance = 0.0
    squares = 0.0
    kept_size = 0.0
    pull = 0.0
    level = 0.0
    for distance, size, square, times in distances:
        own_level = distance / square
        level = -kept_distance / cut_squares
        if level <= own_level:
            break
        kept_distance += times * distance
        squares += times * distance * own_level
        kept_size += times * size
        pull += times * size * own_level
        cut_squares -= times * square
        level = own_level
    else:
        cut_squares = 0.0
    error = math.sqrt((squares + level**2 * cut_squares) * (count - 1) / count)
    # By the envelope theorem half of what a larger mean adds to the sum of squares.
    growth = (level * kept_size - pull) * (count - 1) / count
    return _End(mean - t * error, error >= t * growth)
