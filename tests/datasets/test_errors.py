"""What cannot be read: one message that names the file and the row, and the rest is kept."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noisesense import InputError, MissingExtraError
from noisesense_adapters.datasets.files import count_rows
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import BadRow, Row
from support.bad_inputs import GOOD_SAMPLE, GOOD_VERDICTS, good_line
from support.command import environment
from support.datasets import checked, rows, write_jsonl
from support.tables import random_pairs

GOOD = {**GOOD_SAMPLE, "verdicts": GOOD_VERDICTS}
LINE = json.dumps(GOOD).encode()
HEADER = b"user_input,response,reference,retrieved_contexts\n"
CELLS = b'Capital?,Paris.,Paris.,"[""a"", ""b""]"\n'


def _without(name: str) -> bytes:
    return json.dumps({key: value for key, value in GOOD.items() if key != name}).encode()


def _with(**changes: Any) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


def _claim(**changes: Any) -> bytes:
    claims = [{**GOOD_VERDICTS["response_claims"][0], **changes}]
    return _with(verdicts={**GOOD_VERDICTS, "response_claims": claims})


JSON_LINES: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "cut off": (LINE[:-9], ("one JSON object a line", "column")),
    "not UTF-8": (LINE.replace(b"ten", b"\xe4\xf6"), ("UTF-8", "0xe4", "save the file as UTF-8")),
    "an array": (b"[1]", ("an object", "[1]")),
    "absurdly deep": (b"[" * 100_000, ("one JSON object a line",)),
    "no reference": (_without("reference"), ("'reference'", "only 'user_input'")),
    "a null reference": (_with(reference=None), ("reference", "a string", "None")),
    "an empty response": (_with(response=" "), ("response", "non-empty")),
    "a number": (_with(response=42), ("response", "a string", "42")),
    "chunks are no list": (_with(retrieved_contexts={"a": 1}), ("retrieved_contexts", "a list")),
    "a text in place of chunks": (_with(retrieved_contexts="a b"), ("retrieved_contexts", "JSON")),
    "a chunk without text": (
        _with(retrieved_contexts=[{"body": "a"}, "b"]),
        ("retrieved_contexts", "'text'", "only body"),
    ),
    "texts without commas": (
        _with(retrieved_contexts="['a'\n 'b']"),
        ("retrieved_contexts", "commas", "numpy"),
    ),
    "a label that is none": (
        _with(retrieved_contexts=[{"text": "a", "relevant": "yes"}, "b"]),
        ("chunk 0, relevant", "true or false", "'yes'"),
    ),
    "bad verdicts": (_claim(correct="no"), ("verdicts, response claim 0, correct", "'no'")),
    "verdicts on other chunks": (_claim(entailed_by=[2]), ("verdicts", "below 2", "chunk 2")),
    "verdicts are no JSON": (_with(verdicts="{"), ("verdicts", "JSON", "'{'")),
}


@pytest.mark.parametrize("name", JSON_LINES)
@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
def test_a_bad_line(name: str, first: bool, tmp_path: Path) -> None:
    bad, named = JSON_LINES[name]
    path = tmp_path / "d.jsonl"
    path.write_bytes(b"\n".join([bad, LINE, LINE] if first else [LINE, b"", bad, LINE]))
    message = the_one_error(path, good=2)
    assert message.startswith(f"d.jsonl, line {1 if first else 3}")
    assert [part for part in named if part not in message] == []


def the_one_error(path: Path, *, good: int) -> str:
    found = list(read_rows(path))
    (bad,) = (row for row in found if isinstance(row, BadRow))
    assert sum(isinstance(row, Row) for row in found) == good
    message = str(bad.error)
    assert "\n" not in message
    return message


CSV_ROWS: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "too few cells": (b"Capital?,Paris.,Paris.\n", ("4 cells", "got 3")),
    "too many cells": (CELLS[:-1] + b",more\n", ("4 cells", "got 5")),
    "not UTF-8": (CELLS.replace(b"Paris", b"Z\xfcrich", 1), ("UTF-8", "0xfc")),
    "a broken quote": (b'Capital?,"Par"is.,Paris.,"[""a""]"\n', ("a row of CSV",)),
    "an empty cell": (CELLS.replace(b"Paris.", b"", 1), ("response", "non-empty")),
}


@pytest.mark.parametrize("name", CSV_ROWS)
def test_a_bad_row_of_csv(name: str, tmp_path: Path) -> None:
    """The row before has a line break in a cell, which counts."""
    bad, named = CSV_ROWS[name]
    before = CELLS.replace(b"Capital?", b'"Capi\ntal?"')
    path = tmp_path / "d.csv"
    path.write_bytes(HEADER + before + bad + CELLS)
    message = the_one_error(path, good=2)
    assert message.startswith("d.csv, line 4")
    assert [part for part in named if part not in message] == []


def test_a_quote_that_is_never_closed_is_told_where_it_opens(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(HEADER + CELLS + b'Capital?,"Paris.,Paris.,[]\n' + CELLS)
    assert the_one_error(path, good=1).startswith("d.csv, line 3: expected a row of CSV")


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_are_seen_in_the_header(delimiter: str, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    header = HEADER.decode().replace(",", delimiter)
    path.write_text(f'{header}Capital?{delimiter}P.{delimiter}P.{delimiter}"[""a, b""]"\n')
    (row,) = read_rows(path)
    assert isinstance(row, Row)
    assert row.sample is not None
    assert [chunk.text for chunk in row.sample.retrieved_contexts] == ["a, b"]


def test_deepevals_separator_is_read_in_its_own_files_only(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("input,actual_output,expected_output,retrieval_context\nq,a,b,one|two\n")
    (row,) = read_rows(path)
    assert isinstance(row, Row)
    assert row.sample is not None
    assert [chunk.text for chunk in row.sample.retrieved_contexts] == ["one", "two"]


def _empty(folder: Path) -> Path:
    (folder / "d.jsonl").write_bytes(b"")
    return folder / "d.jsonl"


def _file(name: str, content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def _folder(*names: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        made = folder / "set"
        for name in names:
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_text("{}")
        made.mkdir(exist_ok=True)
        return made

    return write


LF = b"\n"
WHOLE: dict[str, tuple[Callable[[Path], Path], tuple[str, ...]]] = {
    "no file": (lambda folder: folder / "d.jsonl", ("d.jsonl", "no such file")),
    "empty": (_empty, ("d.jsonl", "at least one row", "empty")),
    "only blank lines": (_file("d.jsonl", b"\n \n"), ("d.jsonl", "empty")),
    "only a header": (_file("d.csv", HEADER), ("d.csv", "empty")),
    "an empty CSV file": (_file("d.csv", b""), ("d.csv", "empty")),
    "an empty list": (_file("d.json", b"[]"), ("d.json", "empty")),
    "another ending": (_file("d.xlsx", b"PK"), ("d.xlsx", ".jsonl, ", ".parquet")),
    "UTF-16": (_file("d.jsonl", LINE.decode().encode("utf-16")), ("d.jsonl", "UTF-8", "UTF-16")),
    "UTF-16 CSV": (_file("d.csv", HEADER.decode().encode("utf-16")), ("d.csv", "UTF-16")),
    "gzip": (_file("d.jsonl", gzip.compress(LINE)), ("d.jsonl", "gzip")),
    "Latin-1 throughout": (
        _file("d.jsonl", (LINE.replace(b"ten", b"z\xe9ro") + LF) * 30),
        ("d.jsonl, line 1", "UTF-8", "0xe9"),
    ),
    "a document, not lines": (
        _file("d.jsonl", json.dumps([GOOD], indent=1).encode()),
        ("d.jsonl, line 1", "one JSON object a line"),
    ),
    "lines, not a document": (_file("d.json", LINE + LF + LINE), ("d.json", ".jsonl")),
    "prose": (_file("d.jsonl", b"Dear all,\nhello\n"), ("d.jsonl, line 1", "JSON object")),
    "another schema": (
        _file("d.jsonl", b'{"prompt": "a", "completion": "b"}\n' * 30),
        ("d.jsonl", "one of 'response'", "'prompt'", "--map response=COLUMN"),
    ),
    "a column is missing": (
        _file("d.jsonl", (_without("reference") + LF) * 30),
        ("d.jsonl", "'reference'", "'user_input'", "--map reference=COLUMN"),
    ),
    "another CSV": (_file("d.csv", b"a,b\n1,2\n"), ("d.csv", "one of 'response'", "'a', 'b'")),
    "a header twice": (_file("d.csv", b"a,a\n1,2\n"), ("d.csv", "header", "'a' twice")),
    "a header not UTF-8": (_file("d.csv", b"\xfcber,b\n1,2\n"), ("d.csv", "header", "0xfc")),
    "a broken header": (_file("d.csv", b'"a"b,c\n1,2\n'), ("d.csv, header", "a row of CSV")),
    "another document": (_file("d.json", b'{"a": 1}'), ("d.json", "a list of rows", "'a'")),
    "rows are no list": (_file("d.json", b'{"data": 1}'), ("d.json", "a list of rows", "1")),
    "numbers": (_file("d.json", b"[1, 2]"), ("d.json", "an object", "1")),
    "not Parquet": (_file("d.parquet", b"hello " * 9), ("d.parquet", "a Parquet file")),
    "Arrow": (_file("d.arrow", b"ARROW1"), ("d.arrow", "got Arrow", "dataset.to_parquet(")),
    "saved to disk": (_folder("state.json"), ("set", "got Arrow", "dataset.to_parquet(")),
    "saved splits": (_folder("dataset_dict.json"), ("set", "got Arrow", "dataset.to_parquet(")),
    "another folder": (_folder("readme.md"), ("set", "a folder of Parquet files")),
    "an empty folder": (_folder(), ("set", "a folder of Parquet files")),
    "several splits from the Hub": (
        _folder("data/test-00000-of-00001.parquet", "data/train-00000-of-00001.parquet"),
        ("set", "one split", "test-00000"),
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_that_cannot_be_read_at_all(name: str, tmp_path: Path) -> None:
    write, named = WHOLE[name]
    path = write(tmp_path)
    with pytest.raises(InputError) as raised:
        list(read_rows(path))
    message = str(raised.value)
    assert [part for part in named if part not in message] == []
    assert "\n" not in message


@pytest.mark.parametrize("use", [read_rows, count_rows])
@pytest.mark.parametrize("path", [None, "a\0.jsonl", "half \ud800.jsonl", "a" * 300 + ".jsonl"])
def test_what_is_no_path(use: Callable[[Any], object], path: Any) -> None:
    with pytest.raises(InputError, match="path: expected a path, got"):
        use(path)


def test_a_bad_result_of_ragchecker(tmp_path: Path) -> None:
    data = checked(random_pairs(3, seed=900))
    data["results"][1]["answer2response"] = ["Perhaps"] * 12
    path = tmp_path / "d.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    assert the_one_error(path, good=2).startswith("d.json, result 1, answer2response")


def test_a_bad_line_of_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    broken = good_line().replace(b'"correct": false', b'"correct": 0')
    path.write_bytes(b"\n".join([good_line(), broken]))
    message = the_one_error(path, good=1)
    assert message.startswith("d.jsonl, line 2, verdicts, response claim 1, correct")


def test_the_first_rows_may_lack_what_is_optional(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [{k: v for k, v in GOOD.items() if k != "verdicts"}, GOOD]
    del lines[0]["user_input"]
    first, second = read_rows(write_jsonl(tmp_path / "d.jsonl", lines))
    assert isinstance(first, Row)
    assert isinstance(second, Row)
    assert first.verdicts is None
    assert second.verdicts is not None


def test_without_pyarrow_the_extra_is_named(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    path.write_bytes(b"PAR1")
    code = f"from noisesense_adapters.datasets import read_rows; next(read_rows({str(path)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment(), "TEST_HIDDEN_PACKAGES": "pyarrow"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert MissingExtraError.__name__ in done.stderr
    assert "pip install 'noisesense[report]'" in done.stderr


def test_reading_lines_loads_no_arrow(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "d.jsonl", rows(random_pairs(2)))
    code = (
        "import sys; from noisesense_adapters.datasets.read import read_rows; "
        f"assert len(list(read_rows({str(path)!r}))) == 2; "
        "print({'pyarrow', 'numpy', 'pandas', 'openai', 'langchain'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "set()\n"
