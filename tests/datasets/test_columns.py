"""Columns by known names, by name, by dotted path, by a function; contexts within one cell."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisesense import InputError
from noisesense_adapters.datasets.read import read_rows, results_of
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.datasets.tables import UnsettledError
from noisesense_adapters.reading.paths import Column
from noisesense_adapters.reading.values import is_empty as is_null
from support.command_here import run_here
from support.datasets import write_jsonl

LINE: dict[str, Any] = {
    "meta": {"doc": "handbook", "gold": {"answer": "Paris."}},
    "out": [{"message": {"content": "Lyon."}}],
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


def texts(line: dict[str, Any], columns: Mapping[str, Column], folder: Path) -> tuple[Any, ...]:
    sample = read(write_jsonl(folder / "d.jsonl", [line]), columns).sample
    chunks = [chunk.text for chunk in sample.retrieved_contexts]
    return sample.user_input, sample.response, sample.reference, chunks


def under(names: str) -> dict[str, Any]:
    return dict(zip(names.split(), ("Capital?", "Lyon.", "Paris.", ["a", "b"]), strict=True))


def test_fields_are_called_as_in_any_tool(tmp_path: Path) -> None:
    columns = {"question": "q", "answer": "a", "ground_truth": "g", "contexts": "c"}
    found = texts(under("q a g c"), columns, tmp_path)
    assert found == ("Capital?", "Lyon.", "Paris.", ["a", "b"])
    with pytest.raises(InputError, match="each field once, got 'query'"):
        texts(under("q a g c"), {**columns, "query": "q"}, tmp_path)


def test_what_is_guessed_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    path = write_jsonl(tmp_path / "d.jsonl", [under("question answer gold contexts")])
    list(read_rows(path, guess=True, on_note=said.append))
    assert "  reference = gold: 'Paris.'" in said


def test_names_of_documents_are_split_as_their_texts(tmp_path: Path) -> None:
    line = {**under("question answer reference contexts"), "contexts": "a || b", "ids": "x || y"}
    path = write_jsonl(tmp_path / "d.jsonl", [line])
    (row,) = read_rows(path, {"retrieved_context_ids": "ids"}, split_contexts=" || ")
    assert [chunk.id for chunk in row.sample.retrieved_contexts] == ["x", "y"]


TWO = {**under("question answer gt_answer contexts"), "reference": "Rome."}


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        (under("question answer reference contexts"), {}),  # old, new, RAGChecker's, plain
        (under("question response ground_truth contexts"), {}),  # ragas, two versions
        (under("input output expected_output context"), {}),  # Langfuse
        (under("query answer gt_answer documents"), {}),  # one from each
        (under("question answer gold contexts"), {"reference": "gold"}),
        # Of two schemas that fit, the one with the question.
        (
            under("query response gold retrieved"),
            {"reference": "gold", "retrieved_contexts": "retrieved"},
        ),
        (TWO, {"reference": "gt_answer"}),
    ],
)
def test_columns_are_found_by_known_names_and_overrides_win(
    line: dict[str, Any], columns: dict[str, Column], tmp_path: Path
) -> None:
    assert texts(line, columns, tmp_path) == ("Capital?", "Lyon.", "Paris.", ["a", "b"])


def test_a_field_is_mapped_by_a_name_a_path_or_a_function(tmp_path: Path) -> None:
    expected = ("Capital?", "Lyon.", "Paris.", ["A town.", "A river."])
    assert texts(LINE, COLUMNS, tmp_path) == expected
    path = tmp_path / "d.parquet"
    pq.write_table(pa.Table.from_pylist([LINE]), path)
    row = read(path, COLUMNS)
    assert row.id == "about handbook"
    assert row.cluster == "handbook"
    assert row.sample.reference == "Paris."
    # A column whose name has a dot wins over the path.
    assert texts({**LINE, "meta.gold.answer": "Rome."}, COLUMNS, tmp_path)[2] == "Rome."


ERRORS: dict[str, tuple[dict[str, Column], tuple[str, ...]]] = {
    "no field of a sample": ({"vote": "out"}, ("columns", "'vote'", "reference")),
    "no such column": ({"reference": "gold"}, ("reference: ", "'gold'", "'meta'", "'q'")),
    "no such path": (
        {"reference": "meta.answer"},
        ("got only 'doc', 'gold' in place of 'answer'",),
    ),
    "a path into a text": ({"response": "q.text"}, ("got nothing in place of 'text'",)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_one_error_for_a_column_that_no_row_has(name: str, tmp_path: Path) -> None:
    columns, named = ERRORS[name]
    path = write_jsonl(tmp_path / "d.jsonl", [LINE] * 30)
    with pytest.raises(InputError) as raised:
        read_rows(path, {**COLUMNS, **columns})
    message = str(raised.value)
    assert not any(message.count(f"{field}: ") > 1 for field in columns)
    assert [part for part in named if part not in message] == []


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"response": "Antwrt"},
            "response: expected a column 'Antwrt', .* did you mean 'Antwort'",
        ),
        (
            {"retrieved_context_ids": "Frgae"},
            "retrieved_context_ids: expected a column 'Frgae', .* did you mean 'Frage'",
        ),
        ({"response": "Antwort"}, "reference: expected the reference at"),
    ],
)
def test_a_wrong_column_is_told_though_others_are_missing(
    columns: dict[str, Column], message: str, tmp_path: Path
) -> None:
    path = write_jsonl(tmp_path / "d.jsonl", [{"Frage": "q", "Antwort": "a", **LINE}])
    with pytest.raises(InputError, match=rf"d\.jsonl, {message}"):
        read_rows(path, columns)


def test_a_row_without_the_column_or_with_an_id_again_is_a_bad_row(tmp_path: Path) -> None:
    lines = [LINE, {**LINE, "out": []}]
    found = list(read_rows(write_jsonl(tmp_path / "d.jsonl", lines), COLUMNS))
    assert [type(row) for row in found] == [Row, BadRow]
    assert found[1].id == "about handbook"
    _, again = read_rows(write_jsonl(tmp_path / "d.jsonl", [LINE, LINE]), COLUMNS)
    assert isinstance(again, BadRow)
    assert "line 2: expected each id once, got 'about handbook'" in str(again.error)


VERDICTS = '"{""response_claims"": [{""text"": ""r"", ""correct"": false, ""entailed_by"": []}]}"'


def table(folder: Path, *cells: str) -> Path:
    path = folder / "data.csv"
    quoted = (cell.replace('"', '""') for cell in cells)
    lines = [f'r,f,"{cell}",{VERDICTS}\n' for cell in quoted]
    path.write_text("response,reference,retrieved_contexts,verdicts\n" + "".join(lines))
    return path


def chunks(path: Path, separator: str | None = None) -> list[list[str]]:
    rows = read_rows(path, split_contexts=separator)
    samples = [row.sample for row in rows if isinstance(row, Row) and row.sample]
    return [[chunk.text for chunk in sample.retrieved_contexts] for sample in samples]


def test_cells_without_a_list_are_split_at_the_separator(tmp_path: Path) -> None:
    data = table(tmp_path, "c1;;c2", '["c1", "c;;2"]', "c1")
    assert chunks(data, ";;") == [["c1", "c2"], ["c1", "c;;2"], ["c1"]]
    # A number of a source begins no list: such rows failed.
    cited = table(tmp_path, "[1] c1;;[2] c2", "[Page 3] c1", "[Document(page_content='a;;b')]")
    assert chunks(cited, ";;") == [["[1] c1", "[2] c2"], ["[Page 3] c1"], ["a;;b"]]
    # A list that is cut off is an error still.
    (cut,) = read_rows(table(tmp_path, '["c1", "c;;2'), split_contexts=";;")
    assert isinstance(cut, BadRow)


@pytest.mark.parametrize(("typed", "between"), [(r"\n", "\n"), (r"\t", "\t")])
def test_escapes_are_read_as_people_type_them(
    typed: str, between: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--split-contexts '\\n'` made every row one chunk, silently."""
    data = table(tmp_path, f"c1{between}c2", "c3")
    out = tmp_path / "o.jsonl"
    run_here(capsys, "score", data, "--split-contexts", typed, "--out", out)
    assert chunks(out) == [["c1", "c2"], ["c3"]]


def test_a_separator_in_no_cell_is_an_error_that_costs_no_wrong_number(tmp_path: Path) -> None:
    """It read 0.2944 where 0.1889 was right, with status 0."""
    with pytest.raises(InputError, match=r"expected '\|' in some cell of contexts, got none"):
        read_rows(table(tmp_path, "c1\nc2", "c1"), split_contexts="|")
    with pytest.raises(InputError, match="split_contexts"):
        read_rows(table(tmp_path, "c1"), split_contexts="")


def test_a_cell_that_holds_no_list_is_asked_about_or_a_bad_row(tmp_path: Path) -> None:
    """The second as templates leave it."""
    with pytest.raises(UnsettledError, match="--split-contexts SEP says what stands between"):
        read_rows(table(tmp_path, "c1;c2", "c3;c4"))
    (template,) = read_rows(table(tmp_path, '{{"text": "x"}}'))
    assert isinstance(template, BadRow)
    assert "JSON" in str(template.error)


def test_an_empty_cell_is_nothing_retrieved(tmp_path: Path) -> None:
    """Undefined, as the core has it: it was a perfect answer, or an error."""
    data = table(tmp_path, "", " ", "[]", '[""]')
    for result in results_of(data):
        assert result.score is not None, result.error
        assert result.score.relevant is None
        assert result.score.irrelevant is None
        assert result.score.status("relevant") == "undefined"


def test_nan_is_an_empty_cell(tmp_path: Path) -> None:
    """As pandas writes it: a chunk "nan" would be judged, and an id "nan" be there twice."""
    line = {"id": math.nan, "question": "Who?", "answer": "Ada.", "reference": "Ada."}
    first = {**line, "context_1": "Ada built it.", "context_2": math.nan}
    second = {**line, "question": math.nan, "context_1": math.nan, "context_2": math.nan}
    path = write_jsonl(tmp_path / "d.jsonl", [first, second])
    rows = list(read_rows(path, {"retrieved_contexts": "context_1,context_2"}))
    samples = [row.sample for row in rows if isinstance(row, Row) and row.sample]
    assert [row.id for row in rows] == [sample.key for sample in samples]
    assert [sample.user_input for sample in samples] == ["Who?", ""]
    found = [[chunk.text for chunk in sample.retrieved_contexts] for sample in samples]
    assert found == [["Ada built it."], []]
    assert all(map(is_null, (pd.NA, pd.NaT, np.float32("nan"))))


def test_a_separator_for_a_recording_is_an_error(tmp_path: Path) -> None:
    """It was not applied: "c1|c2" stayed one chunk."""
    line = {"sample": {"response": "r", "reference": "f", "retrieved_contexts": ["c1|c2"]}}
    lines = write_jsonl(tmp_path / "recording.jsonl", [line])
    with pytest.raises(InputError, match="expected the response at"):
        read_rows(lines, split_contexts="|")


THREE = ["c1", "c2", "c3"]
NAMED = ["a.md", "b.pdf", "c.html"]


def ids(path: Path, columns: Mapping[str, Column] | None = None, **options: Any) -> Any:
    (row,) = read_rows(path, columns, **options)
    if isinstance(row, BadRow):
        return str(row.error)
    assert row.sample is not None
    return [chunk.id for chunk in row.sample.retrieved_contexts]


def csv_of(folder: Path, contexts: object, names: object, column: str) -> Path:
    """A row. A list is written as JSON, any other cell as it is."""
    cells = [each if isinstance(each, str) else json.dumps(each) for each in (contexts, names)]
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    path = folder / "d.csv"
    path.write_text(f"response,reference,contexts,{column}\nr,f,{','.join(quoted)}\n")
    return path


NAMES = "retrieved_context_ids"


@pytest.mark.parametrize(
    ("column", "columns"),
    [(NAMES, {}), ("Retrieved Context IDs", {}), ("Sources", {NAMES: "Sources"})],
)
def test_a_second_column_names_the_documents(
    column: str, columns: dict[str, Column], tmp_path: Path
) -> None:
    """`--map` refused it, and ragas' own column was left out without a word."""
    assert ids(csv_of(tmp_path, THREE, NAMED, column), columns) == NAMED
    line = {"response": "r", "reference": "f", "contexts": THREE, column: NAMED}
    assert ids(write_jsonl(tmp_path / "d.jsonl", [line]), columns) == NAMED


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.md"], "retrieved_context_ids: expected a list with one for each of 3 chunks, got"),
        ([*NAMED, "d"], "retrieved_context_ids: expected a list with one for each of 3 chunks"),
        ([["a.md"], "b", "c"], "id: expected a string, got ['a.md']"),
        ([True, "b", "c"], "id: expected a string, got True"),
        ("['a.md', ", "retrieved_context_ids: expected JSON, or a list as Python prints it"),
    ],
)
def test_names_that_do_not_fit_the_contexts_are_errors(
    names: object, message: str, tmp_path: Path
) -> None:
    assert message in ids(csv_of(tmp_path, THREE, names, NAMES))


def test_numbered_columns_and_the_names_beside_them(tmp_path: Path) -> None:
    """The names became chunks: four of them, x, a.md, y and b.md."""
    line = {"response": "r", "reference": "f", "chunk_1": "x", "doc_1": "a.md"}
    line |= {"chunk_2": "y", "doc_2": "b.md"}
    path = write_jsonl(tmp_path / "d.jsonl", [line])
    columns: dict[str, Column] = {"retrieved_contexts": "chunk_1,chunk_2"}
    assert texts(line, columns, tmp_path)[3] == ["x", "y"]
    assert ids(path, {**columns, NAMES: "doc_1,doc_2"}) == ["a.md", "b.md"]
