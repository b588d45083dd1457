"""Intervals against SciPy's, on the same data."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from noisesense import InputError
from noisesense.stats.cells import kappa
from noisesense.stats.interval import (
    Resampling,
    bootstrap_interval,
    percentile_level,
    ratio,
)
from noisesense.stats.resampling import Unit
from support.simulated import POPULATIONS, Draw, Population

HOW = Resampling(0.95, 10_000, 1)


def draws(population: Population, count: int) -> list[Draw]:
    rng = random.Random(f"{population.name}{count}")
    return [population.draw(rng) for _ in range(count)]


def scipys(
    columns: list[list[float]], units: int, confidence: float
) -> tuple[tuple[float, float], float]:
    """SciPy's BCa interval of a ratio of sums at our widened level, and its width."""
    found = stats.bootstrap(
        [np.array(column) for column in columns],
        lambda top, bottom, axis: top.sum(axis=axis) / bottom.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=10_000,
        confidence_level=1 - 2 * percentile_level(confidence, units),
        method="BCa",
        random_state=np.random.default_rng(2),
    ).confidence_interval
    return (found.low, found.high), found.high - found.low


@pytest.mark.parametrize("population", POPULATIONS, ids=lambda p: p.name)
@pytest.mark.parametrize("count", [70, 100, 300])
def test_means_and_shares_have_scipys_interval(population: Population, count: int) -> None:
    data = draws(population, count)
    values = [(noisy / claims, 1.0) for noisy, claims in data]
    claims = [(float(noisy), float(all_)) for noisy, all_ in data]
    for units in (values, claims):
        ours = bootstrap_interval(Counter(units), ratio, HOW)
        assert ours is not None
        assert (ours.method, ours.units, ours.confidence) == ("bca", count, 0.95)
        theirs, width = scipys([list(column) for column in zip(*units, strict=True)], count, 0.95)
        # Both are random: an end's standard error is about 1.3% of the width at 10,000 resamples.
        assert (ours.low, ours.high) == pytest.approx(theirs, abs=0.06 * width)


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.99])
def test_other_levels_too(confidence: float) -> None:
    data = draws(POPULATIONS[0], 50)
    values = [noisy / claims for noisy, claims in data]
    how = HOW._replace(confidence=confidence)
    ours = bootstrap_interval(Counter((value, 1.0) for value in values), ratio, how)
    assert ours is not None
    theirs, width = scipys([values, [1.0] * 50], 50, confidence)
    assert (ours.low, ours.high) == pytest.approx(theirs, abs=0.06 * width)


@pytest.mark.parametrize("units", [3, 5, 30, 1000])
def test_the_level_gives_a_normal_distribution_the_width_of_students_t(units: int) -> None:
    # A bootstrap distribution of a mean has the spread s √((n − 1)/n) / √n.
    reach = -stats.norm.ppf(percentile_level(0.95, units)) * math.sqrt((units - 1) / units)
    assert reach == pytest.approx(stats.t.ppf(0.975, units - 1), rel=1e-6)


@pytest.mark.parametrize("count", [50, 1000])
def test_all_zero_is_clopper_and_pearsons_limit(count: int) -> None:
    found = bootstrap_interval(Counter({(0.0, 1.0): count}), ratio, Resampling())
    expected = stats.binomtest(0, count).proportion_ci(0.95, method="exact")
    assert found is not None
    assert (found.method, found.low) == ("exact", 0.0)
    assert found.high == pytest.approx(expected.high, rel=1e-9)


def test_all_the_same_reaches_towards_both_limits() -> None:
    # 1 − 0.025^(1/50) = 0.071117: a quarter of that down, three quarters up.
    found = bootstrap_interval(Counter({(0.25, 1.0): 50}), ratio, Resampling())
    assert found is not None
    assert found.low == pytest.approx(0.25 - 0.25 * 0.071117, abs=1e-5)
    assert found.high == pytest.approx(0.25 + 0.75 * 0.071117, abs=1e-5)


@pytest.mark.parametrize(("zeros", "ones"), [(2, 0), (10, 0), (0, 3), (1, 1), (7, 3), (40, 9)])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_few_zeros_and_ones_have_jeffreys_interval(
    zeros: int, ones: int, confidence: float
) -> None:
    units = Counter({(0.0, 1.0): zeros, (1.0, 1.0): ones})
    found = bootstrap_interval(+units, ratio, HOW._replace(confidence=confidence))
    assert found is not None
    assert (found.method, found.units) == ("dirichlet", zeros + ones)
    tail = (1 - confidence) / 2
    low, high = stats.beta.ppf([tail, 1 - tail], ones + 0.5, zeros + 0.5)
    # At the limits the figure itself is held, as Brown, Cai and DasGupta have it.
    expected = (low if ones else 0.0, high if zeros else 1.0)
    assert (found.low, found.high) == pytest.approx(expected, abs=0.02)


def test_few_units_have_gaffkes_interval_by_numpy() -> None:
    # Clusters of unequal size, (Σ value, how many); limits −1 and 1, as of a judge's errors.
    units = [(0.5, 1.0), (-1.0, 4.0), (2.0, 3.0), (0.0, 2.0)]
    found = bootstrap_interval(Counter(units), ratio, HOW, limits=(-1.0, 1.0))
    # What nobody saw is as large as the unit a random part is in: (1 + 16 + 9 + 4) / 10.
    sums = np.array([*units, (-3, 3), (3, 3)])
    drawn = np.random.default_rng(7).dirichlet([1, 1, 1, 1, 0.5, 0.5], 100_000) @ sums
    assert found is not None
    expected = np.quantile(drawn[:, 0] / drawn[:, 1], [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(("large", "method"), [(1.0, "bca"), (12.0, "dirichlet")])
def test_unequal_units_are_as_good_as_fewer_equal_ones(large: float, method: str) -> None:
    # 60 units, one of them 12 times as large: (59 + 12)² / (59 + 144) = 24.8 equal ones.
    units: Counter[Unit] = Counter({(0.0, 1.0): 30, (1.0, 1.0): 29})
    units[large / 2, large] += 1
    found = bootstrap_interval(units, ratio, HOW)
    assert found is not None
    assert (found.method, found.units) == (method, 60)


def test_more_noise_makes_no_narrower_interval() -> None:
    # Ten clean samples, and nine of them with one claim in thirty that is noise.
    clean = bootstrap_interval(Counter({(0.0, 1.0): 10}), ratio, HOW)
    noisy = bootstrap_interval(Counter({(0.0, 1.0): 9, (1 / 30, 1.0): 1}), ratio, HOW)
    assert clean is not None
    assert noisy is not None
    assert clean.low == 0.0
    assert clean.high == pytest.approx(stats.beta.ppf(0.975, 0.5, 10.5), abs=0.02)
    assert noisy.high == pytest.approx(clean.high, abs=0.02)


def test_two_samples_say_little() -> None:
    found = bootstrap_interval(Counter({(0.0, 1.0): 1, (0.1, 1.0): 1}), ratio, Resampling())
    assert found is not None
    assert found.low < 0.05
    assert found.high > 0.5


def test_one_unit_or_none_has_no_interval() -> None:
    assert bootstrap_interval(Counter({(0.5, 1.0): 1}), ratio, Resampling()) is None
    nothing: Counter[Unit] = Counter()
    assert bootstrap_interval(nothing, ratio, Resampling()) is None


def test_where_nothing_can_be_said_there_is_none() -> None:
    # Kappa of perfect agreement is 1 in every resample: that is no certainty.
    agreed = Counter({(1.0, 0.0, 0.0, 1.0): 20})
    assert bootstrap_interval(agreed, kappa, Resampling(), limits=None) is None
    # Kappa of one who always says yes with another is undefined.
    assert bootstrap_interval(Counter({(1.0, 0.0, 0.0, 0.0): 20}), kappa, Resampling()) is None


def test_the_same_seed_gives_the_same_interval() -> None:
    units = Counter((noisy / claims, 1.0) for noisy, claims in draws(POPULATIONS[0], 40))
    first, again, other = (
        bootstrap_interval(units, ratio, Resampling(seed=seed)) for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("how", "where"),
    [
        (Resampling(confidence=1.0), "confidence"),
        (Resampling(confidence=95), "confidence"),
        (Resampling(resamples=10), "resamples"),
    ],
)
def test_numbers_out_of_range(how: Resampling, where: str) -> None:
    with pytest.raises(InputError, match=f"^{where}: expected"):
        how.check()
