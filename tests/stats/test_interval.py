"""Intervals against SciPy's, on the same data."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from noisesense import InputError
from noisesense.scoring.outcomes import Range
from noisesense.stats.interval import (
    Interval,
    Resampling,
    bootstrap_interval,
    estimate,
    few_units_interval,
    interval_text,
    mean_interval,
    ratio,
    units_of,
)
from noisesense.stats.resampling import Unit, resampled
from support.simulated import POPULATIONS, Draw, Population

HOW = Resampling(resamples=10_000, seed=1)


def draws(population: Population, count: int) -> list[Draw]:
    rng = random.Random(f"{population.name}{count}")
    return [population.draw(rng) for _ in range(count)]


def scipys(columns: list[list[float]], units: int) -> tuple[tuple[float, float], float]:
    """SciPy's BCa interval of a ratio of sums at our widened level, and its width."""
    tail = stats.norm.cdf(-stats.t.ppf(0.975, units - 1) * math.sqrt(units / (units - 1)))
    found = stats.bootstrap(
        [np.array(column) for column in columns],
        lambda top, bottom, axis: top.sum(axis=axis) / bottom.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=10_000,
        confidence_level=1 - 2 * tail,
        method="BCa",
        random_state=np.random.default_rng(2),
    ).confidence_interval
    return (found.low, found.high), found.high - found.low


@pytest.mark.parametrize("population", POPULATIONS, ids=lambda p: p.name)
def test_means_and_shares_have_scipys_interval(population: Population) -> None:
    count = 100
    data = draws(population, count)
    values = [(noisy / claims, 1.0) for noisy, claims in data]
    claims = [(float(noisy), float(all_)) for noisy, all_ in data]
    for units in (values, claims):
        ours = bootstrap_interval(Counter(units), ratio, HOW)
        assert ours.method == "bca"
        assert ours.units == count
        assert ours.confidence == 0.95
        theirs, width = scipys([list(column) for column in zip(*units, strict=True)], count)
        # Both are random: an end's standard error is about 1.3% of the width at 10,000 resamples.
        assert (ours.low, ours.high) == pytest.approx(theirs, abs=0.06 * width)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_on_the_same_resamples_it_is_efrons_to_the_last_digit(
    seed: int, confidence: float
) -> None:
    """By the formulas of BCa with numpy and SciPy. Of 64 units of quarters sums are exact, and
    many resamples tie with the figure: half of them count as below it."""
    rng = np.random.default_rng(seed)
    values = np.sort(rng.choice([0.0, 0.25, 1.0], 64, p=[0.6, 0.3, 0.1]))
    mean = values.mean()
    units = Counter((float(value), 1.0) for value in values)
    drawn = np.array(resampled(units, ratio, resamples=400, random=random.Random(seed)))
    below = np.mean(drawn < mean) + np.mean(drawn == mean) / 2
    bias = stats.norm.ppf(below)
    away = mean - np.array([np.delete(values, i).mean() for i in range(64)])
    acceleration = np.sum(away**3) / (6 * np.sum(away**2) ** 1.5)
    t = stats.t.ppf((1 + confidence) / 2, 63)
    tail = stats.norm.cdf(-t * np.sqrt(64 / 63))
    shifted = bias + stats.norm.ppf([tail, 1 - tail])
    levels = stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))
    found = bootstrap_interval(units, ratio, Resampling(confidence, seed, 400))
    assert found[:2] == pytest.approx(np.quantile(drawn, levels), rel=1e-6)
    assert found[2:] == (confidence, "bca", 64)


@pytest.mark.parametrize(("confidence", "others"), [(1 - 1e-9, 60), (1 - 1e-15, 1)])
def test_percentiles_beyond_the_last_are_the_last(confidence: float, others: int) -> None:
    """Of one unit beside others that are alike: so skewed, or so rare, that none is left."""
    units: Counter[Unit] = Counter({(1.0, 1.0): others, (0.0, 1.0): 1})
    found = bootstrap_interval(units, ratio, Resampling(confidence))
    drawn = resampled(units, ratio, resamples=2000, random=random.Random(0))
    assert found.low == min(drawn)
    mirrored: Counter[Unit] = Counter({(0.0, 1.0): others, (1.0, 1.0): 1})
    found = bootstrap_interval(mirrored, ratio, Resampling(confidence))
    drawn = resampled(mirrored, ratio, resamples=2000, random=random.Random(0))
    assert found.high == max(drawn)


@pytest.mark.parametrize(("large", "method"), [(1.0, "bca"), (12.0, "dirichlet")])
def test_unequal_units_are_as_good_as_fewer_equal_ones(large: float, method: str) -> None:
    # 60 units, one of them 12 times as large: (59 + 12)² / (59 + 144) = 24.8 equal ones.
    units: Counter[Unit] = Counter({(0.0, 1.0): 30, (1.0, 1.0): 29})
    units[large / 2, large] += 1
    found = mean_interval([units], HOW)
    assert found.method == method
    assert found.units == 60


@pytest.mark.parametrize(("count", "method"), [(49, "dirichlet"), (50, "bca")])
def test_fewer_than_fifty_units_are_few(count: int, method: str) -> None:
    found = mean_interval([Counter((i / count, 1.0) for i in range(count))], HOW)
    assert found.method == method
    assert found.units == count


@pytest.mark.parametrize(("differ", "method"), [(24, "dirichlet"), (25, "bca")])
def test_few_samples_that_differ_are_few(differ: int, method: str) -> None:
    """100 samples, most of 0 (or of 1/3, which clusters and rounding keep apart in the 13th
    digit). Clusters of which nothing was measured say as little as those of 0."""
    others = [(0.5 + i / 100, 1.0) for i in range(differ)]
    rest = 100 - differ
    half = (100 - differ) // 2
    zero = [*others, *[(0.0, 1.0)] * rest]
    third = [*others, *[(1 / 3, 1.0), (1.0 + 3e-13, 3.0)] * half]
    empty = [*zero, *[(0.0, 0.0)] * 10]
    for units in (zero, third, empty):
        assert mean_interval([Counter(units)], HOW).method == method


def test_one_unit_or_none_has_no_interval() -> None:
    assert bootstrap_interval(Counter({(0.5, 1.0): 1}), ratio, Resampling()) is None
    nothing: Counter[Unit] = Counter()
    assert bootstrap_interval(nothing, ratio, Resampling()) is None


@pytest.mark.parametrize("confidence", [1.0, 0.0, 95, "0.95", None])
def test_a_confidence_out_of_range(confidence: float) -> None:
    with pytest.raises(InputError, match=r"^confidence: expected"):
        Resampling(confidence)


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
    units: Counter[Unit] = +Counter({(0.0, 1.0): zeros, (1.0, 1.0): ones})
    found = mean_interval([units], replace(HOW, confidence=confidence))
    assert found.method == "dirichlet"
    assert found.units == zeros + ones
    tail = (1 - confidence) / 2
    low = _beta(ones, zeros + 0.5, tail)
    high = _beta(ones + 0.5, zeros, 1 - tail)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02)


def test_few_units_by_numpy() -> None:
    # Clusters of unequal size, (Σ value, how many); limits −1 and 1.
    units = [(0.5, 1.0), (-1.0, 4.0), (2.0, 3.0), (0.0, 2.0)]
    found = few_units_interval(Counter(units), HOW, (-1.0, 1.0))
    # What nobody saw is as large as the unit a random part is in: (1 + 16 + 9 + 4) / 10.
    for end, limit, p in ((found.low, -1, 0.025), (found.high, 1, 0.975)):
        sums = np.array([*units, (3 * limit, 3)])
        drawn = np.random.default_rng(7).dirichlet([1, 1, 1, 1, 0.5], 100_000) @ sums
        assert end == pytest.approx(np.quantile(drawn[:, 0] / drawn[:, 1], p), abs=0.03)


def test_a_range_is_covered_from_its_low_end_to_its_high_end() -> None:
    low: Counter[Unit] = Counter({(0.0, 1.0): 20, (0.5, 1.0): 5})
    high: Counter[Unit] = Counter({(0.25, 1.0): 20, (0.5, 1.0): 5})
    first = mean_interval([low], HOW)
    second = mean_interval([high], HOW)
    whole = Interval(first.low, second.high, 0.95, "dirichlet", 25)
    assert mean_interval([low, high], HOW) == whole


def test_what_units_add() -> None:
    """Rounded to twelve digits, so that equal sums are one kind of unit."""
    values = [("a", 0.1, 1.0), ("a", 0.2, 1.0), ("b", 0.3 + 4e-13, 2.0), ("c", 0.25, 1.0)]
    assert units_of(values) == Counter({(0.3, 2): 2, (0.25, 1): 1})


def test_units_without_anything_have_no_interval() -> None:
    assert mean_interval([Counter({(0.0, 0.0): 3})], HOW) is None
    assert mean_interval([Counter({(1.0, 1.0): 1})], HOW) is None
    # Without the one unit that has a size there is no ratio: of the others, all alike, none.
    assert bootstrap_interval(Counter({(0.5, 1.0): 1, (0.0, 0.0): 3}), ratio, HOW) is None


def test_an_estimate_is_a_mean_with_its_interval_and_size() -> None:
    """Of (0.2 to 0.4, 0.4) in one unit and 1 in another: 1.6/3 to 1.8/3, from two units."""
    values = [("a", Range(0.2, 0.4)), ("a", Range(0.4, 0.4)), ("b", Range(1.0, 1.0))]
    found = estimate(values)
    assert found.low == pytest.approx(1.6 / 3)
    assert found.high == pytest.approx(0.6)
    assert found.size == 3
    assert found.value is None
    assert found.interval.units == 2
    assert estimate([("a", Range(0.5, 0.5))]) == (0.5, 0.5, None, 1)
    assert estimate([]) is None


@pytest.mark.parametrize(
    ("low", "high", "text", "percent"),
    [
        (0.0077, 0.8136, "0.01 to 0.81", "1% to 81%"),
        (0.1234, 0.1834, "0.123 to 0.183", "12.3% to 18.3%"),
        (0.0012, 0.0075, "0.0012 to 0.0075", "0.12% to 0.75%"),
        (0.25, 0.25, "0.2500", "25.00%"),
    ],
)
def test_an_interval_of_random_draws_has_two_digits_of_its_width(
    low: float, high: float, text: str, percent: str
) -> None:
    found = Interval(low, high, 0.95, "dirichlet", 5)
    assert interval_text(found) == text
    assert interval_text(found, percent=True) == percent
    # Student's t has no draws.
    exact = interval_text(found._replace(method="t"))
    assert exact == (f"{low:.4f} to {high:.4f}" if low < high else "0.2500")


def test_other_draws_change_the_last_digit_at_most() -> None:
    """Ten samples with 0 to 1: the ends of 20 seeds, in the digits that are printed."""
    units: Counter[Unit] = Counter({(i / 9, 1.0): 1 for i in range(10)})
    found = [few_units_interval(units, Resampling(seed=i), (0.0, 1.0)) for i in range(20)]
    for end in ("low", "high"):
        printed = {round(getattr(each, end), 2) for each in found}
        assert max(printed) - min(printed) < 0.021
