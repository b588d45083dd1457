"""The difference that `compare` says as many pairs would show, against simulated comparisons."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from noisesense.stats.interval import Resampling, Unit
from noisesense.stats.paired import least_seen

SIMULATED = 10_000
SCATTER = 0.25


@pytest.mark.parametrize("pairs", [30, 200])
def test_four_of_five_comparisons_call_such_a_difference_worse(pairs: int) -> None:
    """Of normal differences that scatter as the units do: half lie one deviation up, half down."""
    half = pairs // 2
    units = Counter({Unit(SCATTER, SCATTER, 1): half, Unit(-SCATTER, -SCATTER, 1): half})
    change = least_seen(units, Resampling())
    deviation = SCATTER * math.sqrt(pairs / (pairs - 1))
    rng = np.random.default_rng(pairs)
    differences = rng.normal(change, deviation, (SIMULATED, pairs))
    error = differences.std(axis=1, ddof=1) / math.sqrt(pairs)
    seen = np.mean(differences.mean(axis=1) > stats.t.ppf(0.975, pairs - 1) * error)
    assert seen == pytest.approx(0.8, abs=0.015)
