"""`VerdictStore`: judged calls in a file, so that none is paid for twice."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

from noisesense.errors import InputError, StoreError
from noisesense.jsonl import as_path
from noisesense.judging.protocol import Usage
from noisesense.judging.records import Row, StoredCall, StoredRequest, StoredSample
from noisesense.judging.sqlite import Database, prepare, this_process
from noisesense.utf8 import encodable
from noisesense.verdicts.recording import write_recording

T = TypeVar("T")


class StoreStats(NamedTuple):
    """What a store holds."""

    calls: int
    samples: int
    usage: Usage
    """What the kept calls cost: what replaying them saves."""
    models: tuple[str, ...]
    oldest: float | None
    newest: float | None
    bytes: int


class Pruned(NamedTuple):
    """How many were removed."""

    calls: int
    samples: int


class Merged(NamedTuple):
    """How many are new."""

    calls: int
    samples: int


class VerdictStore:
    """A SQLite file of judged calls, found by prompt version, model and input.

    A run that was killed resumes from it, and processes share it: finished calls are never
    repeated, and a call that one task or process is making the others wait for. A call whose
    reply was unusable or answered nothing is made again by a later run, and so is one that is
    damaged: every row has a checksum. Two models are one only if their names and all options
    are. It holds the judged samples' texts and the model's replies; no prompts, and no keys of
    providers.

    Args:
        path: made if it is not there. It must lie on a local disk.
        must_exist: raise instead of making it.

    Raises:
        StoreError: damaged, another program's file, another format, no access.
    """

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False) -> None:
        self.path = as_path(path, StoreError)
        try:
            missing = must_exist and not self.path.is_file()
        except OSError as error:  # a folder that may not be searched
            raise self._failure(error) from None
        if missing:
            raise StoreError("a verdict store", "no such file", where=str(self.path))
        self._database = Database(
            self.path, lambda connection: prepare(connection, str(self.path)), self._failure
        )

    def __repr__(self) -> str:
        return f"VerdictStore({str(self.path)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return VerdictStore, (self.path,)

    def __enter__(self) -> VerdictStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close this process's connection. The store cannot be used afterwards."""
        self._database.close()

    # Calls

    def get(self, key: str, *, unanswered: bool = False) -> StoredCall | None:
        """The finished call of that key.

        None, so that it is asked again, if there is none, or it is damaged, or its reply was
        unusable or answered nothing.

        Args:
            unanswered: give also a call whose reply was unusable or answered nothing.
        """
        with self._read() as connection:
            call = _call_of(connection, key)
        return call if call is not None and (unanswered or call.answered) else None

    def put(self, call: StoredCall) -> None:
        """Keep a finished call, and end the claim on it."""
        self._database.let_go(call.key)
        row = call.row()
        with self._write() as connection:
            connection.execute(_insert("calls", row), row)
            connection.execute("DELETE FROM leases WHERE key = ?", (call.key,))

    def claim(self, key: str) -> bool:
        """May the caller make this call? If not, `get` has it or somebody is making it.

        A claim ends with `put` or `release`, or with its process, which is seen at once on the
        same machine and after a minute elsewhere. It is renewed for as long as the call takes,
        up to an hour.
        """
        with self._write() as connection:
            call = _call_of(connection, key)
            if (call is not None and call.answered) or not self._database.lease(connection, key):
                return False
        self._database.hold(key)
        return True

    def release(self, key: str) -> None:
        """Give a claim back without an answer."""
        self._database.let_go(key)
        with self._write() as connection:
            connection.execute(
                "DELETE FROM leases WHERE key = ? AND owner = ?", (key, this_process())
            )

    def mark_unanswered(self, keys: Iterable[str]) -> None:
        """Mark finished calls whose replies answered nothing: they are asked again."""
        with self._write() as connection:
            for key in keys:
                call = _call_of(connection, key)
                if call is not None:
                    row = replace(call, unanswered=True).row()
                    connection.execute(_insert("calls", row), row)

    def calls(self) -> list[StoredCall]:
        """All finished calls, oldest first; those to be asked again are among them.

        Raises:
            StoreError: the file is damaged, whether these calls are or others.
        """
        return self._all("calls", StoredCall.from_row)

    # Requests that are out in batch files

    def put_requests(self, requests: Iterable[StoredRequest]) -> None:
        """Keep what is about to be asked, so that an answer is known by its key alone."""
        with self._write() as connection:
            for request in requests:
                row = request.row()
                connection.execute(_insert("requests", row), row)

    def requests(self) -> list[StoredRequest]:
        """All requests that have no answer yet, oldest first. Raises `StoreError`."""
        return self._all("requests", StoredRequest.from_row)

    def put_answers(self, calls: Iterable[StoredCall]) -> None:
        """Keep the calls that requests have become; all of them or none."""
        with self._write() as connection:
            for call in calls:
                row = call.row()
                connection.execute(_insert("calls", row), row)
                connection.execute("DELETE FROM requests WHERE key = ?", (call.key,))

    # Samples

    def put_sample(self, judged: StoredSample) -> None:
        """Keep a sample judged to the end, for `export`."""
        row = judged.row()
        with self._write() as connection:
            connection.execute(_insert("samples", row), row)

    def samples(self, *, model: str | None = None) -> list[StoredSample]:
        """All samples judged to the end, or one model's (its name or identity); oldest first.

        Raises:
            StoreError: the file is damaged, whether these samples are or others.
        """
        samples = self._all("samples", StoredSample.from_row)
        return [each for each in samples if model in (None, each.model, each.identity)]

    def export(self, path: str | os.PathLike[str], *, model: str | None = None) -> int:
        """Write a recording of the judged samples; how many they are.

        A sample that was judged several times (with other settings or prompts) is written with
        its newest verdicts.

        Args:
            model: whose verdicts: a model's name; or its identity, where one of this name has
                judged with different options.

        Raises:
            InputError: several models have judged and none is chosen, or nothing to write.
            StoreError: the file is damaged.
        """
        judged = self.samples(model=model)
        models = sorted({each.model for each in judged})
        identities = sorted({each.identity for each in judged})
        if len(models) != 1 or len(identities) != 1:
            several = models if len(models) != 1 else identities
            raise InputError(
                "the samples of one model" if models else "at least one judged sample",
                ", ".join(map(repr, several)) or "none",
                where=str(self.path),
                hint="choose a model" if models else "judge with this store first",
            )
        newest = {each.sample.key: each for each in judged}
        write_recording(path, ((each.sample, each.verdicts) for each in newest.values()))
        return len(newest)

    # Upkeep

    def prune(
        self,
        *,
        older_than: timedelta | None = None,
        model: str | None = None,
        unanswered: bool = False,
    ) -> Pruned:
        """Remove calls and samples for which everything that is given holds.

        Args:
            older_than: they are older than this.
            model: this model judged them.
            unanswered: calls that answered nothing, and samples with unanswered cells. The next
                run asks again.

        Raises:
            InputError: nothing is given.
        """
        if older_than is None and model is None and not unanswered:
            raise InputError("an age, a model or unanswered=True", "none of them", where="prune")
        chosen = {
            "before": None if older_than is None else time.time() - older_than.total_seconds(),
            "model": model,
            "least": int(unanswered),
        }
        which = (
            "WHERE (:before IS NULL OR created < :before) AND (:model IS NULL OR model = :model)"
            " AND unanswered >= :least"
        )
        with self._write() as connection:
            calls = connection.execute(f"DELETE FROM calls {which}", chosen).rowcount
            samples = connection.execute(f"DELETE FROM samples {which}", chosen).rowcount
        self._database.compact()
        return Pruned(calls, samples)

    def merge(self, other: VerdictStore) -> Merged:
        """Take over another store's calls, samples and requests; it stays as it is.

        Of a call that both have, one with an answer is kept, and of a sample the one that was
        judged last: merging in any order, and again, gives the same.

        Raises:
            StoreError: either store is damaged.
        """
        calls, samples, requests = other.calls(), other.samples(), other.requests()
        added = 0
        with self._write() as connection:
            for call in calls:
                own = _call_of(connection, call.key)
                if own is None or (call.answered, own.created) > (own.answered, call.created):
                    row = call.row()
                    connection.execute(_insert("calls", row), row)
                    added += own is None
                connection.execute("DELETE FROM requests WHERE key = ?", (call.key,))
            known = dict(connection.execute("SELECT key, created FROM samples").fetchall())
            newer = [each for each in samples if each.created > known.get(each.key, -1.0)]
            for row in (each.row() for each in newer):
                connection.execute(_insert("samples", row), row)
            for request in requests:
                if _call_of(connection, request.key) is None:
                    row = request.row()
                    connection.execute(_insert("requests", row), row)
        return Merged(added, sum(each.key not in known for each in newer))

    def stats(self) -> StoreStats:
        """What is in it."""
        calls, samples = self.calls(), self.samples()
        usage = sum((call.usage for call in calls), Usage())
        names = sorted({call.model for call in calls} | {sample.model for sample in samples})
        oldest, newest = (calls[0].created, calls[-1].created) if calls else (None, None)
        with self._read():
            size = self.path.stat().st_size
        return StoreStats(len(calls), len(samples), usage, tuple(names), oldest, newest, size)

    def check(self) -> None:
        """Read the whole file. Raises `StoreError` if any of it is damaged."""
        self.calls()
        self.samples()
        self.requests()

    def _all(self, table: str, read: Callable[[Row], T]) -> list[T]:
        with self._read() as connection:
            # A damaged page may hide rows, and nobody would miss them.
            answer = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if answer != ("ok",):
                raise self.damaged(" ".join(map(str, answer or ())))
            rows = connection.execute(f"SELECT * FROM {table} ORDER BY created, key").fetchall()
        try:
            return [read(row) for row in rows]
        except ValueError as error:
            what = f"a kept {table.removesuffix('s')} that cannot be read: {error}"
            raise self.damaged(what) from None

    def damaged(self, what: str) -> StoreError:
        """The error to raise: what is wrong, in this file, and what can be done."""
        hint = "nothing was changed; move the file away to start a new store"
        return StoreError(
            "a sound verdict store", encodable(what), where=str(self.path), hint=hint
        )

    def _read(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._database.transaction(write=False)

    def _write(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._database.transaction()

    def _failure(self, error: Exception) -> StoreError:
        got = encodable(getattr(error, "strerror", None) or str(error) or type(error).__name__)
        if isinstance(error, (sqlite3.OperationalError, sqlite3.ProgrammingError, OSError)):
            expected = "a store that can be read and written"
            hints = (hint for sign, hint in _HINTS.items() if sign in got)
            return StoreError(expected, got, where=str(self.path), hint=next(hints, ""))
        return self.damaged(got)


_HINTS = {
    "locked": "another program has been writing to it for 30 seconds",
    "full": "free some space on the disk; what was finished before is kept",
    "readonly": "make the file and its folder writable",
    "unable to open": "check that its folder exists and can be written",
    "disk I/O": "check that the file is still there, and that the disk is a local one",
}


def _call_of(connection: sqlite3.Connection, key: str) -> StoredCall | None:
    """The call of that key, if it is there and sound."""
    row = connection.execute("SELECT * FROM calls WHERE key = ?", (key,)).fetchone()
    try:
        call = None if row is None else StoredCall.from_row(row)
    except ValueError:
        return None
    # Through a damaged index another call may be found, itself quite sound.
    return call if call is not None and call.key == key else None


def _insert(table: str, row: Row) -> str:
    return f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})"
