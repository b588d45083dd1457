"""A judge beside labels, and what that leaves of a mean."""

from __future__ import annotations

import json

import pytest

from noisesense import InputError, LabeledVerdicts, Result, Usage, Verdicts, score, trust


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


def test_what_cannot_be_measured() -> None:
    with pytest.raises(InputError, match="m: expected labeled claims that the judge decided"):
        trust("m", [SAMPLES[-1]])
    table = Verdicts.from_matrices([False], [[True]], relevant=[True])
    with pytest.raises(InputError, match='no "yes" that the judge decided'):
        trust("m", [SAMPLES[2]], results=[Result("a", score(table))])
    with pytest.raises(InputError, match="confidence"):
        trust("m", SAMPLES, confidence=1)
    # It says "yes" and "no" the wrong way around.
    turned = [labeled(str(i), [True, False], [False, True]) for i in range(5)]
    with pytest.raises(InputError, match="rates whose sum is below 1"):
        trust("m", turned, results=[Result("a", score(table))])
