"""What cannot be read: one message that names the file and the row, and the rest is kept."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from noisesense import InputError
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import BadRow, Row
from support.bad_inputs import GOOD_SAMPLE, GOOD_VERDICTS

GOOD = {**GOOD_SAMPLE, "verdicts": GOOD_VERDICTS}
LINE = json.dumps(GOOD).encode()
HEADER = b"user_input,response,reference,retrieved_contexts\n"
CELLS = b'Capital?,Paris.,Paris.,"[""a"", ""b""]"\n'


def _with(**changes: Any) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


def _claim(**changes: Any) -> bytes:
    claims = [{**GOOD_VERDICTS["response_claims"][0], **changes}]
    return _with(verdicts={**GOOD_VERDICTS, "response_claims": claims})


JSON_LINES: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "cut off": (LINE[:-9], ("one JSON object a line", "column")),
    "no reference": (LINE.replace(b"refer", b"x"), ("'reference'", "only 'user_input'")),
    "chunks are no list": (_with(retrieved_contexts={"a": 1}), ("retrieved_contexts", "a list")),
    "a chunk without text": (
        _with(retrieved_contexts=[{"title": "a"}, "b"]),
        ("retrieved_contexts", "'text'", "only 'title'"),
    ),
    "texts without commas": (
        _with(retrieved_contexts="['a', 'b'\n 'c']"),
        ("retrieved_contexts", "commas"),
    ),
    "bad verdicts": (_claim(correct="no"), ("verdicts, response claim 0, correct", "'no'")),
    "verdicts are no JSON": (_with(verdicts="{"), ("verdicts", "JSON", "'{'")),
}


@pytest.mark.parametrize("name", JSON_LINES)
@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
def test_a_bad_line_is_one_error_with_its_number_and_the_rest_is_kept(
    name: str, first: bool, tmp_path: Path
) -> None:
    bad, named = JSON_LINES[name]
    path = tmp_path / "d.jsonl"
    path.write_bytes(b"\n".join([bad, LINE, LINE] if first else [LINE, b"", bad, LINE]))
    message = the_one_error(path, good=2)
    assert message.startswith(f"d.jsonl, line {1 if first else 3}")
    assert [part for part in named if part not in message] == []


def test_a_broken_byte_beside_lines_in_utf_8_costs_only_its_line(tmp_path: Path) -> None:
    """The others are not read in another encoding."""
    path = tmp_path / "d.jsonl"
    good = LINE.replace(b"ten", "zehn Städte".encode())
    path.write_bytes(b"\n".join([good, LINE.replace(b"ten", b"\xe4\xf6"), good]))
    message = the_one_error(path, good=2)
    assert message.startswith("d.jsonl, line 2: expected UTF-8 text, got the byte 0xe4")


def the_one_error(path: Path, *, good: int) -> str:
    found = list(read_rows(path))
    (bad,) = (row for row in found if isinstance(row, BadRow))
    assert sum(isinstance(row, Row) for row in found) == good
    message = str(bad.error)
    assert "\n" not in message
    return message


CSV_ROWS: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "too few cells": (b"Capital?,Paris.,Paris.\n", ("4 cells", "got 3")),
    "not UTF-8": (CELLS.replace(b"Paris", b"Z\xfcrich", 1), ("UTF-8", "0xfc")),
    "a broken quote": (b'Capital?,"Par"is.,Paris.,"[""a""]"\n', ("a row of CSV",)),
}


@pytest.mark.parametrize("name", CSV_ROWS)
def test_a_bad_row_of_csv_is_one_error_and_the_rest_is_kept(name: str, tmp_path: Path) -> None:
    """The row before has a line break in a cell, which counts."""
    bad, named = CSV_ROWS[name]
    before = CELLS.replace(b"Capital?", '"Capi\nté?"'.encode())
    path = tmp_path / "d.csv"
    path.write_bytes(HEADER + before + bad + CELLS)
    message = the_one_error(path, good=2)
    assert message.startswith("d.csv, line 4")
    assert [part for part in named if part not in message] == []


OTHER = b'{"prompt": "a", "completion": "b"}\n' * 30
# The file's name, what is in it (None: no file), and what the error says; of a folder ("set/…")
# the name of a file in it.
WHOLE: list[tuple[str, bytes | None, tuple[str, ...]]] = [
    ("d.jsonl", None, ("no such file",)),
    ("d.jsonl", b"", ("at least one row, got none",)),
    ("d.csv", HEADER, ("at least one row, got none",)),
    ("d.json", b"[]", ("at least one row, got none",)),
    ("d.csv", json.dumps([GOOD]).encode(), ("looks like JSON", "name it .json")),
    ("d.tsv", json.dumps([GOOD], indent=1).encode(), ("looks like JSON", "name it .json")),
    ("d.csv", b'{"a": 1}\n{"a": 2}\n', ("looks like JSON", "name it .json")),
    ("d.xlsx", b"PK", ("a readable .xlsx file",)),
    ("d.zip", b"PK", (".jsonl, ", "unpack the archive")),
    ("d.jsonl", gzip.compress(LINE), ("a gzip file",)),
    ("d.jsonl", LINE.replace(b"ten", "北京是中国的首都".encode("gb18030")), ("UTF-8", "encoding")),
    ("d.jsonl", json.dumps([GOOD], indent=1).encode(), ("line 1", "one JSON object a line")),
    ("d.jsonl", OTHER, ("the reference at 'reference'", "'prompt'", "--map reference=COLUMN")),
    ("d.csv", b"a,b\n1,2\n", ("the response at 'response'", "'a', 'b'")),
    ("d.csv", b"a,a\n1,2\n", ("header", "'a' twice")),
    ("d.json", b'{"a": 1}', ("a list of rows", "'a'")),
    ("d.json", b'{"columns": [{"name": "a"}], "data": [["b"]]}', ("columns",)),
    ("d.json", b'{"columns": ["a", "b"], "data": [["c"]]}', ("as many cells", "[['c']]")),
    ("d.json", b'{"columns": ["a"], "data": [5]}', ("as many cells", "got [5]")),
    ("d.json", b'{"columns": ["a", "a"], "data": [["b", "c"]]}', ("columns", "'a' twice")),
    # Columns of other rows: no row is made of two.
    ("d.json", b'{"a": {"0": "b"}, "c": {"1": "d"}}', ("a list of rows", "'a', 'c'")),
    ("d.parquet", b"hello " * 9, ("a readable .parquet file",)),
    (
        "set/state.json",
        b"{}",
        ("the folder 'set'", "dataset.to_parquet"),
    ),
]


@pytest.mark.parametrize("case", range(len(WHOLE)))
def test_a_file_that_cannot_be_read_is_named_in_one_line_with_the_fault(
    case: int, tmp_path: Path
) -> None:
    name, content, named = WHOLE[case]
    folder, _, _ = name.rpartition("/")
    (tmp_path / folder).mkdir(exist_ok=True)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as raised:
        list(read_rows(tmp_path / (folder or name)))
    message = str(raised.value)
    assert [part for part in (folder or name, *named) if part not in message] == []
    assert "\n" not in message
