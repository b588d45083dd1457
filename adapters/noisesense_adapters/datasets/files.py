"""The raw rows of files: JSON lines, CSV, JSON documents, Parquet and workbooks, also in gzip."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from msgspec import MsgspecError
from msgspec.json import decode as json_decode

from noisesense.errors import InputError, encodable
from noisesense.jsonl import as_path, parse_line
from noisesense_adapters.datasets.documents import check_names, rows_in
from noisesense_adapters.extras import needs_extra

_SAMPLE = 1 << 20
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_OTHERS = {
    b"PK\x03\x04": "a ZIP archive (an Excel workbook is one)",
    b"\x1f\x8b": "a gzip file",
    b"PAR1": "a Parquet file",
}
_MOST_IN_A_CELL = 32_767
"""Excel cuts longer texts without a word."""


class Raw(NamedTuple):
    """A row of a file, or the error in its place."""

    place: str
    data: Any


def raw_rows(path: Path) -> Iterator[Raw]:
    """The rows of a file, whose format is known by its ending. Lines of JSON lines are bytes.

    Raises:
        InputError: no such file, or an unknown format or encoding.
    """
    ending = ending_of(path)
    known_endings = f"a file ending in {', '.join(_KINDS)}, or one of the first five and .gz"
    if ending not in _KINDS or path.is_dir():
        got = f"the folder {path.name!r}" if path.is_dir() else repr(path.name)
        hint = "convert it, or unpack the archive"
        hint += '; of a Hugging Face dataset: dataset.to_parquet("data.parquet")'
        raise InputError(known_endings, got, where="input", hint=hint)
    if not path.is_file():
        got = "something else, such as a pipe" if path.exists() else "no such file"
        raise InputError("a readable file", got, where=str(path))
    return _KINDS[ending](path)


def ending_of(path: Path) -> str:
    """Return the ending that tells a file's format, without that of gzip."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


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
    """Return the number of rows, with broken ones; None if the file would have to be parsed."""
    path = as_path(path)
    ending = ending_of(path)
    if not path.is_file() or ending not in _KINDS or ending in (".json", ".xlsx"):
        return None
    if ending == ".parquet":
        with _readable(path):
            return int(_parquet_module().read_metadata(path).num_rows)
    return sum(1 for _ in _KINDS[ending](path))


def jsonl_rows(path: Path) -> Iterator[Raw]:
    """Yield the rows of JSON lines; a broken line is an error in its place."""
    for raw in jsonl_lines(path):
        yield Raw(raw.place, decoded(raw))


def jsonl_lines(path: Path) -> Iterator[Raw]:
    """Yield the lines that are not blank, as bytes in UTF-8."""
    with _opened(path) as file:
        encoding = encoding_of(path)
        lines: Iterable[bytes] = file
        if encoding != "utf-8":
            texts = TextIOWrapper(file, encoding, newline="\n")
            lines = (text.encode("utf-8", "surrogatepass") for text in texts)
        for number, line in enumerate(lines, start=1):
            if not line.isspace():
                yield Raw(f"{path.name}, line {number}", line)


@contextmanager
def _opened(path: Path) -> Generator[BinaryIO, None, None]:
    """Yield the bytes of a file, or of what gzip packed in it. Raises `InputError`."""
    try:
        opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
        with opener(path, "rb") as file:
            yield file
    except (OSError, EOFError, UnicodeError) as error:
        got = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InputError("a readable file", got, where=str(path)) from error


def encoding_of(path: Path) -> str:
    """Return the encoding of a text file. Raises `InputError` for an archive or another one."""
    with _opened(path) as file:
        beginning = file.read(_SAMPLE)
    for mark, name in _BOMS.items():
        if beginning.startswith(mark):
            return name
    for mark, got in _OTHERS.items():
        if beginning.startswith(mark):
            raise InputError("text, as the file's ending says", got, where=str(path))
    foreign = [line for line in beginning.splitlines(keepends=True) if not line.isascii()]
    if not foreign or any(map(_is_utf_8, foreign)):
        return "utf-8"  # where some lines are, the others are broken
    with needs_extra("report", "charset_normalizer", "charset-normalizer"):
        from charset_normalizer import from_bytes
    best = from_bytes(b"\n".join(foreign), cp_isolation=[*_TAKEN, *_UNSURE]).best()
    if best is None or best.encoding not in _TAKEN:
        hint = "save the file as UTF-8"
        raise InputError("UTF-8 text", "another encoding", where=str(path), hint=hint)
    return best.encoding


_TAKEN = ("cp1252", "cp1251", "cp1253", "shift_jis")
_UNSURE = ("gb18030", "big5", "euc_kr")  # short texts may be any of these


def _is_utf_8(line: bytes) -> bool:
    """Tell whether it is UTF-8, but for a last character that the sample cut."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with suppress(UnicodeDecodeError):
        decoder.decode(line)
        return True
    return False


def decoded(raw: Raw) -> object:
    """Return the data of a row, parsed if it is a line of JSON; or the error in it."""
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


_LONGEST_CELL = 1 << 30  # a chunk may be longer than the csv module's default
_DELIMITERS = (",", ";", "\t", "|")
_JSON = re.compile(r'\s*[\[{]\s*(["\[{]|$)')
_WITHOUT_CELLS = re.compile(r"[\s,;|]+")
_ESCAPED = re.compile("[\udc80-\udcff]")


def csv_rows(path: Path) -> Iterator[Raw]:
    """Yield the rows of CSV with a header; a broken row is an error in its place.

    A row of blank cells is none: spreadsheets write such rows after the last one.

    Bytes that are not UTF-8 become surrogates, so that only the rows with them fail.

    Raises:
        InputError: the file holds JSON, or the header cannot be read or names a column twice.
    """
    csv.field_size_limit(_LONGEST_CELL)
    with _opened(path) as file:
        lines = TextIOWrapper(file, encoding_of(path), "surrogateescape", newline="")
        yield from _csv_rows(path, lines)


def _csv_rows(path: Path, lines: Iterator[str]) -> Iterator[Raw]:
    blank = 0
    header = next(lines, "")
    while _WITHOUT_CELLS.fullmatch(header):
        blank += 1
        header = next(lines, "")
    if _JSON.match(header):
        hint = "name it .json"
        raise InputError("a header of CSV", "what looks like JSON", where=str(path), hint=hint)
    delimiters = ("\t",) if ending_of(path) == ".tsv" else _DELIMITERS
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
        elif any(cell.strip() for cell in cells):
            yield Raw(place, _row(names, cells))


def _row(names: list[str], cells: list[Any]) -> object:
    """Return the cells by their columns, or an error."""
    if len(cells) == len(names):
        return dict(zip(names, cells, strict=True))
    return InputError(f"{len(names)} cells, as in the header", str(len(cells)))


def _cells(reader: Iterator[list[str]]) -> list[str] | InputError | None:
    """Return the cells of the next row, or its error; None at the end."""
    try:
        cells = next(reader, None)
    except csv.Error as error:
        return InputError("a row of CSV", str(error))
    for cell in cells or ():
        if match := _ESCAPED.search(cell):
            return _bad_byte(ord(match[0]) - 0xDC00)
    return cells


def workbook_rows(path: Path) -> Iterator[Raw]:
    """Yield the rows of the first sheet of a workbook, whose first row is the header."""
    with needs_extra("report", "openpyxl"):
        openpyxl: Any = import_module("openpyxl")
    with _readable(path, "an Excel workbook"):
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        names: list[str] = []
        for number, values in enumerate(sheet.iter_rows(values_only=True), start=1):
            cells = ["" if value is None else value for value in values]
            place = f"{path.name}, row {number}"
            if not any(str(cell).strip() for cell in cells):
                continue
            if not names:
                names = [str(cell) for cell in cells]
                check_names(names, f"{path}, header")
            elif any(len(str(cell)) >= _MOST_IN_A_CELL for cell in cells):
                hint = "write JSON lines from where the texts are"
                got = "one of that length, which Excel has cut"
                error = InputError(f"texts below {_MOST_IN_A_CELL:,} characters", got, hint=hint)
                yield Raw(place, error)
            else:
                yield Raw(place, _row(names, cells))


def document_rows(path: Path) -> Iterator[Raw]:
    """Yield the rows of a JSON document, or of JSON lines that are called one.

    Raises:
        InputError: not JSON, or a document without rows.
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


def read_json(path: Path) -> Any:
    """Return the document in a file. Raises `InputError`."""
    encoding = encoding_of(path)
    with _opened(path) as file:
        content = file.read()
    try:
        return json.loads(content.decode(encoding))
    except (ValueError, RecursionError) as error:  # also nested too deep, or a number too long
        hint = "it may be cut off; JSON lines need the ending .jsonl, CSV .csv"
        raise InputError("a JSON document", str(error), where=str(path), hint=hint) from None


def parquet_rows(path: Path) -> Iterator[Raw]:
    """Yield the rows of a Parquet file."""
    parquet = _parquet_module()
    number = 0
    with _readable(path), parquet.ParquetFile(path) as file:
        check_names(file.schema_arrow.names, "columns")
        for batch in file.iter_batches(batch_size=_BATCH):
            batch.validate(full=True)  # or else a damaged batch can crash the process
            for row in batch.to_pylist():
                yield Raw(f"{path.name}, row {number}", row)
                number += 1


_BATCH = 50


def _parquet_module() -> Any:
    """pyarrow's module, which has no types. Raises `MissingExtraError`."""
    with needs_extra("table", "pyarrow"):
        return import_module("pyarrow.parquet")


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
    ".jsonl": jsonl_lines,
    ".ndjson": jsonl_lines,
    ".csv": csv_rows,
    ".tsv": csv_rows,
    ".json": document_rows,
    ".parquet": parquet_rows,
    ".xlsx": workbook_rows,
}
