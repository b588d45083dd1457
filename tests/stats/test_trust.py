"""A judge beside labels, and what that leaves of a mean."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest
from scipy import stats

from noisesense import (
    InputError,
    LabeledVerdicts,
    Result,
    Usage,
    Verdicts,
    calibrate,
    score,
    trust,
)
from noisesense.stats.trust import _drawn_rates


def labeled(
    name: str,
    labels: list[bool | None],
    said: list[bool | None] | None,
    cluster: str | None = None,
) -> LabeledVerdicts:
    """One claim against so many chunks."""
    people, judge = (
        None if row is None else Verdicts.from_matrices([None], [row], response_claims=["a"])
        for row in (labels, said)
    )
    assert people is not None
    return LabeledVerdicts(people, judge, name, cluster)


SAMPLES = [
    labeled("1", [True, False, False, None], [True, True, False, True]),
    labeled("2", [True, True, False, False], [False, True, False, None]),
    labeled("3", [False] * 4, [False] * 4),
    labeled("4", [True], None),
]


def test_rates_by_hand() -> None:
    found = trust("m", SAMPLES, usage=Usage(calls=7))
    # "no": 2 + 1 + 4 cells with both verdicts, one said "yes"; "yes": 1 + 2, one said "no".
    assert found.counts[:5] == (2, 1, 1, 6, 1)
    assert (found.samples, found.failed) == (3, 1)
    assert found.usage == Usage(calls=7)
    assert trust("m", SAMPLES, seed=0, resamples=2000) == trust("m", SAMPLES)
    assert trust("m", SAMPLES).usage == Usage()
    assert found.false_yes == pytest.approx(1 / 7)
    assert found.false_no == pytest.approx(1 / 3)
    # Agreement 8 of 10; by chance (3·3 + 7·7) / 100.
    assert found.kappa == pytest.approx((0.8 - 0.58) / 0.42)
    assert found.false_yes_interval is not None
    assert found.false_yes_interval.confidence == pytest.approx(0.975)
    assert found.false_yes_interval.units == 3
    assert found.band is None
    assert found.sentence.startswith("m has 14.3% (")
    assert found.sentence.endswith(" false no in 10 labeled verdicts.")


def test_clusters_are_the_units() -> None:
    one = trust("m", [labeled(str(i), [True, False], [True, False], "same") for i in range(5)])
    assert one.false_yes_interval is None
    two = trust("m", [labeled(str(i), [True, False], [True, False], str(i % 2)) for i in range(6)])
    assert two.false_yes_interval is not None
    assert two.false_yes_interval.units == 2
    # A sample without a cluster is none of the cluster that has its name.
    alone = labeled("same", [True, False], [True, False])
    mixed = trust("m", [alone, labeled("1", [True, False], [True, False], "same")])
    assert mixed.false_yes_interval is not None
    assert mixed.false_yes_interval.units == 2


def test_results_get_the_range_that_their_truth_may_have() -> None:
    perfect = [labeled(str(i), [True, False], [True, False]) for i in range(400)]
    noisy = Verdicts.from_matrices([False, True], [[True], [True]], relevant=[True])
    results = [Result(str(i), score(noisy), judge="m, plan=full") for i in range(50)]
    found = trust("openai:m", perfect, results=results)
    assert found.band is not None
    band = found.band.relevant
    assert band is not None
    assert found.band.direction == "truth"
    assert found.band.confidence == pytest.approx(0.975)
    assert found.results_by == ("m, plan=full",)
    assert (band.mean, band.moved) == (0.5, pytest.approx(0.5))
    assert band.low is not None
    assert band.high is not None
    # 400 labels of each kind without an error leave less than 1% of errors.
    assert 0.48 < band.low <= 0.5 <= band.high < 0.52
    assert (
        f"With openai:m, the relevant mean of 0.5000 may be anything from {band.low:.4f} to "
        f"{band.high:.4f} and the irrelevant mean of 0.0000" in found.sentence
    )
    data = json.loads(json.dumps(found.to_dict()))
    assert data["sentence"] == found.sentence
    assert data["band"]["relevant"]["low"] == band.low

    doubtful = trust("openai:m", SAMPLES, results=results)
    assert doubtful.band is not None
    wide = doubtful.band.relevant
    assert wide is not None
    assert wide.low is not None
    assert wide.high is not None
    assert wide.high - wide.low > 10 * (band.high - band.low)


def test_modes_without_a_mean_are_not_in_the_sentence() -> None:
    perfect = [labeled(str(i), [True, False], [True, False]) for i in range(400)]
    noisy = Verdicts.from_matrices([False], [[True]], relevant=[True])
    one_mode = [Result("a", score(noisy, definition="validmind"))]
    found = trust("m", perfect, results=one_mode, definition="validmind")
    assert found.sentence.startswith("With m, the relevant mean of 1.0000 may be anything from ")
    assert "irrelevant" not in found.sentence
    failed = trust("m", perfect, results=[Result("a", score(Verdicts(response_claims=())))])
    assert failed.band is not None
    assert failed.sentence.startswith("m has 0.0% (")


def test_labels_of_one_kind() -> None:
    found = trust("m", [SAMPLES[2]])
    assert (found.false_yes, found.false_no, found.false_no_interval) == (0, None, None)
    assert " false yes and an unknown share of false no in 4 labeled verdicts." in found.sentence


def test_thresholds_of_a_judge_with_probabilities() -> None:
    cells = [(False, 0.1), (True, 0.8), (False, 0.3), (True, 0.9)]
    assert trust("m", SAMPLES, probabilities=iter(cells)).calibration == calibrate(cells)
    assert trust("m", SAMPLES, probabilities=cells[::2]).calibration is None
    assert trust("m", SAMPLES).calibration is None


def test_rates_that_labels_allow() -> None:
    """Of units of one cell each, and half a cell of each kind: Jeffreys' posteriors."""
    cells = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
    units = Counter(
        dict(zip([tuple(map(float, each)) for each in cells], (3, 1, 2, 5), strict=True))
    )
    draws = [draw for seed in range(20) for draw in _drawn_rates(units, random.Random(seed))]
    assert len(draws) == 2000
    false_yes, false_no = zip(*draws, strict=True)
    assert stats.kstest(false_yes, stats.beta(2.5, 5.5).cdf).pvalue > 0.01
    assert stats.kstest(false_no, stats.beta(1.5, 3.5).cdf).pvalue > 0.01


def test_what_cannot_be_measured() -> None:
    with pytest.raises(InputError, match="m: expected labeled claims that the judge decided"):
        trust("m", [SAMPLES[-1]])
    table = Verdicts.from_matrices([False], [[True]], relevant=[True])
    with pytest.raises(InputError, match='no "yes" that the judge decided'):
        trust("m", [SAMPLES[2]], results=[Result("a", score(table))])
    with pytest.raises(InputError, match='no "no" that the judge decided'):
        trust("m", [labeled("1", [True], [True])], results=[Result("a", score(table))])
    with pytest.raises(InputError, match="confidence"):
        trust("m", SAMPLES, confidence=1)
    # It says "yes" and "no" the wrong way around.
    turned = [labeled(str(i), [True, False], [False, True]) for i in range(5)]
    with pytest.raises(InputError, match="rates whose sum is below 1"):
        trust("m", turned, results=[Result("a", score(table))])
