"""Comparisons: decisions, and what changed."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from scipy import stats

from noisesense import InputError, Result, Sample, Verdicts, compare, score
from noisesense.scoring.definitions import DEFINITIONS, DefinitionName
from noisesense.stats.changes import ClaimChange
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
    assert found.paired_by == "id"
    assert found.pairs == 3
    assert found.worse == ()
    assert found.clusters is None


def test_a_clear_difference_is_decided() -> None:
    before = run(*[(0, 2), (1, 4)] * 20)
    after = run(*[(1, 2), (2, 4)] * 20)
    worse = compare(before, after)
    assert relevant(after, before).decision == "better"
    # One claim of two, or of four, from a chunk is no longer correct.
    assert worse.worse == ("relevant", "any", "correct")
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
def test_fewer_than_six_pairs_decide_nothing_and_say_so(pairs: int) -> None:
    """0.125 became 1.000 in all of them."""
    found = compare(run(*[(1, 8)] * pairs), run(*[(8, 8)] * pairs))
    assert found.relevant.decision == ("worse" if pairs >= 6 else "undecided")
    assert found.relevant.too_few == (pairs < 6)


def test_at_a_higher_confidence_it_takes_more_pairs_and_the_warning_says_how_many() -> None:
    """Seven of one sign are by chance in 1 of 128, which is more than 0.005; eight in 1 of 256."""
    for pairs, said in ((7, "7 pairs: fewer than 8 decide nothing."), (8, "8 pairs: only large")):
        found = compare(run(*[(1, 8)] * pairs), run(*[(8, 8)] * pairs), confidence=0.99)
        assert found.relevant.too_few == (pairs < 8)
        assert found.warnings[0].startswith(said)


def test_a_warning_counts_the_clusters_in_which_there_is_something_to_measure() -> None:
    """In three of eight B claims nothing: five are left, which decide nothing."""
    before = [result_of(i, (0, 2), f"c{i % 8}") for i in range(16)]
    after = [Result(str(i), EMPTY) if i % 8 > 4 else result_of(i, (2, 2)) for i in range(16)]
    found = compare(before, after)
    assert found.clusters == 8
    assert found.relevant.interval.units == 5
    assert found.relevant.too_few


def test_clusters() -> None:
    named = [result_of(i, (i % 2, 2), cluster=i % 3) for i in range(30)]
    mixed = [result_of(i, (1, 2), cluster="x" if i else None) for i in range(30)]
    assert compare(named, named).clusters == 3
    assert compare(mixed, mixed).clusters == 2  # the one without texts or a name stands alone


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


def test_all_failed() -> None:
    failed = compare([Result("a", error="no")], [Result("a", error="no")])
    assert failed.pairs == 1
    assert failed.failed == ("a",)
    assert failed.relevant is failed.clusters is failed.undefined_share is None


def test_a_definition_without_irrelevant_mode() -> None:
    table = Verdicts.from_matrices([False], [[True]], relevant=[True])
    one_mode = [Result("a", score(table, definition="validmind"))]
    found = compare(one_mode, one_mode)
    assert found.irrelevant is None
    assert found.worse == ()


def test_what_has_something_to_measure_in_one_version_alone_changed_by_no_number() -> None:
    some = [Result("0", EMPTY), result_of("1", (1, 2))]
    found = compare(some, run((1, 2), (2, 2)))
    mode = found.relevant
    assert mode.pairs == 1
    assert mode.undefined == 1
    assert mode.difference == (0.5, 0.5)
    assert [(each.id, each.apart("relevant")) for each in found.changes] == [("1", 0.5), ("0", 0)]
    nothing = relevant([Result("0", EMPTY)], run((1, 2)))
    assert nothing.pairs == 0
    assert nothing.undefined == 1
    assert nothing.difference is None


def test_open_verdicts_widen_an_interval() -> None:
    # A is 0, B from 0 to 1: a share p of ones has the low end p − t·√(p(1 − p) / 19).
    clean = [Result(str(i), score(Verdicts.from_matrices([True], [[True]]))) for i in range(20)]
    unclear = score(Verdicts.from_matrices([None], [[True]], relevant=[True]))
    open_ones = [Result(str(i), unclear) for i in range(20)]
    reach = (math.sqrt(1 + stats.t.ppf(0.975, 19) ** 2 / 19) - 1) / 2
    for a, b, ends in ((clean, open_ones, (-reach, 1.0)), (open_ones, clean, (-1.0, reach))):
        mode = relevant(a, b)
        assert mode.interval[:2] == pytest.approx(ends)
        assert mode.decision == "undecided"
    one = relevant(clean, [open_ones[0], *clean[1:]])
    assert one.undetermined == 1
    assert one.difference == pytest.approx((0, 1 / 20))


def test_claims_that_changed() -> None:
    before = told("q", ("It is Old.", False, [0]), ("It is red.", True, []), ("Gone.", False, []))
    after = told("q", ("it is  old.", True, []), ("It is red.", True, []), ("New.", False, [1]))
    found = compare([before], [after])
    (change,) = found.changes
    assert change.claims == (
        ClaimChange("It is Old.", "relevant", "correct"),
        ClaimChange("Gone.", "hallucination", None),
        ClaimChange("New.", None, "irrelevant"),
    )
    assert change.a == {"relevant": (1 / 3, 1 / 3), "irrelevant": (0.0, 0.0)}
    (written,) = json.loads(json.dumps(found.to_dict()))["changes"]
    first = {"text": "It is Old.", "before": "relevant", "after": "correct"}
    assert written["claims"][0] == first


def test_a_claim_said_twice_is_matched_in_order() -> None:
    twice = told("q", ("c", True, []), ("c", False, [0]))
    thrice = told("q", ("c", True, []), ("c", False, [0]), ("c", False, []))
    (change,) = compare([twice], [thrice]).changes
    assert change.claims == (ClaimChange("c", None, "hallucination"),)


def test_the_order_of_changes() -> None:
    """Those that changed most; then by their claims, a wrong one of four or two; then by name."""
    found = compare(run((0, 4), (0, 4), (0, 4), (1, 4)), run((1, 4), (4, 4), (0, 4), (0, 4)))
    assert [change.id for change in found.changes] == ["1", "0", "3"]
    rest: list[Claim] = [("c", True, []), ("d", True, [])]
    other: list[Claim] = [("c", True, []), ("e", True, [])]
    a = [told(name, ("x", False, [0]), *rest) for name in "312"]
    b = [told(name, ("y", False, [0]), *(other if name == "2" else rest)) for name in "312"]
    assert [change.id for change in compare(a, b).changes] == ["2", "1", "3"]


def test_a_value_that_changed_though_no_claim_became_of_another_kind() -> None:
    """By the paper's definition a claim from a relevant chunk counts in the other mode, too, as
    soon as an irrelevant one entails it."""
    tables = (
        Verdicts.from_matrices([False], [[True, other]], None, [True, False])
        for other in (False, True)
    )
    a, b = (Result("q", score(table, definition="paper")) for table in tables)
    (change,) = compare([a], [b]).changes
    assert change.claims == ()
    assert change.apart("relevant") == 0.0
    assert change.apart("irrelevant") == 1.0


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
RIGHT = ("It is so.", True, [0])


@pytest.mark.parametrize(
    ("of_a", "of_b", "said"),
    [("mm", "mn", True), ("mm", "mm", False), ("  ", "nn", False), ("mm", "m-", False)],
)
def test_two_judges(of_a: str, of_b: str, said: bool) -> None:
    judges = {" ": None, "-": "none"}  # unknown; nobody
    a, b = (
        [told(str(i), RIGHT, judge=judges.get(name, name)) for i, name in enumerate(names)]
        for names in (of_a, of_b)
    )
    for found in (compare(a, b), compare(b, a)):
        assert any("not judged alike" in each for each in found.warnings) == said


@pytest.mark.parametrize(
    ("wrong", "texts", "said"),
    [
        (1, ("so", "so"), "1 sample that changed has the same texts in both"),
        (2, ("so", "so"), "2 samples that changed have the same texts in both"),
        (0, ("so", "so"), ""),
        (2, ("so", "so, they say"), ""),
        (2, ("", ""), ""),
    ],
)
def test_the_same_texts_judged_otherwise(wrong: int, texts: tuple[str, str], said: str) -> None:
    a = [told(str(i), RIGHT, texts=texts[0]) for i in range(8)]
    b = [told(str(i), WRONG if i < wrong else RIGHT, texts=texts[1]) for i in range(8)]
    (found,) = [each for each in compare(a, b).warnings if "same texts" in each] or [""]
    assert found.startswith(said) if said else not found


def test_the_same_is_not_said_where_one_sample_in_fourteen_became_a_catastrophe() -> None:
    """Wanted: at most 2.5% of runs. The true difference is 1/14, the margin 0.05."""
    for size in (10, 20, 40, 70, 100, 150):
        wrong = 0.0
        for hits in range(size + 1):
            chance = float(stats.binom.pmf(hits, size, 1 / 14))
            if chance > 1e-6 and hits / size <= 0.05:
                after = run(*[(8, 8)] * hits, *[(0, 8)] * (size - hits))
                found = relevant(run(*[(0, 8)] * size), after, 0.05)
                wrong += chance * (found.decision == "same")
        assert wrong <= 0.025, size


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


def test_what_students_t_leaves_open_is_not_the_same() -> None:
    """Four pairs of 1 and two of -1 scatter so much that the mean may be anything."""
    a = run(*[(0, 1)] * 4, *[(1, 1)] * 2)
    b = run(*[(1, 1)] * 4, *[(0, 1)] * 2)
    assert relevant(a, b, 0.95).decision == relevant(b, a, 0.95).decision == "undecided"


ANSWERS = [told(str(i), WRONG, ("c", True, []), ("d", True, [])) for i in range(8)]
REFUSALS = [Result(str(i), EMPTY) for i in range(8)]


def test_answers_that_became_refusals_lost_their_correct_claims() -> None:
    """Nothing is noisy any more, and nothing is correct."""
    found = compare(ANSWERS, REFUSALS)
    assert found.correct.mean_a == (2.0, 2.0)
    assert found.correct.mean_b == (0.0, 0.0)
    assert found.correct.decision == "worse"
    assert found.lost is True
    assert found.worse == ("correct",)
    back = compare(REFUSALS, ANSWERS)
    assert back.correct.decision == "better"
    assert back.lost is False
    # A quarter more of A's two correct claims: 0.5 an answer.
    assert compare(ANSWERS, REFUSALS, margin=0.25).correct.margin == 0.5


def test_answers_that_became_refusals_are_undefined_in_b_alone() -> None:
    found = compare(ANSWERS, REFUSALS)
    assert found.any.pairs == 0
    assert found.any.undefined == 8
    assert len(found.undefined_in_b) == 8
    assert found.undefined_in_a == ()
    assert found.undefined_share == 1.0
    assert compare(ANSWERS, ANSWERS).undefined_share == 0.0


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_a_retriever_that_is_down_is_undefined_in_b_alone(definition: DefinitionName) -> None:
    """Also where a mode of the definition counts what no chunk entails, and so is measured."""
    answer = Verdicts.from_matrices([False, True], [[True], [True]], [[True]])
    nothing = Verdicts.from_matrices([False, True], [[], []], [[]])
    a = [Result(str(i), score(answer, definition=definition)) for i in range(8)]
    b = [Result(str(i), score(nothing, definition=definition)) for i in range(8)]
    found = compare(a, b)
    assert found.any.pairs == 0
    assert len(found.undefined_in_b) == 8
    assert compare(b, a).undefined_in_a == found.undefined_in_b


def test_where_nothing_was_retrieved_no_correct_claim_is_lost() -> None:
    """No claims were asked for, which does not say that none is correct."""
    nothing = score(Verdicts(response_claims=(), chunks=()))
    unasked = compare(ANSWERS, [Result(str(i), nothing) for i in range(8)])
    assert unasked.correct.pairs == 0
    assert unasked.lost is False


@pytest.mark.parametrize("definition", ["promptfoo", "validmind"])
def test_a_retriever_that_is_down_is_not_better_by_what_comes_from_chunks(definition: Any) -> None:
    """These definitions count claims that no chunk entails. Those from a chunk are as in others:
    without chunks there is nothing to measure."""
    wrong = {"text": "a", "correct": False}
    found = Verdicts.model_validate(
        {"response_claims": [{**wrong, "entailed_by": [0]}], "chunks": ["x"]}
    )
    down = Verdicts.model_validate(
        {"response_claims": [{**wrong, "entailed_by": []}], "chunks": []}
    )
    before, after = (
        [Result(str(i), score(each, definition=definition)) for i in range(8)]
        for each in (found, down)
    )
    compared = compare(before, after)
    assert compared.relevant.pairs == 8
    assert compared.any.pairs == 0
    assert compared.any.undefined == 8
    assert compared.any.decision == "undecided"
    as_zero = [Result(str(i), score(down, definition=definition, empty="zero")) for i in range(8)]
    assert compare(as_zero, as_zero).any.mean_b == (0.0, 0.0)


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
