"""Results files, as JSON lines or as Parquet, with one writer at a time."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from noisesense.errors import InputError, encodable
from noisesense.judging.protocol import Usage
from noisesense.scoring.definitions import MODES
from noisesense.scoring.outcomes import Partition
from noisesense.scoring.results import Result
from noisesense_adapters.datasets.files import pyarrow
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


_BATCH = 500
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
            add = stack.enter_context(_KINDS[path.suffix.lower()](temporary))

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
def _parquet(path: Path) -> Generator[Add, None, None]:
    pa, pq = pyarrow(), pyarrow("pyarrow.parquet")
    schema, batch = _schema(pa), list[dict[str, Any]]()

    with pq.ParquetWriter(path, schema) as writer:

        def write() -> None:
            writer.write_table(_table(pa, batch, schema))
            batch.clear()

        def add(result: Result) -> None:
            batch.append(result.to_dict())
            if len(batch) == _BATCH:
                write()

        yield add
        if batch:
            write()


def _schema(pa: Any) -> Any:
    text, flag, whole, real = pa.string(), pa.bool_(), pa.int64(), pa.float64()
    positions = pa.list_(whole)
    chunks = pa.list_(pa.struct({"text": text, "relevant": flag, "id": text}))
    claim = {"text": text, "entailed_by": positions, "undetermined": positions}
    sample = {"user_input": text, "response": text, "reference": text}
    fields = {
        **dict.fromkeys(("id", "cluster", "judge", "definition", "empty", "undetermined"), text),
        **dict.fromkeys(MODES, real),
        "status": pa.struct(dict.fromkeys(MODES, text)),
        "bounds": pa.struct(dict.fromkeys(MODES, pa.list_(real))),
        "partition": pa.struct(dict.fromkeys(Partition._fields, whole)),
        "unanswered": whole,
        "usage": pa.struct({**dict.fromkeys(Usage.__dataclass_fields__, whole), "cost": real}),
        "error": text,
        "sample": pa.struct({**sample, "retrieved_contexts": chunks}),
        "verdicts": pa.struct(
            {
                "response_claims": pa.list_(pa.struct({**claim, "correct": flag})),
                "reference_claims": pa.list_(pa.struct(claim)),
                "chunks": chunks,
            }
        ),
    }
    return pa.schema(fields)


def _table(pa: Any, batch: list[dict[str, Any]], schema: Any) -> Any:
    try:
        return pa.Table.from_pylist(batch, schema=schema)
    except UnicodeEncodeError:
        text = encodable(json.dumps(batch, ensure_ascii=False))
        return pa.Table.from_pylist(json.loads(text), schema=schema)


_KINDS = {".jsonl": _jsonl, ".parquet": _parquet}


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
        MissingExtraError: Parquet without pyarrow.
    """
    if path.suffix.lower() not in _KINDS:
        expected = f"a name ending in {' or '.join(_KINDS)}"
        raise InputError(expected, repr(path.name), where="out")
    if path.suffix.lower() == ".parquet":
        pyarrow()  # find out that it is missing before the judge is paid
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
    if not isinstance(first, Row) or first.line is None or first.line.id is None:
        raise InputError(expected, "a file that holds something else", where="out", hint=hint)
    return path
