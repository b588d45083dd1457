"""Drawing by counts: the distribution, and the same numbers for the same seed."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy import stats

from noisesense.stats import resampling as _resampling
from noisesense.stats.resampling import resampled, total

UNITS = {(0.0, 1.0): 6, (0.5, 1.0): 3, (1.0, 1.0): 1}


def mean(sums: list[float] | tuple[float, ...]) -> float:
    return sums[0] / sums[1]


@pytest.mark.parametrize(
    ("share", "count"),
    [
        (0.3, 10),
        (0.5, 26),
        (5 / 7, 203),
        (0.006, 2001),
        (0.3, 5000),
        (0.5, 3000),
        (0.97, 4000),
        (0.1, 1_000_000),
    ],
)
def test_one_split_is_binomial(share: float, count: int) -> None:
    # Into twenty classes of about the same probability.
    left = round(share * count)
    binomial = stats.binom(count, left / count)
    edges = sorted({int(binomial.ppf(i / 20)) for i in range(1, 20)})
    rng = random.Random(2)
    tree = _resampling._Tree([left, count - left])
    drawn = [tree.draw(rng)[0] for _ in range(40_000)]
    assert all(0 <= each <= count for each in drawn)
    observed = np.bincount(np.searchsorted(edges, drawn), minlength=len(edges) + 1)
    below = [0.0, *binomial.cdf(edges), 1.0]
    assert stats.chisquare(observed, np.diff(below) * len(drawn)).pvalue > 0.001


@pytest.mark.parametrize(
    ("share", "count"), [(0.006, 2001), (0.01, 2100), (0.3, 5000), (0.97, 4000), (0.5, 1_000_000)]
)
def test_a_split_of_many_is_by_the_published_algorithm(share: float, count: int) -> None:
    """For the same uniform numbers what Hörmann's BTRS gives without its shortcut (the squeeze),
    by SciPy's binomial probabilities instead of logarithms of factorials."""
    p = min(share, 1 - share)
    deviation = (count * p * (1 - p)) ** 0.5
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * deviation
    rng = np.random.default_rng(4)
    pairs = np.column_stack([rng.random(20_000), rng.random(20_000) ** rng.choice([1, 8], 20_000)])
    u = pairs[:, 0] - 0.5
    edge = 0.5 - abs(u)
    ks = np.floor((2 * a / edge + b) * u + count * p + 0.5)
    probability = stats.binom(count, p).pmf
    least = pairs[:, 1] * alpha / (a / edge**2 + b)
    taken = least <= probability(ks) / probability(np.floor((count + 1) * p))
    expected = ks[taken].tolist()
    given = iter(pairs[: np.flatnonzero(taken)[-1] + 1].ravel().tolist())
    odds = math.log(p / (1 - p))
    drawn = [
        _resampling._binomial_of_many(count, p, odds, given.__next__) for _ in range(len(expected))
    ]
    assert drawn == expected
    assert next(given, None) is None
    if share < 0.01:
        assert 0 in drawn


@pytest.mark.parametrize(("share", "count"), [(0.0005, 2001), (0.0049, 2001), (1e-6, 4_000_000)])
def test_a_rare_part_is_drawn_by_waiting(share: float, count: int) -> None:
    uniform = random.Random(5).random
    drawn = [_resampling._binomial_of_rare(count, share, uniform) for _ in range(20_000)]
    expected = stats.binom(count, share)
    counts = [drawn.count(k) for k in range(8)]
    likely = [expected.pmf(k) for k in range(8)]
    found = [*counts, 20_000 - sum(counts)]
    kept = [
        (n, 20_000 * p) for n, p in zip(found, [*likely, 1 - sum(likely)], strict=True) if p > 1e-3
    ]
    assert sum((n - e) ** 2 / e for n, e in kept) < stats.chi2(len(kept)).ppf(0.9999)


def test_waiting_by_hand() -> None:
    """With a share of one half, 1/2 passes one draw over and takes the second; and 0 the first."""
    for numbers, hits in (([0.5] * 6, 5), ([0.0] * 11, 10), ([0.5, 0.0, 0.999], 2)):
        assert _resampling._binomial_of_rare(10, 0.5, iter(numbers).__next__) == hits
    draws = [_resampling._Tree([5000, 0]).draw(random.Random(i)) for i in range(3)]
    assert draws == [[5000, 0]] * 3


def test_millions_of_clean_samples_and_few_noisy_ones_take_no_time() -> None:
    tree = _resampling._Tree([10**12, 3])
    draws = [tree.draw(random.Random(i))[1] for i in range(2000)]
    # Poisson with mean 3; five standard errors.
    assert abs(np.mean(draws) - 3) < 5 * (3 / 2000) ** 0.5


def test_uniform_numbers_at_their_ends() -> None:
    """Zero as the first of a pair is no place, as the second (without the shortcut) it has no
    logarithm; the next pair counts. Its first number 1/2 means the middle."""
    numbers = iter([0.0, 0.5, 0.99, 0.0, 0.5, 0.5])
    assert _resampling._binomial_of_many(5000, 0.3, math.log(3 / 7), numbers.__next__) == 1500


def test_it_is_numpys_bootstrap_of_the_mean() -> None:
    values = [0.0] * 6 + [0.5] * 3 + [1.0]
    ours = resampled(UNITS, mean, resamples=20_000, random=random.Random(2))
    theirs = np.random.default_rng(3).choice(values, (20_000, 10)).mean(axis=1)
    assert np.mean(ours) == pytest.approx(0.25, abs=0.003)
    assert np.std(ours) == pytest.approx(np.std(values) / 10**0.5, abs=0.002)
    for p in (0.025, 0.25, 0.5, 0.75, 0.975):
        assert np.quantile(ours, p) == pytest.approx(np.quantile(theirs, p), abs=0.051)


def test_the_order_of_units_does_not_matter() -> None:
    backwards = dict(reversed(UNITS.items()))
    first = resampled(UNITS, mean, resamples=50, random=random.Random(4))
    assert resampled(backwards, mean, resamples=50, random=random.Random(4)) == first


def test_the_same_seed_gives_the_same_draws_in_every_python_version() -> None:
    # Written down once: changes only if the way of drawing does.
    draws = [_resampling._Tree([6, 3, 1]).draw(random.Random(seed)) for seed in range(4)]
    assert draws == [[6, 2, 2], [8, 1, 1], [5, 2, 3], [7, 2, 1]]
    counts = [9_000, 6_000, 45_000]
    draws = [_resampling._Tree(counts).draw(random.Random(seed)) for seed in range(2)]
    assert draws == [[9087, 6035, 44878], [8871, 5995, 45134]]


def test_single_kinds_and_sums() -> None:
    assert total({(0.5, 2.0): 4}) == [2.0, 8.0]
    assert resampled({(0.5, 1.0): 4}, mean, resamples=3, random=random.Random(0)) == [0.5] * 3
