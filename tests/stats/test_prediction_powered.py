"""The prediction-powered mean, by hand, by numpy and in simulation."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from noisesense import InputError, PPIMean, Range, Result, Verdicts, score
from noisesense.stats.labels_mean import corrected_mean, labeled_pairs
from noisesense.stats.powered_mean import powered_mean
from support.simulated import result_of


def powered(others: Sequence[float], judged: Sequence[float], people: Sequence[float]) -> PPIMean:
    """The mean of scores that are all known."""
    ranges = [[Range(score, score) for score in scores] for scores in (others, judged, people)]
    return powered_mean(*ranges, 0.95)


def corrected(judge: Sequence[Result], human: Sequence[Result]) -> PPIMean:
    """The mean of the relevant mode, with all warnings."""
    labeled = labeled_pairs(judge, human, None)
    found = corrected_mean(labeled, "relevant", 0.95)
    return replace(found, warnings=(*labeled.warnings, *found.warnings))


def test_the_corrected_mean_of_five_samples_derived_by_hand() -> None:
    # Of any two of (Y, f) = (0, 0), (1/2, 1/4), (1, 1/2) the slope is 2, so λ = 1 for all three:
    # the terms Y + mean(f') − f are 1/4, 1/2, 3/4, and (3/2 + 2 · 1/2) / 5 = 1/2.
    found = powered([0.25, 0.25], [0.0, 0.25, 0.5], [0.0, 0.5, 1.0])
    assert found.labeled == 3
    assert found.unlabeled == 2
    assert found.mean == (0.5, 0.5)
    assert found.judge_mean == (0.25, 0.25)


def test_a_judge_that_tells_nothing_or_the_reverse_has_no_weight() -> None:
    reversed_order = powered([0.5, 0.5], [0.5, 0.25, 0.0], [0.0, 0.5, 1.0])
    assert reversed_order.mean == (0.5, 0.5)
    constant = powered([1.0] * 100, [0.5] * 3, [0.0, 0.5, 1.0])
    assert constant.mean == (0.5, 0.5)


@pytest.mark.parametrize("seed", range(3))
def test_the_formulas_in_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.beta(1, 3, 40)
    judged = np.clip(labels + rng.normal(0.1, 0.1, 40), 0, 1)
    others = np.clip(rng.beta(1, 3, 20) + rng.normal(0.1, 0.1, 20), 0, 1)
    found = powered(others.tolist(), judged.tolist(), labels.tolist())
    slopes = []
    for i in range(40):
        table = np.cov(np.delete(labels, i), np.delete(judged, i))
        slopes.append(np.clip(table[0, 1] / table[1, 1], 0, 1))
    slope = np.mean(slopes)
    terms = labels + slopes * (others.mean() - judged)
    mean = (labels.sum() + 20 * terms.mean()) / 60
    assert found.mean.value == pytest.approx(mean)
    scores = np.concatenate([labels, judged, others])
    error = (40 * scores[scores > 0].mean() + 10) / 50
    shift = slope * others.mean()

    def end(limit: float, p: float) -> float:
        weights = rng.dirichlet([1.0] * 40 + [0.5], 50_000)
        drawn = weights @ np.append(terms, limit)
        return mean + (20 / 60) ** 0.5 * (np.quantile(drawn, p) - terms.mean())

    low = end(shift - slope * error, 0.025)
    high = end(shift + error, 0.975)
    assert found.interval[:2] == pytest.approx((low, high), abs=0.004)


JUDGED = [0.0, 0.5, 0.25, 1.0, 0.0, 0.75]
PEOPLE = [0.0, 1.0, 0.0, 0.5, 0.25, 1.0]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_over_all_choices_of_the_labeled_samples_it_is_right_on_average(count: int) -> None:
    estimates = []
    for chosen in itertools.combinations(range(6), count):
        others = [JUDGED[i] for i in range(6) if i not in chosen]
        judged = [JUDGED[i] for i in chosen]
        people = [PEOPLE[i] for i in chosen]
        estimates.append(mid(powered(others, judged, people).mean))
    assert np.mean(estimates) == pytest.approx(sum(PEOPLE) / 6, abs=1e-12)


def test_the_mean_is_one_that_the_labels_leave_possible() -> None:
    """λ is 1, 1 and, as the other two are alike, 0: the terms −1/2, −1/2, 1/2 have the mean −1/6,
    which is cut to 0: (1/2 + 2 · 0) / 5."""
    found = powered([0.0, 0.0], [0.5, 0.5, 1.0], [0.0, 0.0, 0.5])
    assert found.mean.value == pytest.approx(0.1)
    assert found.interval.low <= 0.1 <= found.interval.high


def test_with_labels_on_all_samples_it_is_their_mean() -> None:
    found = powered([], JUDGED, PEOPLE)
    assert found.mean.value == found.interval.low == found.interval.high == sum(PEOPLE) / 6
    assert found.unlabeled == 0
    assert found.warnings == ()
    # With all but one, no more than that one is open.
    nearly = powered(JUDGED[5:], JUDGED[:5], PEOPLE[:5])
    assert 1.75 / 6 <= nearly.interval.low < nearly.interval.high <= 2.75 / 6


def mid(figure: Range) -> float:
    return (figure.low + figure.high) / 2


def test_labels_that_are_all_the_same_leave_open_what_they_can_have_missed() -> None:
    """Ten labels of 0, and half of one that nobody saw, as large as (10 · 1/2 + 10) / 20 = 3/4:
    the scores of the judge that are not 0 are 1/2 on average."""
    judged = [i / 10 for i in range(10)]
    found = powered([0.5] * 1000, judged, [0.0] * 10)
    assert found.mean.value == 0.0
    expected = 3 / 4 * stats.beta.ppf(0.975, 0.5, 10) * (1000 / 1010) ** 0.5
    assert found.interval.low == 0.0
    assert found.interval.high == pytest.approx(expected, abs=0.02)


def test_the_corrected_mean_of_results_is_that_of_their_scores() -> None:
    judge = [result_of(i, (i % 3, 2)) for i in range(40)]
    human = [result_of(i, (i % 2, 2)) for i in range(1, 40, 4)]
    found = corrected(judge, human)
    values = [(i % 3) / 2 for i in range(40)]
    rest = [value for i, value in enumerate(values) if i % 4 != 1]
    expected = powered(rest, values[1::4], [0.5] * 10)
    assert found == expected
    assert found.warnings == ()


def test_samples_without_a_value_are_left_out() -> None:
    empty = score(Verdicts(response_claims=()))
    judge = [result_of(i, (i % 2, 2)) for i in range(8)]
    judge += [Result("f", error="no"), Result("e", empty)]
    human = [result_of(i, (1, 2)) for i in range(3)]
    human += [result_of("f", (1, 2)), Result("7", empty)]
    found = corrected(judge, human)
    assert found.labeled == 3
    assert found.unlabeled == 4
    left_out = "3 samples are not in the mean: failed, or with nothing to measure."
    assert left_out in found.warnings


def open_result(name: object, known: bool, noisy: bool) -> Result:
    """One claim; whether it is noise is not known, or known."""
    said = noisy if known else None
    return Result(str(name), score(Verdicts.from_matrices([False], [[said]], [[True]])))


def test_what_the_judge_left_open_is_corrected_and_not_left_out() -> None:
    """A judge that fails on the noisy samples: over those it decides, the mean is 0. The middle
    of the bounds says which are noisy, so the estimate is that of all labels."""
    rng = random.Random(6)
    truth = [rng.random() < 0.3 for _ in range(400)]
    judge = [open_result(i, not noisy, noisy) for i, noisy in enumerate(truth)]
    human = [open_result(i, True, truth[i]) for i in range(0, 400, 4)]
    found = corrected(judge, human)
    mean = sum(truth) / 400
    assert found.labeled == 100
    assert found.unlabeled == 300
    assert found.warnings == ()
    assert found.judge_mean == (0.0, pytest.approx(mean))
    assert found.mean.value == pytest.approx(mean, abs=0.02)
    assert found.interval.low < mean < found.interval.high


def test_open_labels_make_the_mean_a_range_within_its_interval() -> None:
    """Of 40 labels 8 are open, 4 of them on noisy samples: 16 to 24 noisy ones of 40, and as many
    of the others, of which the judge says the same."""
    judge = [open_result(i, True, i % 2 == 0) for i in range(100)]
    human = [open_result(i, i % 5 != 0, i % 2 == 0) for i in range(40)]
    found = corrected(judge, human)
    assert found.mean == pytest.approx((0.4, 0.6))
    assert found.interval.low < found.mean.low < found.mean.high < found.interval.high


def test_one_label_is_too_few() -> None:
    with pytest.raises(InputError, match="expected at least two labeled samples, got 1"):
        powered([0.1, 0.2], [0.1], [0.1])


def test_an_interval_ends_at_the_most_that_the_labels_leave_possible() -> None:
    # Labels that add up to 2.7, of five samples: at most 4.7/5.
    wide = powered([0.9, 1.0], [0.9, 1.0, 0.8], [1.0, 1.0, 0.7])
    assert wide.interval.high == pytest.approx(4.7 / 5)


TOGETHER = "stand together in the results"


@pytest.mark.parametrize("chosen", [range(10), range(40, 50), range(15, 25)])
def test_labels_in_the_order_of_the_results_are_no_random_choice(chosen: range) -> None:
    """Ten of 50 have a mean place of 4.5, 44.5 or 19.5. The places of all 50 have the variance
    (50² − 1) / 12: three standard errors are 3 √(208.25 (1/10 + 1/40)) = 15.3 between the labeled
    samples and the others, of which 4.5 is 25 away from 29.5, and 19.5 is 6.25 from 25.75."""
    judge = [result_of(i, (1, 2)) for i in range(50)]
    found = corrected(judge, [judge[i] for i in chosen])
    assert any(TOGETHER in warning for warning in found.warnings) == (chosen[0] != 15)
