"""`VerdictStore`: judged calls in a file, so that none is paid for twice."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any, NamedTuple

from noisesense._jsonl import as_path
from noisesense._lease import believed_alive, this_process
from noisesense._sqlite import Database
from noisesense._store_rows import StoredCall, StoredSample
from noisesense._store_tables import prepare
from noisesense.errors import InputError, StoreError
from noisesense.judge import Usage
from noisesense.recording import write_recording

__all__ = ["Pruned", "StoreStats", "StoredCall", "StoredSample", "VerdictStore"]

_LEASE_SECONDS = 60.0


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


class VerdictStore:
    """A SQLite file of judged calls, found by prompt version, model and input.

    A run that was killed resumes from it, and processes share it: finished calls are never
    repeated, and a call that one task or process is making the others wait for. It holds the
    judged samples' texts and the model's replies; no prompts, and no keys of providers.

    Args:
        path: made if it is not there. It must lie on a local disk.
        must_exist: raise instead of making it.

    Raises:
        StoreError: damaged, another program's file, another format, no access.
    """

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False) -> None:
        self.path = as_path(path, StoreError)
        if must_exist and not self.path.is_file():
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

    def get(self, key: str) -> StoredCall | None:
        """The finished call of that key."""
        with self._read() as connection:
            row = connection.execute("SELECT * FROM calls WHERE key = ?", (key,)).fetchone()
        return None if row is None else StoredCall.from_row(row)

    def put(self, call: StoredCall) -> None:
        """Keep a finished call, and end the claim on it."""
        row = call.row()
        with self._write() as connection:
            connection.execute(_insert("calls", row), row)
            connection.execute("DELETE FROM leases WHERE key = ?", (call.key,))

    def claim(self, key: str) -> bool:
        """Is it the caller's to make this call? If not, it is finished or being made.

        A claim ends with `put` or `release`, with its process (seen on the same machine), or
        after a minute: a call that takes longer may be made by a second process as well.
        """
        now = time.time()
        with self._write() as connection:
            if connection.execute("SELECT 1 FROM calls WHERE key = ?", (key,)).fetchone():
                return False
            row = connection.execute(
                "SELECT owner FROM leases WHERE key = ? AND until > ?", (key, now)
            ).fetchone()
            if row is not None and believed_alive(row[0]):
                return False
            connection.execute(
                "INSERT OR REPLACE INTO leases VALUES (?, ?, ?)",
                (key, this_process(), now + _LEASE_SECONDS),
            )
            return True

    def release(self, key: str) -> None:
        """Give a claim back without an answer."""
        with self._write() as connection:
            connection.execute(
                "DELETE FROM leases WHERE key = ? AND owner = ?", (key, this_process())
            )

    def mark_unanswered(self, keys: Iterable[str]) -> None:
        """Mark finished calls whose replies answered nothing, for `prune`."""
        with self._write() as connection:
            connection.executemany(
                "UPDATE calls SET unanswered = 1 WHERE key = ?", [(key,) for key in keys]
            )

    def calls(self) -> list[StoredCall]:
        """All finished calls, oldest first."""
        with self._read() as connection:
            rows = connection.execute("SELECT * FROM calls ORDER BY created, key").fetchall()
        return [StoredCall.from_row(row) for row in rows]

    # Samples

    def put_sample(self, judged: StoredSample) -> None:
        """Keep a sample judged to the end, for `export`."""
        row = judged.row()
        with self._write() as connection:
            connection.execute(_insert("samples", row), row)

    def samples(self, *, model: str | None = None) -> list[StoredSample]:
        """All samples judged to the end, or one model's; oldest first."""
        with self._read() as connection:
            rows = connection.execute(
                "SELECT * FROM samples WHERE model = ? OR ? IS NULL ORDER BY created, key",
                (model, model),
            ).fetchall()
        return [self._sample(row) for row in rows]

    def export(self, path: str | os.PathLike[str], *, model: str | None = None) -> int:
        """Write a recording of the judged samples; how many they are.

        A sample that was judged several times (with other settings or prompts) is written with
        its newest verdicts.

        Raises:
            InputError: several models have judged and none is chosen, or nothing to write.
        """
        judged = self.samples(model=model)
        models = sorted({each.model for each in judged})
        if len(models) != 1:
            raise InputError(
                "the samples of one model" if models else "at least one judged sample",
                ", ".join(map(repr, models)) or "none",
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

    def stats(self) -> StoreStats:
        """What is in it."""
        with self._read() as connection:
            count, calls, asked, given, cost, oldest, newest = connection.execute(
                "SELECT count(*), sum(calls), sum(input_tokens), sum(output_tokens), sum(cost),"
                " min(created), max(created) FROM calls"
            ).fetchone()
            (samples,) = connection.execute("SELECT count(*) FROM samples").fetchone()
            models = connection.execute(
                "SELECT model FROM calls UNION SELECT model FROM samples ORDER BY model"
            ).fetchall()
        usage = Usage(
            calls=calls or 0, input_tokens=asked or 0, output_tokens=given or 0, cost=cost
        )
        names = tuple(name for (name,) in models)
        return StoreStats(count, samples, usage, names, oldest, newest, self.path.stat().st_size)

    def check(self) -> None:
        """Read the whole file. Raises `StoreError` if any of it is damaged."""
        with self._read() as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise self.damaged(str(found))

    def damaged(self, what: str) -> StoreError:
        """The error to raise: what is wrong, in this file, and what can be done."""
        hint = "nothing was changed; move the file away to start a new store"
        return StoreError("a sound verdict store", what, where=str(self.path), hint=hint)

    def _read(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._database.transaction(write=False)

    def _write(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._database.transaction()

    def _failure(self, error: sqlite3.Error) -> StoreError:
        if isinstance(error, (sqlite3.OperationalError, sqlite3.ProgrammingError)):
            expected = "a store that can be read and written"
            return StoreError(expected, str(error), where=str(self.path))
        return self.damaged(str(error))

    def _sample(self, row: tuple[Any, ...]) -> StoredSample:
        try:
            return StoredSample.from_row(row)
        except ValueError as error:
            raise self.damaged(f"a kept sample that cannot be read: {error}") from None


def _insert(table: str, row: tuple[Any, ...]) -> str:
    return f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})"
