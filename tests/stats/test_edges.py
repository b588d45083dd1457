"""Single cases that a small fault in the statistics would change: found by mutation testing."""

from __future__ import annotations

from collections import Counter

import pytest
from scipy import stats

from noisesense import (
    Result,
    Sample,
    Verdicts,
    compare,
    score,
    summarize,
)
from noisesense.stats.interval import Resampling, bootstrap_interval, percentile_level, ratio


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


def judged(name: str, wrong: int, of: int) -> tuple[Sample, Verdicts]:
    sample = Sample(user_input=name, response="r", reference="s", retrieved_contexts=["c"])
    correct = [i >= wrong for i in range(of)]
    return sample, Verdicts.from_matrices(correct, [[True]] * of, [[True]])


def one(correct: list[bool | None], entailed: list[list[bool | None]]) -> Result:
    """Chunk 0 is relevant, chunk 1 is not."""
    return Result("s", score(Verdicts.from_matrices(correct, entailed, None, [True, False])))


def test_a_summary_of_open_samples_by_hand() -> None:
    # Values 0, 1/2 to 1 and 1.
    found = summarize(
        [
            one([True], [[True, False]]),
            one([False, None], [[True, False], [True, False]]),
            one([False], [[True, False]]),
        ]
    )
    mode = found.relevant
    assert mode is not None
    assert mode.mean == (0.5, pytest.approx(2 / 3))
    assert mode.distribution == ((0.0, 1), (1.0, 1))
    assert mode.claims == (2, 3, 4)
    assert (mode.stdev, mode.median, mode.minimum) == (None, (0.5, 1.0), (0.0, 0.0))
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
