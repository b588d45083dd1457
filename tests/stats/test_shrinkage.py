"""Rates drawn towards one another, by SciPy's distributions and in simulation."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from noisesense.stats.shrinkage import Hits, shrunken

BORDERS = np.linspace(0, 1, 2001)
MEANS = 1 / (1 + np.exp(-(-4.5 + 0.75 * np.arange(9))))


def by_scipy(counts: Counter[Hits]) -> dict[Hits, tuple[float, float, float, float]]:
    """The same model on another grid, with SciPy's distribution function and beta-binomial."""
    priors: list[tuple[float, float, float]] = [
        (mean * cases, (1 - mean) * cases, other)
        for mean in MEANS
        for cases in (1, 4, 16, 64)
        for other in (0, 0.1)
    ]
    fits = []
    cells = {case: np.zeros(2000) for case in counts}
    evidence: dict[tuple[int, Hits], float] = {}
    for i, (a, b, other) in enumerate(priors):
        for case in counts:
            hits, tried = case
            own = stats.betabinom.pmf(hits, tried, a, b)
            evidence[i, case] = (1 - other) * own + other / (tried + 1)
        fits.append(sum(times * np.log(evidence[i, case]) for case, times in counts.items()))
    weights = np.exp(np.array(fits) - max(fits))
    weights /= weights.sum()
    for i, (a, b, other) in enumerate(priors):
        for case in counts:
            hits, tried = case
            chance = (1 - other) * stats.betabinom.pmf(hits, tried, a, b) / evidence[i, case]
            own = np.diff(stats.beta.cdf(BORDERS, a + hits, b + tried - hits))
            any_rate = np.diff(stats.beta.cdf(BORDERS, 1 + hits, 1 + tried - hits))
            cells[case] += weights[i] * (chance * own + (1 - chance) * any_rate)
    middles = (BORDERS[:-1] + BORDERS[1:]) / 2
    pooled = sum(times * cells[case] for case, times in counts.items()) / counts.total()
    border = np.searchsorted(np.cumsum(pooled), 0.9)
    return {
        case: (
            float(each @ middles),
            float(BORDERS[np.searchsorted(np.cumsum(each), 0.025)]),
            float(BORDERS[np.searchsorted(np.cumsum(each), 0.975) + 1]),
            float(each[border + 1 :].sum()),
        )
        for case, each in cells.items()
    }


@pytest.mark.parametrize(
    "counts",
    [
        Counter({Hits(0, 3): 2, Hits(1, 1): 3, Hits(7, 20): 1, Hits(0, 60): 1, Hits(3, 40): 4}),
        Counter({Hits(4, 4): 1, Hits(0, 9): 20, Hits(1, 9): 5}),
        Counter({Hits(2, 5): 1}),
    ],
)
def test_the_same_by_scipy(counts: Counter[Hits]) -> None:
    found = shrunken(counts)
    for case, (mean, low, high, tenth) in by_scipy(counts).items():
        ours = found[case]
        assert ours.mean == pytest.approx(mean, abs=0.003)
        assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.006)
        assert ours.top_tenth == pytest.approx(tenth, abs=0.03)


def test_many_cases_speak_for_themselves() -> None:
    found = shrunken(Counter({Hits(300_000, 1_000_000): 1, Hits(0, 5): 10}))
    many = found[Hits(300_000, 1_000_000)]
    assert many.mean == pytest.approx(0.3, abs=0.011)  # as fine as the cells are
    assert 0.29 < many.low < many.high < 0.33
    assert found[Hits(0, 5)].low >= 0


@pytest.mark.parametrize(("hits", "cases"), [(0, 5_000_000), (500_000, 500_000)])
def test_millions_of_cases_that_are_all_alike(hits: int, cases: int) -> None:
    found = shrunken(Counter({Hits(hits, cases): 1, Hits(1, 5): 10}))
    assert found[Hits(hits, cases)].mean == pytest.approx(hits / cases, abs=1e-3)
    assert 0 < found[Hits(1, 5)].mean < 1
