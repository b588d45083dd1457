"""Results files, as JSON lines or as Parquet."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from noisesense.errors import InputError
from noisesense.judging.protocol import Usage
from noisesense.scoring.definitions import MODES
from noisesense.scoring.outcomes import Partition
from noisesense.scoring.results import Result, write_results
from noisesense.utf8 import encodable
from noisesense_adapters.datasets.files import pyarrow
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import Row

_BATCH = 500


def write_parquet(path: Path, results: Iterator[Result]) -> None:
    """Write the results in batches; the file appears whole or not at all."""
    pa, pq = pyarrow(), pyarrow("pyarrow.parquet")
    schema = _schema(pa)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with pq.ParquetWriter(temporary, schema) as writer:
            while batch := [result.to_dict() for result in islice(results, _BATCH)]:
                writer.write_table(_table(pa, batch, schema))
        temporary.replace(path)
    except OSError as error:
        got = error.strerror or str(error)
        raise InputError("a file that can be written", got, where=str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def _schema(pa: Any) -> Any:
    text, flag, whole, real = pa.string(), pa.bool_(), pa.int64(), pa.float64()
    positions = pa.list_(whole)
    chunks = pa.list_(pa.struct({"text": text, "relevant": flag, "id": text}))
    claim = {"text": text, "entailed_by": positions, "undetermined": positions}
    sample = {"user_input": text, "response": text, "reference": text}
    fields = {
        "id": text,
        "cluster": text,
        "judge": text,
        "definition": text,
        "empty": text,
        "undetermined": text,
        "relevant": real,
        "irrelevant": real,
        "status": pa.struct(dict.fromkeys(MODES, text)),
        "bounds": pa.struct({"relevant": pa.list_(real), "irrelevant": pa.list_(real)}),
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


_KINDS: dict[str, Callable[[Path, Iterator[Result]], object]] = {
    ".jsonl": write_results,
    ".parquet": write_parquet,
}


def write_file(path: Path, results: Iterator[Result]) -> None:
    _KINDS[path.suffix.lower()](path, results)


def holds_something(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


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
