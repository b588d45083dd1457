"""Quantiles of counted values against numpy's."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from noisesense.stats.tally import quantile_of_counts

LEVELS = (0.0, 0.01, 0.025, 0.3, 0.5, 0.6, 0.75, 0.975, 1.0)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 101])
@pytest.mark.parametrize("p", LEVELS)
def test_counted_values_have_numpys_quantiles(count: int, p: float) -> None:
    rng = random.Random(count)
    values = [rng.randrange(6) / 6 for _ in range(count)]
    counted = sorted(Counter(values).items())
    expected = float(np.quantile(values, p))
    assert quantile_of_counts(counted, p) == pytest.approx(expected, abs=1e-15)
