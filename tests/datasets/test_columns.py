"""Columns that are named otherwise: by name, by dotted path, by a function of the row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisesense import InputError
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import BadRow, Column, Row
from support.datasets import write_jsonl

LINE: dict[str, Any] = {
    "meta": {"doc": "handbook", "gold": {"answer": "Paris."}},
    "out": [{"message": {"content": "Paris it is."}}],
    "q": "Capital?",
    "hits": "A town. || A river.",
}
COLUMNS: dict[str, Column] = {
    "response": "out.0.message.content",
    "reference": "meta.gold.answer",
    "retrieved_contexts": lambda row: row["hits"].split(" || "),
    "user_input": "q",
    "cluster": "meta.doc",
    "id": lambda row: f"about {row['meta']['doc']}",
}


def read(path: Path, columns: Mapping[str, Column]) -> Row:
    (row,) = read_rows(path, columns)
    assert isinstance(row, Row), row.error
    return row


def test_names_paths_and_functions(tmp_path: Path) -> None:
    row = read(write_jsonl(tmp_path / "d.jsonl", [LINE]), COLUMNS)
    assert row.sample is not None
    assert row.sample.model_dump(exclude_defaults=True) == {
        "user_input": "Capital?",
        "response": "Paris it is.",
        "reference": "Paris.",
        "retrieved_contexts": ({"text": "A town."}, {"text": "A river."}),
    }
    assert (row.id, row.cluster) == ("about handbook", "handbook")


def test_paths_into_columns_of_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    pq.write_table(pa.Table.from_pylist([LINE]), path)
    row = read(path, COLUMNS)
    assert row.sample is not None
    assert row.sample.reference == "Paris."


def test_paths_into_the_text_of_an_object(tmp_path: Path) -> None:
    """As CSV files hold columns of objects: JSON, or as Python prints them."""
    path = tmp_path / "d.csv"
    meta = "\"{'gold': {'answer': 'Paris.'}}\""
    path.write_text(f'meta,response,contexts\n{meta},Paris it is.,"[""a"", ""b""]"\n')
    row = read(path, {"reference": "meta.gold.answer", "retrieved_contexts": "contexts"})
    assert row.sample is not None
    assert row.sample.reference == "Paris."


def test_a_column_whose_name_has_a_dot_wins_over_the_path(tmp_path: Path) -> None:
    line = {**LINE, "meta.gold.answer": "Lyon."}
    row = read(write_jsonl(tmp_path / "d.jsonl", [line]), COLUMNS)
    assert row.sample is not None
    assert row.sample.reference == "Lyon."


def test_overrides_beside_a_known_schema(tmp_path: Path) -> None:
    line = {
        "question": "Capital?",
        "answer": "Paris it is.",
        "contexts": ["a"],
        "gold": "Paris.",
    }
    row = read(write_jsonl(tmp_path / "d.jsonl", [line]), {"reference": "gold"})
    assert row.sample is not None
    assert (row.sample.user_input, row.sample.reference) == ("Capital?", "Paris.")


def test_of_two_schemas_that_fit_the_one_with_the_question_is_meant(tmp_path: Path) -> None:
    line = {"query": "Capital?", "response": "Paris it is.", "retrieved": ["a"], "gold": "Paris."}
    columns: dict[str, Column] = {"reference": "gold", "retrieved_contexts": "retrieved"}
    row = read(write_jsonl(tmp_path / "d.jsonl", [line]), columns)
    assert row.sample is not None
    assert row.sample.user_input == "Capital?"


@pytest.mark.parametrize(
    "names",
    [
        "question, answer, reference, contexts",
        "question, response, ground_truth, contexts",
        "input, output, expected_output, context",
        "query, answer, gt_answer, documents",
    ],
)
def test_the_obvious_columns_of_different_frameworks(names: str, tmp_path: Path) -> None:
    question, response, reference, contexts = names.split(", ")
    line = {question: "Capital?", response: "Lyon.", reference: "Paris.", contexts: ["a", "b"]}
    row = read(write_jsonl(tmp_path / "d.jsonl", [line]), {})
    assert row.sample is not None
    assert [row.sample.user_input, row.sample.response, row.sample.reference] == [
        *("Capital?", "Lyon.", "Paris.")
    ]
    assert len(row.sample.retrieved_contexts) == 2


def test_two_columns_that_may_be_meant_are_an_error(tmp_path: Path) -> None:
    line = {"question": "?", "answer": "a", "reference": "b", "gt_answer": "c", "contexts": ["d"]}
    path = write_jsonl(tmp_path / "d.jsonl", [line])
    with pytest.raises(
        InputError, match="one column with the reference, got 'reference', 'gt_answer'"
    ):
        read_rows(path)
    assert read(path, {"reference": "gt_answer"}).sample is not None


def test_ids_and_clusters_of_results_and_recordings_too(tmp_path: Path) -> None:
    sample = {"user_input": "Capital?", "response": "b", "reference": "c"}
    line = {"sample": {**sample, "retrieved_contexts": ["a"]}}
    columns: dict[str, Column] = {"cluster": "sample.user_input", "id": "sample.response"}
    row = read(write_jsonl(tmp_path / "d.jsonl", [line]), columns)
    assert (row.id, row.cluster) == ("b", "Capital?")


ERRORS: dict[str, tuple[dict[str, Column], tuple[str, ...]]] = {
    "no field of a sample": ({"answer": "out"}, ("columns", "'answer'", "reference")),
    "no such column": ({**COLUMNS, "reference": "gold"}, ("d.jsonl", "'gold'", "'meta'", "'q'")),
    "no such path": (
        {**COLUMNS, "reference": "meta.answer"},
        ("d.jsonl", "'meta.answer', got only 'doc', 'gold' in 'meta'"),
    ),
    "no such item": (
        {**COLUMNS, "response": "out.1.message"},
        ("d.jsonl", "'out.1.message', got [{'message'", "in 'out'"),
    ),
    "a path into a text": (
        {**COLUMNS, "response": "q.text"},
        ("d.jsonl", "'q.text', got 'Capital?' in 'q'"),
    ),
    "a function that divides by zero": (
        {**COLUMNS, "id": lambda row: 1 // len(row["meta"]["gold"]["answer"][6:])},
        ("d.jsonl", "ZeroDivisionError"),
    ),
    "a function that fails": (
        {**COLUMNS, "reference": lambda row: row["gold"]},
        ("d.jsonl", "KeyError: 'gold'"),
    ),
    "one is missing": (
        {name: column for name, column in COLUMNS.items() if name != "reference"},
        ("d.jsonl", "'reference'", "--map reference=COLUMN"),
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_one_error_for_a_column_that_no_row_has(name: str, tmp_path: Path) -> None:
    columns, named = ERRORS[name]
    path = write_jsonl(tmp_path / "d.jsonl", [LINE] * 30)
    with pytest.raises(InputError) as raised:
        read_rows(path, columns)
    assert [part for part in named if part not in str(raised.value)] == []


def test_a_row_without_the_column_is_a_bad_row(tmp_path: Path) -> None:
    lines = [LINE, {**LINE, "out": []}, LINE]
    found = list(read_rows(write_jsonl(tmp_path / "d.jsonl", lines), COLUMNS))
    assert [isinstance(row, BadRow) for row in found] == [False, True, False]
    bad = found[1]
    assert isinstance(bad, BadRow)
    assert bad.id == "about handbook"
    assert str(bad.error).startswith("d.jsonl, line 2: expected a column 'out.0.message.content'")
