"""Drawing by counts: the distribution, and the same numbers for the same seed."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from noisesense.stats.resampling import resampled, total

UNITS = {(0.0, 1.0): 6, (0.5, 1.0): 3, (1.0, 1.0): 1}


def ones(sums: Sequence[float]) -> float:
    """How many of the units drawn are of the kind with a 1."""
    return sums[0]


def mean(sums: Sequence[float]) -> float:
    return sums[0] / sums[1]


@pytest.mark.parametrize(
    ("share", "count"),
    [
        (0.3, 10),
        (5 / 7, 203),
        (0.0005, 2001),  # drawn by waiting
        (0.006, 2001),
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
    units = {(1.0,): left, (0.0,): count - left}
    drawn = resampled(units, ones, resamples=40_000, random=random.Random(2))
    assert 0 <= min(drawn) <= max(drawn) <= count
    observed = np.bincount(np.searchsorted(edges, drawn), minlength=len(edges) + 1)
    below = [0.0, *binomial.cdf(edges), 1.0]
    assert stats.chisquare(observed, np.diff(below) * len(drawn)).pvalue > 0.001


def test_millions_of_clean_samples_and_few_noisy_ones_take_no_time() -> None:
    units = {(0.0,): 10**12, (1.0,): 3}
    drawn = resampled(units, ones, resamples=2000, random=random.Random(0))
    # Poisson with mean 3; five standard errors.
    assert abs(np.mean(drawn) - 3) < 5 * (3 / 2000) ** 0.5


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
    small = resampled(UNITS, mean, resamples=4, random=random.Random(0))
    large = {(1.0,): 9_000, (0.0,): 51_000}
    assert small == [0.3, 0.3, 0.4, 0.25]
    assert resampled(large, ones, resamples=2, random=random.Random(0)) == [9101, 8980]


def test_single_kinds_and_sums() -> None:
    assert total({(0.5, 2.0): 4}) == [2.0, 8.0]
    assert resampled({(0.5, 1.0): 4}, mean, resamples=3, random=random.Random(0)) == [0.5] * 3
