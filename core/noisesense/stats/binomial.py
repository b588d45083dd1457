"""The interval of a share of yes-or-no cases, by the binomial distribution."""

from __future__ import annotations

import math

from noisesense.stats.interval import Interval, effective_units
from noisesense.stats.resampling import Units, inverse, total


def binomial_interval(units: Units, confidence: float = 0.95) -> Interval | None:
    """The exact interval of a share of cases, by Clopper and Pearson.

    The low end is the chance at which ``P(X ≥ x) = α/2``, the high end that at which
    ``P(X ≤ x) = α/2``, where X counts the yes among ``n`` cases. So 11 of 11 give
    ``0.025^(1/11)`` to 1. It holds the true chance at least as often as it says. Cases of one
    unit count as if they always fell the same way: ``n`` is the effective number of units,
    ``(Σ size)² / Σ size²``, and ``x`` the same share of it, which is wider than need be where they
    do not.

    Args:
        units: what each unit adds to ``(Σ yes, how many cases)``.
        confidence: e.g. 0.95.

    Returns:
        None without cases.

    Sources: Clopper and Pearson (1934), Biometrika 26; Kish (1965), Survey sampling.
    """
    if not units:
        return None
    yes, cases = total(units)
    if not cases:
        return None
    count = effective_units(units)
    hits = count * yes / cases
    rest = count - hits
    tail = (1 - confidence) / 2
    low = 0.0
    high = 1.0
    if yes:
        low = _beta_quantile(tail, hits, rest + 1)
    if yes < cases:
        high = _beta_quantile(1 - tail, hits + 1, rest)
    with_cases = 0
    for (_, size), times in units.items():
        if size:
            with_cases += times
    return Interval(low, high, confidence, "binomial", with_cases)


def _beta_quantile(p: float, a: float, b: float) -> float:
    return inverse(lambda x: beta_below(x, a, b), p, 0.0, 1.0)


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
    terms = 20 + int(5 * math.sqrt(a + b))
    for term in range(terms, 0, -1):
        half = term // 2
        factor = half * (b - half)
        if term % 2:
            factor = -(a + half) * (a + b + half)
        below = (a + term - 1) * (a + term)
        value = 1 + x * factor / below / value
    return value
