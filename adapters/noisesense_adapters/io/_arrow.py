"""Rows out of Parquet files, Arrow files and Hugging Face datasets. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from noisesense.errors import InputError
from noisesense_adapters._extras import needs_extra
from noisesense_adapters._json_file import read_json
from noisesense_adapters.io._rows import Raw

__all__ = ["arrow_rows", "count_parquet", "folder_files", "parquet_rows", "pyarrow"]

_BATCH = 500
_FILE_MAGIC = b"ARROW1"


def pyarrow(name: str = "pyarrow") -> Any:
    """The module, which has no types."""
    with needs_extra("report", "pyarrow"):
        return import_module(name)


def parquet_rows(path: Path) -> Iterator[Raw]:
    """The rows of a Parquet file, in batches."""
    with _readable("a Parquet file", path), pyarrow("pyarrow.parquet").ParquetFile(path) as file:
        yield from _rows(path, file.iter_batches(batch_size=_BATCH))


def count_parquet(path: Path) -> int:
    """How many rows there are."""
    with _readable("a Parquet file", path):
        return int(pyarrow("pyarrow.parquet").read_metadata(path).num_rows)


def arrow_rows(path: Path) -> Iterator[Raw]:
    """The rows of an Arrow file, or of an Arrow stream, as `datasets` writes them."""
    pa = pyarrow()
    with _readable("an Arrow file", path), pa.memory_map(str(path)) as file:
        if file.read(len(_FILE_MAGIC)) == _FILE_MAGIC:
            with pa.ipc.open_file(file) as found:
                batches = (found.get_batch(i) for i in range(found.num_record_batches))
                yield from _rows(path, batches)
        else:
            file.seek(0)
            with pa.ipc.open_stream(file) as found:
                yield from _rows(path, found)


def _rows(path: Path, batches: Any) -> Iterator[Raw]:
    number = 0
    for batch in batches:
        for start in range(0, batch.num_rows, _BATCH):
            for row in batch.slice(start, _BATCH).to_pylist():
                yield Raw(f"{path.name}, row {number}", row)
                number += 1


@contextmanager
def _readable(expected: str, path: Path) -> Generator[None, None, None]:
    """Arrow's own errors as ours, with the file's name."""
    try:
        yield
    except pyarrow().ArrowException as error:
        got = str(error).splitlines()[0]
        raise InputError(expected, got, where=str(path)) from None


def folder_files(folder: Path) -> tuple[list[Path], Callable[[Path], Iterator[Raw]]]:
    """The files of a Hugging Face dataset folder, in order, and what reads each.

    Either what ``Dataset.save_to_disk`` writes, or Parquet files, as the Hub holds them.

    Raises:
        InputError: it is no such folder, or one of several splits.
    """
    if (folder / "dataset_dict.json").exists():
        splits = read_json(folder / "dataset_dict.json").get("splits", [])
        raise _several(folder, [f"{folder}/{split}" for split in splits])
    if (folder / "state.json").exists():
        parts = read_json(folder / "state.json").get("_data_files", [])
        files = [folder / part["filename"] for part in parts]
        lost = next((file for file in files if not file.is_file()), None)
        if lost is not None:
            raise InputError("all files of the dataset", f"no {lost.name}", where=str(folder))
        return files, arrow_rows
    files = sorted([*folder.glob("*.parquet"), *folder.glob("data/*.parquet")])
    if not files:
        hint = "a Hugging Face dataset has a state.json or Parquet files"
        raise InputError("a dataset's folder", "another folder", where=str(folder), hint=hint)
    # The Hub's names: train-00000-of-00002.parquet.
    splits = sorted({file.name.partition("-")[0] for file in files})
    if len(splits) > 1:
        raise _several(folder, [str(file) for file in files])
    return files, parquet_rows


def _several(folder: Path, choices: list[str]) -> InputError:
    shown = ", ".join(choices[:5])
    return InputError("one split", "several", where=str(folder), hint=f"name one: {shown}")
