"""Evaluators of rows: where texts stand, and what a run's summary takes."""

from __future__ import annotations

import ast
import asyncio
import time
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from noisesense import Sample, Verdicts
from noisesense.errors import InputError
from noisesense_adapters.evaluate.rows import RowEvaluator, mean_of, rows_of
from noisesense_adapters.reading.row import Reader
from noisesense_adapters.reading.values import parsed
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


def test_a_chosen_path_leads_into_another_object() -> None:
    rows = rows_with(Claims(), reference="trace.0.text")
    assert rows.reader.read(row(trace=[{"text": "theirs"}])).sample.reference == "theirs"
    dotted = rows_with(Claims(), reference="a.b", response=lambda row: row["outputs"]["answer"])
    assert dotted.reader.read(row(**{"a.b": "dotted name"})).sample.reference == "dotted name"
    below = rows_with(Claims(), contexts="docs")
    item = {"outputs": {"answer": "a", "docs": '["c"]'}, "expected": "r"}
    assert len(below.reader.read(item).sample.retrieved_contexts) == 1


def test_a_blank_text_is_taken_only_where_there_is_no_other() -> None:
    """As LangGraph's state, whose answer may be in its messages alone."""
    reader = Reader({**USUAL, "response": "outputs", "reference": "expected"})
    outputs = {"answer": " ", "contexts": ["c"], "messages": "said"}
    given = {"outputs": outputs, "expected": {"answer": "", "reference": "r"}}
    found = reader.read(given).sample
    assert found.response == "said"
    assert found.reference == "r"
    del outputs["messages"]
    with pytest.raises(InputError, match="response: expected a non-empty text, got ' '"):
        _ = reader.read(given).sample


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
    for labels in ({"0": True}, 1, [True]):
        with pytest.raises(InputError, match="chunk_labels: expected true, false or null"):
            _ = Reader(USUAL).read(row(contexts=["c", "d"], labels=labels)).sample
    with pytest.raises(InputError, match="chunk_labels: expected JSON"):
        _ = Reader(USUAL).read(row(contexts=["c", "d"], labels="yes,no")).sample


@pytest.mark.parametrize("empty", [None, "", " ", "null"])
def test_an_empty_cell_gives_no_verdicts(empty: str | None) -> None:
    assert Reader(USUAL).read(row(contexts=["c"], verdicts=empty)).verdicts is None


@pytest.mark.parametrize(
    ("chunk", "name"),
    [
        ({"doc_id": np.int64(17), "title": "Policies"}, "17"),
        ({"doc_id": " ", "title": "Policies"}, "Policies"),
        ({"source": False, "title": "Policies"}, "Policies"),
    ],
)
def test_a_document_is_named_by_a_text_or_a_whole_number(chunk: Any, name: str) -> None:
    """Of FAISS, whose numbers are numpy's, all documents had one title."""
    assert ids_of(Reader(USUAL), row(contexts=[{"text": "c", **chunk}])) == [name]


@pytest.mark.parametrize("contexts", [["c", "d"], [{"text": "c"}, {"text": "d"}]])
def test_names_beside_the_contexts_are_those_of_the_chunks(contexts: Any) -> None:
    places = Reader(USUAL)
    beside = row(contexts=contexts)
    beside["outputs"]["retrieved_context_ids"] = ["a.md", "b.md"]
    elsewhere = row(contexts=contexts, retrieved_context_ids=["a.md"])
    assert ids_of(places, beside) == ["a.md", "b.md"]
    assert ids_of(places, elsewhere) == [None, None]
    top = {**row(), "passages": contexts, "retrieved_context_ids": ["a.md", 2]}
    assert ids_of(Reader(USUAL, {"contexts": "passages"}), top) == ["a.md", "2"]
    beside["outputs"]["retrieved_context_ids"] = float("nan")  # an empty cell of pandas
    assert ids_of(places, beside) == [None, None]
    beside["outputs"]["retrieved_context_ids"] = ["a.md"]
    message = r"^retrieved_context_ids: expected 2 ids, as many as contexts, got"
    with pytest.raises(InputError, match=message):
        _ = places.read(beside).sample


def ids_of(places: Reader, data: Any) -> list[str | None]:
    return [chunk.id for chunk in places.read(data).sample.retrieved_contexts]


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


def test_what_is_missing_is_named_with_all_that_there_is() -> None:
    rows = rows_with(Claims())
    with pytest.raises(InputError) as raised:
        rows.reader.read({"outputs": {"text": "a"}, "trace": {"info": 1}}).check("response")
    expected = "response: expected the response at 'outputs.answer', got only 'outputs.text', 'tr"
    assert str(raised.value).startswith(expected)
    for item, says in (
        ({"outputs": {"answer": "a", "contexts": []}}, "the reference at 'expected'"),
        (row(contexts=[], labels=[True]), r"chunk_labels: expected true, .* each of 0 chunks"),
        (
            row(contexts="one text"),
            "^contexts, 'outputs.contexts': expected a list of chunks, got one text, 'one text'",
        ),
    ):
        with pytest.raises(InputError, match=says):
            _ = rows.reader.read(item).sample
    for field in ("response", "contexts"):
        rows = rows_with(Claims(), **{field: lambda row: row["x"]})
        with pytest.raises(InputError, match=rf"{field}: expected a row .*, got KeyError: 'x'$"):
            _ = rows.reader.read(row()).sample


def test_texts_are_parsed_by_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """In CPython 3.11 `ast` may raise SystemError where two do."""
    at_once = Lock()

    read = ast.parse

    def parse(text: str, mode: str) -> Any:
        assert at_once.acquire(blocking=False)
        time.sleep(0.01)
        at_once.release()
        return read(text, mode=mode)

    monkeypatch.setattr("ast.parse", parse)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(parsed, ["['a']"] * 8)) == [["a"]] * 8


def test_arguments_that_are_wrong() -> None:
    for options, says in (
        ({"judge": None}, "expected a judge or a model, got neither"),
        ({"model": "m"}, "a judge alone, got model too"),
        ({"mode": "all"}, "mode: expected 'relevant', 'irrelevant' or 'both'"),
    ):
        with pytest.raises(InputError, match=says):
            rows_with(**{"judge": Claims(), **options})
    with pytest.raises(TypeError, match="argument 'context'"):
        rows_with(Claims(), context="c")
    with pytest.raises(InputError, match="an evaluator made by noise_sensitivity"):
        rows_of(print)


def test_an_empty_recording_is_a_judge(tmp_path: Path) -> None:
    """It has no length, and a model that nobody named was asked instead."""
    recording = tmp_path / "recording.jsonl"
    recording.write_text("")
    with pytest.raises(InputError, match="got an empty recording"):
        evaluate(rows_with(recording), row())


def test_a_summary_takes_each_result_once_and_the_latest_first() -> None:
    judge = Claims(4)
    rows = rows_with(judge)
    rows.collect()
    evaluate(rows, row("a"))  # its run ends before its summary
    judge.incorrect = 1
    evaluate(rows, row("a"))
    judge.incorrect = 3
    evaluate(rows, row("a"), row("b"))
    # 3/4, 1/4 (the same row, twice in the run) and 3/4.
    found = rows.summary([row("a"), row("a"), row("b")])
    assert found.relevant.mean.value == pytest.approx(7 / 12)
    again = rows.summary([row("b"), {"outputs": 7}])
    assert again.samples == 2
    assert again.failed == 2


@pytest.mark.parametrize(
    ("incorrect", "value", "says"),
    [
        (1, 0.25, "relevant): 0.25; 1 of 2 samples have a value; 1 of 2 samples failed."),
        (
            *(None, None),
            "): 0 to 1; 0 of 2 samples have a value, 1 undetermined; 1 of 2 samples failed.",
        ),
    ],
)
def test_the_mean_of_a_run(incorrect: int | None, value: float | None, says: str) -> None:
    rows = rows_of(SimpleNamespace(rows=rows_with(Claims(incorrect))))
    evaluate(rows, row())
    mean = mean_of(rows.summary([row(), row()]), "relevant")
    assert mean.value == value
    assert says in mean.reason
    counts = {"samples": 2, "failed": 1, "nothing_claimed": 0, "nothing_retrieved": 0}
    assert counts.items() <= mean.metadata.items()
