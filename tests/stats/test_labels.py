"""A judge beside people's labels: its errors by kind of cell, and the mean they would find."""

from __future__ import annotations

import json

import pytest
from msgspec import structs

from noisesense import (
    InputError,
    LabeledVerdicts,
    PairingError,
    Result,
    Usage,
    Verdicts,
    score,
    trust,
    trust_results,
)
from noisesense_adapters.evaluate.tables import trust_tables
from noisesense_adapters.evaluate.wording import trust_sentence
from support.tables import Shape, random_pairs


def labeled(
    name: str,
    labels: list[bool | None],
    said: list[bool | None] | None,
    cluster: str | None = None,
) -> LabeledVerdicts:
    """One claim against so many chunks."""
    judge = None if said is None else of_cells(said)
    return LabeledVerdicts(of_cells(labels), judge, name, cluster)


def of_cells(cells: list[bool | None]) -> Verdicts:
    return Verdicts.from_matrices([None], [cells], response_claims=["a"])


SAMPLES = [
    labeled("1", [True, False, False, None], [True, True, False, True]),
    labeled("2", [True, True, False, False], [False, True, False, None]),
    labeled("3", [False] * 4, [False] * 4),
    labeled("4", [True], None),
]


def test_the_rates_of_false_yes_and_false_no_by_hand() -> None:
    found = trust("m", SAMPLES, usage=Usage(calls=7))
    cells = found.cells["response"]
    # "no": 2 + 1 + 4 cells with both verdicts, one said "yes"; "yes": 1 + 2, one said "no".
    assert cells.counts[:5] == (2, 1, 1, 6, 1)
    assert found.samples == 3
    assert found.failed == 1
    assert found.usage == Usage(calls=7)
    assert cells.false_yes.value == 1 / 7
    assert cells.false_no.value == 1 / 3
    assert cells.false_yes.interval.low < 1 / 7 < cells.false_yes.interval.high
    assert cells.false_yes.interval.units == 3
    assert found.cells["reference"].counts.compared == 0
    assert json.loads(json.dumps(found.to_dict()))["samples"] == 3


def test_each_kind_of_cell_has_its_own_rates() -> None:
    people = Verdicts.from_matrices(
        [True, False], [[True], [False]], [[False]], response_claims=["a", "b"]
    )
    judge = Verdicts.from_matrices(
        [False, True], [[True], [False]], [[True]], response_claims=["b", "A "]
    )
    found = trust("m", [LabeledVerdicts(people, judge, "1")]).cells
    # Claims are matched by text: "a" is correct for both, the chunk entails another one.
    assert found["correct"].counts[:4] == (1, 0, 0, 1)
    assert found["response"].counts[:4] == (0, 1, 1, 0)
    assert found["reference"].false_yes.value == 1.0


def test_clusters_are_the_units_of_a_rates_interval() -> None:
    rows = [labeled(str(i), [True, False], [True, False], "same") for i in range(5)]
    assert trust("m", rows).cells["response"].false_yes.interval is None
    alone = labeled("same", [True, False], [True, False])
    mixed = trust("m", [alone, labeled("1", [True, False], [True, False], "same")])
    interval = mixed.cells["response"].false_yes.interval
    # A sample without a cluster is none of the cluster that has its name.
    assert interval.units == 2


def test_every_pair_of_verdicts_has_its_count() -> None:
    people: list[bool | None] = [True, True, True, False, False, False, None, None, None]
    judge: list[bool | None] = [True, False, None] * 3
    found = trust("m", [labeled("1", people, judge)])
    assert found.cells["response"].counts == (1, 1, 1, 1, 2, 3)
    assert found.judge_open == 2


def _own() -> tuple[list[Result], list[Result]]:
    """Judged samples, of every other of which people say another thing about one claim."""
    pairs = list(random_pairs(60, seed=8, shape=Shape(response_claims=(1, 4))))
    judged = [
        Result(f"{i}", score(known), sample=sample) for i, (sample, known) in enumerate(pairs)
    ]
    labels: list[Result] = []
    for i in range(0, 60, 2):
        sample, known = pairs[i]
        first, *rest = known.response_claims
        other = first.model_copy(update={"correct": not first.correct})
        said = known.model_copy(update={"response_claims": (other, *rest)})
        labels.append(Result(f"{i}", score(said), sample=sample))
    return judged, labels


def test_labels_on_your_own_samples_give_the_corrected_mean_first() -> None:
    judged, labels = _own()
    found = trust_results(judged, labels, judge="m")
    for mode, mean in found.means.items():
        assert (mean.labeled, mean.unlabeled) == (30, 30)
        assert mean.mean != mean.judge_mean
        assert {f"{mode}: {each}" for each in mean.warnings} <= {*found.warnings}
    assert found.samples == 30
    assert found.cells["response"].false_yes.value == 0.0
    assert found.cells["response"].false_no.value == 0.0
    correct = found.cells["correct"].counts
    assert correct.missed + correct.false_yes == 30
    means, _ = trust_tables(found)
    low = found.means["relevant"].judge_mean.low
    assert means.rows[0][:2] == ("relevant", f"{low:.4f}")
    assert list(found.to_dict())[2] == "means"


def test_labels_on_no_sample_or_undecided_are_refused_and_one_gives_no_mean() -> None:
    judged, labels = _own()
    with pytest.raises(PairingError):
        trust_results(judged, [Result("other", labels[0].score)])
    with pytest.raises(InputError, match="labeled claims that the judge decided"):
        trust("m", [labeled("1", [None], [True])])
    few = trust_results(judged, labels[:1])
    assert not few.means
    assert few.warnings[0].startswith(
        "relevant: no mean corrected by the labels: expected at least two"
    )


def test_clusters_of_results_are_the_units_of_the_corrected_mean() -> None:
    """Three clusters of ten labeled samples each, instead of 30 samples."""
    judged, labels = _own()
    alone = trust_results(judged, labels).means["relevant"]
    grouped = trust_results(judged, in_clusters(labels)).means["relevant"]
    assert grouped.mean == alone.mean
    assert alone.interval.units == 30
    assert grouped.interval.units == 3
    assert grouped.interval.high > alone.interval.high


def test_verdicts_of_a_judge_are_no_labels_until_a_person_has_checked_them() -> None:
    judged, labels = _own()
    other = [structs.replace(each, judge="other:model") for each in labels]
    with pytest.raises(InputError, match="that a person gave, got verdicts of other:model"):
        trust_results(judged, other)
    found = trust_results(judged, other, judge="m", checked_by="Ann")
    assert found.labels_by == "Ann"
    assert trust_sentence(found).endswith("of m compared with the labels of Ann.")
    for given in ("none", "given verdicts"):
        rows = [structs.replace(each, judge=given) for each in labels]
        assert trust_results(judged, rows).labels_by is None


def in_clusters(results: list[Result]) -> list[Result]:
    """Ten in each."""
    return [structs.replace(each, cluster=str(i // 10)) for i, each in enumerate(results)]
