"""The interval of a share of cases, against SciPy's binomial and beta distributions."""

from __future__ import annotations

from collections import Counter

import pytest
from scipy import stats

from noisesense.stats.binomial import beta_below, binomial_interval


def of_cases(yes: int, no: int) -> Counter[tuple[float, ...]]:
    return +Counter({(1.0, 1.0): yes, (0.0, 1.0): no})


@pytest.mark.parametrize(("yes", "no"), [(1, 0), (3, 8), (11, 5), (40, 1), (300, 700)])
def test_the_ends_are_where_each_mid_p_tail_is_a_fortieth(yes: int, no: int) -> None:
    found = binomial_interval(of_cases(yes, no))
    assert found is not None
    assert (found.method, found.units) == ("binomial", yes + no)
    for chance, wanted in ((found.low, 0.025), (found.high, 0.975)):
        if 0 < chance < 1:
            more = stats.binom.sf(yes, yes + no, chance)
            assert more + stats.binom.pmf(yes, yes + no, chance) / 2 == pytest.approx(wanted)


def test_all_and_none_have_a_closed_form() -> None:
    """Of n of n the tail is p^n / 2, so the low end is 0.05^(1/n)."""
    every, none = binomial_interval(of_cases(11, 0)), binomial_interval(of_cases(0, 11))
    assert every[:2] == (pytest.approx(0.05 ** (1 / 11)), 1.0)
    assert none[:2] == (0.0, pytest.approx(1 - 0.05 ** (1 / 11)))
    assert binomial_interval({}) is None
    assert binomial_interval({(0.0, 0.0): 3}) is None


def test_cases_of_one_unit_count_as_one() -> None:
    """Ten units of three cases each say what ten cases say; of unequal ones Kish's number does."""
    together = binomial_interval({(3.0, 3.0): 7, (0.0, 3.0): 3})
    assert together[:2] == pytest.approx(binomial_interval(of_cases(7, 3))[:2])
    # Sizes 1, 1, 1, 3: (6)^2 / 12 = 3 units; 3 of 6 cases are 1.5 of them.
    unequal = binomial_interval({(0.0, 1.0): 3, (3.0, 3.0): 1})
    low, high = unequal[:2]
    for chance, wanted in ((low, 0.025), (high, 0.975)):
        as_many, more = stats.beta.cdf(chance, 1.5, 2.5), stats.beta.cdf(chance, 2.5, 1.5)
        assert (as_many + more) / 2 == pytest.approx(wanted)


@pytest.mark.parametrize("a", [0.3, 1.0, 7.5, 250.0])
@pytest.mark.parametrize("b", [0.6, 2.0, 31.5, 900.0])
def test_the_beta_distribution_is_scipys(a: float, b: float) -> None:
    for x in (0.001, 0.2, 0.5, 0.9, 0.999):
        assert beta_below(x, a, b) == pytest.approx(stats.beta.cdf(x, a, b), abs=1e-11)
