"""Evaluators of rows: where texts stand, and what a run's summary takes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from noisesense import Sample, Verdicts
from noisesense.errors import InputError
from noisesense_adapters.toolbox.evaluate import RowEvaluator, rows_of
from support.scripted_llm import ScriptedLLM

USUAL = {
    "response": ("outputs.answer",),
    "reference": ("expected",),
    "contexts": ("outputs.contexts",),
}


class Untouched:
    """A host's large object, which no path leads into."""

    def model_dump(self) -> Any:
        raise AssertionError("it was converted")


class Claims:
    """A judge that calls so many of four claims incorrect, and from the one chunk."""

    def __init__(self, incorrect: int = 0) -> None:
        self.incorrect = incorrect

    async def judge(self, sample: Sample) -> Verdicts:
        claims = [
            {"text": f"claim {n}", "correct": n >= self.incorrect, "entailed_by": [0]}
            for n in range(4)
        ]
        return Verdicts.model_validate(
            {"response_claims": claims, "chunks": [{"text": "c", "relevant": True}]}
        )


class Unasked:
    """A judge that nobody may ask."""

    async def judge(self, sample: Sample) -> Verdicts:
        raise AssertionError("it was asked")


class Unretrieved:
    """A judge that calls the one claim incorrect; there are no chunks."""

    async def judge(self, sample: Sample) -> Verdicts:
        return Verdicts.from_matrices([False], [[]])


def row(answer: str = "a", **more: Any) -> dict[str, Any]:
    outputs = {"answer": answer, "contexts": [{"text": "c", "relevant": True}]}
    return {"outputs": outputs, "expected": "r", **more}


def evaluate(rows: RowEvaluator, *items: Mapping[str, Any]) -> None:
    for item in items:
        asyncio.run(rows.evaluate(item, "row"))


def test_only_what_a_path_leads_into_is_converted() -> None:
    rows = RowEvaluator(USUAL, ScriptedLLM, judge=Claims(1))
    evaluated = asyncio.run(rows.evaluate(row(trace=Untouched()), "row"))
    assert evaluated.score.relevant == 0.25


def test_a_chosen_path_leads_into_another_object() -> None:
    rows = RowEvaluator(USUAL, ScriptedLLM, judge=Claims(1), reference="trace.expected.text")
    sample, _ = rows.places.read({**row(), "trace": {"expected": {"text": "theirs"}}})
    assert sample.reference == "theirs"
    dotted = RowEvaluator(USUAL, ScriptedLLM, judge=Claims(1), reference="a.b")
    assert dotted.places.read(row(**{"a.b": "dotted name"}))[0].reference == "dotted name"


@pytest.mark.parametrize("contexts", [[], "[]", (), [""], [{"text": " "}]])
def test_where_nothing_was_retrieved_nothing_is_measured_and_nobody_is_asked(
    contexts: Any,
) -> None:
    rows = RowEvaluator(USUAL, ScriptedLLM, judge=Unasked())
    item = {"outputs": {"answer": "a", "contexts": contexts}, "expected": "r"}
    for figure in rows.figures(asyncio.run(rows.evaluate(item, "row"))):
        assert (figure.value, figure.metadata["status"]) == (None, "undefined")
        assert "nothing was retrieved" in figure.reason


def test_where_every_incorrect_claim_counts_the_judge_is_asked_all_the_same() -> None:
    rows = RowEvaluator(USUAL, ScriptedLLM, judge=Unretrieved(), definition="validmind")
    item = {"outputs": {"answer": "a", "contexts": []}, "expected": "r"}
    (figure,) = rows.figures(asyncio.run(rows.evaluate(item, "row")))
    assert figure.value == 1.0


def test_nothing_retrieved_excuses_no_other_missing_text() -> None:
    rows = RowEvaluator(USUAL, ScriptedLLM, judge=Claims())
    with pytest.raises(InputError, match="the reference at 'expected'"):
        rows.places.read({"outputs": {"answer": "a", "contexts": []}})
    item = {"outputs": {"answer": "a", "contexts": []}, "expected": "r", "labels": [True]}
    labeled = RowEvaluator({**USUAL, "chunk_labels": ("labels",)}, ScriptedLLM, judge=Claims())
    with pytest.raises(InputError, match=r"chunk_labels: expected true, .* each of 0 chunks"):
        labeled.places.read(item)


def test_given_verdicts_count_where_nothing_was_retrieved() -> None:
    rows = RowEvaluator({**USUAL, "verdicts": ("verdicts",)}, ScriptedLLM, judge=Claims())
    claim = {"text": "a", "correct": False, "entailed_by": []}
    item = {
        "outputs": {"answer": "a", "contexts": []},
        "expected": "r",
        "verdicts": {"response_claims": [claim], "chunks": []},
    }
    evaluated = asyncio.run(rows.evaluate(item, "row"))
    assert evaluated.judge == "given verdicts"
    assert [claim.correct for claim in evaluated.score.verdicts.response_claims] == [False]


def test_the_error_of_a_missing_text_names_all_that_there_is() -> None:
    rows = RowEvaluator(USUAL, ScriptedLLM, judge=Claims())
    with pytest.raises(InputError) as raised:
        rows.places.read({"outputs": {"text": "a"}, "trace": {"info": 1}, "empty": None})
    expected = "response: expected the response at 'outputs.answer', got only 'outputs.text', 'tr"
    assert str(raised.value).startswith(expected)
    assert "'trace.info'" in str(raised.value)
    assert "'empty'" not in str(raised.value)


def test_neither_judge_nor_model() -> None:
    with pytest.raises(InputError, match="expected a judge or a model, got neither"):
        RowEvaluator(USUAL, ScriptedLLM)


def test_a_summary_takes_each_result_once() -> None:
    judge = Claims(1)
    rows = RowEvaluator(USUAL, ScriptedLLM, judge=judge)
    rows.collect()
    evaluate(rows, row("a"))
    judge.incorrect = 3
    evaluate(rows, row("a"), row("b"))
    # 3/4, 1/4 (the same row, twice in the run) and 3/4.
    assert rows.summary([row("a"), row("a"), row("b")]).relevant.mean.value == pytest.approx(
        7 / 12
    )
    again = rows.summary([row("a")])
    assert (again.samples, again.failed) == (1, 1)


def test_what_a_run_that_broke_off_left_behind_is_not_used() -> None:
    judge = Claims(4)
    rows = RowEvaluator(USUAL, ScriptedLLM, judge=judge)
    rows.collect()
    evaluate(rows, row("a"))  # its run ends before its summary
    judge.incorrect = 1
    evaluate(rows, row("a"))
    assert rows.summary([row("a")]).relevant.mean.value == 0.25


def test_a_summary_needs_an_evaluator_of_ours() -> None:
    with pytest.raises(InputError, match="an evaluator made by noise_sensitivity"):
        rows_of(print)
