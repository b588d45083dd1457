"""Quantiles of data, and of Student's t distribution."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from statistics import NormalDist

NORMAL = NormalDist()
_MANY = 200


def quantile_of_sorted(values: Sequence[float], p: float) -> float:
    """The value at position ``(n - 1) p`` of ascending values, between two by interpolation.

    The same as numpy's and SciPy's default ("linear", type 7).
    """
    return quantile_of_counts([(value, 1) for value in values], p)


def quantile_of_counts(counted: Sequence[tuple[float, int]], p: float) -> float:
    """As `quantile_of_sorted`, of ascending ``(value, how often)`` pairs."""
    ends = list(accumulate(count for _, count in counted))
    position = (ends[-1] - 1) * p
    low = math.floor(position)
    below, above = (counted[bisect(ends, i)][0] for i in (low, math.ceil(position)))
    return below + (above - below) * (position - low)


def t_quantile(p: float, freedom: int) -> float:
    """The ``p`` quantile of Student's t distribution, ``freedom`` degrees of freedom."""
    if freedom > _MANY:
        return _t_from_normal(NORMAL.inv_cdf(p), freedom)
    low, high = -math.pi / 2, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _t_below(angle, freedom) < p else (low, angle)
    return math.tan((low + high) / 2) * math.sqrt(freedom)


def _t_from_normal(z: float, freedom: int) -> float:
    """For many degrees of freedom: A&S 26.7.5, here right to 1e-7."""
    square, n = z * z, freedom
    first = (square + 1) / 4
    second = ((5 * square + 16) * square + 3) / 96
    third = (((3 * square + 19) * square + 17) * square - 15) / 384
    return z * (1 + first / n + second / n**2 + third / n**3)


def _t_below(angle: float, freedom: int) -> float:
    """``P(T <= tan(angle) √freedom)``: a finite sum for whole degrees of freedom.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4.
    """
    cosine = math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for j in range(2 + odd, freedom, 2):
        term *= cosine * cosine * (j - 1) / j
        total += term
    inside = total * math.sin(angle)
    if odd:
        inside = (angle + inside) * 2 / math.pi
    return 0.5 + inside / 2
