"""Rates drawn towards one another, by hand and by SciPy's distributions."""

from __future__ import annotations

from collections import Counter

import pytest
from scipy import stats

from noisesense.stats.shrinkage import Hits, Prior, prior_of, shrunken


@pytest.mark.parametrize(
    ("counts", "prior"),
    [
        # (0.5 + 2·(1/4 + 3/4)) / (1 + 4) = 1/2; of pairs (0 + 1/2) / 2 = 1/4: no variance.
        (Counter({Hits(1, 4): 1, Hits(3, 4): 1}), Prior(0.5, 16.0)),
        # Of pairs (0 + 1) / 2 = 1/2, less 1/4: all that can be.
        (Counter({Hits(0, 4): 1, Hits(4, 4): 1}), Prior(0.5, 1.0)),
        # (0.5 + 2·2·(1/2) + 2·(0 + 1)) / (1 + 8) = 1/2; of pairs (2·(1/2·1/3) + 1) / 4 = 1/3,
        # less 1/4: 1/4 over 1/12 is 3.
        (Counter({Hits(0, 4): 1, Hits(2, 4): 2, Hits(4, 4): 1}), Prior(0.5, 2.0)),
        # Single cases say nothing of a variance: (0.5 + 3) / (1 + 4).
        (Counter({Hits(0, 1): 1, Hits(1, 1): 3}), Prior(0.7, 1.0)),
        # √9 = 3 beside 1: (0.5 + 3·(1/3) + 1) / (1 + 4); of pairs 1/3 · 2/8 = 1/12, less 1/4.
        (Counter({Hits(3, 9): 1, Hits(1, 1): 1}), Prior(0.5, 16.0)),
    ],
)
def test_what_is_likely_for_any_rate(counts: Counter[Hits], prior: Prior) -> None:
    assert prior_of(counts) == pytest.approx(prior)


def test_the_same_by_scipy() -> None:
    """After a prior of half a hit in two cases; the high end's is worth no more than that."""
    counts = Counter({Hits(0, 4): 1, Hits(2, 4): 2, Hits(4, 4): 1})
    found = shrunken(counts, 0.9)
    tenth = stats.beta.ppf(0.9, 1, 1)
    for case in counts:
        after = stats.beta(1 + case.hits, 1 + case.cases - case.hits)
        expected = (after.mean(), after.ppf(0.05), after.ppf(0.95), after.sf(tenth))
        assert found[case] == pytest.approx(expected)


def test_the_high_end_leaves_room_for_a_culprit() -> None:
    """Among rates that are alike, as far as can be seen: a prior of 16 cases and of 2."""
    counts = Counter({Hits(1, 4): 1, Hits(3, 4): 1})
    found = shrunken(counts)[Hits(3, 4)]
    assert found.low == pytest.approx(stats.beta.ppf(0.025, 8 + 3, 8 + 1))
    assert found.high == pytest.approx(stats.beta.ppf(0.975, 1 + 3, 1 + 1))


@pytest.mark.parametrize(("hits", "cases"), [(0, 5_000_000), (500_000, 500_000)])
def test_millions_of_cases_that_are_all_alike(hits: int, cases: int) -> None:
    found = shrunken(Counter({Hits(hits, cases): 1, Hits(1, 5): 10}))
    assert found[Hits(hits, cases)].mean == pytest.approx(hits / cases, abs=1e-3)
    assert 0 < found[Hits(1, 5)].low < found[Hits(1, 5)].high < 1
