"""The rows of files: JSON lines, CSV, JSON documents and Parquet."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from msgspec import MsgspecError
from msgspec.json import decode as json_decode

from noisesense.errors import InputError, NoiseSenseError, describe, encodable
from noisesense.jsonl import parse_line
from noisesense_adapters.datasets.rows import Raw
from noisesense_adapters.toolbox.extras import needs_extra
from noisesense_adapters.toolbox.given import named, read_json

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


LARGEST = 1 << 25
"""The largest line, cell or row, in bytes: what is larger is no sample, and would fill memory."""
_BUFFER = 1 << 16


def jsonl_rows(path: Path) -> Iterator[Raw]:
    """One JSON object per line; a broken line does not end the file."""
    return (jsonl_row(path, *line) for line in jsonl_lines(path))


def jsonl_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, with their numbers; of one above `LARGEST` its beginning."""
    with opened(path) as file:
        for number, line in enumerate(_lines(file), start=1):
            if number == 1:
                refuse_other_encodings(line, path)
            if not line.isspace():
                yield number, line


def jsonl_row(path: Path, number: int, line: bytes) -> Raw:
    """What the line holds, or the error in its place."""
    return Raw(f"{path.name}, line {number}", json_value(line, first=number == 1))


@contextmanager
def opened(path: Path) -> Generator[IO[bytes], None, None]:
    """The file, with the system's refusals as `InputError`."""
    try:
        with path.open("rb", _BUFFER) as file:
            yield file
    except OSError as error:
        got = error.strerror or type(error).__name__
        raise InputError("a readable file", got, where=str(path)) from error


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines; of one above `LARGEST` its beginning, which is longer than that."""
    while line := file.readline(LARGEST + 1):
        yield line
        while len(line) > LARGEST and not line.endswith(b"\n"):
            line = file.readline(LARGEST + 1)


def _too_large(what: str) -> InputError:
    return InputError(f"{what} of at most {LARGEST >> 20} MiB", "a larger one")


def json_value(line: bytes, *, first: bool) -> object:
    """What the line holds, or the error in its place."""
    if len(line) > LARGEST:
        return _too_large("a line")
    with suppress(MsgspecError, ValueError, RecursionError):
        return json_decode(line)
    try:
        return parse_line(line.decode("utf-8-sig" if first else "utf-8"))
    except UnicodeDecodeError as error:
        return bad_byte(line[error.start])
    except InputError as error:
        return error


_DELIMITERS = (",", ";", "\t")
_ESCAPED = re.compile("[\udc80-\udcff]")


def csv_rows(path: Path) -> Iterator[Raw]:
    """A header, then one sample per row; a cell holds a list as JSON or as Python prints it.

    A row that is broken or not UTF-8 does not end the file.

    Raises:
        InputError: the header cannot be read.
    """
    csv.field_size_limit(LARGEST)  # a chunk may be longer than the csv module's default
    with opened(path) as file:
        raw = map(_whole, _lines(file))
        first = next(raw, b"")
        refuse_other_encodings(first, path)
        # Bytes that are not UTF-8 pass as surrogates, so that only their rows are lost.
        lines = (line.decode("utf-8", "surrogateescape") for line in raw)
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
            except InputError as error:
                raise error.within(place) from None
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
    known: set[str] = set()
    for name in names:
        if _ESCAPED.search(name):
            raise _not_utf8(name).within(f"{path}, header")
        if name in known:
            raise InputError("each column once", f"{name!r} twice", where=f"{path}, header")
        known.add(name)
    return names


def _whole(line: bytes) -> bytes:
    if len(line) > LARGEST:
        raise _too_large("a line")
    return line


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
            names = named(document) or "nothing"
            raise InputError("a list of rows", f"an object with {names}", where=str(path))
        data = rows
    if not isinstance(data, list):
        raise InputError("a list of rows", describe(data), where=str(path))
    rows = cast("list[object]", data)
    nested = [cast("list[object]", row) for row in rows if isinstance(row, list)]
    return list(chain.from_iterable(nested)) if len(nested) == len(rows) else rows


_BATCH = 500
_SUSPECT, _MOST_EXPANSION = 1 << 28, 1000


@cache
def pyarrow(name: str = "pyarrow") -> Any:
    """The module, which has no types."""
    with needs_extra("report", "pyarrow"):
        return import_module(name)


def parquet_rows(path: Path) -> Iterator[Raw]:
    """The rows of a Parquet file, in batches."""
    parquet = pyarrow("pyarrow.parquet")
    with _readable("a Parquet file", path):
        metadata = parquet.read_metadata(path)
        # Of the groups only: in pyarrow, asking for their columns ends the process if one is
        # damaged.
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        largest = max((group.total_byte_size for group in groups), default=0)
        if largest > max(_SUSPECT, _MOST_EXPANSION * path.stat().st_size):
            expected = f"row groups that expand to at most {_MOST_EXPANSION:,} times the file"
            raise InputError(expected, f"{largest >> 20:,} MiB")
        columns = map(metadata.schema.column, range(metadata.num_columns))
        texts = [each.path for each in columns if each.physical_type == "BYTE_ARRAY"]
        # As dictionaries, a text that a small file repeats a million times stays small.
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            yield from _rows(path, file.iter_batches(batch_size=_BATCH))


def count_parquet(path: Path) -> int:
    with _readable("a Parquet file", path):
        return int(pyarrow("pyarrow.parquet").read_metadata(path).num_rows)


def _rows(path: Path, batches: Any) -> Iterator[Raw]:
    number = 0
    for batch in batches:
        batch.validate(full=True)  # a damaged one can end the process otherwise
        for at in range(batch.num_rows):
            # One by one: many that share a text are far larger in Python.
            try:
                (row,) = batch.slice(at, 1).to_pylist()
            except Exception as error:  # noqa: BLE001 - what Python has no form for, bad UTF-8
                row = InputError("a row that can be read", str(error) or repr(error))
            yield Raw(f"{path.name}, row {number}", row)
            number += 1


@contextmanager
def _readable(expected: str, path: Path) -> Generator[None, None, None]:
    """Whatever Arrow raises of a damaged file as ours, with the file's name."""
    try:
        yield
    except InputError as error:
        raise error.within(str(path)) from None
    except NoiseSenseError:
        raise
    except Exception as error:  # noqa: BLE001 - OSError, UnicodeDecodeError, …
        got = encodable((str(error).splitlines() or [type(error).__name__])[0])
        hint = "the file may be damaged or cut off"
        raise InputError(expected, got, where=str(path), hint=hint) from None


_HINT_PARQUET = "write it as one file of rows: dataset.to_parquet('data.parquet')"


def refuse_arrow(path: Path) -> None:
    """Raise `InputError` for Arrow files and for what ``Dataset.save_to_disk`` wrote."""
    saved = ("dataset_dict.json", "state.json")
    if path.suffix.lower() == ".arrow" or any((path / name).exists() for name in saved):
        got = "Arrow files"
        raise InputError("Parquet or JSON lines", got, where=str(path), hint=_HINT_PARQUET)


def folder_files(folder: Path) -> list[Path]:
    """The Parquet files of one split in a folder, in order, as the Hub holds them.

    Raises:
        InputError: another kind of folder, or one with several splits.
    """
    files = sorted([*folder.glob("*.parquet"), *folder.glob("data/*.parquet")])
    if not files:
        raise InputError("a folder of Parquet files", "another folder", where=str(folder))
    # The Hub's names: train-00000-of-00002.parquet.
    if len({file.name.partition("-")[0] for file in files}) > 1:
        hint = f"name one: {', '.join(map(str, files[:5]))}"
        raise InputError("one split", "several", where=str(folder), hint=hint)
    return files
