"""Results files: JSON lines, with one writer at a time."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from noisesense.errors import InputError
from noisesense.scoring.results import Result
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import Row
from noisesense_adapters.toolbox.extras import needs_extra


@contextmanager
def only_writer(target: Path) -> Generator[None, None, None]:
    """Hold the lock of a results file: ``TARGET.lock``, an empty file.

    The system lets go of it when a process dies: a lock file that is left over stops nobody.

    Raises:
        InputError: another run holds it, or it cannot be written, or holds something else.
        MissingExtraError: filelock is not installed.
    """
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
        raise refused(path, error) from error
    try:
        yield
    finally:
        # While it is held: who opens it now finds that the file is gone. Windows refuses.
        with suppress(OSError):
            path.unlink(missing_ok=True)
        lock.release()


def refused(path: Path, error: OSError) -> InputError:
    got = error.strerror or type(error).__name__
    return InputError("a file that can be written", got, where=str(path))


Add = Callable[[Result], object]


@contextmanager
def results_file(path: Path) -> Generator[Add, None, None]:
    """Takes results one by one; the file appears whole at the end, or not at all.

    For whoever holds the file's lock: what a killed run left of its own is removed.

    Raises:
        InputError: the file cannot be written. What is raised inside stays as it is.
    """
    real = Path(os.path.realpath(path))
    ours = re.compile(rf"\.{re.escape(real.name[:40])}\.[0-9a-f]{{12}}")
    temporary = real.with_name(f".{real.name[:40]}.{secrets.token_hex(6)}")
    stack = ExitStack()
    try:
        with _refusals(path):
            for left in filter(lambda file: ours.fullmatch(file.name), real.parent.iterdir()):
                left.unlink(missing_ok=True)
            add = stack.enter_context(_jsonl(temporary))

        def guarded(result: Result) -> None:
            with _refusals(path):
                add(result)

        yield guarded
        with _refusals(path):
            stack.close()
            if real.exists():
                shutil.copymode(real, temporary)
            temporary.replace(real)
    finally:
        with suppress(OSError):
            stack.close()
        temporary.unlink(missing_ok=True)


@contextmanager
def _refusals(path: Path) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise refused(path, error) from error


@contextmanager
def _jsonl(path: Path) -> Generator[Add, None, None]:
    with path.open("x", encoding="utf-8", newline="\n") as file:
        yield lambda result: file.write(f"{result.to_json()}\n")


@contextmanager
def scratch_folder() -> Generator[Path, None, None]:
    """A folder for what one run needs and nobody keeps. Raises `InputError`."""
    try:
        folder = TemporaryDirectory(prefix="noisesense-")
    except OSError as error:
        got, hint = error.strerror or str(error), "TMPDIR names another folder"
        where = "temporary files"
        raise InputError("a folder that can be written to", got, where=where, hint=hint) from error
    with folder as path:
        yield Path(path)


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
