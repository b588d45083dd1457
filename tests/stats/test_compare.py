"""Comparisons and their decisions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from scipy import stats

from noisesense import InputError, Result, Sample, Verdicts, compare, score
from noisesense.scoring.definitions import DEFINITIONS, DefinitionName
from noisesense.stats.figures import FigureComparison
from support.simulated import Draw, result_of

Claim = tuple[str, bool, list[int]]
EMPTY = score(Verdicts(response_claims=()))


def run(*draws: Draw) -> list[Result]:
    return [result_of(i, draw) for i, draw in enumerate(draws)]


def relevant(a: Sequence[Result], b: Sequence[Result], margin: float = 0.0) -> FigureComparison:
    return compare(a, b, margin=margin).relevant


def told(name: str, *claims: Claim, judge: str | None = None, texts: str = "") -> Result:
    """A result with claims in words; chunk 0 is relevant, chunk 1 is not."""
    data = [{"text": text, "correct": right, "entailed_by": by} for text, right, by in claims]
    chunks = [{"text": "a", "relevant": True}, {"text": "b", "relevant": False}]
    verdicts = Verdicts.model_validate({"response_claims": data, "chunks": chunks})
    sample = Sample(
        user_input=name, response=texts or "-", reference="r", retrieved_contexts=["a", "b"]
    )
    return Result(name, score(verdicts), sample=sample if texts else None, judge=judge)


def test_differences_derived_by_hand() -> None:
    # A: 1/2, 0, 1; B: 1, 0, 1/2. Differences 1/2, 0, −1/2.
    found = compare(run((1, 2), (0, 3), (2, 2)), run((2, 2), (0, 1), (1, 2)))
    mode = found.relevant
    assert mode.pairs == 3
    assert mode.mean_a == (0.5, 0.5)
    assert mode.mean_b == (0.5, 0.5)
    assert mode.difference == (0.0, 0.0)
    assert mode.decision == "undecided"
    assert found.definition == "ragas"
    assert found.clusters is None


def test_a_clear_difference_is_decided() -> None:
    before = run(*[(0, 2), (1, 4)] * 20)
    after = run(*[(1, 2), (2, 4)] * 20)
    worse = compare(before, after)
    assert relevant(after, before).decision == "better"
    # One claim of two, or of four, from a chunk is no longer correct.
    assert [each.decision for each in worse.figures] == ["worse", "undecided", "worse", "worse"]
    assert worse.any.difference == worse.relevant.difference
    assert worse.correct.difference == (-1.0, -1.0)
    interval = worse.relevant.interval
    assert interval.low < 0.375 < interval.high
    # Worse is beyond the margin, not at it.
    assert relevant(before, after, interval.low).decision == "undecided"
    assert relevant(before, after, interval.low - 1e-9).decision == "worse"


def test_a_difference_of_none_is_no_certainty() -> None:
    """Half a pair that nobody saw is left beside 40 of 0."""
    found = relevant(run(*[(1, 2)] * 40), run(*[(1, 2)] * 40))
    assert found.decision == "undecided"
    reach = stats.beta.ppf(0.975, 0.5, 40)
    assert found.interval[:2] == pytest.approx((-reach, reach), abs=0.01)


@pytest.mark.parametrize("pairs", [1, 2, 5, 6, 7])
def test_fewer_than_six_pairs_are_too_few_and_decide_nothing(pairs: int) -> None:
    """0.125 became 1.000 in all of them."""
    found = compare(run(*[(1, 8)] * pairs), run(*[(8, 8)] * pairs))
    assert found.relevant.decision == ("worse" if pairs >= 6 else "undecided")
    assert found.relevant.too_few == (pairs < 6)


def test_a_warning_counts_the_clusters_in_which_there_is_something_to_measure() -> None:
    """In three of eight B claims nothing: five are left, which decide nothing."""
    before = [result_of(i, (0, 2), f"c{i % 8}") for i in range(16)]
    after = [Result(str(i), EMPTY) if i % 8 > 4 else result_of(i, (2, 2)) for i in range(16)]
    found = compare(before, after)
    assert found.clusters == 8
    assert found.relevant.interval.units == 5
    assert found.warnings[0] == (
        "10 pairs, in clusters that say as much as 5.0: fewer than 6 decide nothing."
    )


def test_pairs_of_one_cluster_are_one_and_each_pair_without_a_name_is_another() -> None:
    mixed = [result_of(i, (1, 2), cluster="x" if i > 1 else None) for i in range(30)]
    assert compare(mixed, mixed).clusters == 3


def test_samples_of_one_run_only_and_failed_ones_are_in_no_figure() -> None:
    a = [result_of("x", (1, 2)), result_of("a", (1, 2)), Result("f", error="no")]
    b = [result_of("f", (1, 2)), result_of("x", (0, 2)), result_of("b", (1, 2))]
    found = compare(a, b, min_paired=0.3)
    assert found.pairs == 2
    assert found.only_a == ("a",)
    assert found.only_b == ("b",)
    assert found.failed == ("f",)
    assert found.relevant.pairs == 1
    assert any(each.startswith("samples only in A: 1, only in B: 1") for each in found.warnings)


def test_a_pair_of_which_one_version_claims_nothing_is_in_no_mean() -> None:
    some = [Result("0", EMPTY), result_of("1", (1, 2))]
    found = compare(some, run((1, 2), (2, 2)))
    mode = found.relevant
    assert mode.pairs == 1
    assert mode.undefined == 1
    assert mode.difference == (0.5, 0.5)
    nothing = relevant([Result("0", EMPTY)], run((1, 2)))
    assert nothing.pairs == 0
    assert nothing.undefined == 1
    assert nothing.difference is None


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (run((0, 1)), [], "B: expected at least one result, got none"),
        (run((0, 1)), [Result("0", score(EMPTY.verdicts, definition="paper"))], "scored alike"),
        (run((0, 1)), [Result("0", score(EMPTY.verdicts, empty="zero"))], "'ragas', 'zero'"),
    ],
)
def test_runs_that_cannot_be_compared(a: list[Result], b: list[Result], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare(a, b)
    with pytest.raises(InputError, match="margin"):
        compare(a, a, margin=2)


WRONG = ("It is so.", False, [0])


@pytest.mark.parametrize(
    ("hits", "margin", "decision"),
    [
        (0, 0.1, "same"),
        (8, 0.08, "same"),
        (8, 0.05, "undecided"),
        (8, 0.5, "same"),
        (8, 0, "worse"),
    ],
)
def test_the_same_is_what_the_margin_holds(hits: int, margin: float, decision: str) -> None:
    """Also of what nobody saw: half a pair of 1 reaches 0.057 beside 8 of 60 that are 1/8."""
    before = run(*[(2, 8)] * 60)
    after = run(*[(3, 8)] * hits, *[(2, 8)] * (60 - hits))
    assert relevant(before, after, margin).decision == decision
    mirrored = "better" if decision == "worse" else decision
    assert relevant(after, before, margin).decision == mirrored


ANSWERS = [told(str(i), WRONG, ("c", True, []), ("d", True, [])) for i in range(8)]
REFUSALS = [Result(str(i), EMPTY) for i in range(8)]


def test_answers_that_became_refusals_lost_their_correct_claims() -> None:
    """Nothing is noisy any more, and nothing is correct."""
    found = compare(ANSWERS, REFUSALS)
    assert found.correct.mean_a == (2.0, 2.0)
    assert found.correct.mean_b == (0.0, 0.0)
    assert found.correct.decision == "worse"
    back = compare(REFUSALS, ANSWERS)
    assert back.correct.decision == "better"
    # A quarter more of A's two correct claims: 0.5 an answer.
    assert compare(ANSWERS, REFUSALS, margin=0.25).correct.margin == 0.5


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_a_retriever_that_is_down_is_undefined_in_b_alone(definition: DefinitionName) -> None:
    """Also where a mode of the definition counts what no chunk entails, and so is measured."""
    answer = Verdicts.from_matrices([False, True], [[True], [True]], [[True]])
    nothing = Verdicts.from_matrices([False, True], [[], []], [[]])
    a = [Result(str(i), score(answer, definition=definition)) for i in range(8)]
    b = [Result(str(i), score(nothing, definition=definition)) for i in range(8)]
    found = compare(a, b)
    assert found.any.pairs == 0
    back = compare(b, a)
    assert len(found.undefined_in_b) == len(back.undefined_in_a) == 8
    assert found.undefined_in_a == back.undefined_in_b == ()
    zero = score(nothing, definition=definition, empty="zero")
    as_zero = [Result(str(i), zero) for i in range(8)]
    assert compare(as_zero, as_zero).any.mean_b == (0.0, 0.0)


def test_where_nothing_was_retrieved_no_correct_claim_is_lost() -> None:
    """No claims were asked for, which does not say that none is correct."""
    nothing = score(Verdicts(response_claims=(), chunks=()))
    unasked = compare(ANSWERS, [Result(str(i), nothing) for i in range(8)])
    assert unasked.correct.pairs == 0


def test_the_same_noise_from_other_chunks_is_no_more_noise() -> None:
    """Each wrong claim came from an irrelevant chunk, and comes from a relevant one."""
    a = [told(str(i), ("w", False, [1]), ("c", True, [])) for i in range(8)]
    b = [told(str(i), ("w", False, [0]), ("c", True, [])) for i in range(8)]
    found = compare(a, b)
    assert found.relevant.decision == "worse"
    assert found.irrelevant.decision == "better"
    assert found.any.difference == found.correct.difference == (0.0, 0.0)
    assert found.figures == (found.relevant, found.irrelevant, found.any, found.correct)


def test_one_cluster_that_holds_half_of_the_samples_is_no_evidence() -> None:
    """One of 20 clusters has 19 of 38 samples: (38)² / (19² + 19) = 3.8 of one size."""
    sizes = [19, *[1] * 19]
    names = [f"c{i}" for i, size in enumerate(sizes) for _ in range(size)]
    before = [result_of(i, (0, 4), name) for i, name in enumerate(names)]
    after = [result_of(i, (2, 4), name) for i, name in enumerate(names)]
    found = compare(before, after)
    assert found.clusters == 20
    assert found.relevant.decision == "undecided"
    assert found.relevant.effective == pytest.approx(3.8)
    assert found.warnings[0] == (
        "38 pairs, in clusters that say as much as 3.8: fewer than 6 decide nothing."
    )


@pytest.mark.parametrize("named", [True, False])
def test_answers_to_one_question_count_as_one_with_ids_or_without(named: bool) -> None:
    texts = [("q1", "a"), ("q1", "a"), *[(f"q{i}", "a") for i in range(2, 8)]]
    rows = [told(question, WRONG, texts=answer) for question, answer in texts]
    runs: list[Result] = []
    for number, row in enumerate(rows):
        name = f"s{number}" if named else row.sample.key
        runs.append(Result(name, row.score, sample=row.sample))
    found = compare(runs, runs)
    assert found.clusters == 7
    assert found.relevant.interval.units == 7
    said = "8 pairs answer 7 questions: the answers to one question count as one"
    assert any(said in each for each in found.warnings)
