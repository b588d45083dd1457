"""Is a mean difference between pairs more than chance? By Student's t."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

from noisesense.stats.interval import (
    Interval,
    Unit,
    Units,
    dirichlet_interval,
    effective_units,
    tail_of,
)
from noisesense.stats.numerics import numpy, special

MIN_PAIRS = 6
"""Fewer pairs decide nothing: of five, all worse, chance makes as many in one of 16 runs."""


def fewest_pairs(confidence: float) -> int:
    """Return the fewest pairs that can decide anything: 6 at 95%, 8 at 99%, never fewer than 6.

    All of fewer may have one sign by chance.
    """
    return max(MIN_PAIRS, math.ceil(-math.log2(tail_of(confidence))))


def critical_t(size: float, confidence: float) -> float:
    """Return the two-sided critical value of Student's t.

    Its degrees of freedom are one less than ``size``, the effective number of units; at least 1.
    """
    return float(special().stdtrit(max(size - 1, 1.0), 1 - tail_of(confidence)))


_TIE = 1e-12


def difference_interval(units: Units, confidence: float, limit: float = 1.0) -> Interval | None:
    """Return the interval of a mean difference between pairs: ``mean ± t · error``, see `LowEnds`.

    Where verdicts are open, from the least low end of any way in which they may fall to the
    greatest high end. Where nothing scatters the end away from 0 is that of random weights, as
    further pairs may differ.

    Args:
        units: what each pair (or cluster of pairs) adds to the sum of differences, and its size.
        confidence: of the interval.
        limit: no difference is larger; the interval is cut to ``-limit`` and ``limit``.

    Returns:
        None below two units.
    """
    count = sum(units.values())
    if count < 2:
        return None
    t = critical_t(effective_units(units), confidence)
    low = LowEnds(units, t).least()
    high = -LowEnds(mirrored(units), t).least()
    if high - low < _TIE:
        wide = dirichlet_interval(units, confidence, (-limit, limit))
        low = wide.low if low < _TIE else low
        high = wide.high if high > -_TIE else high
    return Interval(max(low, -limit), min(high, limit), confidence, count)


def mirrored(units: Units) -> Counter[Unit]:
    """Return the units with every difference negated: ``low`` and ``high`` change places."""
    mirrored = Counter[Unit]()
    for (low, high, size), times in units.items():
        mirrored[Unit(-high, -low, size)] += times
    return mirrored


_ZOOMS = 10
_POINTS = 17


class LowEnds:
    """``mean − t · error``, whichever way the open verdicts fall.

    The error of a mean over ``G`` units leaves out each in turn (CR3, the jackknife):
    ``√((G − 1) / G · Σ (mean without the unit − mean)²)``, or of differences ``d`` and sizes ``s``
    that add up to ``S``: ``√((G − 1) / G · Σ ((d − mean · s) / (S − s))²)``. Of equal units it is
    the usual one; a large unit weighs more than in that, which is too small where one unit holds
    much of the data.

    Of differences that may lie anywhere from ``low`` to ``high``, `least` and `greatest` go
    through the means that they can have and take, of each mean, those that scatter most and
    least. With few open verdicts those that scatter most may be no real ones, by a part of one
    unit: the least low end is then a little too low, and never too high.

    Source: Bell and McCaffrey (2002), Bias reduction in standard errors for linear regression
    with multi-stage samples, Survey Methodology 28.
    """

    def __init__(self, units: Units, t: float) -> None:
        np = numpy()
        listed = sorted(units.items())
        self._low, self._high, self._size = np.array([unit for unit, _ in listed], float).T
        self._times = np.array([times for _, times in listed], float)
        self._whole = self._times @ self._size
        self._weight = 1 / (self._whole - self._size) ** 2
        self._t = t

    def least(self) -> float:
        """Return the least low end of any way in which the open verdicts may fall."""
        return self._searched(self._most_scatter)

    def greatest(self) -> float:
        """Return the greatest low end of any way in which the open verdicts may fall."""
        return -self._searched(lambda mean: -self._least_scatter(mean))

    def _searched(self, end: Callable[[float], float]) -> float:
        """Return the least end over the means that can be: on a grid, then on finer ones."""
        np = numpy()
        low = self._times @ self._low / self._whole
        high = self._times @ self._high / self._whole
        if low == high:
            return end(low)
        best = math.inf
        for _ in range(_ZOOMS):
            means = np.linspace(low, high, _POINTS)
            ends = [end(mean) for mean in means]
            place = int(np.argmin(ends))
            best = min(best, ends[place])
            low = means[max(place - 1, 0)]
            high = means[min(place + 1, _POINTS - 1)]
        return best

    def _squares(self, values: Any, mean: float) -> Any:
        """Return the sum of the squares that the error is made of."""
        return self._times @ (self._weight * (values - mean * self._size) ** 2)

    def _error(self, squares: float) -> float:
        """Return the error of a mean, from the sum of `_squares`."""
        count = self._times.sum()
        return math.sqrt(max(squares, 0.0) * (count - 1) / count)

    def _most_scatter(self, mean: float) -> float:
        """Return the end of this mean whose differences scatter most.

        Each is as low or as high as can be: from all low ones on, those first become high that
        add most to the squares for what they add to the mean.
        """
        np = numpy()
        squares = self._squares(self._low, mean)
        rate = self._weight * (self._low + self._high - 2 * mean * self._size)
        order = np.argsort(-rate, kind="stable")
        steps = (self._times * (self._high - self._low))[order]
        raised = np.cumsum([0.0, *steps])
        gained = np.cumsum([0.0, *steps * rate[order]])
        needed = mean * self._whole - self._times @ self._low
        squares += np.interp(needed, raised, gained)
        return float(mean) - self._t * self._error(squares)

    def _least_scatter(self, mean: float) -> float:
        """Return the end of this mean whose differences scatter least.

        Those that are free lie at one level, ``(d − mean · s) / (S − s)²``; the others at the end
        next to it. The sum of all grows with the level, in straight pieces.
        """
        np = numpy()
        at = mean * self._size
        slope = self._times / self._weight
        levels = np.concatenate(
            [(self._low - at) * self._weight, (self._high - at) * self._weight]
        )
        order = np.argsort(levels, kind="stable")
        levels = levels[order]
        slopes = np.cumsum(np.concatenate([slope, -slope])[order])
        grown = np.cumsum(np.concatenate([[0.0], slopes[:-1] * np.diff(levels)]))
        level = np.interp(mean * self._whole, self._times @ self._low + grown, levels)
        values = np.clip(at + level / self._weight, self._low, self._high)
        return float(mean) - self._t * self._error(self._squares(values, mean))
