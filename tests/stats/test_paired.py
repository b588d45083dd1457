"""Paired differences against SciPy's t interval and another way to make it monotone."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from noisesense.stats.interval import Resampling, effective_units
from noisesense.stats.paired import critical_t, decides_nothing, difference_interval
from noisesense.stats.resampling import Unit

HOW = Resampling(resamples=10_000, seed=1)


@pytest.mark.parametrize("pairs", [3, 5, 40, 100])
def test_a_difference_has_scipys_t_interval(pairs: int) -> None:
    """Where few say nothing anyway, and where many are so even that none stands out: of 40 or
    more, from -1 to 1 in equal steps, the largest lies 1.7 deviations away."""
    values = [0.5 * (2 * i / (pairs - 1) - 1) + 0.1 for i in range(pairs)]
    units: Counter[Unit] = Counter((value, 1.0) for value in values)
    found = difference_interval(units, HOW)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    ends = (max(expected.low, -1), min(expected.high, 1))
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-9)
    assert found.method == "t"
    assert found.units == len(values)


def lowest_end(values: list[tuple[float, float]], t: float) -> float:
    """The greatest mean - t * error of clusters that are as large as these or smaller, by SciPy.

    Of a given mean those scatter least whose distance is cut at one multiple of (whole - size)².
    """
    parts, sizes = (np.array(column) for column in zip(*values, strict=True))
    whole = sizes.sum()
    count = len(sizes)
    weights = (whole - sizes) ** 2

    def end(mean: float) -> float:
        distances = parts - mean * sizes
        if distances.min() >= 0:
            return mean
        level = optimize.brentq(lambda x: np.minimum(distances, x * weights).sum(), 0, 1e3)
        cut = np.minimum(distances, level * weights)
        return mean - t * math.sqrt((count - 1) / count * (cut**2 / weights).sum())

    means = (parts / sizes).min(), parts.sum() / whole
    found = optimize.minimize_scalar(
        lambda mean: -end(mean), bounds=means, method="bounded", options={"xatol": 1e-12}
    )
    return max(-found.fun, end(means[0]))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("most", [1, 3])
def test_the_low_end_is_the_greatest_of_smaller_differences(seed: int, most: int) -> None:
    rng = random.Random(seed)
    values: list[tuple[float, float]] = []
    for _ in range(9 * most + seed):
        size = float(rng.randint(1, most))
        values.append((round(rng.gauss(0.1, 0.3) * size, 3), size))
    sizes = [size for _, size in values]
    kish = sum(sizes) ** 2 / sum(size**2 for size in sizes)
    # The probability that all signs are alike is spent.
    t = stats.t.ppf(1 - (0.025 - 2**-kish), kish - 1)
    found = difference_interval(Counter(values), HOW)
    mirrored = [(-value, size) for value, size in values]
    expected = (lowest_end(values, t), -lowest_end(mirrored, t))
    assert (found.low, found.high) == pytest.approx(expected, abs=2e-5)


differences = st.lists(
    st.tuples(st.integers(-8, 8), st.integers(0, 8), st.integers(1, 3)), min_size=6, max_size=14
)


@given(differences)
def test_more_difference_never_says_less(drawn: list[tuple[int, int, int]]) -> None:
    before: Counter[Unit] = Counter((value / 8, float(size)) for value, _, size in drawn)
    after: Counter[Unit] = Counter(
        ((value + more) / 8, float(size)) for value, more, size in drawn
    )
    ours, theirs = (difference_interval(units, HOW) for units in (before, after))
    if not decides_nothing(effective_units(before), HOW.tail):
        for margin in (0.0, 0.1, 0.3):
            assert theirs.low > margin - 1e-9 or ours.low <= margin + 1e-9


def test_few_units_by_their_signs() -> None:
    assert decides_nothing(5.9, 0.025)
    assert not decides_nothing(6.0, 0.025)
    # 2 ** -7 is above 0.005, and 2 ** -8 is not.
    assert decides_nothing(7.0, 0.005)
    assert not decides_nothing(8.0, 0.005)
    # Of six the least difference is the low end where the others stand far above it.
    six: Counter[Unit] = Counter({(0.125, 1.0): 5, (1.0, 1.0): 1})
    assert difference_interval(six, HOW).low == 0.125


@pytest.mark.parametrize(("pairs", "away"), [(5, False), (6, True), (20, True)])
def test_equal_differences_are_no_certainty(pairs: int, away: bool) -> None:
    """Without scatter Student's t has no width; zero is left out where signs alone reject it."""
    up, down = (difference_interval(Counter({(d, 1.0): pairs}), HOW) for d in (0.1, -0.1))
    assert (up.low > 0) == (down.high < 0) == away
    assert up.high > 0.1 + 0.2 / pairs
    none = difference_interval(Counter({(0.0, 1.0): pairs}), HOW)
    assert none.low < 0 < none.high
    assert difference_interval(Counter({(0.1, 1.0): 1}), HOW) is None


@pytest.mark.parametrize(("rose", "worse"), [(3, False), (4, True), (5, True), (6, True)])
def test_of_six_pairs_four_that_rose_are_enough(rose: int, worse: bool) -> None:
    """Beside two that stayed t is 4/6 over √((4/9 + 8/9) / 5 / 6), √10 or 3.16; of three √5."""
    units: Counter[Unit] = +Counter({(0.25, 1.0): rose, (0.0, 1.0): 6 - rose})
    assert (difference_interval(units, HOW).low > 0) == worse


def test_of_six_pairs_none_may_have_fallen() -> None:
    """Five that rose beside one that fell a little have a t of 4.8; seven such pairs are worse."""
    five: Counter[Unit] = Counter({(0.25, 1.0): 5, (-0.01, 1.0): 1})
    values = [0.25] * 5 + [-0.01]
    assert stats.ttest_1samp(values, 0).statistic == pytest.approx(4.77, abs=0.005)
    assert difference_interval(five, HOW).low == pytest.approx(-0.01)
    assert difference_interval(five + Counter({(0.25, 1.0): 1}), HOW).low > 0
    least: Counter[Unit] = Counter({(0.5, 1.0): 4, (0.1, 1.0): 2})
    assert 0.1 < difference_interval(least, HOW).low < 0.1001


def test_four_or_more_of_six_and_none_that_fell_are_rarer_than_one_in_thirty() -> None:
    """Whatever share of pairs stays, where as many rise as fall."""
    stays = np.linspace(0, 1, 201)
    up = (1 - stays) / 2
    chance = 15 * up**4 * stays**2 + 6 * up**5 * stays + up**6
    assert 0.032 < chance.max() < 0.033


def test_six_pairs_at_another_level() -> None:
    """At 96% the sixty-fourth is taken from one fiftieth, whatever the t of four of six."""
    assert critical_t(6.0, 0.02) == pytest.approx(stats.t.ppf(1 - (1 / 50 - 1 / 64), 5))
