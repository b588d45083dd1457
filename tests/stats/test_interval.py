"""Intervals against SciPy's, on the same data."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from noisesense import InputError
from noisesense.scoring.outcomes import Range
from noisesense.stats import interval as _interval
from noisesense.stats.interval import (
    Interval,
    Resampling,
    bootstrap_interval,
    covering,
    effective_units,
    estimate,
    few_units_interval,
    interval_text,
    mean_interval,
    ratio,
    units_of,
)
from noisesense.stats.paired import decides_nothing, difference_interval, least_seen, mean_error
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
        assert (ours.method, ours.units, ours.confidence) == ("bca", count, 0.95)
        theirs, width = scipys([list(column) for column in zip(*units, strict=True)], count)
        # Both are random: an end's standard error is about 1.3% of the width at 10,000 resamples.
        assert (ours.low, ours.high) == pytest.approx(theirs, abs=0.06 * width)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("confidence", "skew"), [(0.9, 1), (0.95, -1)])
def test_on_the_same_resamples_it_is_efrons_to_the_last_digit(
    seed: int, confidence: float, skew: int
) -> None:
    """By the formulas of BCa with numpy and SciPy. Of 64 units of quarters sums are exact, and
    many resamples tie with the figure: half of them count as below it."""
    rng = np.random.default_rng(seed)
    values = np.sort(
        rng.choice([0.0, 0.25, 1.0], 64, p=[0.6, 0.3, 0.1])[::skew] * skew + (skew < 0)
    )
    how = Resampling(confidence, seed, 400)
    units = Counter((float(value), 1.0) for value in values[::-1])
    found = bootstrap_interval(units, ratio, how)
    draws = np.array(resampled(units, ratio, resamples=400, random=random.Random(seed)))
    below = np.mean(draws < values.mean()) + np.mean(draws == values.mean()) / 2
    bias = stats.norm.ppf(below)
    away = values.mean() - np.array([np.delete(values, i).mean() for i in range(64)])
    acceleration = np.sum(away**3) / (6 * np.sum(away**2) ** 1.5)
    t = stats.t.ppf((1 + confidence) / 2, 63)
    tail = stats.norm.cdf(-t * np.sqrt(64 / 63))
    shifted = bias + stats.norm.ppf([tail, 1 - tail])
    levels = stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))
    assert found[:2] == pytest.approx(np.quantile(draws, levels), rel=1e-6)
    assert found[2:] == (confidence, "bca", 64)


def test_small_figures_have_an_interval_as_large_ones_have() -> None:
    large, small = (
        bootstrap_interval(Counter((scale * i**2, 1.0) for i in range(60)), ratio, HOW)
        for scale in (1.0, 1e-9)
    )
    assert small[:2] == pytest.approx((1e-9 * large.low, 1e-9 * large.high))


def test_bias_where_resamples_tie_or_all_lie_on_one_side() -> None:
    third = 1 / 3
    # Of five one is below and two are the same but for rounding: (1 + 2 / 2) / 5.
    tied = [0.0, third, third + 1e-13, 0.5, 0.75]
    assert _interval._bias(tied, third) == pytest.approx(stats.norm.ppf(2 / 5))
    assert _interval._bias(tied, third + 1e-13) == pytest.approx(stats.norm.ppf(2 / 5))
    # Half a resample at least lies on either side.
    assert _interval._bias([0.0] * 4, 1.0) == pytest.approx(stats.norm.ppf(1 - 0.5 / 4))
    assert _interval._bias([1.0] * 4, 0.0) == pytest.approx(stats.norm.ppf(0.5 / 4))


@pytest.mark.parametrize(("confidence", "others"), [(1 - 1e-9, 60), (1 - 1e-15, 1)])
@pytest.mark.parametrize("high", [0.0, 1.0])
def test_percentiles_beyond_the_last_are_the_last(
    confidence: float, others: int, high: float
) -> None:
    """Of one unit beside others that are alike: so skewed, or so rare, that none is left."""
    units: Counter[Unit] = Counter({(1 - high, 1.0): others, (high, 1.0): 1})
    found = bootstrap_interval(units, ratio, Resampling(confidence))
    drawn = resampled(units, ratio, resamples=2000, random=random.Random(0))
    assert (found.low if high == 0 else found.high) == (min, max)[high == 1](drawn)


@pytest.mark.parametrize(("large", "method"), [(1.0, "bca"), (12.0, "dirichlet")])
def test_unequal_units_are_as_good_as_fewer_equal_ones(large: float, method: str) -> None:
    # 60 units, one of them 12 times as large: (59 + 12)² / (59 + 144) = 24.8 equal ones.
    units: Counter[Unit] = Counter({(0.0, 1.0): 30, (1.0, 1.0): 29})
    units[large / 2, large] += 1
    found = mean_interval([units], HOW)
    assert (found.method, found.units) == (method, 60)


@pytest.mark.parametrize(("count", "method"), [(49, "dirichlet"), (50, "bca")])
def test_fewer_than_fifty_units_are_few(count: int, method: str) -> None:
    found = mean_interval([Counter((i / count, 1.0) for i in range(count))], HOW)
    assert (found.method, found.units) == (method, count)


@pytest.mark.parametrize(("differ", "method"), [(24, "dirichlet"), (25, "bca")])
def test_few_samples_that_differ_are_few(differ: int, method: str) -> None:
    """100 samples, most of 0 (or of 1/3, which clusters and rounding keep apart in the 13th
    digit). Clusters of which nothing was measured say as little as those of 0."""
    others = [(0.5 + i / 100, 1.0) for i in range(differ)]
    rest, half = 100 - differ, (100 - differ) // 2
    zero = [*others, *[(0.0, 1.0)] * rest]
    third = [*others, *[(1 / 3, 1.0), (1.0 + 3e-13, 3.0)] * half]
    empty = [*zero, *[(0.0, 0.0)] * 10]
    for units in (zero, third, empty):
        assert mean_interval([Counter(units)], HOW).method == method


def test_one_unit_or_none_has_no_interval() -> None:
    assert bootstrap_interval(Counter({(0.5, 1.0): 1}), ratio, Resampling()) is None
    nothing: Counter[Unit] = Counter()
    assert bootstrap_interval(nothing, ratio, Resampling()) is None


@pytest.mark.parametrize("confidence", [1.0, 0.0, 95])
def test_a_confidence_out_of_range(confidence: float) -> None:
    with pytest.raises(InputError, match=r"^confidence: expected"):
        Resampling(confidence)


def _beta(ones: float, zeros: float, p: float) -> float:
    return float(stats.beta.ppf(p, ones, zeros)) if ones and zeros else float(not zeros)


@pytest.mark.parametrize(
    ("zeros", "ones"), [(2, 0), (10, 0), (0, 3), (1, 1), (7, 3), (40, 9), (300, 0)]
)
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_of_zeros_and_ones_each_end_has_half_a_unit_of_its_own(
    zeros: int, ones: int, confidence: float
) -> None:
    units: Counter[Unit] = +Counter({(0.0, 1.0): zeros, (1.0, 1.0): ones})
    found = mean_interval([units], replace(HOW, confidence=confidence))
    assert (found.method, found.units) == ("dirichlet", zeros + ones)
    tail = (1 - confidence) / 2
    low, high = _beta(ones, zeros + 0.5, tail), _beta(ones + 0.5, zeros, 1 - tail)
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
    first, second = (mean_interval([each], HOW) for each in (low, high))
    both = mean_interval([low, high], HOW)
    whole = Interval(first.low, second.high, 0.95, "dirichlet", 25)
    assert both == covering(second, first) == whole
    assert covering(None, second) is covering(first, None) is None
    assert mean_interval([Counter({(1.0, 1.0): 1})], HOW) is None


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
    assert (found.method, found.units) == ("t", len(values))


def lowest_end(values: list[tuple[float, float]], t: float) -> float:
    """The greatest mean - t * error of clusters that are as large as these or smaller, by SciPy.

    Of a given mean those scatter least whose distance is cut at one multiple of (whole - size)².
    """
    parts, sizes = (np.array(column) for column in zip(*values, strict=True))
    whole, count = sizes.sum(), len(sizes)
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


def test_an_error_leaves_out_each_cluster_in_turn() -> None:
    values = [(0.5, 1.0), (0.4, 2.0), (-0.2, 4.0), (0.3, 1.0)]
    whole = [sum(column) for column in zip(*values, strict=True)]
    without = [(whole[0] - part) / (whole[1] - size) for part, size in values]
    away = [each - whole[0] / whole[1] for each in without]
    expected = math.sqrt(3 / 4 * sum(each**2 for each in away))
    assert mean_error(Counter(values)) == pytest.approx(expected)


def test_what_would_have_been_seen() -> None:
    """Of 20 pairs, half 0.1 and half -0.1: s = 0.1 √(20 / 19)."""
    units: Counter[Unit] = Counter({(0.1, 1.0): 10, (-0.1, 1.0): 10})
    error = 0.1 * math.sqrt(20 / 19) / math.sqrt(20)
    errors = stats.t.ppf(1 - (0.025 - 2**-20), 19) + stats.t.ppf(0.8, 19)
    assert least_seen(units, HOW) == pytest.approx(errors * error, rel=1e-6)


@pytest.mark.parametrize(("pairs", "away"), [(5, False), (6, True), (20, True)])
def test_equal_differences_are_no_certainty(pairs: int, away: bool) -> None:
    """Without scatter Student's t has no width; zero is left out where signs alone reject it."""
    up, down = (difference_interval(Counter({(d, 1.0): pairs}), HOW) for d in (0.1, -0.1))
    assert (up.low > 0) == (down.high < 0) == away
    assert up.high > 0.1 + 0.2 / pairs
    none = difference_interval(Counter({(0.0, 1.0): pairs}), HOW)
    assert none.low < 0 < none.high
    assert difference_interval(Counter({(0.1, 1.0): 1}), HOW) is None


def test_a_difference_of_unequal_clusters_by_hand() -> None:
    units: Counter[Unit] = Counter({(0.5, 1.0): 3, (0.4, 2.0): 2, (-0.2, 4.0): 1})
    found = difference_interval(units, HOW)
    # Σ d = 2.1 over Σ size = 11; each unit's distance from its share of the mean.
    mean = 2.1 / 11
    # Without one of size k the mean rests on 11 - k samples.
    squares = 3 * ((0.5 - mean) / 10) ** 2 + 2 * ((0.4 - 2 * mean) / 9) ** 2
    squares += ((-0.2 - 4 * mean) / 7) ** 2
    # As good as 11² / (3 + 8 + 16) clusters of one size, too few to be raised.
    reach = float(stats.t.ppf(0.975, 121 / 27 - 1)) * math.sqrt(squares * 5 / 6)
    expected = pytest.approx((mean - reach, mean + reach), rel=0.01)
    assert (found.low, found.high) == expected
    assert (found.method, found.units) == ("t", 6)


def test_a_difference_reaches_no_further_than_one() -> None:
    found = difference_interval(Counter({(1.0, 1.0): 1, (-1.0, 1.0): 1}), HOW)
    assert (found.low, found.high) == (-1.0, 1.0)


def test_clusters_of_one_mean_are_equal_whatever_their_size() -> None:
    for other in ((0.4, 2.0), (0.2 + 4e-13, 1.0)):
        found = difference_interval(Counter({(0.2, 1.0): 3, other: 3}), HOW)
        assert found.method == "dirichlet"


def test_signs_as_rare_as_the_level_say_nothing() -> None:
    """Of 6 equal signs chance makes 1 in 64 all of one kind: that is not below 1/64."""
    six: Counter[Unit] = Counter({(0.001, 1.0): 6})
    at = difference_interval(six, replace(HOW, confidence=1 - 2 / 64))
    beyond = difference_interval(six, replace(HOW, confidence=1 - 2.001 / 64))
    assert at.low > 0
    assert beyond.low > 0
    below = difference_interval(six, replace(HOW, confidence=1 - 1.99 / 64))
    assert below.low < 0


def test_what_units_add() -> None:
    values = [("a", 0.1, 1.0), ("a", 0.2, 1.0), ("b", 0.3 + 4e-13, 2.0), ("c", 0.25, 1.0)]
    assert units_of(values) == Counter({(0.3, 2): 2, (0.25, 1): 1})


def test_units_without_anything_have_no_interval() -> None:
    assert mean_interval([Counter({(0.0, 0.0): 3})], HOW) is None
    two = bootstrap_interval(Counter({(0.0, 1.0): 1, (1.0, 1.0): 1}), ratio, HOW)
    assert (two.units, two.method) == (2, "bca")
    assert bootstrap_interval(Counter({(0.0, 0.0): 1, (1.0, 0.0): 1}), ratio, HOW) is None
    assert bootstrap_interval(Counter({(1.0, 1.0): 1, (0.0, -1.0): 1}), ratio, HOW) is None
    # Without the one unit that has a size there is no ratio: of the others, all alike, none.
    assert bootstrap_interval(Counter({(0.5, 1.0): 1, (0.0, 0.0): 3}), ratio, HOW) is None


def test_an_estimate_is_a_mean_with_its_interval_and_size() -> None:
    """Of (0.2 to 0.4, 0.4) in one unit and 1 in another: 1.6/3 to 1.8/3, from two units."""
    values = [("a", Range(0.2, 0.4)), ("a", Range(0.4, 0.4)), ("b", Range(1.0, 1.0))]
    found = estimate(values)
    assert (found.low, found.high, found.size) == (pytest.approx(1.6 / 3), pytest.approx(0.6), 3)
    assert found.value is None
    ends = [Counter[Unit]({(part, 2): 1, (1.0, 1): 1}) for part in (0.6, 0.8)]
    assert found.interval == mean_interval(ends, Resampling(), (0.0, 1.0))
    below = estimate(iter(values), -1)
    assert below.interval == mean_interval(ends, Resampling(), (-1.0, 1.0)) != found.interval
    assert estimate([("a", Range(0.0, 0.0))]) == (0.0, 0.0, None, 1)
    one = estimate([("a", Range(0.5, 0.5))])
    assert one.value == 0.5
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
    assert (interval_text(found), interval_text(found, percent=True)) == (text, percent)
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
