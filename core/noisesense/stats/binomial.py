"""The interval of a share of yes-or-no cases, by the binomial distribution."""

from __future__ import annotations

from noisesense.stats.interval import Interval, Units, effective_units, totals
from noisesense.stats.numerics import special


def binomial_interval(units: Units, confidence: float = 0.95) -> Interval | None:
    """The exact interval of a share of cases, by Clopper and Pearson.

    The low end is the chance at which ``P(X ≥ x) = α/2``, the high end that at which
    ``P(X ≤ x) = α/2``, where X counts the yes among ``n`` cases. So 11 of 11 give
    ``0.025^(1/11)`` to 1. It holds the true chance at least as often as it says. Cases of one
    unit count as if they always fell the same way: ``n`` is the effective number of units,
    ``(Σ size)² / Σ size²``, and ``x`` the same share of it, which is wider than need be where they
    do not. Of open cases the low end takes none for a yes, the high end all.

    Args:
        units: the yes of each unit, and how many cases it has; each has one or more.
        confidence: e.g. 0.95.

    Returns:
        None without cases.

    Sources: Clopper and Pearson (1934), Biometrika 26; Kish (1965), Survey sampling.
    """
    if not units:
        return None
    whole = totals(units)
    cases = effective_units(units)
    fewest = cases * whole.low / whole.size
    most = cases * whole.high / whole.size
    tail = (1 - confidence) / 2
    low = 0.0
    high = 1.0
    if fewest:
        low = float(special().betaincinv(fewest, cases - fewest + 1, tail))
    if whole.high < whole.size:
        high = float(special().betaincinv(most + 1, cases - most, 1 - tail))
    return Interval(low, high, confidence, "binomial", whole.count)
