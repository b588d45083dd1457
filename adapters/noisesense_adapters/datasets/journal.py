"""What a run has judged so far: the next run continues from it and overwrites nothing paid."""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense.scoring.results import Result, read_results
from noisesense_adapters.datasets.results import results_of
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.datasets.write import holds_something

_NOWHERE = -1


class Journal:
    """A file of results in the order in which they were judged, each written immediately.

    A row that is in it with a score by the same judge is done. One that failed, or for which
    verdicts have no answer, is tried again. A line that was cut off when the process died is
    dropped. Memory: eight bytes per row, and about two hundred for each earlier result.

    Args:
        path: the file; created if it does not exist.
        judge: the judge's name; None: it has none, and no earlier result is reused.
    """

    def __init__(self, path: Path, judge: str | None) -> None:
        self.path = path
        self._judge = judge
        self._order = array("q")
        self._file = path.open("a+b", buffering=0)
        self._size = self._drop_torn_line()
        self._done: dict[bytes, list[int]] = {}
        if judge is not None:
            for offset, line in self._lines():
                key = self._key_of_line(line)
                if key is not None:
                    self._done.setdefault(key, []).append(offset)

    def adopt(self, results: Iterator[Result]) -> None:
        """Take over the same judge's results from a finished results file."""
        known = frozenset(self._done)
        for result in results:
            judged = result.score is not None and not result.unanswered
            if judged and result.judge is not None and result.judge == self._judge:
                key = self._key(result.id, result.cluster, _dumped(result.sample))
                if key not in known:
                    self._done.setdefault(key, []).append(self._append(result))

    def take(self, position: int, row: Row) -> bool:
        """Is the row done? If so, its result goes to that position of the input."""
        offsets = self._done.get(self._key(row.id, row.cluster, _dumped(row.sample)))
        if not offsets:
            return False
        self._put(position, offsets.pop(0))
        return True

    def add(self, position: int, result: Result) -> None:
        """Write the result of the row at that position."""
        self._put(position, self._append(result))

    def lines(self) -> Iterator[str]:
        """The results' lines in the order of the input."""
        with self.path.open("rb") as file:
            for offset in self._order:
                file.seek(offset)
                yield file.readline().decode()

    def close(self) -> None:
        """Close the file; remove it if it holds nothing."""
        self._file.close()
        if not self._size:
            self.path.unlink(missing_ok=True)

    def remove(self) -> None:
        self._file.close()
        self.path.unlink(missing_ok=True)

    def _put(self, position: int, offset: int) -> None:
        missing = position + 1 - len(self._order)
        if missing > 0:
            self._order.extend([_NOWHERE] * missing)
        self._order[position] = offset

    def _append(self, result: Result) -> int:
        line = result.to_json().encode() + b"\n"
        offset = self._size
        self._size += self._file.write(line)
        return offset

    def _drop_torn_line(self) -> int:
        size = self._file.seek(0, os.SEEK_END)
        end = size
        while end:
            start = max(0, end - 65536)
            self._file.seek(start)
            newline = self._file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        self._file.truncate(end)
        return end

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        offset = 0
        with self.path.open("rb") as file:
            for line in file:
                yield offset, line
                offset += len(line)

    def _key_of_line(self, line: bytes) -> bytes | None:
        try:
            data = cast("object", json.loads(line))
        except ValueError:
            return None
        if not isinstance(data, dict):
            return None
        fields = cast("dict[str, Any]", data)
        if fields.get("judge") != self._judge or "verdicts" not in fields:
            return None
        if fields.get("unanswered"):
            return None
        return self._key(fields.get("id"), fields.get("cluster"), fields.get("sample"))

    @staticmethod
    def _key(name: str | None, cluster: str | None, sample: Any) -> bytes:
        content = json.dumps([name, cluster, sample], sort_keys=True)
        return hashlib.blake2b(content.encode(), digest_size=16).digest()


def _dumped(sample: Any) -> Any:
    """A sample as in a line: with labels and ids, which the sample's key leaves out."""
    return None if sample is None else sample.model_dump(mode="json", exclude_defaults=True)


_FIRST_RESULTS = 20
_HINT = "nothing was overwritten; choose another name, or remove the file"


def check_paid(
    path: Path, partial: Path, judge: str | None, dataset: Iterable[Row | BadRow]
) -> None:
    """Are existing results by this judge and of this dataset? The first ones decide.

    Results without a named judge cost nothing to compute again and may be overwritten.

    Args:
        path: the results file, which need not exist.
        partial: the file of an interrupted run, which need not exist.
        judge: the name of the run's judge; None: no judge, or one without a name.
        dataset: the rows to score; read up to the first sample that is in the results.

    Raises:
        InputError: they are by another judge or of other samples.
    """
    judged = [*_judged(path, results_of(path))] if holds_something(path) else []
    if judge is not None and holds_something(partial):
        judged += _judged(partial, read_results(partial, on_error=lambda _: None))
    for file, result in judged:
        if judge is not None and result.judge != judge:
            raise InputError(
                f"results by {judge!r}, or a new file, as {file}",
                f"results by {describe(result.judge)}",
                where="out",
                hint=_HINT,
            )
    if not judged:
        return
    keys = {result.sample.key for _, result in judged if result.sample}
    if not any(isinstance(row, Row) and row.sample and row.sample.key in keys for row in dataset):
        raise InputError(
            f"results of the same samples, or a new file, as {path}",
            f"other samples, judged by {describe(judged[0][1].judge)}",
            where="out",
            hint=_HINT,
        )


def _judged(path: Path, results: Iterator[Result]) -> Iterator[tuple[Path, Result]]:
    for result in islice(results, _FIRST_RESULTS):
        if result.judge is not None and result.score is not None:
            yield path, result
