"""Files that are huge, damaged or made to hurt: a clear error, in bounded time and memory."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisesense.errors import InputError, NoiseSenseError
from noisesense_adapters.datasets.files import count_rows
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import BadRow, Row

GOOD = {"response": "r", "reference": "f", "retrieved_contexts": ["c"]}


def parquet(path: Path, **columns: Any) -> Path:
    columns = {"reference": ["f"], "response": ["r"], "retrieved_contexts": [["c"]], **columns}
    rows = max(map(len, columns.values()))
    table = {name: each if len(each) == rows else each * rows for name, each in columns.items()}
    pq.write_table(pa.table(table), path, compression="zstd", store_schema=False)
    return path


def test_a_list_of_python_in_a_cell_of_a_million_characters_is_not_parsed(tmp_path: Path) -> None:
    data = tmp_path / "a.csv"
    cell = "'a', " * 200_001
    data.write_text(f'response,reference,retrieved_contexts\nr,f,"[{cell}]"\n')
    (row,) = read_rows(data)
    assert isinstance(row, BadRow)
    assert "JSON, in a cell of more than 1,000,000 characters" in str(row.error)


@pytest.mark.parametrize("depth", [400, 900, 100_000])
def test_deep_nesting_is_a_bad_row_or_an_error_of_ours(depth: int, tmp_path: Path) -> None:
    deep = "[" * depth + "]" * depth
    lines = tmp_path / "a.jsonl"
    row = json.dumps(GOOD).replace('["c"]', deep)
    lines.write_text(f"{json.dumps(GOOD)}\n{row}\n{deep}\n")
    assert [type(each) for each in read_rows(lines)] == [Row, BadRow, BadRow]
    document = tmp_path / "a.json"
    for text in (deep, f'{{"results": {deep}}}', '{"results":' * depth + "[]" + "}" * depth):
        lines.write_text(text)
        document.write_text(text)
        for path in (lines, document):
            harmless(path)


def harmless(path: Path) -> None:
    """Reading it may fail, but only with an error of ours."""
    for read in (lambda path: list(read_rows(path)), count_rows):
        with suppress(NoiseSenseError):
            read(path)


def test_a_text_of_parquet_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    texts = pa.array([b"good text", b"bad \xff\xfe t"]).view("string")
    with pytest.raises(InputError, match="UTF8"):
        list(read_rows(parquet(tmp_path / "a.parquet", response=texts)))
