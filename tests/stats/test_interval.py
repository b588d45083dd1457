"""Intervals against SciPy's, on the same data."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from noisesense import InputError
from noisesense.stats import interval as _interval
from noisesense.stats.cells import kappa
from noisesense.stats.interval import (
    Interval,
    Resampling,
    absolute_bounds,
    bootstrap_interval,
    covering,
    difference_bounds,
    few_units_interval,
    mean_bounds,
    percentile_level,
    ratio,
    sign_flip_interval,
)
from noisesense.stats.resampling import Statistic, Unit, flipped_subsets, resampled, total
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
@pytest.mark.parametrize("count", [100])
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
    how = Resampling(confidence, 400, seed)
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
    assert found is not None
    assert found[:2] == pytest.approx(np.quantile(draws, levels), rel=1e-6)
    assert found[2:] == (confidence, "bca", 64)


def test_bias_where_resamples_tie_or_all_lie_on_one_side() -> None:
    third = 1 / 3
    # Of five one is below and two are the same but for rounding: (1 + 2 / 2) / 5.
    tied = [0.0, third, third + 1e-13, 0.5, 0.75]
    assert _interval._bias(tied, third) == pytest.approx(stats.norm.ppf(2 / 5))
    assert _interval._bias(tied, third + 1e-13) == pytest.approx(stats.norm.ppf(2 / 5))
    # Half a resample at least lies on either side.
    assert _interval._bias([0.0] * 4, 1.0) == pytest.approx(stats.norm.ppf(1 - 0.5 / 4))
    assert _interval._bias([1.0] * 4, 0.0) == pytest.approx(stats.norm.ppf(0.5 / 4))


def test_percentiles_beyond_what_can_be_adjusted() -> None:
    assert _interval._adjusted(0.0, 0.3, 0.1) == 0.0
    assert _interval._adjusted(1.0, 0.3, 0.1) == 1.0
    # 1 − a z is below zero at z = ±1.96: the end of the distribution on that side.
    assert _interval._adjusted(0.975, 0.0, 1.0) == 1.0
    assert _interval._adjusted(0.025, 0.0, -1.0) == 0.0
    # And where it is zero: at z = 0 with the bias 2, −2 or 1/2.
    assert _interval._adjusted(0.5, 2.0, 0.5) == 1.0
    assert _interval._adjusted(0.5, -2.0, -0.5) == 0.0
    assert _interval._adjusted(0.5, 0.5, 2.0) == 1.0


def test_acceleration_is_of_the_units_that_can_be_left_out() -> None:
    """Without the one unit of weight 1 there is no ratio: of the others, all alike, none."""
    units = Counter({(0.5, 1.0): 1, (0.0, 0.0): 3})
    assert _interval._acceleration(units, [0.5, 1.0], ratio) is None
    # Means of three without each: 1/2, 1/2, 0: about their mean 1/3 they lie 1/6, 1/6 and −1/3
    # below it, Σ squares = 1/6, Σ cubes of (mean − value) = −2/216 + 1/27 = 1/36.
    units = Counter({(0.0, 1.0): 2, (1.0, 1.0): 1})
    expected = (1 / 36) / (6 * (1 / 6) ** 1.5)
    assert _interval._acceleration(units, [1.0, 3.0], ratio) == pytest.approx(expected)
    # Of a millionth of that as well: it has no unit.
    units = Counter({(0.0, 1.0): 2, (1e-6, 1.0): 1})
    assert _interval._acceleration(units, [1e-6, 3.0], ratio) == pytest.approx(expected)


def test_units_that_say_nothing_or_too_little() -> None:
    """Two units are enough; fifty equal ones take the bootstrap, 49 do not."""
    assert bootstrap_interval(Counter({(0.0, 1.0): 2}), ratio, Resampling()) is not None
    for count, method in ((49, "dirichlet"), (50, "bca")):
        units = Counter({(0.0, 1.0): 9, (1.0, 1.0): count - 9})
        found = bootstrap_interval(units, ratio, Resampling(resamples=100))
        assert found is not None
        assert found.method == method
    # No resample has the statistic.
    assert bootstrap_interval(units, _only(total(units)), Resampling(), limits=None) is None
    assert ratio((1.0, 0.0)) is None


def _only(all_of_them: list[float]) -> Statistic:
    """A statistic of the whole and of what is left without one unit, and of no resample."""
    known = {tuple(all_of_them): 0.0, (40.0, 49.0): 1.0, (41.0, 49.0): 0.5}
    calls = iter(range(3))
    return lambda sums: known.get(tuple(sums)) if next(calls, None) is not None else None


def test_few_units_have_what_their_random_weights_give() -> None:
    """With the same random numbers: two units of sizes 1 and 3, and as what nobody saw, at each
    limit half a weight of a unit of (1 + 9) / 4. Tails of a tenth."""
    units = Counter({(3.0, 3.0): 1, (0.25, 1.0): 2})
    found = few_units_interval(units, Resampling(0.8, 101, 5), (0.0, 1.0))
    size = (1 + 1 + 9) / 5
    gamma = random.Random(5).gammavariate
    values = []
    for _ in range(101):
        small, large, low, high = (gamma(shape, 1.0) for shape in (2.0, 1.0, 0.5, 0.5))
        top = 0.25 * small + 3 * large + size * high
        values.append(top / (small + 3 * large + size * (low + high)))
    assert found[:2] == pytest.approx(np.quantile(values, [0.1, 0.9]), rel=1e-9)
    assert found[2:] == (0.8, "dirichlet", 3)
    # What was seen is held: of one unit at a limit, that limit.
    for value in (0.0, 1.0):
        found = few_units_interval(Counter({(value, 1.0): 3}), Resampling(0.8, 101), (0.0, 1.0))
        assert value in found[:2]


def test_ranges_of_means_differences_and_absolute_values() -> None:
    assert mean_bounds([(0.0, 0.5), (0.5, 1.0), (0.25, 0.75)]) == (0.25, 0.75)
    assert difference_bounds((0.125, 0.25), (0.5, 1.0)) == (0.25, 0.875)
    assert absolute_bounds((-0.25, 0.5)) == (0.0, 0.5)
    assert absolute_bounds((-0.5, -0.25)) == (0.25, 0.5)
    assert absolute_bounds((0.25, 0.5)) == (0.25, 0.5)
    assert absolute_bounds((0.0, 0.5)) == (0.0, 0.5)
    assert absolute_bounds((-0.5, 0.0)) == (0.0, 0.5)
    assert str(absolute_bounds((0.0, 0.0))) == "(0.0, 0.0)"  # no -0.0


def test_an_interval_covers_both_ends_or_there_is_none() -> None:
    low, high = Interval(0.1, 0.3, 0.9, "bca", 60), Interval(0.2, 0.5, 0.9, "bca", 61)
    assert covering(low, high, "bca-range") == Interval(0.1, 0.5, 0.9, "bca-range", 60)
    few = low._replace(method="dirichlet")
    assert covering(few, high, "bca-range") == Interval(0.1, 0.5, 0.9, "dirichlet-range", 60)
    assert covering(None, high, "bca-range") is covering(low, None, "bca-range") is None


@pytest.mark.parametrize("count", [7, 12, 13])
def test_sign_flips_by_every_subset(count: int) -> None:
    """The definition, over all subsets of up to 12 pairs; over the same random ones of more."""
    differences = [(i * i % 29 - 9) / 32 for i in range(count)]
    units = Counter((each, 1.0) for each in differences)
    how = Resampling(0.9, 299, 3)
    if count <= 12:
        sums = [
            [sum(part), float(len(part))]
            for size in range(count + 1)
            for part in combinations(differences, size)
        ]
    else:
        subsets = flipped_subsets(units, resamples=299, random=random.Random(3))
        sums = [[0.0, 0.0], *subsets]
    lows = sorted(top / size if size else -1.0 for top, size in sums)
    highs = sorted(top / size if size else 1.0 for top, size in sums)
    rank = int(0.05 * len(sums) + 1e-9)
    found = sign_flip_interval(units, how)
    assert found is not None
    assert found[:2] == pytest.approx((lows[rank], highs[-1 - rank]), abs=1e-12)
    assert found[2:] == (0.9, "sign-flip", count)


def test_ends_of_sign_flips_are_rounded() -> None:
    """0.1, 0.2 and 0.6 have the subset means 0.1, 0.15, 0.2, 0.3, 0.35, 0.4 and 0.6; the empty one
    bounds nothing. At 50% two of eight lie beyond either end. (0.1 + 0.2) / 2 has 17 digits."""
    found = sign_flip_interval(Counter((d, 1.0) for d in (0.1, 0.2, 0.6)), Resampling(0.5))
    assert found == Interval(0.15, 0.4, 0.5, "sign-flip", 3)


def test_differences_that_are_equal_but_for_their_size_and_rounding() -> None:
    for units in ({(0.1, 1.0): 5, (0.1 + 0.2, 3.0): 1}, {(0.5, 1.0): 4, (1.0, 2.0): 2}):
        found = sign_flip_interval(Counter(units), Resampling())
        assert found is not None
        assert found.method == "exact"
    other = sign_flip_interval(Counter({(0.5, 1.0): 4, (0.5, 2.0): 2}), Resampling())
    assert other is not None
    assert other.method == "sign-flip"
    # All of four above zero: 1 of 16 cases, and as much may lie beyond an end of 87.5%.
    found = sign_flip_interval(Counter({(0.5, 1.0): 4}), Resampling(0.875))
    assert found is not None
    assert found.low > 0


@pytest.mark.parametrize(
    ("difference", "count", "zero_inside"),
    [(0.5, 5, True), (0.5, 6, False), (-0.5, 5, True), (-0.5, 6, False), (0.0, 9, True)],
)
def test_equal_differences_reach_to_zero_unless_the_test_rejects_it(
    difference: float, count: int, zero_inside: bool
) -> None:
    """All of five differences above zero happen in 1 of 32 cases, more than 2.5%; of six in 1 of
    64, less. The interval reaches by 1 − 0.025^(1/n) of the way to −1 and to 1."""
    found = sign_flip_interval(Counter({(difference * 2, 2.0): count}), Resampling())
    reach = 1 - 0.025 ** (1 / count)
    low, high = difference + (-1 - difference) * reach, difference + (1 - difference) * reach
    assert found is not None
    assert (found.low <= 0 <= found.high) == zero_inside
    if zero_inside or difference < 0:
        assert found.low == pytest.approx(low)
    if zero_inside or difference > 0:
        assert found.high == pytest.approx(high)
    assert found[2:] == (0.95, "exact", count)


def test_equal_differences_that_stay_away_from_zero_by_themselves() -> None:
    for sign in (1, -1):
        found = sign_flip_interval(Counter({(0.9 * sign, 1.0): 20}), Resampling())
        reach = 1 - 0.025 ** (1 / 20)
        assert found is not None
        near = found.low if sign > 0 else -found.high
        assert near == pytest.approx(0.9 - 1.9 * reach)
    assert sign_flip_interval(Counter[Unit](), Resampling()) is None


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
        (Resampling(confidence=0.0), "confidence"),
        (Resampling(confidence=95), "confidence"),
        (Resampling(resamples=99), "resamples"),
    ],
)
def test_numbers_out_of_range(how: Resampling, where: str) -> None:
    with pytest.raises(InputError, match=f"^{where}: expected"):
        how.check()


def test_what_is_meant_without_a_word() -> None:
    assert Resampling() == (0.95, 2000, 0)
    assert Resampling(resamples=100).check() == (0.95, 100, 0)


def test_the_interval_of_the_same_units_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = _interval.few_units_interval

    def counted(*arguments: Any) -> Interval:
        made.append(1)
        return make(*arguments)

    monkeypatch.setattr(_interval, "few_units_interval", counted)
    units = Counter({(0.0, 1.0): 7, (0.125, 1.0): 2})
    first, again = (bootstrap_interval(units, ratio, Resampling(seed=12)) for _ in range(2))
    assert first == again
    assert len(made) == 1
    # Other limits or another seed are another interval.
    assert bootstrap_interval(units, ratio, Resampling(seed=13)) != first
    assert bootstrap_interval(units, ratio, Resampling(seed=12), limits=(-1.0, 1.0)) != first
    assert len(made) == 3
