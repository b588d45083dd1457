"""Quantiles, and resamples of many units by how often each distinct one occurs."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import floor, lgamma, log, log1p, sqrt
from operator import mul
from random import Random
from statistics import NormalDist

NORMAL = NormalDist()
_NEARLY_NORMAL = 200


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
    below, _ = counted[bisect(ends, low)]
    above, _ = counted[bisect(ends, math.ceil(position))]
    return below + (above - below) * (position - low)


def t_quantile(p: float, freedom: float) -> float:
    """The ``p`` quantile of Student's t distribution, ``freedom`` degrees of freedom, 1 or more.

    Between whole ones it lies between theirs as the reciprocals do: right to 0.1% from 4 on.
    """
    if freedom > _NEARLY_NORMAL:
        return _t_from_normal(NORMAL.inv_cdf(p), freedom)
    fewer = math.floor(freedom)
    quantile = _t_of_whole(p, fewer)
    if fewer == freedom:
        return quantile
    more = _t_of_whole(p, fewer + 1)
    share = (1 / fewer - 1 / freedom) * fewer * (fewer + 1)
    return quantile + share * (more - quantile)


def _t_of_whole(p: float, freedom: int) -> float:
    angle = inverse(lambda angle: _t_below(angle, freedom), p, -math.pi / 2, math.pi / 2)
    return math.tan(angle) * math.sqrt(freedom)


_HALVINGS = 50
"""Fifteen digits, and never the upper end itself."""


def inverse(rising: Callable[[float], float], value: float, low: float, high: float) -> float:
    """Where between ``low`` and ``high`` the rising function has the value, by halving."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if rising(middle) < value:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _t_from_normal(z: float, freedom: float) -> float:
    """For many degrees of freedom: A&S 26.7.5, here right to 1e-7."""
    square = z * z
    n = freedom
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


Unit = tuple[float, ...]
"""What one sample (or one cluster of samples) adds to each sum a statistic is made of."""

Units = Mapping[Unit, int]
"""Distinct units and how often each occurs."""

Statistic = Callable[[Sequence[float]], "float | None"]
"""From the sums over all units to a figure; None where it is undefined."""

_BITS = 53


def columns_of(units: Units) -> tuple[list[int], list[Unit]]:
    """How often each unit occurs, in ascending order, and the units turned to columns."""
    ordered = sorted(units)
    return [units[unit] for unit in ordered], list(zip(*ordered, strict=True))


def total(units: Units) -> list[float]:
    """The sums over all units, as `resampled` makes them."""
    return _sums(*columns_of(units))


def resampled(
    units: Units, statistic: Statistic, *, resamples: int, random: Random
) -> list[float]:
    """The statistic of ``resamples`` draws, with replacement, of as many units as there are.

    Depends on the seed and on which units there are, not on their order. Draws of which the
    statistic is undefined are left out.
    """
    counts, columns = columns_of(units)
    tree = _Tree(counts)
    values = (statistic(_sums(tree.draw(random), columns)) for _ in range(resamples))
    return [value for value in values if value is not None]


def _sums(draws: Sequence[int], columns: Sequence[Sequence[float]]) -> list[float]:
    return [sum(map(mul, draws, column)) for column in columns]


_Node = tuple[int, int, int, tuple[int, ...] | None, float, float]
"""A range of categories, and how its draws fall into its halves: its place in the heap; the
places of the half that gets fewer draws and of the other; the share of the left half, as
`_binary` has it; the share of the smaller half, and the logarithm of its odds."""


class _Tree:
    """A multinomial draw by halving: how many of the draws fall into the left half of a range of
    categories is binomial, and so on down to single ones (a heap, leaves last)."""

    def __init__(self, counts: Sequence[int]) -> None:
        self._kinds = len(counts)
        self._leaves = 1 << (self._kinds - 1).bit_length()
        weights = [0] * self._leaves + list(counts) + [0] * (self._leaves - self._kinds)
        for node in range(self._leaves - 1, 0, -1):
            weights[node] = weights[2 * node] + weights[2 * node + 1]
        self._count = weights[1]
        self._nodes: list[_Node] = []
        for node in range(1, self._leaves):
            if weights[node]:
                left = 2 * node
                right = 2 * node + 1
                share = weights[left] / weights[node]
                # The smaller part is drawn where there are many.
                smaller, larger = (left, right) if share <= 0.5 else (right, left)
                digits = _binary(weights[left], weights[node])
                least = min(share, 1 - share)
                odds = log(least / (1 - least)) if least else 0.0
                self._nodes.append((node, smaller, larger, digits, least, odds))

    def draw(self, random: Random) -> list[int]:
        """How often each category is drawn; they add up to the sum of ``counts``."""
        drawn = [0] * (2 * self._leaves)
        drawn[1] = self._count
        getrandbits = random.getrandbits
        uniform = random.random
        for node, smaller, larger, digits, least, odds in self._nodes:
            count = drawn[node]
            if count > _MANY:
                if count * least > _LEAST_MEAN:
                    part = _binomial_of_many(count, least, odds, uniform)
                else:
                    part = _binomial_of_rare(count, least, uniform) if least else 0
                drawn[smaller] = part
                drawn[larger] = count - part
            elif count:
                left = count if digits is None else _binomial(count, digits, getrandbits)
                drawn[2 * node] = left
                drawn[2 * node + 1] = count - left
        return drawn[self._leaves : self._leaves + self._kinds]


def _binary(part: int, whole: int) -> tuple[int, ...] | None:
    """``part / whole`` as the digits after the binary point; None for 1."""
    if part == whole:
        return None
    digits: list[int] = []
    while part and len(digits) < _BITS:
        digit, part = divmod(2 * part, whole)
        digits.append(digit)
    return tuple(digits)


def _binomial(count: int, share: tuple[int, ...], getrandbits: Callable[[int], int]) -> int:
    """How many of ``count`` uniform numbers lie below ``share``, comparing digit by digit.

    One random bit for each number that is still equal to ``share``; half of them drop out at each
    digit. The same for one seed in every Python version, which `random.binomialvariate` is not.
    """
    below = 0
    for digit in share:
        ones = getrandbits(count).bit_count()
        if digit:
            below += count - ones
            count = ones
        else:
            count -= ones
        if not count:
            break
    return below


_MANY = 500
_LEAST_MEAN = 10
"""From here on one bit for each number is slower; and above this mean rejection is sound."""


def _binomial_of_rare(count: int, share: float, uniform: Callable[[], float]) -> int:
    """The same distribution by waiting times: how many draws pass before each hit is geometric.

    Its time grows with ``share · count``, which is at most 10.

    Source: Devroye (1986), Non-Uniform Random Variate Generation, chapter X.4.
    """
    passed = 0
    hits = -1
    log_missed = log1p(-share)
    while passed <= count:
        passed += floor(log(1 - uniform()) / log_missed) + 1
        hits += 1
    return hits


def _binomial_of_many(
    count: int, share: float, log_odds: float, uniform: Callable[[], float]
) -> int:
    """The same distribution in a time that does not grow with ``count``: transformed rejection.

    ``share · count`` must be at least 10, and ``share`` at most one half.

    Source: Hörmann (1993), The generation of binomial random variates, Journal of Statistical
    Computation and Simulation 46, algorithm BTRS.
    """
    spread = sqrt(count * share * (1 - share))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * share
    center = count * share + 0.5
    squeeze = 0.92 - 4.2 / b
    while True:
        u = uniform() - 0.5
        v = uniform()
        edge = 0.5 - abs(u)
        if not edge:
            continue
        k = floor((2 * a / edge + b) * u + center)
        if edge >= 0.07 and v <= squeeze:
            return k
        if 0 <= k <= count and v:
            mode = floor((count + 1) * share)
            at_mode = lgamma(mode + 1) + lgamma(count - mode + 1)
            at_k = lgamma(k + 1) + lgamma(count - k + 1)
            v *= (2.83 + 5.1 / b) * spread / (a / (edge * edge) + b)
            if log(v) <= at_mode - at_k + (k - mode) * log_odds:
                return k
