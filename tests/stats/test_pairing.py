"""The same sample in two runs: ids that were supplied, else question and reference."""

from __future__ import annotations

import random

import pytest

from noisesense import (
    InputError,
    PairingError,
    Result,
    Sample,
    Verdicts,
    compare,
    score,
    trust_results,
)
from noisesense.stats.labels_mean import labeled_pairs
from noisesense.stats.pairing import pair, partners, same_claims

CLEAN = Verdicts.from_matrices([True], [[True]], [[True]], response_claims=["It is so."])
WRONG = Verdicts.from_matrices([False], [[True]], [[True]], response_claims=["It is not."])


def result(
    question: str,
    answer: str,
    verdicts: Verdicts = CLEAN,
    *,
    name: str | None = None,
    reference: str = "It is so.",
) -> Result:
    """Without a name, the id is the content's key, as scoring a data set without ids gives it."""
    sample = Sample(
        user_input=question, response=answer, reference=reference, retrieved_contexts=["c"]
    )
    return Result(name or sample.key, score(verdicts), sample=sample)


def test_a_regression_of_half_the_answers_is_found_without_ids() -> None:
    """By the content's key the changed ones would have no partner, and 150 equal pairs be left."""
    a = [result(f"Question {i}?", "It is so.") for i in range(300)]
    changed = [result(f"Question {i}?", "It is not.", WRONG) for i in range(150)]
    b = [*a[150:], *changed]
    random.Random(0).shuffle(b)
    found = compare(a, b)
    assert found.paired_by == "question"
    assert found.pairs == 300
    assert found.relevant.difference == (0.5, 0.5)
    assert found.relevant.decision == "worse"


def test_supplied_ids_win_over_the_question() -> None:
    a = [result("One?", "x", name="1"), result("Two?", "y", WRONG, name="2")]
    b = [result("Two?", "y", WRONG, name="2"), result("One, reworded?", "x", name="1")]
    found = compare(a, b)
    assert found.paired_by == "id"
    assert found.pairs == 2
    assert found.any.difference == (0.0, 0.0)
    assert found.warnings[0].startswith(
        "1 of 2 pairs have the same id and another question or reference"
    )
    # The choice is the caller's.
    found = compare(a, b, pair_by="question", min_paired=0.5)
    assert found.paired_by == "question"
    assert found.pairs == 1
    assert found.only_a == found.only_b == ("1",)


def test_ids_that_only_number_the_samples_are_no_names() -> None:
    """As Promptfoo's: with two new tests at the top, each question met another one's answer."""
    questions = [f"Question {i}?" for i in range(8)]
    a = [result(each, "x", name=f"test {i}") for i, each in enumerate(questions)]
    moved = ["New?", "Newer?", *questions]
    b = [result(each, "x", name=f"test {i}") for i, each in enumerate(moved)]
    found = compare(a, b)
    assert found.paired_by == "question"
    assert found.pairs == 8
    assert found.only_b == ("test 0", "test 1")
    assert compare(a, b, pair_by="id").paired_by == "id"
    # Questions of B alone: each was asked in other words, and its id says so.
    reworded = [
        result(f"{each} Please.", "x", name=f"test {i}") for i, each in enumerate(questions)
    ]
    assert compare(a, reworded).paired_by == "id"


def test_a_row_that_could_not_be_read_is_the_same_in_both_runs() -> None:
    """It was "only in A" and "only in B", and four of five pairs were too few."""
    unread = Result("d.csv, line 6", error="response: expected a text, got ''")
    run = [*(result(f"Question {i}?", "x") for i in range(4)), unread]
    found = compare(run, run)
    assert found.pairs == 5
    assert found.failed == ("d.csv, line 6",)
    assert found.only_a == found.only_b == ()


def test_of_one_question_and_reference_the_nth_answer_is_paired_with_the_nth() -> None:
    a = [result("Who?", "x"), result("Who?", "y", WRONG), result("When?", "x")]
    b = [result("When?", "z"), result("Who?", "u"), result("Who?", "v", WRONG)]
    found = compare(a, b)
    assert found.pairs == 3
    assert found.paired_by == "question"
    assert found.relevant.difference == (0.0, 0.0)
    # Two more in B than in A: one with another reference, and a third answer.
    other = result("Who?", "w", reference="It was.")
    found = compare(a, [other, *b, result("Who?", "w", WRONG)])
    assert found.relevant.difference == (0.0, 0.0)
    assert len(found.only_b) == 2


def test_too_few_pairs_are_an_error() -> None:
    a = [result(f"{i}?", "x", name=str(i)) for i in range(20)]
    b = [result(f"{i}?", "x", name=str(i)) for i in range(3, 23)]
    expected = (
        r"of A in B, at least 90%, got 17 of 20; only in A: '0'; only in B: '20'.*--min-paired"
    )
    with pytest.raises(PairingError, match=expected):
        compare(a, b)
    found = compare(a, b, min_paired=0.85)
    assert found.pairs == 17
    assert len(found.only_b) == 3
    # The share is of A: a part that was the baseline is compared with the whole, and a run that
    # stopped is not.
    assert compare(a[:5], a).pairs == 5
    with pytest.raises(PairingError, match="got 5 of 20"):
        compare(a, a[:5])
    # Exactly 90%.
    assert compare(a[:10], [*a[:9], b[-1]]).pairs == 9
    with pytest.raises(InputError, match="min_paired: expected a number from 0 to 1, got 90"):
        compare(a, a, min_paired=90)


@pytest.mark.parametrize("named", [True, False])
def test_runs_with_nothing_in_common_never_pass(named: bool) -> None:
    a = [result(f"{i}?", "x", name=f"a{i}" if named else None) for i in range(5)]
    b = [result(f"{i}!", "x", name=f"b{i}" if named else None) for i in range(5)]
    for least in (0.9, 0):
        with pytest.raises(PairingError, match="got 0 of 5; only in A"):
            compare(a, b, min_paired=least)


def test_labels_without_ids_are_found_by_question_and_text() -> None:
    # Several answers to one question, labeled in another order.
    judge = [result("Who?", answer) for answer in "abcde"]
    human = [result("Who?", answer) for answer in "dbx"]
    found = labeled_pairs(judge, human, None)
    assert [x.id for x, _ in found.pairs] == [judge[1].id, judge[3].id]
    powered = trust_results(judge, human).means["relevant"]
    assert powered.labeled == 2
    assert powered.unlabeled == 3
    with pytest.raises(InputError, match="pair_by: expected 'id' or 'question'"):
        labeled_pairs(judge, human, "key")  # type: ignore[arg-type]
    # Where one side has no texts, the id says that it is the same sample.
    judge = [result("One?", "x", name="1"), result("Two?", "y", name="2")]
    label = Result("2", score(WRONG))
    assert labeled_pairs(judge, [label], None) == ([(judge[1], label)], [judge[0]], [])


@pytest.mark.parametrize("labeled", ["01", "001"])
def test_labels_on_a_result_that_the_judge_has_twice(labeled: str) -> None:
    """One object twice in a list, as `random.choices` draws it, is two samples."""
    judge = [result(f"{i}?", "x") for i in range(10)]
    human = [result(f"{i}?", "x") for i in labeled]
    powered = trust_results([*judge, judge[0]], human).means["relevant"]
    assert (powered.labeled, powered.unlabeled) == (len(labeled), 11 - len(labeled))
    assert not any("not in the mean" in warning for warning in powered.warnings)


def test_claims_are_matched_by_their_text() -> None:
    """White space and case do not matter; of one text the n-th is the n-th."""
    assert same_claims(["  it IS\n so. ", "a", "a"], ["A", "It is so."]) == {0: 1, 1: 0}
    # None is nobody's name.
    assert partners(["a", "b", None, "a"], ["a", None, "c", "a", "a"]) == {0: 0, 3: 3}


def unnamed(question: str, answer: str = "x") -> Result:
    """With texts, and no id that somebody gave."""
    return result(question, answer)


def named(question: str) -> Result:
    """With texts and an id."""
    return result(question, "x", name="1")


def bare(name: str) -> Result:
    """With an id, and no texts."""
    return Result(name, score(CLEAN))


def test_ids_pair_two_runs_where_all_were_given_and_else_questions() -> None:
    # Where a side has no texts there is nothing but ids, whether or not any is found.
    assert compare([bare("1")], [bare("1")]).paired_by == "id"
    assert compare([bare("1")], [named("One?")]).paired_by == "id"
    with pytest.raises(PairingError, match="expected samples of A"):
        compare([bare("1")], [bare("2")])
    # All ids were given: they count, also for what has no texts.
    both = [result("One?", "x", name="1"), bare("2")]
    found = compare(both, both)
    assert found.paired_by == "id"
    assert found.pairs == 2
    # One was not: by question where some question is found again, and what has no texts is alone.
    mixed = [unnamed("One?"), bare("2")]
    found = compare(mixed, mixed, min_paired=0)
    assert found.paired_by == "question"
    assert found.pairs == 1
    assert found.only_a == ("2",)
    # Nor is it another question where one side does not say which.
    found = compare([named("One?")], [bare("1")])
    assert not any("another question" in each for each in found.warnings)


def test_an_id_twice_in_either_run_is_an_error() -> None:
    with pytest.raises(InputError, match="A: expected each sample once, got 'a' 2 times"):
        pair([bare("a")] * 2, [bare("a")])
    with pytest.raises(InputError, match="B: expected each sample once"):
        pair([bare("a")], [bare("a")] * 2)
