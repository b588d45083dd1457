"""Results files, as JSON lines or as Parquet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from noisesense.errors import InputError
from noisesense.results import Result, write_results
from noisesense_adapters.io import BadRow, pyarrow, read_rows
from noisesense_adapters.scoring._parquet import write_parquet

__all__ = ["check_folder", "check_output", "holds_something", "write_file"]

_KINDS: dict[str, Callable[[Path, Iterator[Result]], object]] = {
    ".jsonl": write_results,
    ".parquet": write_parquet,
}


def write_file(path: Path, results: Iterator[Result]) -> None:
    """Write the results; the file appears whole or not at all."""
    _KINDS[path.suffix.lower()](path, results)


def holds_something(path: Path) -> bool:
    """Is it there, and not empty?"""
    return path.exists() and path.stat().st_size > 0


def check_folder(folder: Path, where: str) -> None:
    """Raise `InputError` unless files can be made in it."""
    if not folder.is_dir():
        raise InputError("a folder that exists", repr(str(folder)), where=where)
    if not os.access(folder, os.W_OK):
        raise InputError("a folder that can be written to", repr(str(folder)), where=where)


def check_output(path: Path, dataset: Path) -> Path:
    """The path, if results can be written there.

    Raises:
        InputError: another ending, the dataset itself, or a file that holds something else.
        MissingExtraError: Parquet without pyarrow.
    """
    if path.suffix.lower() not in _KINDS:
        expected = f"a name ending in {' or '.join(_KINDS)}"
        raise InputError(expected, repr(path.name), where="out")
    if path.suffix.lower() == ".parquet":
        pyarrow()  # that it is missing shall not be found out after the judge was paid
    check_folder(path.parent, "out")
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return path
    if dataset.exists() and path.samefile(dataset):
        raise InputError("another file than the dataset", str(path), where="out")
    hint = "nothing was overwritten; choose another name"
    what = f"a results file of before, or a new file, as {path}"
    try:
        first = next(read_rows(path))
    except InputError:
        raise InputError(what, "something else there", where="out", hint=hint) from None
    if isinstance(first, BadRow) or first.line is None or first.line.id is None:
        raise InputError(what, "something else there", where="out", hint=hint)
    return path
