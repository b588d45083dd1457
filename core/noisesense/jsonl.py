"""JSON lines: read with errors that name file and line, written whole or not at all."""

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
from typing import Any

from noisesense.errors import InputError, RecordingError, describe, located


def as_path(path: str | os.PathLike[str], kind: type[InputError] = InputError) -> Path:
    """The path, if a file can have it. Raises ``kind``."""
    try:
        checked = Path(path)
    except TypeError:
        raise kind("a path", describe(path), where="path") from None
    try:
        checked.lstat()
    except (OSError, ValueError) as error:  # ValueError: a NUL, or half of a surrogate pair
        if isinstance(error, ValueError) or error.errno in (errno.ENAMETOOLONG, errno.EINVAL):
            reason = getattr(error, "strerror", None) or str(error)
            raise kind("a path", describe(str(checked)), where="path", hint=reason) from None
    return checked


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file that hold something, counted from 1. Raises `RecordingError`."""
    with _usable(path, "a readable file", RecordingError), path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError as error:
                raise RecordingError(
                    "UTF-8 text",
                    f"the byte {raw[error.start]:#04x} at position {error.start}",
                    where=f"{path}, line {number}",
                    hint="save the file as UTF-8",
                ) from None
            if text:
                yield number, text


@contextmanager
def _usable(path: Path, expected: str, kind: type[InputError]) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        hint = "" if path.is_absolute() else "the path is relative to the working directory"
        got = error.strerror or type(error).__name__
        raise kind(expected, got, where=str(path), hint=hint) from error


def parse_line(text: str) -> Any:
    """The JSON of one line. Raises `InputError`."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        got = f"{error.msg.removesuffix(' at')} at column {error.colno}"
        hint = "the line may be cut off; a recording is JSONL, not one JSON document"
        raise InputError("one JSON object a line", got, hint=hint) from None
    except (RecursionError, ValueError) as error:  # absurdly deep, or a number of 5,000 digits
        raise InputError("one JSON object a line", str(error)) from None


def json_lines(path: Path) -> Iterator[Any]:
    """What the lines of a file hold. Raises `RecordingError`, or `InputError` with the line."""
    for number, text in numbered_lines(path):
        with located(f"{path}, line {number}"):
            yield parse_line(text)


def to_json(data: Any) -> str:
    """One line of JSON that can be written as UTF-8."""
    text = json.dumps(data, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair, as a broken tokenizer leaves it, has no UTF-8, but an escape.
        return json.dumps(data)
    return text


def write_whole(path: Path, lines: Iterable[str]) -> None:
    """Write the lines to a file that appears whole or not at all, whatever happens meanwhile.

    Raises:
        InputError: the file cannot be written. What the lines raise stays as it is.
    """
    with whole_file(path) as add:
        for line in lines:
            add(line)


@contextmanager
def whole_file(path: Path, *, alone: bool = False) -> Generator[Callable[[str], None], None, None]:
    """As `write_whole`, but takes lines one by one.

    Args:
        path: the file.
        alone: nobody else writes it: what a killed process left of its own is removed.
    """
    target = Path(os.path.realpath(path))
    # A name of its own beside the file, made with the user's usual permissions.
    name = f".{target.name[:40]}."
    temporary = target.with_name(name + secrets.token_hex(6))
    written = partial(_usable, path, "a file that can be written", InputError)
    with written():
        if target.is_dir():  # found out only after the lines were made, otherwise
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        for left in target.parent.glob(escape(name) + "[0-9a-f]" * 12) if alone else ():
            left.unlink(missing_ok=True)
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
