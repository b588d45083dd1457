"""JSON lines: read with errors that name file and line, written completely or not at all."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

from noisesense.errors import InputError, RecordingError, describe

T = TypeVar("T")


def as_path(path: str | os.PathLike[str], kind: type[InputError] = InputError) -> Path:
    """Return a `Path`; nothing has to be there. Raises ``kind`` for what no file can be called."""
    try:
        checked = Path(path)
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            checked.lstat()
    except (TypeError, OSError, ValueError) as error:  # e.g. too long, a NUL, half a surrogate
        raise kind("a path", describe(path), where="path", hint=str(error)) from None
    return checked


def read_lines(path: str | os.PathLike[str], read: Callable[[str], T]) -> Iterator[tuple[int, T]]:
    """Yield the number, from 1, of each line of a UTF-8 file, and what ``read`` makes of the line.

    Blank lines are counted and left out; ``read`` gets the others stripped.

    Raises:
        RecordingError: while iterated; names the file and the line: it cannot be opened, is not
            UTF-8, or ``read`` raised an `InputError`. Other errors of ``read`` are passed on.
    """
    path = as_path(path, RecordingError)
    with _usable(path, "a readable file", RecordingError), path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                if text := _decoded(raw, first=number == 1):
                    yield number, read(text)
            except InputError as error:
                placed = error.within(f"{path}, line {number}")
                raise RecordingError(
                    placed.expected, placed.got, where=placed.where, hint=placed.hint
                ) from None


def _decoded(raw: bytes, *, first: bool) -> str:
    """Return the line as text, stripped, and the first without a byte order mark."""
    try:
        return raw.decode("utf-8-sig" if first else "utf-8").strip()
    except UnicodeDecodeError as error:
        got = f"the byte {raw[error.start]:#04x} at position {error.start}"
        raise InputError("UTF-8 text", got, hint="save the file as UTF-8") from None


@contextmanager
def _usable(path: Path, expected: str, kind: type[InputError]) -> Generator[None, None, None]:
    """Raise ``kind`` in place of an `OSError` inside."""
    try:
        yield
    except OSError as error:
        got = error.strerror or type(error).__name__
        raise kind(expected, got, where=str(path)) from error


def parse_line(text: str) -> Any:
    """Return what one line of JSON holds, an object or not. Raises `InputError`."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        got = f"no JSON at column {error.colno} ({error.msg.removesuffix(' at')})"
        hint = "the line may be cut off; a recording is JSONL, not one JSON document"
        raise InputError("one JSON object a line", got, hint=hint) from None
    except (RecursionError, ValueError) as error:  # nested too deep, or a number too long
        raise InputError("one JSON object a line", str(error)) from None


def to_json(data: Any) -> str:
    """Return the data as one line of JSON, without its line end, that can be written as UTF-8."""
    text = json.dumps(data, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair, as a broken tokenizer leaves it, can only be written escaped.
        return json.dumps(data)
    return text


def write_whole(path: Path, lines: Iterable[str]) -> None:
    """Write the lines to a file, completely or not at all. Adds the line ends.

    What the file held before is replaced, or kept if there is an error.

    Raises:
        InputError: the file cannot be written. Errors of the lines are passed on.
    """
    with whole_file(path) as add:
        for line in lines:
            add(line)


@contextmanager
def whole_file(path: Path, *, alone: bool = False) -> Generator[Callable[[str], None], None, None]:
    """Same as `write_whole`, but yields a function that adds one line.

    The file is written at the end of the block; an error in the block leaves it as it was.

    Args:
        path: the file.
        alone: no other process writes this file, so temporary files that killed ones left are
            removed.
    """
    target = Path(os.path.realpath(path))
    # Beside the file, and not by tempfile, whose files are private.
    whole_name = crc32(os.fsencode(target.name))
    prefix = f".{target.name[:40]}.{whole_name:08x}."
    temporary = target.with_name(prefix + secrets.token_hex(6))
    written = partial(_usable, path, "a file that can be written", InputError)
    with written():
        if target.is_dir():  # or else it fails only after all lines were made
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if alone:
            for abandoned in target.parent.glob(escape(prefix) + "[0-9a-f]" * 12):
                abandoned.unlink(missing_ok=True)
        file = temporary.open("x", encoding="utf-8", newline="\n")

    def add(line: str) -> None:
        with written():
            file.write(f"{line}\n")

    try:
        yield add
        with written():
            file.close()
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            file.close()
        temporary.unlink(missing_ok=True)
        raise
