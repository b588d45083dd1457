"""The interval of a share of cases, against SciPy's exact one."""

from __future__ import annotations

from collections import Counter

import pytest
from scipy import stats

from noisesense.stats.binomial import binomial_interval
from noisesense.stats.interval import Unit

YES = Unit(1, 1, 1)
NO = Unit(0, 0, 1)


def of_cases(yes: int, no: int) -> Counter[Unit]:
    return +Counter({YES: yes, NO: no})


@pytest.mark.parametrize(("yes", "no"), [(1, 0), (0, 2), (3, 8), (11, 5), (40, 1), (300, 700)])
def test_the_interval_is_scipys_exact_one(yes: int, no: int) -> None:
    found = binomial_interval(of_cases(yes, no))
    assert found.method == "binomial"
    assert found.units == yes + no
    exact = stats.binomtest(yes, yes + no).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_all_have_a_closed_form() -> None:
    """Of n of n the tail is p^n, so the low end is 0.025^(1/n): 72% of 11."""
    every = binomial_interval(of_cases(11, 0))
    assert every[:2] == (pytest.approx(0.025 ** (1 / 11)), 1.0)
    assert f"{every.low:.0%}" == "72%"
    assert binomial_interval({}) is None


def test_open_cases_are_no_at_the_low_end_and_yes_at_the_high_one() -> None:
    found = binomial_interval({YES: 2, NO: 3, Unit(0, 1, 1): 4})
    assert found.low == binomial_interval(of_cases(2, 7)).low
    assert found.high == binomial_interval(of_cases(6, 3)).high


def test_cases_of_one_unit_count_as_one() -> None:
    """Ten units of three cases each say what ten cases say; of unequal ones Kish's number does."""
    together = binomial_interval({Unit(3, 3, 3): 7, Unit(0, 0, 3): 3})
    assert together[:2] == pytest.approx(binomial_interval(of_cases(7, 3))[:2])
    # Sizes 1, 1, 1, 3: (6)^2 / 12 = 3 units; 3 of 6 cases are 1.5 of them.
    unequal = binomial_interval({NO: 3, Unit(3, 3, 3): 1})
    ends = stats.beta.ppf(0.025, 1.5, 2.5), stats.beta.ppf(0.975, 2.5, 1.5)
    assert unequal[:2] == pytest.approx(ends)
