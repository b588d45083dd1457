"""Quantiles against numpy, SciPy and the standard library."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from noisesense.stats.resampling import quantile_of_counts, quantile_of_sorted, t_quantile

LEVELS = (0.0, 0.01, 0.025, 0.3, 0.5, 0.6, 0.75, 0.975, 1.0)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 101])
@pytest.mark.parametrize("p", LEVELS)
def test_sorted_and_counted_values_have_numpys_quantiles(count: int, p: float) -> None:
    rng = random.Random(count)
    values = sorted(rng.randrange(6) / 6 for _ in range(count))
    expected = float(np.quantile(values, p))
    assert quantile_of_sorted(values, p) == pytest.approx(expected, abs=1e-15)
    counted = sorted(Counter(values).items())
    assert quantile_of_counts(counted, p) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 29, 30, 199, 200, 201, 1000, 99_999])
@pytest.mark.parametrize("p", [0.005, 0.025, 0.4, 0.5, 0.9, 0.975, 0.995])
def test_students_t_is_scipys(p: float, freedom: int) -> None:
    assert t_quantile(p, freedom) == pytest.approx(stats.t.ppf(p, freedom), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize(
    ("freedom", "within"), [(4.5, 2e-3), (5.5, 1e-3), (12.7, 1e-4), (150.2, 1e-8)]
)
def test_between_whole_degrees_of_freedom(freedom: float, within: float) -> None:
    for p in (0.8, 0.975, 0.985):
        assert t_quantile(p, freedom) == pytest.approx(stats.t.ppf(p, freedom), rel=within)
