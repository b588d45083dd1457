"""The rows of files: JSON lines, CSV, JSON documents, Parquet and Arrow."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense.jsonl import parse_line
from noisesense_adapters.datasets.rows import Raw
from noisesense_adapters.toolbox.documents import read_json
from noisesense_adapters.toolbox.extras import needs_extra

_OTHERS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
    b"PK\x03\x04": "a ZIP archive (an Excel workbook is one)",
    b"\x1f\x8b": "a gzip file",
    b"PAR1": "a Parquet file",
}
_HINT = "save the file as UTF-8"


def bad_byte(byte: int) -> InputError:
    return InputError("UTF-8 text", f"the byte {byte:#04x}", hint=_HINT)


def refuse_other_encodings(start: bytes, path: Path) -> None:
    """Raise `InputError` if a file begins like one of another kind."""
    for mark, what in _OTHERS.items():
        if start.startswith(mark):
            raise InputError("UTF-8 text", what, where=str(path), hint=_HINT)


_BLOCK = 1 << 20


def jsonl_rows(path: Path) -> Iterator[Raw]:
    """One JSON object per line; a broken line does not end the file."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                refuse_other_encodings(line, path)
            if line.strip():
                yield Raw(f"{path.name}, line {number}", _value(line, first=number == 1))


def _value(line: bytes, *, first: bool) -> object:
    try:
        return parse_line(line.decode("utf-8-sig" if first else "utf-8"))
    except UnicodeDecodeError as error:
        return bad_byte(line[error.start])
    except InputError as error:
        return error


def count_lines(path: Path) -> int:
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            count += block.count(b"\n")
            last = block
    return count + (not last.endswith(b"\n"))


_LONGEST_CELL = 2**31 - 1  # a chunk may be longer than the csv module's default
_DELIMITERS = (",", ";", "\t")
_ESCAPED = re.compile("[\udc80-\udcff]")


def csv_rows(path: Path) -> Iterator[Raw]:
    """A header, then one sample per row; a cell holds a list as JSON or as Python prints it.

    A row that is broken or not UTF-8 does not end the file.

    Raises:
        InputError: the header cannot be read.
    """
    csv.field_size_limit(_LONGEST_CELL)
    with path.open("rb") as file:
        first = file.readline()
        refuse_other_encodings(first, path)
        # Bytes that are not UTF-8 pass as surrogates, so that only their rows are lost.
        lines = (line.decode("utf-8", "surrogateescape") for line in file)
        header = first.decode("utf-8-sig", "surrogateescape")
        tabs = path.suffix.lower() == ".tsv"
        delimiter = "\t" if tabs else max(_DELIMITERS, key=header.count)
        reader = csv.reader(chain([header], lines), delimiter=delimiter, strict=True)
        names = _header(reader, path)
        while True:
            place = f"{path.name}, line {reader.line_num + 1}"
            try:
                cells = next(reader, None)
            except csv.Error as error:
                yield Raw(place, InputError("a row of CSV", str(error)))
                continue
            if cells is None:
                return
            if cells:
                yield Raw(place, _row(names, cells))


def _header(reader: Iterator[list[str]], path: Path) -> list[str]:
    empty: list[str] = []
    try:
        names = next(reader, empty)
    except csv.Error as error:
        raise InputError("a header", str(error), where=str(path)) from None
    for name in names:
        if _ESCAPED.search(name):
            raise _not_utf8(name).within(f"{path}, header")
        if names.count(name) > 1:
            raise InputError("each column once", f"{name!r} twice", where=f"{path}, header")
    return names


def _row(names: list[str], cells: list[str]) -> dict[str, str] | InputError:
    if len(cells) != len(names):
        return InputError(f"{len(names)} cells, as in the header", str(len(cells)))
    broken = next((cell for cell in cells if _ESCAPED.search(cell)), None)
    return dict(zip(names, cells, strict=True)) if broken is None else _not_utf8(broken)


def _not_utf8(text: str) -> InputError:
    match = _ESCAPED.search(text)
    return bad_byte(ord(match[0]) - 0xDC00 if match else 0)


_LISTS = ("results", "testRunData", "testCases", "test_cases", "goldens", "data", "samples")
"""Where documents keep their rows: Promptfoo, RAGChecker, DeepEval, and common wrappers."""


def document_rows(path: Path) -> Iterator[Raw]:
    """The rows of a JSON document, counted from 0.

    Raises:
        InputError: not UTF-8, not JSON, or a document without rows.
    """
    for number, row in enumerate(_rows_of(read_json(path), path)):
        yield Raw(f"{path.name}, result {number}", row)


def _rows_of(data: Any, path: Path) -> list[object]:
    while isinstance(data, Mapping):
        document = cast("Mapping[str, Any]", data)
        rows = next((document[name] for name in _LISTS if name in document), None)
        if rows is None:
            names = ", ".join(map(repr, document)) or "nothing"
            raise InputError("a list of rows", f"an object with {names}", where=str(path))
        data = rows
    if not isinstance(data, list):
        raise InputError("a list of rows", describe(data), where=str(path))
    rows = cast("list[object]", data)
    nested = [cast("list[object]", row) for row in rows if isinstance(row, list)]
    return list(chain.from_iterable(nested)) if len(nested) == len(rows) else rows


_BATCH = 500
_FILE_MAGIC = b"ARROW1"


def pyarrow(name: str = "pyarrow") -> Any:
    """The module, which has no types."""
    with needs_extra("report", "pyarrow"):
        return import_module(name)


def parquet_rows(path: Path) -> Iterator[Raw]:
    """The rows of a Parquet file, in batches."""
    with _readable("a Parquet file", path), pyarrow("pyarrow.parquet").ParquetFile(path) as file:
        yield from _rows(path, file.iter_batches(batch_size=_BATCH))


def count_parquet(path: Path) -> int:
    with _readable("a Parquet file", path):
        return int(pyarrow("pyarrow.parquet").read_metadata(path).num_rows)


def arrow_rows(path: Path) -> Iterator[Raw]:
    """The rows of an Arrow file, or of an Arrow stream, as `datasets` writes them."""
    pa = pyarrow()
    with _readable("an Arrow file", path), pa.memory_map(str(path)) as file:
        if file.read(len(_FILE_MAGIC)) == _FILE_MAGIC:
            with pa.ipc.open_file(file) as reader:
                batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
                yield from _rows(path, batches)
        else:
            file.seek(0)
            with pa.ipc.open_stream(file) as reader:
                yield from _rows(path, reader)


def _rows(path: Path, batches: Any) -> Iterator[Raw]:
    number = 0
    for batch in batches:
        for start in range(0, batch.num_rows, _BATCH):
            for row in batch.slice(start, _BATCH).to_pylist():
                yield Raw(f"{path.name}, row {number}", row)
                number += 1


@contextmanager
def _readable(expected: str, path: Path) -> Generator[None, None, None]:
    """Arrow's own errors as ours, with the file's name."""
    try:
        yield
    except pyarrow().ArrowException as error:
        got = str(error).splitlines()[0]
        raise InputError(expected, got, where=str(path)) from None


def folder_files(folder: Path) -> tuple[list[Path], Callable[[Path], Iterator[Raw]]]:
    """The files of a Hugging Face dataset folder, in order, and what reads each.

    Either what ``Dataset.save_to_disk`` writes, or Parquet files, as the Hub holds them.

    Raises:
        InputError: another kind of folder, or one with several splits.
    """
    if (folder / "dataset_dict.json").exists():
        splits = read_json(folder / "dataset_dict.json").get("splits", [])
        raise _several_splits(folder, [f"{folder}/{split}" for split in splits])
    if (folder / "state.json").exists():
        parts = read_json(folder / "state.json").get("_data_files", [])
        files = [folder / part["filename"] for part in parts]
        missing = next((file for file in files if not file.is_file()), None)
        if missing is not None:
            raise InputError("all files of the dataset", f"no {missing.name}", where=str(folder))
        return files, arrow_rows
    files = sorted([*folder.glob("*.parquet"), *folder.glob("data/*.parquet")])
    if not files:
        hint = "a Hugging Face dataset has a state.json or Parquet files"
        raise InputError("a dataset's folder", "another folder", where=str(folder), hint=hint)
    # The Hub's names: train-00000-of-00002.parquet.
    splits = sorted({file.name.partition("-")[0] for file in files})
    if len(splits) > 1:
        raise _several_splits(folder, [str(file) for file in files])
    return files, parquet_rows


def _several_splits(folder: Path, choices: list[str]) -> InputError:
    shown = ", ".join(choices[:5])
    return InputError("one split", "several", where=str(folder), hint=f"name one: {shown}")
