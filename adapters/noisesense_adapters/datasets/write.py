"""Results files: JSON lines, with one writer at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from noisesense.errors import InputError
from noisesense.jsonl import whole_file
from noisesense.scoring.results import Result
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import Row
from noisesense_adapters.toolbox.extras import needs_extra


@contextmanager
def results_file(path: Path) -> Generator[Callable[[Result], None], None, None]:
    """Takes results one by one; the file appears whole at the end, or not at all.

    One writer at a time: it holds the lock ``PATH.lock``, an empty file, and removes what killed
    ones left of theirs.

    Raises:
        InputError: another run holds the lock, or a file cannot be written, or holds something
            else. What is raised inside stays as it is.
        MissingExtraError: filelock is not installed.
    """
    with _only_writer(path), whole_file(path, alone=True) as add:
        yield lambda result: add(result.to_json())


@contextmanager
def _only_writer(target: Path) -> Generator[None, None, None]:
    """The system lets go of the lock when a process dies: a file left over stops nobody."""
    with needs_extra("cli", "filelock"):
        from filelock import FileLock, Timeout

    path = Path(f"{target}.lock")
    if path.exists() and (not path.is_file() or path.stat().st_size):
        hint = "it was not touched; choose another file for the results, or move it"
        got = "a file that holds something else"
        raise InputError("no file, or one of an earlier run", got, where=str(path), hint=hint)
    lock: Any = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        expected = "one run at a time with these results"
        hint = "wait until it ends, or choose another file for the results"
        raise InputError(expected, "another run", where=str(target), hint=hint) from None
    except OSError as error:
        got = error.strerror or type(error).__name__
        raise InputError("a file that can be written", got, where=str(path)) from error
    try:
        yield
    finally:
        # While it is held: who opens it now finds that the file is gone. Windows refuses.
        with suppress(OSError):
            path.unlink(missing_ok=True)
        lock.release()


def check_folder(folder: Path, where: str) -> None:
    """Raise `InputError` unless files can be created in it."""
    if not folder.is_dir():
        raise InputError("a folder that exists", repr(str(folder)), where=where)
    if not os.access(folder, os.W_OK):
        raise InputError("a folder that can be written to", repr(str(folder)), where=where)


def check_output(path: Path, dataset: Path) -> Path:
    """The path, if results can be written to it.

    Raises:
        InputError: another ending, the dataset itself, or a file that holds something else.
    """
    if path.suffix.lower() != ".jsonl":
        hint = "pandas.read_json(out, lines=True).to_parquet(path) makes Parquet of it"
        raise InputError("a name ending in .jsonl", repr(path.name), where="out", hint=hint)
    check_folder(path.parent, "out")
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return path
    if dataset.exists() and path.samefile(dataset):
        raise InputError("another file than the dataset", str(path), where="out")
    hint = "nothing was overwritten; choose another name"
    expected = f"an earlier results file, or a new file, as {path}"
    try:
        first = next(read_rows(path))
    except InputError:
        first = None
    if not isinstance(first, Row) or first.line.id is None:
        raise InputError(expected, "a file that holds something else", where="out", hint=hint)
    return path
