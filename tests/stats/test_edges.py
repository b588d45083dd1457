"""Single cases that a small fault in the statistics would change: found by mutation testing."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from scipy import stats

from noisesense import (
    Result,
    Sample,
    Verdicts,
    agreement,
    compare,
    score,
    sensitivity_band,
    summarize,
)
from noisesense.stats.cells import Confusion, cell_agreement
from noisesense.stats.interval import Resampling, bootstrap_interval, percentile_level, ratio
from noisesense.stats.ragchecker import ragchecker_aggregates
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


def one(correct: list[bool | None], entailed: list[list[bool | None]]) -> Result:
    """Chunk 0 is relevant, chunk 1 is not."""
    return Result("s", score(Verdicts.from_matrices(correct, entailed, None, [True, False])))


def test_a_summary_of_open_samples_by_hand() -> None:
    # Values 0, 1/2 to 1 and 1: the middles 0, 3/4 and 1 deviate by √(0.2708) = 0.5204, and the
    # moves of at most 0, 1/4 and 0 by at most √(1/16 / 2) = 0.1768.
    found = summarize(
        [
            one([True], [[True, False]]),
            one([False, None], [[True, False], [True, False]]),
            one([False], [[True, False]]),
        ]
    )
    mode = found.relevant
    assert mode is not None
    assert mode.bounds == (0.5, pytest.approx(2 / 3))
    assert mode.distribution == ((0.0, 1), (1.0, 1))
    assert mode.claims == (2, 3, 4)
    spread = mode.signs[2]
    assert spread.bounds == pytest.approx((0.5204 - 0.1768, 0.5204 + 0.1768), abs=1e-4)
    high = summarize([score(r.score.verdicts, undetermined="high") for r in [
        one([False, None], [[True, False], [True, False]])] if r.score]).relevant  # fmt: skip
    assert high is not None
    assert high.distribution == ((1.0, 1),)
    assert summarize([]).relevant is None


def test_needed_cells_by_hand() -> None:
    # Two claims: 2 questions; one is wrong: 2 more, one for each chunk; then each of two chunks
    # without a label and each of three claims of the reference: 6. One is open.
    verdicts = Verdicts.from_matrices(
        [True, False],
        [[True, True], [True, False]],
        [[None, False], [False, False], [True, False]],
    )
    found = summarize([score(verdicts)])
    assert (found.needed_cells, found.open_cells) == (10, 1)


def test_a_difference_that_ends_at_zero_is_not_decided() -> None:
    # Half of the pairs differ by 1/5, half do not: the interval begins at 0.
    a = [Result(f"{i}", one([True] * 5, [[True, False]] * 5).score) for i in range(4)]
    wrong = one([False, *[True] * 4], [[True, False]] * 5).score
    b = [Result(f"{i}", wrong if i < 2 else a[i].score) for i in range(4)]
    worse, better = compare(a, b).relevant, compare(b, a).relevant
    assert worse is not None
    assert better is not None
    assert worse.decision == better.decision == "undecided"


def test_a_sample_that_became_empty_has_changed() -> None:
    empty = Result("s", score(Verdicts(response_claims=())))
    (change,) = compare([empty], [one([True], [[True, False]])]).changes
    assert change.changed("relevant")
    assert change.difference("relevant") is None
    assert change.largest == 0.0


def test_counts_of_agreement_by_hand() -> None:
    found = cell_agreement(Counter({(3.0, 1.0, 2.0, 4.0, 5.0, 6.0): 2}), Resampling())
    assert found.counts == (6, 2, 4, 8, 10, 12)
    assert found.counts.compared == 20
    assert Confusion() == (0,) * 6
    assert (found.accuracy, found.false_yes_rate, found.missed_rate) == (14 / 20, 1 / 3, 1 / 4)
    assert found.false_yes_interval is not None


def test_a_claim_that_some_chunk_entails_is_no_hallucination() -> None:
    # Of the first claim it is open whether chunk 1 entails it, too; of the second, whether any.
    sure = one([False, True], [[True, None], [False, False]])
    assert ragchecker_aggregates([sure])["hallucination"] == 0.0
    perhaps = one([False, True], [[False, None], [False, False]])
    assert ragchecker_aggregates([perhaps])["hallucination"] is None


def test_aggregates_of_one_open_claim_by_hand() -> None:
    """Precision is open with a claim's correctness; the share of hallucinations only where
    no chunk is known to entail the claim."""
    nowhere: list[bool | None] = [False, False]
    for row, share in (
        ([False, False], None),
        ([False, None], None),
        ([True, False], 0.0),
        ([False, True], 0.0),
    ):
        aggregates = ragchecker_aggregates([one([True, None], [nowhere, row])])
        assert (aggregates["precision"], aggregates["hallucination"]) == (None, share)
    # Entailed by a chunk of which nobody knows whether it is relevant: no hallucination. The other
    # incorrect claim is one for certain.
    verdicts = Verdicts.from_matrices([True, False, False], [[False], [True], [False]], [[None]])
    aggregates = ragchecker_aggregates([score(verdicts)])
    assert (aggregates["precision"], aggregates["hallucination"]) == (33.3, 33.3)
    assert aggregates["noise_sensitivity_in_relevant"] is None


def test_what_a_summary_says_of_open_verdicts() -> None:
    half_open = [one([False, None], [[True, False]] * 2) for _ in range(2)]
    found = summarize([*half_open, *(one([True], [[True, False]]) for _ in range(38))])
    # 2 · 1/2 to 2 · 1 over 40 samples. Needed: 4 + 38 answers on claims, and for 4 suspects two
    # chunks each; the two claims are open.
    assert (found.needed_cells, found.open_cells) == (50, 2)
    assert (
        "2 of the 50 verdicts that the scores need (4.0%) have no answer: where they decide a "
        "score, it is a range." in found.warnings
    )
    assert (
        "relevant: 2 of 40 samples are undetermined; the mean lies between 0.025 and 0.05, and "
        "the verdicts do not decide where." in found.warnings
    )
    assert found.relevant is not None
    assert found.relevant.undetermined_claims == 2
