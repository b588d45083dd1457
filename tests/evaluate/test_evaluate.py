"""Evaluators of rows: where texts stand, and what a run's summary takes."""

from __future__ import annotations

import asyncio
from array import array
from pathlib import Path
from typing import Any

import pytest

from noisesense import Sample, Verdicts
from noisesense.errors import InputError
from noisesense_adapters.evaluate.rows import RowEvaluator, mean_of, summary_of
from noisesense_adapters.reading.row import Reader
from support.scripted_llm import ScriptedLLM

USUAL = {
    "response": "outputs.answer",
    "reference": "expected",
    "retrieved_contexts": "outputs.contexts",
    "user_input": "input",
    "chunk_labels": "labels",
    "verdicts": "verdicts",
}


class Claims:
    """Calls so many of four claims incorrect (None: leaves them open); each chunk entails them."""

    def __init__(self, incorrect: int | None = 0) -> None:
        self.incorrect = incorrect

    async def judge(self, sample: Sample) -> Verdicts:
        count = len(sample.retrieved_contexts)
        wrong = self.incorrect
        correct = [None if wrong is None else i >= wrong for i in range(4)]
        return Verdicts.from_matrices(correct, [[True] * count] * 4, relevant=[True] * count)


class Unasked:
    async def judge(self, sample: Sample) -> Verdicts:
        raise AssertionError("it was asked")


def rows_with(judge: Any, **options: Any) -> RowEvaluator:
    return RowEvaluator(USUAL, ScriptedLLM, judge=judge, **options)


def row(answer: str = "a", contexts: Any = ("c",), **more: Any) -> dict[str, Any]:
    return {"outputs": {"answer": answer, "contexts": contexts}, "expected": "r", **more}


def evaluate(rows: RowEvaluator, *items: Any) -> Any:
    return [asyncio.run(rows.evaluate(item, "row")) for item in items][-1]


LABELED = (
    (array("b", [1, 0]), [True, False]),  # it has `tolist`, as numpy's
    (["yes", 0], [True, False]),
    ("[True, nan]", [True, None]),
    ([float("nan"), True], [None, True]),
    (float("nan"), [None, None]),  # an empty cell of pandas
    (None, [None, None]),
    *((empty, [None, None]) for empty in ("", " ", "null")),  # of a CSV file
)


@pytest.mark.parametrize(("labels", "expected"), LABELED)
def test_labels_beside_the_chunks_are_read_as_those_in_chunks(
    labels: Any, expected: list[bool | None]
) -> None:
    sample = Reader(USUAL).read(row(contexts=["c", "d"], labels=labels)).sample
    assert [chunk.relevant for chunk in sample.retrieved_contexts] == expected


def test_labels_that_cannot_be_read_are_not_left_out() -> None:
    for labels in ({"0": True}, 1, [True], "yes", "yes,no,no"):
        with pytest.raises(InputError, match="chunk_labels: expected a list with one for each of"):
            _ = Reader(USUAL).read(row(contexts=["c", "d"], labels=labels)).sample


def test_given_verdicts_count_where_nothing_was_retrieved() -> None:
    claim = {"text": "a", "correct": False, "entailed_by": []}
    given = {"response_claims": [claim], "chunks": []}
    rows = rows_with(Unasked())
    for figure in rows.figures(evaluate(rows, row(contexts=[""]))):
        assert figure.value is None
        assert figure.metadata["status"] == "undefined"
        assert "nothing was retrieved" in figure.reason
    result = evaluate(rows, row(contexts=[], verdicts=given))
    assert result.judge == "given verdicts"
    assert [claim.correct for claim in result.score.verdicts.response_claims] == [False]


def test_an_empty_recording_is_a_judge(tmp_path: Path) -> None:
    """It has no length, and a model that nobody named was asked instead."""
    recording = tmp_path / "recording.jsonl"
    recording.write_text("")
    with pytest.raises(InputError, match="got an empty recording"):
        evaluate(rows_with(recording), row())


@pytest.mark.parametrize(
    ("incorrect", "value", "says"),
    [
        (1, 0.25, "relevant: mean 0.2500"),
        (None, None, "relevant: mean 0.0000 to 1.0000"),
    ],
)
def test_the_mean_of_a_run_is_a_range_if_open_and_counts_what_failed(
    incorrect: int | None, value: float | None, says: str
) -> None:
    rows = rows_with(Claims(incorrect))
    figures = asyncio.run(rows.kept_figures(row(), "row"))
    summary = summary_of([[each.metadata for each in figures], []])
    mean = mean_of(summary, "relevant")
    assert mean.value == value
    assert says in mean.reason
    assert "1 of 2 samples failed" in mean.reason
    assert {"samples": 2, "failed": 1}.items() <= mean.metadata.items()
