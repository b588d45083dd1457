"""The raw rows of files: JSON lines, CSV, JSON documents and Parquet."""

from __future__ import annotations

import codecs
import csv
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, AnyStr, NamedTuple

from msgspec import MsgspecError
from msgspec.json import decode as json_decode

from noisesense.errors import InputError, encodable
from noisesense.jsonl import as_path, parse_line
from noisesense_adapters.datasets.documents import check_names, rows_in
from noisesense_adapters.evaluate.inputs import as_list, as_object, named, read_json
from noisesense_adapters.extras import needs_extra

LARGEST = 1 << 25
"""The limit for a line or cell, in bytes. Larger ones are not samples, and fill memory."""

_OTHERS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    b"PK\x03\x04": "a ZIP archive (an Excel workbook is one)",
    b"\x1f\x8b": "a gzip file",
    b"PAR1": "a Parquet file",
}
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")
_NO_WORKBOOK = (
    "save it as 'CSV UTF-8'; Excel cuts texts after 32,767 characters, so better write"
    " JSON lines from where the texts are"
)


class Raw(NamedTuple):
    """A row of a file, or the error in its place."""

    place: str
    data: Any


def raw_rows(path: Path) -> Iterator[Raw]:
    """The rows of a file, whose format is known by its ending.

    Raises:
        InputError: no such file, or an unknown format or encoding.
    """
    state_file = path / "state.json"
    if state_file.is_file():
        state = as_object(read_json(state_file))
        if "_data_files" in state:
            return _saved_rows(path, as_list(state["_data_files"]))
    ending = path.suffix.lower()
    known_endings = f"a file ending in {', '.join(_KINDS)}"
    if ending in _WORKBOOKS:
        got = f"the workbook {path.name!r}"
        raise InputError(known_endings, got, where="input", hint=_NO_WORKBOOK)
    if path.is_dir() and (path / "dataset_dict.json").is_file():
        splits = [file.parent.name for file in sorted(path.glob("*/state.json"))]
        hint = "give the folder of one"
        raise InputError("one split", named(splits), where=str(path), hint=hint)
    if ending not in _KINDS:
        hint = 'of a Hugging Face dataset: dataset.to_parquet("data.parquet")'
        raise InputError(known_endings, repr(path.name), where="input", hint=hint)
    if not path.is_file():
        got = "something else, such as a pipe" if path.exists() else "no such file"
        raise InputError("a readable file", got, where=str(path))
    return _KINDS[ending](path)


def is_jsonl(path: Path) -> bool:
    """Is it a file of JSON lines, by its ending?"""
    return _KINDS.get(path.suffix.lower()) is jsonl_rows


def check_folder(folder: Path, where: str) -> None:
    """Raise `InputError` unless files can be created in the folder."""
    if not folder.is_dir():
        raise InputError("a folder that exists", repr(str(folder)), where=where)
    if not os.access(folder, os.W_OK):
        raise InputError("a folder that can be written to", repr(str(folder)), where=where)


def check_new(path: Path, *, force: bool) -> None:
    """Raise `InputError` if a file would be replaced, unless by force."""
    if path.exists() and not force:
        hint = "--force overwrites it, in Python force=True"
        raise InputError("a new file", "one that exists", where=str(path), hint=hint)


def count_rows(path: str | os.PathLike[str]) -> int | None:
    """The number of rows, with broken ones; None if the file would have to be parsed."""
    path = as_path(path)
    read = _KINDS.get(path.suffix.lower())
    if not path.is_file() or read is None or read is document_rows:
        return None
    if read is parquet_rows:
        parquet = _arrow_module("pyarrow.parquet")
        with _readable(path):
            return int(parquet.read_metadata(path).num_rows)
    rows = jsonl_lines(path) if read is jsonl_rows else read(path)
    return sum(1 for _ in rows)


def jsonl_rows(path: Path) -> Iterator[Raw]:
    """The rows of JSON lines; a broken line is an error in its place."""
    for place, line in jsonl_lines(path):
        yield Raw(place, json_value(line))


def jsonl_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """The lines that are not blank, with their places; lines above `LARGEST` are cut."""
    name = path.name
    for number, line in enumerate(_lines(path), start=1):
        if not line.isspace():
            yield f"{name}, line {number}", line


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file in UTF-8 or UTF-16, in UTF-8; see `_cut_lines`. Raises `InputError`."""
    try:
        with path.open("rb", 1 << 16) as file:
            beginning = file.read(4)
            _check_text(beginning, path)  # before UTF-16, whose mark begins UTF-32's
            if beginning.startswith(_UTF_16):
                yield from _lines_of_utf_16(path)
                return
            file.seek(0)
            yield from _cut_lines(file, b"\n")
    except OSError as error:
        got = error.strerror or type(error).__name__
        raise InputError("a readable file", got, where=str(path)) from error


def _lines_of_utf_16(path: Path) -> Iterator[bytes]:
    """The lines of what spreadsheets call "Unicode text". Raises `InputError`."""
    with path.open(encoding="utf-16", newline="\n") as file:
        try:
            for line in _cut_lines(file, "\n"):
                yield line.encode("utf-8", "surrogatepass")
        except UnicodeError as error:
            raise InputError("UTF-16 text", str(error), where=str(path)) from None


def _cut_lines(file: IO[AnyStr], newline: AnyStr) -> Iterator[AnyStr]:
    """The lines of a file, long ones cut.

    Of a line above `LARGEST` only the first `LARGEST` + 1 bytes or characters are read into
    memory. By that length the reader tells that the line is too large.
    """
    line = file.readline(LARGEST + 1)
    while line:
        yield line
        while len(line) > LARGEST and not line.endswith(newline):
            line = file.readline(LARGEST + 1)
        line = file.readline(LARGEST + 1)


def _check_text(beginning: bytes, path: Path) -> None:
    """Raise `InputError` for the first bytes of an archive, or of another encoding."""
    for mark, got in _OTHERS.items():
        if beginning.startswith(mark):
            hint = "save the file as UTF-8"
            raise InputError("UTF-8 text", got, where=str(path), hint=hint)


def json_value(line: bytes) -> object:
    """The value of a line of JSON, or the error in it."""
    if len(line) > LARGEST:
        return _too_large()
    with suppress(MsgspecError, ValueError, RecursionError):
        return json_decode(line)
    try:
        return parse_line(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return _bad_byte(line[error.start])
    except InputError as error:
        return error


def _too_large() -> InputError:
    return InputError(f"a line of at most {LARGEST >> 20} MiB", "a larger one")


def _bad_byte(byte: int) -> InputError:
    return InputError("UTF-8 text", f"the byte {byte:#04x}", hint="save the file as UTF-8")


_DELIMITERS = (",", ";", "\t")
_JSON = re.compile(r'\s*[\[{]\s*(["\[{]|$)')
_WITHOUT_CELLS = re.compile(r"[\s,;]+")
_ESCAPED = re.compile("[\udc80-\udcff]")


def csv_rows(path: Path) -> Iterator[Raw]:
    """The rows of CSV with a header; a broken row is an error in its place.

    A row of blank cells is none: spreadsheets write such rows after the last one.

    Raises:
        InputError: the file holds JSON, the header cannot be read or names a column twice, or a
            line is above `LARGEST`.
    """
    csv.field_size_limit(LARGEST)  # a chunk may be longer than the csv module's default
    lines = _texts(path)
    blank = 0
    header = next(lines, "")
    while _WITHOUT_CELLS.fullmatch(header):
        blank += 1
        header = next(lines, "")
    if _JSON.match(header):
        hint = "name it .json"
        raise InputError("a header of CSV", "what looks like JSON", where=str(path), hint=hint)
    delimiters = ("\t",) if path.suffix.lower() == ".tsv" else _DELIMITERS
    delimiter = max(delimiters, key=header.count)
    reader = csv.reader(chain([header], lines), delimiter=delimiter, strict=True)
    names = _cells(reader) or []
    if isinstance(names, InputError):
        raise names.within(f"{path}, header")
    check_names(names, f"{path}, header")
    while True:
        place = f"{path.name}, line {blank + reader.line_num + 1}"
        cells = _cells(reader)
        if cells is None:
            return
        if isinstance(cells, InputError):
            yield Raw(place, cells)
        elif not any(cell.strip() for cell in cells):
            continue
        elif len(cells) == len(names):
            yield Raw(place, dict(zip(names, cells, strict=True)))
        else:
            expected = f"{len(names)} cells, as in the header"
            yield Raw(place, InputError(expected, str(len(cells))))


def _texts(path: Path) -> Iterator[str]:
    """The lines of a file as texts.

    Bytes that are not UTF-8 become surrogates, so that only the rows with them fail.

    Raises:
        InputError: a line is above `LARGEST`.
    """
    for number, line in enumerate(_lines(path), start=1):
        if len(line) > LARGEST:
            raise _too_large().within(f"{path.name}, line {number}")
        encoding = "utf-8-sig" if number == 1 else "utf-8"
        yield line.decode(encoding, "surrogateescape")


def _cells(reader: Iterator[list[str]]) -> list[str] | InputError | None:
    """The cells of the next row, or its error; None at the end."""
    try:
        cells = next(reader, None)
    except csv.Error as error:
        return InputError("a row of CSV", str(error))
    for cell in cells or ():
        if match := _ESCAPED.search(cell):
            return _bad_byte(ord(match[0]) - 0xDC00)
    return cells


def document_rows(path: Path) -> Iterator[Raw]:
    """The rows of a JSON document, or of JSON lines that are called one.

    Raises:
        InputError: not UTF-8, not JSON, or a document without rows.
    """
    try:
        rows = rows_in(read_json(path), path)
    except InputError:
        lines = list(islice(jsonl_rows(path), 2))
        if len(lines) < 2 or any(isinstance(raw.data, InputError) for raw in lines):
            raise
        yield from jsonl_rows(path)
        return
    for number, row in enumerate(rows):
        yield Raw(f"{path.name}, result {number}", row)


def _saved_rows(folder: Path, data_files: list[Any]) -> Iterator[Raw]:
    """The rows of a folder that `datasets.Dataset.save_to_disk` wrote."""
    arrow = _arrow_module("pyarrow")
    number = 0
    for data_file in data_files:
        name = str(as_object(data_file).get("filename"))
        path = folder / Path(name).name
        with _readable(path, "an Arrow file"), arrow.memory_map(str(path)) as file:
            for row in _arrow_rows(arrow.ipc.open_stream(file)):
                yield Raw(f"{folder.name}, row {number}", row)
                number += 1


_BATCH = 500
_MOST_EXPANSION = 1000
_ALWAYS_FITS = 1 << 28


def parquet_rows(path: Path) -> Iterator[Raw]:
    """The rows of a Parquet file."""
    parquet = _arrow_module("pyarrow.parquet")
    with _readable(path):
        metadata = parquet.read_metadata(path)
        _check_expansion(metadata, path)
        texts: list[str] = []
        for position in range(metadata.num_columns):
            column = metadata.schema.column(position)
            if column.physical_type == "BYTE_ARRAY":
                texts.append(column.path)
        # With dictionaries, a text that a small file repeats a million times stays small.
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            check_names(file.schema_arrow.names, "columns")
            rows = _arrow_rows(file.iter_batches(batch_size=_BATCH))
            for number, row in enumerate(rows):
                yield Raw(f"{path.name}, row {number}", row)


def _arrow_rows(batches: Iterable[Any]) -> Iterator[Any]:
    """The rows of Arrow's batches, one by one: rows that share a text are far larger in Python."""
    for batch in batches:
        batch.validate(full=True)  # or else a damaged batch can crash the process
        for position in range(batch.num_rows):
            (row,) = batch.slice(position, 1).to_pylist()
            yield row


def _check_expansion(metadata: Any, path: Path) -> None:
    """Raise `InputError` for a small file that would fill memory."""
    # By row group, as pyarrow may crash on the columns of a damaged one.
    largest = 0
    for position in range(metadata.num_row_groups):
        largest = max(largest, metadata.row_group(position).total_byte_size)
    if largest > max(_ALWAYS_FITS, _MOST_EXPANSION * path.stat().st_size):
        expected = f"row groups that expand to at most {_MOST_EXPANSION:,} times the file"
        raise InputError(expected, f"{largest >> 20:,} MiB")


def _arrow_module(name: str) -> Any:
    """`pyarrow`, or a module of it, which has no types. Raises `MissingExtraError`."""
    with needs_extra("report", "pyarrow"):
        return import_module(name)


@contextmanager
def _readable(path: Path, expected: str = "a Parquet file") -> Generator[None, None, None]:
    """Turn Arrow's errors about damaged files into `InputError` with the path."""
    try:
        yield
    except InputError as error:
        raise error.within(str(path)) from None
    except Exception as error:  # noqa: BLE001 - OSError, UnicodeDecodeError, …
        message = str(error) or type(error).__name__
        got = encodable(message.splitlines()[0])
        hint = "the file may be damaged or cut off"
        raise InputError(expected, got, where=str(path), hint=hint) from None


_KINDS: dict[str, Callable[[Path], Iterator[Raw]]] = {
    ".jsonl": jsonl_rows,
    ".ndjson": jsonl_rows,
    ".csv": csv_rows,
    ".tsv": csv_rows,
    ".parquet": parquet_rows,
    ".json": document_rows,
}
