"""Paired differences against SciPy's t interval, and against every way open verdicts may fall."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats

from noisesense.stats.interval import Unit
from noisesense.stats.paired import LowEnds, difference_interval, fewest_pairs


def of_values(values: list[float]) -> Counter[Unit]:
    """Single pairs."""
    return Counter(Unit(value, value, 1) for value in values)


@pytest.mark.parametrize("pairs", [3, 6, 40, 100])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_a_difference_has_scipys_t_interval(pairs: int, confidence: float) -> None:
    values = [0.1 * (2 * i / (pairs - 1) - 1) + 0.1 for i in range(pairs)]
    found = difference_interval(of_values(values), confidence)
    expected = stats.ttest_1samp(values, 0).confidence_interval(confidence)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert found.units == pairs


def test_no_difference_is_larger_than_can_be() -> None:
    found = difference_interval(of_values([-1.0, 1.0]), 0.95)
    assert found[:2] == (-1.0, 1.0)
    assert difference_interval(of_values([-3.0, 3.0]), 0.95, limit=3.0)[:2] == (-3.0, 3.0)


def test_clusters_of_unequal_size_by_leaving_out_each() -> None:
    """Sums 3, 0, 0 of 4, 1, 1 pairs: their mean is 1/2; without each 0, 3/5 and 3/5, so the
    squares add up to 27/100 and the error is √(2/3 · 27/100). Kish's number is 36 / 18 = 2."""
    units = Counter([Unit(3, 3, 4), Unit(0, 0, 1), Unit(0, 0, 1)])
    found = difference_interval(units, 0.95, limit=10.0)
    reach = stats.t.ppf(0.975, 1) * math.sqrt(0.18)
    assert found[:2] == pytest.approx((0.5 - reach, 0.5 + reach))


def end_of(values: np.ndarray, sizes: np.ndarray, t: float) -> float:
    """``mean − t · error``, by leaving out each unit."""
    whole = sizes.sum()
    mean = values.sum() / whole
    without = (values.sum() - values) / (whole - sizes)
    count = len(sizes)
    return float(mean - t * math.sqrt((count - 1) / count * ((without - mean) ** 2).sum()))


class OpenUnits:
    """Units of which up to five are open."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        count = rng.randint(6, 12)
        self.t = rng.choice([2.0, 2.57, 4.0])
        self.sizes = np.ones(count)
        if seed % 2:
            self.sizes = np.array([float(rng.choice([1, 1, 2, 5])) for _ in range(count)])
        self.lows = np.array([round(rng.gauss(0.1, 0.3) * size, 3) for size in self.sizes])
        self.highs = self.lows.copy()
        for i in rng.sample(range(count), rng.randint(1, 5)):
            self.highs[i] += rng.choice([0.1, 1.0]) * rng.random() * self.sizes[i]

    @property
    def units(self) -> Counter[Unit]:
        return Counter(map(Unit._make, zip(self.lows, self.highs, self.sizes, strict=True)))

    def corners(self) -> list[float]:
        """With every open difference at one of its ends: the least is among them."""
        ways = [sorted({low, high}) for low, high in zip(self.lows, self.highs, strict=True)]
        return [end_of(np.array(way), self.sizes, self.t) for way in product(*ways)]

    def greatest(self) -> float:
        """By SciPy: the low end is a concave function of the differences."""
        found = optimize.minimize(
            lambda values: -end_of(values, self.sizes, self.t),
            (self.lows + self.highs) / 2,
            bounds=list(zip(self.lows, self.highs, strict=True)),
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        return max(-float(found.fun), *self.corners())


def test_the_least_and_greatest_low_ends_that_open_differences_leave() -> None:
    """The least is never above that of a completion, and mostly just below it: by a part of one
    unit, where the one on which it turns is half open."""
    gaps: list[float] = []
    for seed in range(100):
        run = OpenUnits(seed)
        ends = LowEnds(run.units, run.t)
        least = min(run.corners())
        assert ends.least() <= least + 1e-7
        gaps.append(least - ends.least())
        assert ends.greatest() == pytest.approx(run.greatest(), abs=1e-6)
    assert np.mean(np.array(gaps) < 0.001) > 0.8


def test_how_few_pairs_decide_nothing() -> None:
    """At 95% six; at 99% eight, as 2 ** -7 is above 0.005, and 2 ** -8 is not."""
    assert fewest_pairs(0.95) == 6
    assert fewest_pairs(0.8) == 6
    assert fewest_pairs(0.99) == 8


@pytest.mark.parametrize("pairs", [6, 20])
def test_equal_differences_are_no_certainty(pairs: int) -> None:
    """Without scatter Student's t has no width; further pairs may differ."""
    up = difference_interval(of_values([0.1] * pairs), 0.95)
    down = difference_interval(of_values([-0.1] * pairs), 0.95)
    assert up.low == -down.high == pytest.approx(0.1)
    assert up.high > 0.1 + 0.2 / pairs
    assert down.low < -0.1 - 0.2 / pairs
    none = difference_interval(of_values([0.0] * pairs), 0.95)
    assert none.low < 0 < none.high
    assert difference_interval(of_values([0.1]), 0.95) is None
