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
from support.bad_inputs import GOOD_SAMPLE, GOOD_VERDICTS
from support.command import environment
from support.datasets import checked, rows, write_jsonl
from support.tables import random_pairs

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
    "not UTF-8": (LINE.replace(b"ten", b"\xe4\xf6"), ("UTF-8", "0xe4", "save the file as UTF-8")),
    "an array": (b"[1]", ("an object", "[1]")),
    "absurdly deep": (b"[" * 100_000, ("one JSON object a line",)),
    "no reference": (LINE.replace(b"refer", b"x"), ("'reference'", "only 'user_input'")),
    "a null reference": (_with(reference=None), ("reference", "a string", "None")),
    "an empty response": (_with(response=" "), ("response", "non-empty")),
    "chunks are no list": (_with(retrieved_contexts={"a": 1}), ("retrieved_contexts", "a list")),
    "a chunk without text": (
        _with(retrieved_contexts=[{"body": "a"}, "b"]),
        ("retrieved_contexts", "'text'", "only body"),
    ),
    "texts without commas": (
        _with(retrieved_contexts="['a'\n 'b']"),
        ("retrieved_contexts", "commas", "numpy"),
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


@pytest.mark.parametrize(
    "text",
    [
        'response;reference;contexts\nP.;P.;"[""a, b""]"\n',
        'response\treference\tcontexts\nP.\tP.\t"[""a, b""]"\n',
        # DeepEval's own separator between chunks.
        'input,actual_output,expected_output,retrieval_context\nq,a,b,"a|, |b"\n',
    ],
)
def test_other_delimiters_are_seen_in_the_header(text: str, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(text)
    (row,) = read_rows(tmp_path / "d.csv")
    assert isinstance(row, Row)
    assert "".join(chunk.text for chunk in row.sample.retrieved_contexts) == "a, b"


UTF_16 = LINE.decode().encode("utf-16")
OTHER = b'{"prompt": "a", "completion": "b"}\n' * 30
# The file's name, what is in it (None: no file), and what the error says; of a folder ("set/…")
# the name of a file in it.
WHOLE: list[tuple[str, bytes | None, tuple[str, ...]]] = [
    ("d.jsonl", None, ("no such file",)),
    ("d.jsonl", b"", ("at least one row", "empty")),
    ("d.jsonl", b"\n \n", ("empty",)),
    ("d.csv", HEADER, ("empty",)),
    ("d.json", b"[]", ("empty",)),
    ("d.xlsx", b"PK", (".jsonl, ", ".parquet")),
    ("d.jsonl", UTF_16, ("UTF-8", "UTF-16")),
    ("d.csv", UTF_16, ("UTF-8", "UTF-16")),
    ("d.jsonl", gzip.compress(LINE), ("gzip",)),
    ("d.jsonl", (LINE.replace(b"ten", b"\xe9") + b"\n") * 30, ("line 1", "UTF-8", "0xe9")),
    ("d.jsonl", json.dumps([GOOD], indent=1).encode(), ("line 1", "one JSON object a line")),
    ("d.json", LINE + b"\n" + LINE, (".jsonl",)),
    ("d.jsonl", OTHER, ("one of 'response'", "'prompt'", "--map response=COLUMN")),
    ("d.csv", b"a,b\n1,2\n", ("one of 'response'", "'a', 'b'")),
    ("d.csv", b"a,a\n1,2\n", ("header", "'a' twice")),
    ("d.csv", b"\xfcber,b\n1,2\n", ("header", "0xfc")),
    ("d.csv", b'"a"b,c\n1,2\n', ("header", "a row of CSV")),
    ("d.json", b'{"a": 1}', ("a list of rows", "'a'")),
    ("d.json", b'{"data": 1}', ("a list of rows", "1")),
    ("d.json", b"[1, 2]", ("an object", "1")),
    ("d.parquet", b"hello " * 9, ("a Parquet file",)),
    ("set/state.json", b"{}", (".jsonl, ", ".parquet", "dataset.to_parquet(")),
]


@pytest.mark.parametrize("case", range(len(WHOLE)))
def test_a_file_that_cannot_be_read_at_all(case: int, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("use", [read_rows, count_rows])
@pytest.mark.parametrize("path", [None, "a\0.jsonl", "half \ud800.jsonl", "a" * 300 + ".jsonl"])
def test_what_is_no_path(use: Callable[[Any], object], path: Any) -> None:
    with pytest.raises(InputError, match="path: expected a path, got"):
        use(path)


def test_a_bad_result_of_ragchecker(tmp_path: Path) -> None:
    data = checked(random_pairs(3, seed=900))
    data["results"][1]["answer2response"] = ["Perhaps"] * 12
    (tmp_path / "d.json").write_text(json.dumps(data), encoding="utf-8")
    error = the_one_error(tmp_path / "d.json", good=2)
    assert error.startswith("d.json, result 1, answer2response")


def test_the_first_rows_may_lack_what_is_optional(tmp_path: Path) -> None:
    bare = {name: GOOD[name] for name in ("response", "reference", "retrieved_contexts")}
    first, second = read_rows(write_jsonl(tmp_path / "d.jsonl", [bare, GOOD]))
    assert isinstance(first, Row)
    assert isinstance(second, Row)
    assert (first.verdicts, second.verdicts is None) == (None, False)


def test_what_is_loaded_and_which_extra_is_named(tmp_path: Path) -> None:
    """Lines need no Arrow; without it, the extra is named."""
    path = write_jsonl(tmp_path / "d.jsonl", rows(random_pairs(2)))
    (tmp_path / "d.parquet").write_bytes(b"PAR1")
    code = (
        "import sys; from noisesense_adapters.datasets import read_rows; "
        f"assert len(list(read_rows({str(path)!r}))) == 2; "
        "print({'pyarrow', 'numpy', 'pandas', 'openai', 'langchain'} & set(sys.modules)); "
        f"next(read_rows({str(tmp_path / 'd.parquet')!r}))"
    )
    hidden = {**environment(), "TEST_HIDDEN_PACKAGES": "pyarrow"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=hidden, capture_output=True, text=True, check=False)
    assert done.stdout == "set()\n"
    assert MissingExtraError.__name__ in done.stderr
    assert "pip install 'noisesense[report]'" in done.stderr
