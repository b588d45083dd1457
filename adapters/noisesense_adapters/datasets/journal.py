"""What a run has judged so far: one run at a time writes it, and the next continues from it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import socket
import sys
from array import array
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from noisesense.errors import InputError, describe
from noisesense.scoring.results import Result, ResultLine, read_results
from noisesense_adapters.datasets.results import results_of
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.datasets.write import holds_something

_MARK = b'{"noisesense_lock"'


@contextmanager
def only_writer(target: Path) -> Generator[None, None, None]:
    """Hold the lock of a results file: ``TARGET.lock``.

    The system lets go of it when a process dies: a lock file that is left over stops nobody.

    Raises:
        InputError: another run holds it (the error says which), or it cannot be written.
    """
    path = Path(f"{target}.lock")
    try:
        file = _locked(path)
        try:
            started = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
            owner = {"noisesense_lock": 1, "pid": os.getpid(), "host": socket.gethostname()}
            file.truncate(0)
            file.write(json.dumps({**owner, "started": started}).encode())
        except BaseException:
            _unlock(file, path)
            raise
    except OSError as error:
        raise _refused(path, error) from error
    try:
        yield
    finally:
        _unlock(file, path)


def _locked(path: Path) -> IO[bytes]:
    """The lock file, locked. Raises `InputError` or OSError."""
    while True:
        _check_regular(path)
        file = path.open("a+b", buffering=0)
        try:
            file.seek(0)
            held = file.read(1000)
            if held and not held.startswith(_MARK):
                raise _something_else(path)
            if not _lock(file):
                raise InputError(
                    "one run at a time with these results",
                    _owner(held),
                    where=str(path).removesuffix(".lock"),
                    hint="wait until it ends, or choose another file for the results",
                )
            # Else its holder ended and removed it meanwhile.
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _lock(file: IO[bytes]) -> bool:
    """Is the file ours now? Where the file system knows no locks, it is."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(1 << 30)  # others can read what is not locked
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
    return True


def _unlock(file: IO[bytes], path: Path) -> None:
    if sys.platform == "win32":  # where an open file cannot be removed
        file.close()
    with suppress(OSError):
        path.unlink(missing_ok=True)
    file.close()


def _owner(held: bytes) -> str:
    try:
        owner = json.loads(held)
        return (
            f"another run: process {owner['pid']} on {owner['host']}, "
            f"started at {owner['started']}"
        )
    except (ValueError, KeyError, TypeError):  # it has not yet written its name
        return "another run"


def _check_regular(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise _something_else(path)


def _something_else(path: Path) -> InputError:
    hint = "it was not touched; choose another file for the results, or move it"
    return InputError(
        "no file, or one of an earlier run",
        "a file that holds something else",
        where=str(path),
        hint=hint,
    )


def _refused(path: Path, error: OSError, hint: str = "") -> InputError:
    got = error.strerror or type(error).__name__
    return InputError("a file that can be written", got, where=str(path), hint=hint)


_NOWHERE = -1


class Journal:
    """A file of results in the order in which they were judged, each written immediately.

    A row that is in it with a score by the same judge is done. One that failed, or for which
    verdicts have no answer, is tried again. A line that was cut off when the process died is
    dropped. Memory: eight bytes per row, and about two hundred for each earlier result.

    Args:
        path: the file; created if it does not exist.
        judge: the judge's name; None: it has none, and no earlier result is reused.

    Raises:
        InputError: the file cannot be written, or holds something else.
    """

    def __init__(self, path: Path, judge: str | None) -> None:
        self.path = path
        self._judge = judge
        self._order = array("q")
        check_partial(path)
        try:
            self._file = path.open("a+b", buffering=0)
            self._size = self._drop_torn_line()
        except OSError as error:
            raise _refused(path, error) from error
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
        # Through the open file: somebody may have removed its name.
        with os.fdopen(os.dup(self._file.fileno()), "rb") as file:
            for offset in self._order:
                file.seek(offset)
                line = file.readline()
                if not line.endswith(b"\n"):
                    raise self._changed()
                yield line.decode()

    def close(self) -> None:
        """Close the file; remove it if it holds nothing."""
        if self._file.closed:
            return
        try:
            self._restore()
        except OSError as error:
            raise _refused(self.path, error) from error
        finally:
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
        try:
            self._restore()
            rest = memoryview(line)
            while rest:  # of a line that a full disk takes a part of, the rest says why
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(offset)
            hint = (
                "what was judged before is kept in it, and the same command continues from there"
            )
            raise _refused(self.path, error, hint) from error
        self._size += len(line)
        if self._file.tell() != self._size:
            raise self._changed()
        return offset

    def _changed(self) -> InputError:
        got = "one that something else changed meanwhile"
        return InputError("the file as this run wrote it", got, where=str(self.path))

    def _restore(self) -> None:
        """Give the file its name again if somebody removed it: only the open file has the data."""
        if not self._size or os.fstat(self._file.fileno()).st_nlink:
            return
        with suppress(FileExistsError):
            with self.path.open("xb") as copy:
                self._file.seek(0)
                shutil.copyfileobj(self._file, copy)
            self._file.close()
            self._file = self.path.open("a+b", buffering=0)

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


def check_partial(path: Path) -> None:
    """Raise `InputError` if a file of this name holds anything but the results of a run."""
    _check_regular(path)
    try:
        with path.open("rb") as file:
            line = file.readline(1 << 26)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _refused(path, error) from error
    try:
        data = cast("object", json.loads(line))
    except (ValueError, RecursionError):
        # Of a first line that was cut off when the process died, the beginning is known.
        start = b'{"id": '
        ours = not line.endswith(b"\n") and line[: len(start)] == start[: len(line)]
    else:
        fields = cast("dict[str, Any]", data).keys() if isinstance(data, dict) else set[str]()
        ours = "id" in fields and fields <= _FIELDS and bool(fields & {"error", "verdicts"})
    if not ours:
        raise _something_else(path)


_FIELDS = frozenset(ResultLine.model_fields)
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
