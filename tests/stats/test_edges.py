"""Single cases that a small fault in the statistics would change: found by mutation testing."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from scipy import stats

from noisesense import Sample, Verdicts, agreement, sensitivity_band
from noisesense.stats.interval import Resampling, bootstrap_interval, percentile_level, ratio
from noisesense.stats.risk import Figure, RiskThresholds, risk_signs


@pytest.mark.parametrize(("zeros", "ones"), [(48, 2), (45, 5), (39, 11), (25, 25)])
def test_the_interval_of_a_share_of_samples_is_bcas_in_closed_form(zeros: int, ones: int) -> None:
    # The bootstrap sum of ``ones`` among ``n`` samples is binomial, so that BCa needs no
    # simulation. Bias: Φ⁻¹(P(X < x) + P(X = x)/2). Leaving out a zero gives x/(n − 1), leaving
    # out a one (x − 1)/(n − 1): the acceleration is Σd³ / (6 (Σd²)^1.5), d from their mean.
    n, x = zeros + ones, ones
    sums = stats.binom(n, x / n)
    bias = stats.norm.ppf(sums.cdf(x - 1) + sums.pmf(x) / 2)
    left = [x / (n - 1)] * zeros + [(x - 1) / (n - 1)] * ones
    deviations = [sum(left) / n - value for value in left]
    squares = sum(d**2 for d in deviations)
    acceleration = sum(d**3 for d in deviations) / (6 * squares**1.5)
    tail = percentile_level(0.95, n)

    # Of these cases both ends are six standard errors from the next step of the distribution.
    def end(p: float) -> float:
        shifted = bias + stats.norm.ppf(p)
        share = stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))
        return float(sums.ppf(share)) / n

    units = Counter({(0.0, 1.0): zeros, (1.0, 1.0): ones})
    found = bootstrap_interval(units, ratio, Resampling(0.95, 50_000, 3))
    assert found is not None
    assert (found.low, found.high) == pytest.approx((end(tail), end(1 - tail)))


def one_cell(entailed: bool) -> Verdicts:
    """One wrong claim and one relevant chunk: the value is 1 if the chunk entails it, else 0."""
    return Verdicts.from_matrices([False], [[entailed]], None, [True])


@pytest.mark.parametrize(
    ("rate", "confidence", "reached"),
    [(0.07, 0.9, True), (0.03, 0.9, False), (0.03, 0.98, True)],
)
def test_a_band_cuts_half_of_the_rest_at_each_end(
    rate: float, confidence: float, reached: bool
) -> None:
    # The mean is the other value in 7% (or 3%) of the simulations. A 90% band leaves out 5% at
    # each end: 7% reach into it and 3% do not. A 98% band leaves out 1%.
    how = {"cells": ("response",), "confidence": confidence, "simulations": 2000}
    up = sensitivity_band([one_cell(False)], false_yes=rate, **how).relevant  # type: ignore[arg-type]
    down = sensitivity_band([one_cell(True)], false_no=rate, **how).relevant  # type: ignore[arg-type]
    assert up is not None
    assert down is not None
    assert (up.mean, up.low, up.high) == (0.0, 0.0, float(reached))
    assert (down.mean, down.low, down.high) == (1.0, float(not reached), 1.0)
    assert up.moved == pytest.approx(rate, abs=3 * math.sqrt(rate / 2000))
    assert up.shift == up.moved


def judged(name: str, wrong: int, of: int) -> tuple[Sample, Verdicts]:
    sample = Sample(user_input=name, response="r", reference="s", retrieved_contexts=["c"])
    correct = [i >= wrong for i in range(of)]
    return sample, Verdicts.from_matrices(correct, [[True]] * of, [[True]])


def test_the_largest_errors_come_first_whichever_way_they_go() -> None:
    # Judge − people: a 1/4 − 0, b 0 − 1, c 3/4 − 1/4, d 1/2 − 3/4: by size b, c, and a before d
    # by name, since both are off by 1/4.
    judge = [judged("a", 1, 4), judged("b", 0, 4), judged("c", 3, 4), judged("d", 2, 4)]
    people = [judged("a", 0, 4), judged("b", 4, 4), judged("c", 1, 4), judged("d", 3, 4)]
    errors = agreement(judge, people).errors["relevant"]
    assert [(each.name, each.error) for each in errors.samples] == [
        ("b", -1.0),
        ("c", 0.5),
        ("a", 0.25),
        ("d", -0.25),
    ]
    assert errors.bias == -0.125
    assert errors.mean_absolute == 0.5
    assert errors.root_mean_square == pytest.approx(math.sqrt((1 + 1 / 4 + 2 / 16) / 4))


def test_signs_of_risk_at_their_thresholds() -> None:
    # One of ten samples at exactly 0.5: "many" begins there. Median 0, mean 0.05.
    values = ((0.0, 9), (0.5, 1))
    share, gap, spread = risk_signs(
        values,
        (values, values),
        mean=Figure(0.05, (0.05, 0.05)),
        median=Figure(0.0, (0.0, 0.0)),
        stdev=Figure(0.25, (0.25, 0.25)),
        thresholds=RiskThresholds(),
    )
    assert (share.present, share.figure, share.bounds) == (True, 0.1, (0.1, 0.1))
    assert share.sentence == ("high scores: yes (share of samples at 0.5 up 0.1, threshold 0.1)")
    assert (gap.present, gap.figure, gap.bounds) == (False, 0.05, (0.05, 0.05))
    assert (spread.present, spread.figure) == (True, 0.25)


def test_signs_of_risk_with_open_verdicts() -> None:
    # The mean lies between 0.1 and 0.3, the median between 0.2 and 0.4: they are 0 to 0.3 apart.
    lows, highs = ((0.0, 3), (0.5, 1)), ((0.25, 2), (0.5, 2))
    share, gap, spread = risk_signs(
        None,
        (lows, highs),
        mean=Figure(None, (0.1, 0.3)),
        median=Figure(0.4, (0.2, 0.4)),
        stdev=Figure(None, None),
        thresholds=RiskThresholds(many=0.5, gap=0.4),
    )
    assert (share.present, share.figure, share.bounds) == (None, None, (0.25, 0.5))
    assert (gap.present, gap.figure) == (False, None)
    assert gap.bounds == pytest.approx((0.0, 0.3))
    assert gap.sentence == "mean far from median: no (distance between 0 and 0.3, threshold 0.4)"
    assert (spread.present, spread.bounds) == (None, None)
    assert spread.sentence == (
        "high standard deviation: undefined (standard deviation, threshold 0.25)"
    )
    # The distance has a sign of its own: a median above the mean is as far as one below.
    for mean, median in ((0.1, 0.4), (0.4, 0.1)):
        both = Figure(mean, (mean, mean)), Figure(median, (median, median))
        _, gap, _ = risk_signs(
            lows, (lows, lows), mean=both[0], median=both[1],
            stdev=Figure(0.0, (0.0, 0.0)), thresholds=RiskThresholds(),
        )  # fmt: skip
        assert gap.figure == pytest.approx(0.3)
        assert gap.present is True
    for mean_bounds, median_bounds in ((None, (0.1, 0.1)), ((0.1, 0.1), None)):
        _, gap, _ = risk_signs(
            lows, ((), ()), mean=Figure(None, mean_bounds), median=Figure(0.1, median_bounds),
            stdev=Figure(0.0, (0.0, 0.0)), thresholds=RiskThresholds(),
        )  # fmt: skip
        assert (gap.present, gap.bounds) == (None, None)


def test_a_chosen_figure_is_kept_beside_its_bounds() -> None:
    # As with undetermined="high": mean 0.5 and median 0.2 are 0.3 apart; the bounds allow for
    # a mean of 0.1 to 0.5 and a median of 0 to 0.2, which are 0 to 0.5 apart.
    share, gap, _ = risk_signs(
        None,
        (((0.5, 2),), ((0.5, 2),)),
        mean=Figure(0.5, (0.1, 0.5)),
        median=Figure(0.2, (0.0, 0.2)),
        stdev=Figure(0.0, (0.0, 0.0)),
        thresholds=RiskThresholds(),
    )
    assert (gap.present, gap.figure, gap.bounds) == (None, 0.3, (0.0, 0.5))
    # Open verdicts that leave the share alone leave it a figure.
    assert (share.present, share.figure, share.bounds) == (True, 1.0, (1.0, 1.0))
