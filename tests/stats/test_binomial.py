"""The interval of a share of cases, against SciPy's binomial and beta distributions."""

from __future__ import annotations

from collections import Counter

import pytest
from scipy import stats

from noisesense.stats.binomial import beta_below, binomial_interval


def of_cases(yes: int, no: int) -> Counter[tuple[float, ...]]:
    return +Counter({(1.0, 1.0): yes, (0.0, 1.0): no})


@pytest.mark.parametrize(("yes", "no"), [(1, 0), (3, 8), (11, 5), (40, 1), (300, 700)])
def test_the_interval_is_scipys_exact_one(yes: int, no: int) -> None:
    found = binomial_interval(of_cases(yes, no))
    assert found is not None
    assert found.method == "binomial"
    assert found.units == yes + no
    exact = stats.binomtest(yes, yes + no).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_all_and_none_have_a_closed_form() -> None:
    """Of n of n the tail is p^n, so the low end is 0.025^(1/n): 72% of 11."""
    every = binomial_interval(of_cases(11, 0))
    none = binomial_interval(of_cases(0, 11))
    assert every[:2] == (pytest.approx(0.025 ** (1 / 11)), 1.0)
    assert none[:2] == (0.0, pytest.approx(1 - 0.025 ** (1 / 11)))
    assert f"{every.low:.0%}" == "72%"
    assert binomial_interval({}) is None
    assert binomial_interval({(0.0, 0.0): 3}) is None


def test_cases_of_one_unit_count_as_one() -> None:
    """Ten units of three cases each say what ten cases say; of unequal ones Kish's number does."""
    together = binomial_interval({(3.0, 3.0): 7, (0.0, 3.0): 3})
    assert together[:2] == pytest.approx(binomial_interval(of_cases(7, 3))[:2])
    # Sizes 1, 1, 1, 3: (6)^2 / 12 = 3 units; 3 of 6 cases are 1.5 of them.
    unequal = binomial_interval({(0.0, 1.0): 3, (3.0, 3.0): 1})
    ends = stats.beta.ppf(0.025, 1.5, 2.5), stats.beta.ppf(0.975, 2.5, 1.5)
    assert unequal[:2] == pytest.approx(ends)


@pytest.mark.parametrize("a", [0.3, 1.0, 7.5, 250.0])
@pytest.mark.parametrize("b", [0.6, 2.0, 31.5, 900.0])
def test_the_beta_distribution_is_scipys(a: float, b: float) -> None:
    for x in (0.001, 0.2, 0.5, 0.9, 0.999):
        assert beta_below(x, a, b) == pytest.approx(stats.beta.cdf(x, a, b), abs=1e-11)
