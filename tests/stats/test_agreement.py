"""Agreement of a judge with people, against scikit-learn and by hand."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from noisesense import (
    InputError,
    Matrices,
    Result,
    Sample,
    Verdicts,
    agreement,
    read_recording,
    score,
    write_recording,
)
from noisesense.stats.agreement import SampleError
from noisesense.stats.cells import Confusion, cell_agreement, kappa
from noisesense.stats.interval import Resampling, bootstrap_interval, covering, ratio
from noisesense.stats.resampling import Unit
from support.tables import Shape, random_pairs

Pair = tuple[Sample, Verdicts]


def noisy_judge(pairs: list[Pair], seed: int) -> list[Pair]:
    """The same claims with one cell in six turned around and one in ten left open."""
    rng = random.Random(seed)

    def cell(value: bool | None) -> bool | None:
        if rng.random() < 0.1 or value is None:
            return None
        return value if rng.random() < 5 / 6 else not value

    judged: list[Pair] = []
    for sample, human in pairs:
        table = human.to_matrices()
        wrong: Matrices = {
            "reference_to_response": list(map(cell, table["reference_to_response"])),
            "chunks_to_response": [list(map(cell, row)) for row in table["chunks_to_response"]],
            "chunks_to_reference": [
                list(map(cell, row)) for row in table["chunks_to_reference"] or []
            ],
            "relevant": table["relevant"],
        }
        judged.append(
            (
                sample,
                Verdicts.from_matrices(
                    **wrong,
                    response_claims=[claim.text for claim in human.response_claims],
                    reference_claims=[claim.text for claim in human.reference_claims],
                ).beside(sample),
            )
        )
    return judged


def cells(pairs: list[Pair], key: str) -> list[bool | None]:
    found: list[bool | None] = []
    for _, verdicts in pairs:
        table = verdicts.to_matrices()
        if key == "correct":
            found += table["reference_to_response"]
        elif key == "response":
            found += [cell for row in table["chunks_to_response"] for cell in row]
        else:
            found += [cell for row in table["chunks_to_reference"] or [] for cell in row]
    return found


def test_random_tables_against_scikit_learn() -> None:
    from sklearn.metrics import cohen_kappa_score, confusion_matrix  # not in every process

    human = list(random_pairs(60, shape=Shape(undetermined=0.05)))
    judge = noisy_judge(human, 1)
    found = agreement(judge, human)
    assert (found.samples, found.only_judge, found.only_human, found.unmatched_claims) == (
        60,
        0,
        0,
        0,
    )
    for kind, ours in found.cells.items():
        both = list(zip(cells(human, kind), cells(judge, kind), strict=True))
        given = [(h, j) for h, j in both if h is not None and j is not None]
        labels, predicted = zip(*given, strict=True)
        expected = cohen_kappa_score(labels, predicted)
        assert ours.kappa == pytest.approx(expected, abs=1e-12)
        (tn, fp), (fn, tp) = confusion_matrix(labels, predicted).tolist()
        assert ours.counts[:4] == (tp, fn, fp, tn)
        assert ours.counts.human_open == sum(h is None for h, _ in both)
        assert ours.counts.judge_open == sum(h is not None and j is None for h, j in both)
        assert ours.accuracy == (tp + tn) / len(given)
        assert ours.false_yes_rate == fp / (fp + tn)
        assert ours.missed_rate == fn / (fn + tp)
        for rate, interval in (
            (ours.false_yes_rate, ours.false_yes_interval),
            (ours.missed_rate, ours.missed_interval),
        ):
            assert rate is not None
            assert interval is not None
            assert interval.low < rate < interval.high
        assert ours.kappa_interval is not None
        assert ours.kappa_interval.low < expected < ours.kappa_interval.high
        assert ours.kappa_interval.units == 60


def test_kappa_by_hand() -> None:
    # 20 both yes, 5 missed, 10 false, 15 both no: p_o = 35/50, p_e = (25·30 + 25·20)/2500 = 0.5.
    assert kappa((20, 5, 10, 15)) == pytest.approx(0.4)
    assert kappa((5, 0, 0, 5)) == 1.0
    assert kappa((0, 5, 5, 0)) == -1.0
    assert kappa((7, 0, 0, 0)) is None
    assert kappa((0, 0, 0, 0)) is None


SAMPLE = Sample(user_input="q", response="r", reference="s", retrieved_contexts=["a", "b"])


def verdicts(*rows: tuple[str, bool | None, list[int]]) -> Verdicts:
    return Verdicts.model_validate(
        {
            "response_claims": [
                {"text": text, "correct": correct, "entailed_by": chunks}
                for text, correct, chunks in rows
            ],
            "chunks": [{"text": "a", "relevant": True}, {"text": "b", "relevant": False}],
        }
    )


def test_the_errors_of_scores_by_hand() -> None:
    other = SAMPLE.model_copy(update={"response": "t"})
    human = [
        (SAMPLE, verdicts(("x", False, [0]), ("y", True, []))),
        (other, verdicts(("x", True, []))),
    ]
    judge = [
        (SAMPLE, verdicts(("x", True, [0]), ("y", True, []))),
        (other, verdicts(("x", False, [0]))),
    ]
    found = agreement(judge, human)
    # People: 1/2 and 0; the judge: 0 and 1. Errors −1/2 and 1.
    errors = found.errors["relevant"]
    assert [each.error for each in errors.samples] == [1.0, -0.5]
    assert (errors.bias, errors.mean_absolute) == (0.25, 0.75)
    assert errors.root_mean_square == pytest.approx((1.25 / 2) ** 0.5)
    assert errors.bias_interval is not None
    assert found.cells["correct"].counts == Confusion(both_yes=1, missed=1, false_yes=1)
    # Claim x of the first sample from chunk a: yes by both; of the second: a false yes.
    assert found.cells["response"].counts == Confusion(both_yes=1, false_yes=1, both_no=4)
    assert found.cells["reference"].counts == Confusion()
    assert found.cells["reference"].kappa is None


def test_the_rates_of_errors_have_intervals_over_samples() -> None:
    # Per sample (false yes, no by people): (1, 2) and (0, 1); nobody said yes but in the third.
    samples = Counter({(0.0, 0.0, 1.0, 1.0, 0.0, 0.0): 3, (0.0, 0.0, 0.0, 1.0, 0.0, 0.0): 2})
    found = cell_agreement(samples + Counter({(4.0, 0.0, 0.0, 0.0, 0.0, 0.0): 1}), Resampling())
    assert (found.false_yes_rate, found.missed_rate) == (3 / 8, 0.0)
    expected = bootstrap_interval(Counter({(1.0, 2.0): 3, (0.0, 1.0): 2}), ratio, Resampling())
    assert found.false_yes_interval == expected
    assert found.false_yes_interval is not None
    assert found.false_yes_interval.units == 5, "the third has no cell to which people say no"
    assert found.missed_interval is None, "one sample says nothing of its spread"


def test_claims_are_found_by_their_text() -> None:
    human = verdicts(("x", False, [0]), ("y", True, []), ("only people", True, []))
    judge = verdicts(("y", True, []), ("only the judge", True, [1]), ("x", False, [0]))
    found = agreement([(SAMPLE, judge)], [(SAMPLE, human)])
    assert found.unmatched_claims == 2
    assert found.cells["correct"].counts == Confusion(both_yes=1, both_no=1)
    assert found.cells["response"].counts == Confusion(both_yes=1, both_no=3)


def test_recordings_and_results(tmp_path: Path) -> None:
    human = verdicts(("x", False, [0]))
    write_recording(tmp_path / "people.jsonl", [(SAMPLE, human)])
    results = [
        Result("1", score(verdicts(("x", False, []))), sample=SAMPLE),
        Result("2", error="no", sample=SAMPLE.model_copy(update={"response": "t"})),
    ]
    found = agreement(results, read_recording(tmp_path / "people.jsonl"))
    assert found.cells["response"].counts == Confusion(missed=1, both_no=1)
    assert found.errors["relevant"].samples[0].name == "1"
    assert found.errors["relevant"].bias == -1.0


def test_samples_of_one_side_are_counted() -> None:
    others = [SAMPLE.model_copy(update={"response": text}) for text in "abc"]
    found = agreement(
        [(SAMPLE, verdicts()), (others[0], verdicts())],
        [(SAMPLE, verdicts()), (others[1], verdicts()), (others[2], verdicts())],
    )
    assert (found.samples, found.only_judge, found.only_human) == (1, 1, 2)
    assert (found.errors["relevant"].undefined, found.errors["relevant"].undetermined) == (1, 0)
    assert found.errors["relevant"].bias is None


def test_undefined_and_missing_modes() -> None:
    found = agreement(
        [(SAMPLE, verdicts(("x", False, [])))],
        [(SAMPLE, verdicts(("x", False, [])))],
        definition="validmind",
    )
    assert found.errors.keys() == {"relevant"}


@pytest.mark.parametrize(
    ("judge", "human", "message"),
    [
        (
            [(SAMPLE.model_copy(update={"response": "t"}), verdicts())],
            [(SAMPLE, verdicts())],
            "samples with verdicts by the judge and by people, got 1 that differ in their answer",
        ),
        (
            [(SAMPLE.model_copy(update={"reference": "t"}), verdicts())],
            [(SAMPLE, verdicts())],
            "paired by question: expected samples that both runs have, got none",
        ),
        ([], [(SAMPLE, verdicts())], "the judge's verdicts: expected samples with verdicts"),
        ([(SAMPLE, verdicts())], [], "the human labels: expected samples with verdicts"),
        ([(verdicts(), SAMPLE)], [(SAMPLE, verdicts())], "each Sample and its Verdicts"),
    ],
)
def test_what_cannot_be_compared(judge: list[Pair], human: list[Pair], message: str) -> None:
    with pytest.raises(InputError, match=message):
        agreement(judge, human)


def test_a_sample_that_is_judged_or_labelled_twice() -> None:
    # Two labels on one sample: the first is taken, and it is said.
    found = agreement([(SAMPLE, verdicts())], [(SAMPLE, verdicts())] * 2)
    assert (found.samples, found.only_judge, found.only_human) == (1, 0, 1)
    assert found.warnings[0].startswith("Several samples have the same question and reference")
    # An id names one sample.
    twice = [Result("1", score(verdicts()))] * 2
    for judge, human, where in (
        (twice, twice[:1], "the judge's verdicts: expected each sample once, got '1' twice"),
        (twice[:1], twice, "the human labels: expected each sample once, got '1' twice"),
    ):
        with pytest.raises(InputError, match=where):
            agreement(judge, human)


def test_plain_data() -> None:
    human = list(random_pairs(5))
    found = json.loads(json.dumps(agreement(noisy_judge(human, 2), human).to_dict()))
    assert found["cells"]["correct"]["counts"].keys() == set(Confusion._fields)
    assert found["errors"]["relevant"]["samples"][0].keys() == {
        "name",
        "judge",
        "human",
        "judge_bounds",
        "human_bounds",
    }


def test_every_pair_of_verdicts_has_its_count() -> None:
    """Claims that differ in what the judge and people say of them, three by three."""
    said = (True, False, None)
    rows = [(f"{judge} {human}", judge, human) for judge in said for human in said]

    def of(side: int) -> Verdicts:
        cells = [[row[side]] for row in rows]
        names = [row[0] for row in rows]
        return Verdicts.from_matrices(
            [row[side] for row in rows],
            cells,
            cells,
            response_claims=names,
            reference_claims=names,
            chunks=["a"],
        )

    sample = SAMPLE.model_copy(update={"retrieved_contexts": SAMPLE.retrieved_contexts[:1]})
    found = agreement([(sample, of(1))], [(sample, of(2))])
    expected = Confusion(both_yes=1, missed=1, false_yes=1, both_no=1, judge_open=2, human_open=3)
    assert [each.counts for each in found.cells.values()] == [expected] * 3


def test_claims_of_one_side_are_counted_in_response_and_reference() -> None:
    def of(responses: list[str], references: list[str]) -> Verdicts:
        return Verdicts.from_matrices(
            [True] * len(responses), [[True]] * len(responses), [[True]] * len(references),
            response_claims=responses, reference_claims=references,
        )  # fmt: skip

    judge = Result("1", score(of(["a", "b", "c"], ["r", "s"])))
    human = Result("1", score(of(["a", "x"], ["r", "t", "u", "v"])))
    # Response: b and c, x; reference: s, and t, u, v.
    assert agreement([judge], [human]).unmatched_claims == 3 + 4


def test_chunks_that_one_side_leaves_out_are_those_of_the_other() -> None:
    listed = Verdicts.from_matrices(
        [False], [[True, False, True]], response_claims=["x"], chunks=["a", "b", "c"]
    )
    bare = Verdicts.model_validate(
        {"response_claims": [{"text": "x", "correct": False, "entailed_by": [0]}]}
    )
    for judge, human, counts in (
        (listed, bare, Confusion(both_yes=1, false_yes=1, both_no=1)),
        (bare, listed, Confusion(both_yes=1, missed=1, both_no=1)),
    ):
        runs = ([Result("1", score(each))] for each in (judge, human))
        assert agreement(*runs).cells["response"].counts == counts
    two = Verdicts.from_matrices([False], [[True, False]], chunks=["a", "b"])
    with pytest.raises(InputError, match="sample '1': expected 2 chunks, as people saw, got 3"):
        agreement([Result("1", score(listed))], [Result("1", score(two))])


def test_intervals_of_cells_resample_whole_samples() -> None:
    # Missed 1 of 3, none of 2, and 2 of 2 yeses of people; noes only in the first.
    samples = Counter(
        {
            (2.0, 1.0, 1.0, 3.0, 0.0, 0.0): 30,
            (2.0, 0.0, 0.0, 0.0, 1.0, 0.0): 20,
            (0.0, 2.0, 0.0, 0.0, 0.0, 1.0): 10,
        }
    )
    how = Resampling(0.9, 500, 7)
    found = cell_agreement(samples, how)
    assert found.kappa_interval == bootstrap_interval(samples, kappa, how, limits=None)
    assert found.kappa_interval is not None
    missed = Counter({(1.0, 3.0): 30, (0.0, 2.0): 20, (2.0, 2.0): 10})
    assert found.missed_interval == bootstrap_interval(missed, ratio, how)
    false = Counter({(1.0, 4.0): 30})
    assert found.false_yes_interval == bootstrap_interval(false, ratio, how)
    nothing = cell_agreement(Counter(), how)
    assert nothing.counts == Confusion()
    assert (nothing.accuracy, nothing.kappa, nothing.kappa_interval) == (None, None, None)


def test_the_errors_of_open_scores_by_hand() -> None:
    def of(name: str, *correct: bool | None) -> Result:
        table = Verdicts.from_matrices(list(correct), [[True]] * len(correct), [[True]])
        return Result(name, score(table))

    empty = Result("d", score(Verdicts(response_claims=())))
    judge = [of("c", None, False), of("b", False), of("a", True), empty, of("e", False)]
    human = [of("c", False, False), of("b", True), of("a", True), of("d", True)]
    human.append(Result("e", empty.score))
    for options in ({}, {"confidence": 0.8, "seed": 3, "resamples": 300}):
        found = agreement(judge, human, **options).errors["relevant"]  # type: ignore[arg-type]
        # Errors: c between 1/2 - 1 and 0, b 1, a 0. By size: b, then a and c, for certain 0.
        assert [each.name for each in found.samples] == ["b", "a", "c"]
        assert [each.error for each in found.samples] == [1.0, 0.0, None]
        assert (found.undetermined, found.undefined) == (1, 2)
        assert (found.bias, found.mean_absolute, found.root_mean_square) == (None, None, None)
        assert found.bias_bounds == pytest.approx((0.5 / 3, 1 / 3))
        assert found.mean_absolute_bounds == pytest.approx((1 / 3, 1.5 / 3))
        assert found.root_mean_square_bounds == pytest.approx(((1 / 3) ** 0.5, (1.25 / 3) ** 0.5))
        how = Resampling(*(options.get(n, d) for n, d in Resampling()._asdict().items()))
        ends = (
            bootstrap_interval(Counter((e, 1.0) for e in each), ratio, how, limits=(-1.0, 1.0))
            for each in ((-0.5, 1.0, 0.0), (0.0, 1.0, 0.0))
        )
        assert found.bias_interval == covering(*ends, "bca-range")
        # The two that are decided: one figure, and the interval of it.
        decided = agreement(judge[1:], human[1:], **options).errors["relevant"]  # type: ignore[arg-type]
        units = Counter({(1.0, 1.0): 1, (0.0, 1.0): 1})
        assert decided.bias == decided.mean_absolute == 0.5
        assert decided.bias_interval == bootstrap_interval(units, ratio, how, limits=(-1.0, 1.0))


def test_rates_of_cells_by_hand() -> None:
    """People and the judge: yes and yes 1, yes and no 2, no and yes 3, no and no 4; 11 more that
    one of them left open."""
    units: Counter[Unit] = Counter({(1.0, 2.0, 3.0, 4.0, 5.0, 6.0): 1})
    found = cell_agreement(units, Resampling())
    assert found.counts.compared == 10
    assert (found.accuracy, found.false_yes_rate, found.missed_rate) == (5 / 10, 3 / 7, 2 / 3)


def test_an_error_needs_both_scores() -> None:
    for judge, human in ((None, 0.5), (0.5, None), (None, None)):
        assert SampleError("a", judge, human, (0.0, 1.0), (0.5, 0.5)).error is None
    assert SampleError("a", 0.25, 1.0, (0.25, 0.25), (1.0, 1.0)).error == -0.75
