"""Intervals of means against SciPy's distributions and numpy's draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from scipy import stats

from noisesense import InputError, summarize
from noisesense.scoring.outcomes import Range
from noisesense.stats.interval import (
    Unit,
    dirichlet_interval,
    mean_interval,
    units_of,
)

ZERO = Range(0.0, 0.0)


def of_values(values: Iterable[float]) -> Counter[Unit]:
    """Single samples."""
    return Counter(Unit(value, value, 1) for value in values)


@pytest.mark.parametrize("confidence", [1.0, 0.0, 95, "0.95", None])
def test_a_confidence_out_of_range(confidence: float) -> None:
    with pytest.raises(InputError, match=r"^confidence: expected"):
        summarize([], confidence=confidence)


def _beta(ones: float, zeros: float, p: float) -> float:
    if not ones or not zeros:
        return float(not zeros)
    return float(stats.beta.ppf(p, ones, zeros))


@pytest.mark.parametrize(
    ("zeros", "ones"), [(2, 0), (10, 0), (0, 3), (1, 1), (7, 3), (40, 9), (300, 0)]
)
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_of_zeros_and_ones_each_end_has_half_a_unit_of_its_own(
    zeros: int, ones: int, confidence: float
) -> None:
    units = of_values([0.0] * zeros + [1.0] * ones)
    found = mean_interval(units, confidence)
    assert found.units == zeros + ones
    tail = (1 - confidence) / 2
    low = _beta(ones, zeros + 0.5, tail)
    high = _beta(ones + 0.5, zeros, 1 - tail)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02)


def test_clusters_of_unequal_size_by_numpy() -> None:
    """With limits −1 and 1; in the last cluster what is open reaches from 0 to 2."""
    units = [Unit(0.5, 0.5, 1), Unit(-1, -1, 4), Unit(2, 2, 3), Unit(0, 2, 2)]
    found = dirichlet_interval(Counter(units), 0.95, (-1.0, 1.0))
    # What nobody saw is as large as the unit a random part is in: (1 + 16 + 9 + 4) / 10.
    weights = np.random.default_rng(7).dirichlet([1, 1, 1, 1, 0.5], 100_000)
    for end, column, limit, p in ((found.low, 0, -1, 0.025), (found.high, 1, 1, 0.975)):
        tops = np.array([*(unit[column] for unit in units), 3 * limit])
        sizes = np.array([*(unit.size for unit in units), 3])
        drawn = weights @ tops / (weights @ sizes)
        assert end == pytest.approx(np.quantile(drawn, p), abs=0.03)


def test_a_range_is_covered_from_its_low_end_to_its_high_end() -> None:
    low = mean_interval(of_values([0.0] * 20 + [0.5] * 5), 0.95)
    high = mean_interval(of_values([0.25] * 20 + [0.5] * 5), 0.95)
    both = mean_interval(Counter({Unit(0.0, 0.25, 1): 20, Unit(0.5, 0.5, 1): 5}), 0.95)
    assert both[:2] == pytest.approx((low.low, high.high), abs=0.005)


def test_the_same_data_have_the_same_interval() -> None:
    values = [0.0, 0.25, 0.25, 1.0, 0.5]
    first = dirichlet_interval(of_values(values), 0.95)
    assert dirichlet_interval(of_values(reversed(values)), 0.95) == first


def test_a_unit_adds_up_its_ranges_and_counts_them() -> None:
    """Rounded to twelve digits, so that equal sums are one kind of unit."""
    third = Range(0.1, 0.2)
    values = [("a", third), ("a", Range(0.2, 0.2)), ("b", Range(0.3 + 4e-13, 0.4)), ("b", ZERO)]
    assert units_of(values) == Counter({Unit(0.3, 0.4, 2): 2})
    assert units_of([("c", third)]) == Counter({Unit(0.1, 0.2, 1): 1})


def test_one_unit_or_none_has_no_interval() -> None:
    assert mean_interval(of_values([1.0]), 0.95) is None
    assert mean_interval(Counter(), 0.95) is None
    assert mean_interval(Counter({Unit(0, 0, 0): 3}), 0.95) is None
