"""The raw rows of files: JSON lines, CSV, JSON documents, Parquet and workbooks, also in gzip."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from importlib import import_module
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from msgspec import MsgspecError
from msgspec.json import decode as json_decode

from noisesense.errors import InputError, encodable
from noisesense.jsonl import as_path, parse_line
from noisesense_adapters.datasets.documents import check_names, rows_in
from noisesense_adapters.extras import needs_extra

_SAMPLE = 1 << 20
_BATCH = 50
_LONGEST_CELL = 1 << 30  # a chunk may be longer than the csv module's default
_MOST_IN_A_CELL = 32_766
"""UTF-16 units. Excel cuts texts of more than one more without a word, and no character in two."""
_CONVERT_HINT = (
    "convert it, or unpack the archive; of a Hugging Face dataset:"
    ' dataset.to_parquet("data.parquet")'
)
_OTHERS = {
    b"PK\x03\x04": "a ZIP archive (an Excel workbook is one)",
    b"\x1f\x8b": "a gzip file",
    b"PAR1": "a Parquet file",
}
_TAKEN = ("cp1252", "cp1251", "cp1253", "shift_jis")
_UNSURE = ("gb18030", "big5", "euc_kr")
"""Short texts may be any of these encodings."""
_ESCAPED = re.compile("[\udc80-\udcff]")
"""What bytes become that are no UTF-8, so that only the rows with them fail."""
_JSON = re.compile(r'\s*[\[{]\s*(["\[{]|$)')


class Raw(NamedTuple):
    """A row of a file, or the error in its place."""

    place: str
    data: Any


def raw_rows(path: Path) -> Iterator[Raw]:
    """Return the rows of a file, whose format is known by its ending. A line of JSON stays bytes.

    Raises:
        InputError: at once for a missing file or an unknown ending; while rows are read for an
            unknown encoding or a damaged file.
        MissingExtraError: while rows are read, if the format's package is not installed.
    """
    ending = ending_of(path)
    if ending not in _KINDS or path.is_dir():
        expected = f"a file ending in {', '.join(_KINDS)}, or one of the first five and .gz"
        got = f"the folder {path.resolve().name!r}" if path.is_dir() else repr(path.name)
        raise InputError(expected, got, where="input", hint=_CONVERT_HINT)
    if not path.is_file():
        raise InputError("a readable file", "no such file", where=str(path))
    return _readable(path, _KINDS[ending](path))


def csv_rows(path: Path) -> Iterator[Raw]:
    """Return the rows of CSV with a header, broken ones as errors.

    While they are read it raises `InputError` for a file that is missing or damaged.
    """
    return _readable(path, _csv_rows(path))


def _readable(path: Path, rows: Iterator[Raw]) -> Iterator[Raw]:
    """Yield the rows of a file. Raises `InputError` with the path for a damaged one."""
    try:
        yield from rows
    except InputError as error:
        raise error.within(str(path)) from None
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - OSError, UnicodeError, what libraries raise …
        message = str(error) or type(error).__name__
        got = encodable(message.splitlines()[0])
        hint = "the file may be damaged or cut off"
        expected = f"a readable {path.suffix} file"
        raise InputError(expected, got, where=str(path), hint=hint) from None


def ending_of(path: Path) -> str:
    """Return the ending that tells a file's format, in lower case, without that of gzip."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def check_folder(folder: Path, where: str) -> None:
    """Raise `InputError` unless files can be created in the folder."""
    if not folder.is_dir():
        raise InputError("a folder that exists", repr(str(folder)), where=where)
    if not os.access(folder, os.W_OK):
        raise InputError("a folder that can be written to", repr(str(folder)), where=where)


def check_new(path: Path) -> None:
    """Raise `InputError` if there is a file or a folder at the path."""
    if path.exists():
        raise InputError("a new file", "one that exists: choose another name", where=str(path))


def count_rows(path: str | os.PathLike[str]) -> int:
    """Return the number of rows in a file, broken ones included. Raises as `raw_rows`."""
    return sum(1 for _ in raw_rows(as_path(path)))


def _jsonl_rows(path: Path) -> Iterator[Raw]:
    """Yield the lines that are not blank, as bytes in UTF-8."""
    encoding = encoding_of(path)
    with _opened(path) as file:
        lines: Iterable[bytes] = file
        if encoding != "utf-8":
            texts = TextIOWrapper(file, encoding, newline="\n")
            lines = (text.encode("utf-8", "surrogatepass") for text in texts)
        for number, line in enumerate(lines, start=1):
            if not line.isspace():
                yield Raw(f"{path.name}, line {number}", line)


def _opened(path: Path) -> BinaryIO:
    """Open a file, or what gzip packed in it."""
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    file: BinaryIO = opener(path, "rb")
    return file


def encoding_of(path: Path) -> str:
    """Return the encoding of a text file, as Python calls it, by its beginning.

    A file is still UTF-8 if few of its bytes are not. Raises `InputError` for an archive, a
    Parquet file, or an encoding that cannot be told, and `OSError` as opening the file does.
    """
    with _opened(path) as file:
        beginning = file.read(_SAMPLE)
    for mark, got in _OTHERS.items():
        if beginning.startswith(mark):
            raise InputError("text, as the file's ending says", got)
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    foreign = [char for char in beginning.decode("utf-8", "surrogateescape") if char > "\x7f"]
    bad = [char for char in foreign if _ESCAPED.match(char)]
    if 2 * len(bad) <= len(foreign):
        return "utf-8"
    return _guessed(beginning)


def _guessed(beginning: bytes) -> str:
    """Return the encoding of what is no UTF-8. Raises `InputError` where it cannot be told."""
    with needs_extra("report", "charset_normalizer", "charset-normalizer"):
        from charset_normalizer import from_bytes
    lines = b"\n".join(line for line in beginning.splitlines() if not line.isascii())
    best = from_bytes(lines, cp_isolation=[*_TAKEN, *_UNSURE]).best()
    if best is None or best.encoding not in _TAKEN:
        raise InputError("UTF-8 text", "another encoding", hint="save the file as UTF-8")
    return best.encoding


def decoded(raw: Raw) -> object:
    """Return the data of a row, parsed if they are bytes, a line of JSON.

    An `InputError` is returned, and not raised, for a line that cannot be parsed.
    """
    line = raw.data
    if not isinstance(line, bytes):
        return line
    with suppress(MsgspecError, ValueError, RecursionError):
        return json_decode(line)
    try:
        return parse_line(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return _bad_byte(line[error.start])
    except InputError as error:
        return error


def _bad_byte(byte: int) -> InputError:
    return InputError("UTF-8 text", f"the byte {byte:#04x}", hint="save the file as UTF-8")


def _csv_rows(path: Path) -> Iterator[Raw]:
    """Yield the rows of CSV with a header. Raises `InputError` if the file holds JSON."""
    csv.field_size_limit(_LONGEST_CELL)
    encoding = encoding_of(path).replace("utf-8", "utf-8-sig")
    with _opened(path) as file:
        lines = TextIOWrapper(file, encoding, "surrogateescape", newline="")
        beginning: list[str] = [""]
        for line in lines:
            beginning.append(line)
            if line.strip(" ,;|\t\r\n"):
                break
        header = beginning[-1]
        if _JSON.match(header):
            raise InputError("a header of CSV", "what looks like JSON", hint="name it .json")
        delimiter = "\t" if ending_of(path) == ".tsv" else max(";,\t|", key=header.count)
        reader = csv.reader(chain(beginning[1:], lines), delimiter=delimiter, strict=True)
        yield from _table(_csv_cells(reader, path.name))


def _csv_cells(reader: Any, name: str) -> Iterator[Raw]:
    """Yield the rows' cells; in place of a broken row its error."""
    while True:
        place = f"{name}, line {reader.line_num + 1}"
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield Raw(place, InputError("a row of CSV", str(error)))
            continue
        if cells is None:
            return
        bad = next(filter(None, map(_ESCAPED.search, cells)), None)
        yield Raw(place, _bad_byte(ord(bad[0]) - 0xDC00) if bad else cells)


def _table(rows: Iterable[Raw]) -> Iterator[Raw]:
    """Yield the rows under a header; a broken row is an error in its place.

    A row of blank cells is none: spreadsheets write such rows, also above the header.

    Raises:
        InputError: the header cannot be read, or names a column twice.
    """
    names: list[str] = []
    for place, cells in rows:
        if isinstance(cells, InputError):
            if not names:
                raise InputError("a header", str(cells))
            yield Raw(place, cells)
        elif not any(str(cell).strip() for cell in cells):
            continue
        elif not names:
            names = [*map(str, cells)]
            check_names(names, "header")
        elif len(cells) == len(names):
            yield Raw(place, dict(zip(names, cells, strict=True)))
        else:
            expected = f"{len(names)} cells, as in the header"
            yield Raw(place, InputError(expected, str(len(cells))))


def _workbook_rows(path: Path) -> Iterator[Raw]:
    """Yield the rows of the first sheet of a workbook, whose first row is the header."""
    with needs_extra("report", "openpyxl"):
        openpyxl: Any = import_module("openpyxl")
    workbook: Any = openpyxl.load_workbook(path, read_only=True, data_only=True)
    with closing(workbook):
        yield from _table(_workbook_cells(workbook.worksheets[0], path.name))


def _workbook_cells(sheet: Any, name: str) -> Iterator[Raw]:
    """Yield the rows' cells; in place of a row with a text that Excel has cut an error."""
    for number, values in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells: Any = ["" if value is None else value for value in values]
        units = [len(str(cell).encode("utf-16-le", "surrogatepass")) // 2 for cell in cells]
        if max(units, default=0) >= _MOST_IN_A_CELL:
            expected = f"texts below {_MOST_IN_A_CELL:,} characters"
            hint = "write JSON lines from where the texts are"
            cells = InputError(expected, "one that Excel has cut", hint=hint)
        yield Raw(f"{name}, row {number}", cells)


def _document_rows(path: Path) -> Iterator[Raw]:
    """Yield the rows of a JSON document, or of JSON lines that are called one.

    Raises:
        InputError: not JSON, or a document without rows.
    """
    encoding = encoding_of(path).replace("utf-8", "utf-8-sig")
    with _opened(path) as file:
        content = file.read().decode(encoding)
    try:
        rows = rows_in(json.loads(content))
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            yield from _jsonl_rows(path)
            return
        raise InputError("a JSON document", str(error), hint="it may be cut off") from None
    for number, row in enumerate(rows):
        yield Raw(f"{path.name}, result {number}", row)


def _parquet_rows(path: Path) -> Iterator[Raw]:
    """Yield the rows of a Parquet file."""
    with needs_extra("table", "pyarrow"):
        parquet: Any = import_module("pyarrow.parquet")
    number = 0
    with parquet.ParquetFile(path) as file:
        check_names(file.schema_arrow.names, "columns")
        for batch in file.iter_batches(batch_size=_BATCH):
            batch.validate(full=True)  # or else a damaged batch can crash the process
            for row in batch.to_pylist():
                yield Raw(f"{path.name}, row {number}", row)
                number += 1


_KINDS: dict[str, Callable[[Path], Iterator[Raw]]] = {
    ".jsonl": _jsonl_rows,
    ".ndjson": _jsonl_rows,
    ".csv": _csv_rows,
    ".tsv": _csv_rows,
    ".json": _document_rows,
    ".parquet": _parquet_rows,
    ".xlsx": _workbook_rows,
}
