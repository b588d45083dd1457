"""The interval of a share of yes-or-no cases, by the binomial distribution."""

from __future__ import annotations

import math

from noisesense.stats.interval import Interval, effective_units
from noisesense.stats.resampling import Units, total

_STEPS = 40
"""Halvings of 0 to 1: twelve digits."""


def binomial_interval(units: Units, confidence: float = 0.95) -> Interval | None:
    """Of a share of cases: Clopper and Pearson's in its mid-P form.

    The ends are the chances ``p`` at which ``(P(X ≥ x) + P(X > x)) / 2`` is ``α/2`` and
    ``1 − α/2``, where X counts the yes among ``n`` cases of chance ``p``. So 11 of 11 give
    ``0.05^(1/11)`` to 1. Cases of one unit count as if they always fell the same way: ``n`` is
    the effective number of units, ``(Σ size)² / Σ size²``, and ``x`` the same share of it, which
    is wider than need be where they do not.

    Args:
        units: what each unit adds to ``(Σ yes, how many cases)``.
        confidence: e.g. 0.95.

    Returns:
        None without cases.

    Sources: Clopper and Pearson (1934), Biometrika 26; Lancaster (1961), Significance tests in
    discrete distributions, JASA 56; Kish (1965), Survey sampling.
    """
    yes, cases = total(units) if units else (0.0, 0.0)
    if not cases:
        return None
    count = effective_units(units)
    hits = count * yes / cases
    tail = (1 - confidence) / 2
    low = _chance(hits, count, tail) if yes else 0.0
    high = _chance(hits, count, 1 - tail) if yes < cases else 1.0
    with_cases = sum(times for (_, size), times in units.items() if size)
    return Interval(low, high, confidence, "binomial", with_cases)


def _chance(hits: float, count: float, wanted: float) -> float:
    """The chance of a yes at which so many hits or more are as likely as ``wanted``."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _at_least(hits, count, middle) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _at_least(hits: float, count: float, chance: float) -> float:
    """``(P(X ≥ hits) + P(X > hits)) / 2``; fractions of cases are read between whole ones."""
    rest = count - hits
    as_many = beta_below(chance, hits, rest + 1) if hits > 0 else 1.0
    more = beta_below(chance, hits + 1, rest) if rest > 0 else 0.0
    return (as_many + more) / 2


def beta_below(x: float, a: float, b: float) -> float:
    """The share of the beta distribution of ``a`` and ``b`` that lies below ``x``, inside 0 to 1.

    By its continued fraction, which is short on this side of the mean.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.5.8.
    """
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_below(1 - x, b, a)
    front = math.lgamma(a + b) - math.lgamma(a + 1) - math.lgamma(b)
    power = a * math.log(x) + b * math.log1p(-x)
    return math.exp(front + power) / _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """``1 + d₁/(1 + d₂/(1 + …))``, from its end: some ``√(a + b)`` terms matter."""
    value = 1.0
    for term in range(20 + int(5 * math.sqrt(a + b)), 0, -1):
        half = term // 2
        odd = -(a + half) * (a + b + half)
        top = x * (odd if term % 2 else half * (b - half))
        value = 1 + top / ((a + term - 1) * (a + term)) / value
    return value
