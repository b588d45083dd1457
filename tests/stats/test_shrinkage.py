"""Rates drawn towards one another, by hand and by SciPy's distributions."""

from __future__ import annotations

from collections import Counter

import pytest
from scipy import stats

from noisesense.stats.shrinkage import Hits, Prior, prior_of, shrunken


@pytest.mark.parametrize(
    ("counts", "prior"),
    [
        # (0.2 + 2·(1/4 + 3/4)) / (2 + 4) = 1.1/3; of pairs (0 + 1/2) / 2 = 1/4, which is above
        # the square of that by 0.1156; 0.2322 / 0.1156 − 1 = 1.010.
        (Counter({Hits(1, 4): 1, Hits(3, 4): 1}), Prior(1.1 / 3, 1.0096)),
        # (0.2 + 4·2·(1/2)) / (2 + 8) = 0.42; of pairs 1/6, below 0.42²: four rates, no variance.
        (Counter({Hits(2, 4): 4}), Prior(0.42, 4.0)),
        (Counter({Hits(2, 4): 49}), Prior(49.2 / 100, 16.0)),
        # (0.2 + 2·(0 + 1)) / (2 + 4); of pairs 1/2: more than can be.
        (Counter({Hits(0, 4): 1, Hits(4, 4): 1}), Prior(1.1 / 3, 1.0)),
        # Single cases say nothing of a variance: (0.2 + 3) / (2 + 4).
        (Counter({Hits(0, 1): 1, Hits(1, 1): 3}), Prior(3.2 / 6, 1.0)),
        # √9 = 3 beside 1: (0.2 + 3·(1/3) + 1) / (2 + 4); of pairs 1/3 · 2/8 = 1/12, below its
        # square.
        (Counter({Hits(3, 9): 1, Hits(1, 1): 1}), Prior(2.2 / 6, 2.0)),
    ],
)
def test_the_prior_of_rates_has_the_moments_of_the_counts_by_hand(
    counts: Counter[Hits], prior: Prior
) -> None:
    assert prior_of(counts) == pytest.approx(prior, rel=1e-4)


def test_a_rates_mean_and_ends_are_those_of_scipys_beta_distribution() -> None:
    """After a prior of 4 cases, 1.68 hits in them; for the high end of 2 cases and 0.84 hits: it
    leaves room for a culprit among rates that are alike, as far as can be seen."""
    seen = Hits(2, 4)
    found = shrunken(Counter({seen: 4}))[seen]
    after = stats.beta(1.68 + 2, 2.32 + 2)
    assert found.mean == pytest.approx(after.mean())
    assert found.low == pytest.approx(after.ppf(0.025))
    assert found.high == pytest.approx(stats.beta.ppf(0.975, 0.84 + 2, 1.16 + 2))
