"""A judge beside people's labels: its errors by kind of cell, and the mean they would find."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace

import pytest
from msgspec import structs
from sklearn.metrics import cohen_kappa_score

from noisesense import (
    InputError,
    LabeledVerdicts,
    PairingError,
    Result,
    Usage,
    Verdicts,
    prediction_powered,
    score,
    trust,
    trust_results,
)
from noisesense.scoring.outcomes import Range
from noisesense.stats.interval import Resampling, bootstrap_interval, mean_interval
from noisesense.stats.labels_cells import Confusion, cell_agreement, kappa
from noisesense.stats.resampling import Unit
from noisesense_adapters.evaluate.wording import trust_sentences
from support.tables import Shape, random_pairs


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
    cells = found.cells["response"]
    # "no": 2 + 1 + 4 cells with both verdicts, one said "yes"; "yes": 1 + 2, one said "no".
    assert cells.counts[:5] == (2, 1, 1, 6, 1)
    assert (found.samples, found.failed, found.usage) == (3, 1, Usage(calls=7))
    assert (cells.false_yes.value, cells.false_no.value) == (1 / 7, 1 / 3)
    # Agreement 8 of 10; by chance (3·3 + 7·7) / 100. And 0.7, by chance 0.5 · 0.6 + 0.5 · 0.4.
    assert cells.kappa.value == pytest.approx((0.8 - 0.58) / 0.42)
    assert kappa((45, 5, 25, 25)) == pytest.approx(0.4)
    assert cells.false_yes.interval.low < 1 / 7 < cells.false_yes.interval.high
    assert cells.false_yes.interval.units == 3
    assert found.cells["reference"].counts.compared == 0
    compared, said = trust_sentences(found)
    assert compared == "10 verdicts of m were compared with people's labels."
    asked = "Of the response claims that people do not find in a chunk, the judge finds 14.3% ("
    assert said.startswith(asked)
    assert " there; of those that they do find, it misses 33.3% (" in said
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


def test_clusters_are_the_units() -> None:
    rows = [labeled(str(i), [True, False], [True, False], "same") for i in range(5)]
    assert trust("m", rows).cells["response"].false_yes.interval is None
    alone = labeled("same", [True, False], [True, False])
    mixed = trust("m", [alone, labeled("1", [True, False], [True, False], "same")])
    interval = mixed.cells["response"].false_yes.interval
    # A sample without a cluster is none of the cluster that has its name.
    assert interval.units == 2


def test_random_tables_against_scikit_learn() -> None:
    rng = random.Random(4)
    rows = [[rng.random() < 0.4 for _ in range(6)] for _ in range(40)]
    said = [[cell != (rng.random() < 0.2) for cell in row] for row in rows]
    found = trust("m", [labeled(str(i), a, b) for i, (a, b) in enumerate(zip(rows, said))])  # noqa: B905
    flat = [[int(cell) for row in side for cell in row] for side in (rows, said)]
    assert found.cells["response"].kappa.value == pytest.approx(cohen_kappa_score(*flat))


def test_every_pair_of_verdicts_has_its_count() -> None:
    answers: list[bool | None] = [True, False, None]
    pairs = [(h, j) for h in answers for j in answers]
    found = trust("m", [labeled("1", [h for h, _ in pairs], [j for _, j in pairs])])
    assert found.cells["response"].counts == (1, 1, 1, 1, 2, 3)
    assert found.unmatched_claims == 0


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
        assert mean == prediction_powered(judged, labels, mode=mode)
        assert {f"{mode}: {each}" for each in mean.warnings} <= {*found.warnings}
    alike = trust_results(judged, judged[::3])
    assert [each[:35] for each in alike.warnings] == [
        "relevant: The judge agrees with eve",
        "irrelevant: The judge agrees with e",
    ]
    assert found.samples == 30
    assert found.cells["response"].kappa.value == 1.0
    correct = found.cells["correct"].counts
    assert correct.missed + correct.false_yes == 30
    _, relevant, *_ = trust_sentences(found)
    assert relevant.startswith("In the relevant mode people would find a mean of ")
    assert list(found.to_dict())[1] == "means"


def test_what_cannot_be_measured() -> None:
    judged, labels = _own()
    with pytest.raises(PairingError):
        trust_results(judged, [Result("other", labels[0].score)])
    with pytest.raises(InputError, match="labeled claims that the judge decided"):
        trust("m", [labeled("1", [None], [True])])
    with pytest.raises(InputError, match="definition"):
        trust_results(judged, labels, definition="ragas2")  # type: ignore[arg-type]
    few = trust_results(judged, labels[:1])
    assert not few.means
    assert few.warnings[0].startswith("relevant: no mean corrected by the labels: human_labeled:")


def test_thresholds_of_a_judge_with_probabilities() -> None:
    found = trust("m", SAMPLES, probabilities=[(True, 0.9), (False, 0.2)]).calibration
    assert found.false_yes == found.false_no == 0.0
    assert trust("m", SAMPLES, probabilities=[(True, 0.9)]).calibration is None


def test_the_sentence_has_the_judges_mean_and_what_is_unknown() -> None:
    judged, labels = _own()
    found = trust_results(judged, labels, judge="m")
    low, high = found.means["relevant"].judge_mean
    assert low == high
    _, first, second, *_ = trust_sentences(found)
    assert first.endswith(f", where the judge finds {low:.4f}.")
    assert second.startswith("In the irrelevant mode people would find a mean of ")
    open_mean = Range(0.1, 0.25)
    means = {mode: replace(each, judge_mean=open_mean) for mode, each in found.means.items()}
    open_ones = replace(trust("m", [labeled("1", [True], [True])]), means=means)
    _, first, *_, last = trust_sentences(open_ones)
    assert first.endswith(", where the judge finds 0.1000 to 0.2500.")
    assert "an unknown share there; of those that they do find, it misses 0.0%" in last
    assert (open_ones.usage, open_ones.unmatched_claims) == (Usage(), 0)


def test_claims_of_one_side_are_counted_over_all_samples() -> None:
    people, judge = (
        Verdicts.from_matrices(
            [True] * len(response),
            [[False]] * len(response),
            [[False]] * 2,
            response_claims=list(response),
            reference_claims=list(reference),
        )
        for response, reference in (("ab", "xy"), ("acd", "xz"))
    )
    rows = [LabeledVerdicts(people, judge, str(i)) for i in range(3)]
    assert trust("m", rows).unmatched_claims == 3 * (3 + 2)  # c, d, b; z, y


def test_chunks_that_only_one_side_lists() -> None:
    claims = [{"text": "a", "correct": None, "entailed_by": [0]}]
    bare = Verdicts.model_validate({"response_claims": claims})
    listed = Verdicts.model_validate(
        {"response_claims": claims, "chunks": [{"text": each} for each in "xyz"]}
    )
    for people, judge in ((bare, listed), (listed, bare)):
        found = trust("m", [LabeledVerdicts(people, judge, "1")]).cells["response"].counts
        assert found == Confusion(both_yes=1, both_no=2)
    two = listed.model_copy(update={"chunks": (listed.chunks or ())[:2]})
    with pytest.raises(InputError, match="sample '1': expected 2 chunks, as people saw, got 3"):
        trust("m", [LabeledVerdicts(two, listed, "1")])


def test_intervals_of_rates_are_of_their_own_cells() -> None:
    """Of (both yes, missed, false yes, both no, …) of each sample; none without such cells."""
    units: Counter[Unit] = Counter(
        {
            (3.0, 1.0, 0.0, 2.0, 0.0, 0.0): 2,
            (2.0, 0.0, 1.0, 1.0, 0.0, 0.0): 3,
            (0.0, 0.0, 2.0, 5.0, 0.0, 0.0): 1,
        }
    )
    found = cell_agreement(units, Resampling())
    how = Resampling()
    false_yes: Counter[Unit] = Counter({(0.0, 2.0): 2, (1.0, 2.0): 3, (2.0, 7.0): 1})
    missed: Counter[Unit] = Counter({(1.0, 4.0): 2, (0.0, 2.0): 3})
    assert found.counts == (12, 2, 5, 12, 0, 0)
    assert found.false_yes == (5 / 17, mean_interval([false_yes], how))
    assert found.false_no == (2 / 14, mean_interval([missed], how))
    assert found.kappa.value == kappa(found.counts)
    assert found.kappa.interval == bootstrap_interval(units, kappa, how)
    alike = cell_agreement(Counter({(2.0, 0.0, 0.0, 0.0, 0.0, 0.0): 9}), how)
    assert (alike.kappa, alike.false_yes) == ((None, None), (None, None))
    nothing = cell_agreement(Counter(), how)
    assert (nothing.counts, nothing.false_no) == ((0,) * 6, (None, None))


def test_clusters_of_results_are_the_units_of_rates_and_warned_of_for_means() -> None:
    judged, labels = _own()
    alone = trust_results(judged, labels)
    grouped = [structs.replace(each, cluster=str(i // 10)) for i, each in enumerate(judged)]
    found = trust_results(grouped, labels)
    units = [each.cells["correct"].false_yes.interval for each in (alone, found)]
    assert all(units)
    assert units[1].units == 6
    assert sum("share a cluster" in each for each in found.warnings) == 1
    assert not any("share a cluster" in each for each in alone.warnings)
    some = trust_results([grouped[0], *judged[1:]], labels)
    assert any("share a cluster" in each for each in some.warnings)
    theirs = [structs.replace(each, cluster=str(i // 10)) for i, each in enumerate(labels)]
    assert trust_results(judged, theirs).cells["correct"].false_yes.interval.units == 3
    few = trust_results(grouped, labels[:1])
    assert not any("share a cluster" in each for each in few.warnings)  # there are no means
