"""`VerdictStore`: judged calls in a SQLite file, so that none is paid for twice."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from noisesense.errors import InputError, StoreError, encodable
from noisesense.judging.protocol import NO_USAGE, Usage
from noisesense.judging.store_file import StoreFile

_LEASE_SECONDS, _RENEW_SECONDS = 20.0, 5.0
_REQUEST = "request "
UNUSABLE = "null"
"""The reply of a request in a batch file, where nothing in its answer can be used."""


class StoredRequest(NamedTuple):
    """A request that is out in a batch file, without an answer yet.

    Attributes:
        key: of the call.
        exchange: a digest of the samples and of the judge it was made for.
        form: the name of the reply's form.
        model: by name.
        version: of the prompts.
    """

    key: str
    exchange: str
    form: str
    model: str
    version: str


class StoredCalls(NamedTuple):
    """What a store has of one model, asked with one version of the prompts.

    Attributes:
        calls: how many; ``usage`` is what they cost, and what replaying them saves.
        oldest: when they were made, in seconds since 1970; ``newest`` likewise.
    """

    model: str
    version: str
    calls: int
    usage: Usage
    oldest: float
    newest: float


class VerdictStore(StoreFile):
    """A SQLite file of judged calls, found by prompt version, model and input.

    A run that was killed resumes from it, and processes share it: finished calls are never
    repeated, and a call that one task or process is making the others wait for. Whoever makes a
    call shows a sign of life every 5 seconds; after 20 without one the call is free. Only useful
    replies are kept, each with a checksum: a damaged one is asked again. It holds no prompts and
    no keys.

    A store that cannot be written to (a read-only disk) gives what it has.

    Args:
        path: made if it is not there. It must lie on a local disk.
        must_exist: raise instead of making it.

    Raises:
        StoreError: damaged, another program's file, another format, no access.
    """

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False) -> None:
        super().__init__(path, must_exist=must_exist)
        self._held: dict[str, tuple[str, threading.Event]] = {}
        self._seen: dict[str, tuple[object, float]] = {}

    def __repr__(self) -> str:
        return f"VerdictStore({str(self.path)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return VerdictStore, (self.path,)

    # Calls: never a wait for another program's lock that would hold up the event loop

    async def get(self, key: str) -> str | None:
        """The reply of that call, as JSON; None if there is no sound one."""
        return await self._soon(partial(_reply_of, key=key), write=False)

    async def claim(self, key: str, *, over: str | None = None) -> bool:
        """May the caller make this call? If not, `get` has it or somebody is making it.

        Args:
            over: a kept reply that is of no use, and may be made again.
        """
        owner, done = uuid.uuid4().hex, threading.Event()

        def claimed(connection: sqlite3.Connection) -> bool:
            row = _row_of(connection, key)
            if _reply_of(connection, key) not in (None, over) or self._is_being_made(row):
                return False
            _put(connection, key, None, owner)
            self._held[key] = owner, done
            return True

        mine = await self._soon(claimed)
        if mine:
            with suppress(RuntimeError):  # no more threads, as the process is ending
                threading.Thread(target=self._renew, args=(key, owner, done), daemon=True).start()
        return mine

    async def put(self, key: str, reply: str, model: str, version: str, usage: Usage) -> None:
        """Keep a finished call. Its claim ends."""
        await self._soon(
            lambda connection: _put(connection, key, reply, "", model, version, usage)
        )
        self._end(key)

    def release(self, key: str) -> None:
        """A claim ends without a reply. If that cannot be written, it runs out."""
        if owner := self._end(key):
            with suppress(StoreError):
                self._patiently(
                    lambda connection: connection.execute(_RELEASE, (key, owner)), seconds=1.0
                )

    def _end(self, key: str) -> str:
        """No more signs of life. Returns whose they were; empty if the call is not claimed."""
        owner, done = self._held.pop(key, ("", threading.Event()))
        done.set()
        return owner

    def _renew(self, key: str, owner: str, done: threading.Event) -> None:
        while not done.wait(_RENEW_SECONDS):
            with suppress(StoreError):  # whoever uses the store next is told
                self._patiently(
                    lambda connection: connection.execute(_RENEW, (key, owner)),
                    seconds=_RENEW_SECONDS,
                )

    def _is_being_made(self, row: Any) -> bool:
        """As long as there is a sign of life from time to time: no two clocks are compared."""
        if row is None or row["reply"] is not None:
            return False
        sign, now = (row["owner"], row["beat"]), time.monotonic()
        seen, since = self._seen.get(row["key"], (None, now))
        if sign == seen:
            return now - since < _LEASE_SECONDS
        self._seen[row["key"]] = sign, now
        return True

    # Requests of batch files: rows beside those of their calls

    def requests(self) -> dict[str, StoredRequest]:
        """Those without an answer, by their keys."""

        def waiting(connection: sqlite3.Connection) -> dict[str, StoredRequest]:
            found: dict[str, StoredRequest] = {}
            question = f"SELECT * FROM calls WHERE key LIKE '{_REQUEST}%' ORDER BY rowid"
            for row in filter(_is_sound, connection.execute(question).fetchall()):
                key = row["key"].removeprefix(_REQUEST)
                if _reply_of(connection, key) is None:
                    exchange, form = json.loads(row["reply"])
                    found[key] = StoredRequest(key, exchange, form, row["model"], row["version"])
            return found

        return self._patiently(waiting, write=False)

    async def put_request(self, request: StoredRequest) -> None:
        """Note that it is out."""
        key, exchange, form, model, version = request
        about = json.dumps([exchange, form])
        await self.put(f"{_REQUEST}{key}", about, model, version, NO_USAGE)

    # Upkeep

    def stats(self) -> list[StoredCalls]:
        """What is in it, by model and version of the prompts.

        Raises:
            StoreError: the file is damaged.
        """

        def counted(connection: sqlite3.Connection) -> dict[tuple[str, str], StoredCalls]:
            found: dict[tuple[str, str], StoredCalls] = {}
            for row in _useful(connection):
                of, made = (row["model"], row["version"]), row["made"]
                known = found.get(of) or StoredCalls(*of, 0, Usage(), made, made)
                usage = known.usage + Usage(**json.loads(row["usage"]))
                times = min(known.oldest, made), max(known.newest, made)
                found[of] = StoredCalls(*of, known.calls + 1, usage, *times)
            return found

        return [calls for _, calls in sorted(self._patiently(counted, write=False).items())]

    def prune(
        self, *, older_than: timedelta | None = None, model: str | None = None, dry: bool = False
    ) -> int:
        """Remove the calls that are older than this and of this model; how many they are.

        Args:
            older_than: with ``model``, too, only what fits both.
            model: its name.
            dry: count, and remove nothing.
        """
        if older_than is None and model is None:
            raise InputError("an age or a model", "neither of them", where="prune")
        before = time.time() - older_than.total_seconds() if older_than else math.inf
        which = f"{_KEPT} AND made < ? AND model = coalesce(?, model)"

        def removed(connection: sqlite3.Connection) -> int:
            if dry:
                question = f"SELECT count(*) {which}"
                return int(connection.execute(question, (before, model)).fetchone()[0])
            return connection.execute(f"DELETE {which}", (before, model)).rowcount

        return self._patiently(removed, write=not dry)

    def merge(self, other: VerdictStore) -> int:
        """Take over another store's calls where this one has none; how many are new."""
        rows = other._patiently(lambda connection: list(_useful(connection)), write=False)

        def taken(connection: sqlite3.Connection) -> int:
            new = [row for row in rows if _reply_of(connection, row["key"]) in (None, UNUSABLE)]
            connection.executemany(_PUT, new)
            return len(new)

        return self._patiently(taken)


_KEPT = f"FROM calls WHERE reply IS NOT NULL AND key NOT LIKE '{_REQUEST}%'"
_PUT = "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_RENEW = "UPDATE calls SET beat = beat + 1 WHERE key = ? AND owner = ? AND reply IS NULL"
_RELEASE = "DELETE FROM calls WHERE key = ? AND owner = ? AND reply IS NULL"


def _row_of(connection: sqlite3.Connection, key: str) -> Any:
    return connection.execute("SELECT * FROM calls WHERE key = ?", (key,)).fetchone()


def _reply_of(connection: sqlite3.Connection, key: str) -> str | None:
    """The reply, if there is one and all that was put with it is as it was."""
    row = _row_of(connection, key)
    # Through a damaged index another call may be found, itself quite sound.
    return row["reply"] if row is not None and row["key"] == key and _is_sound(row) else None


def _useful(connection: sqlite3.Connection) -> Iterator[sqlite3.Row]:
    rows = filter(_is_sound, connection.execute(f"SELECT * {_KEPT}"))
    return (row for row in rows if row["reply"] != UNUSABLE)


def _put(
    connection: sqlite3.Connection,
    key: str,
    reply: str | None,
    owner: str,
    model: str = "",
    version: str = "",
    usage: Usage = NO_USAGE,
) -> None:
    texts = encodable(model), encodable(version), json.dumps(asdict(usage))
    row = (key, reply and encodable(reply), owner, 0, time.time(), *texts)
    connection.execute(_PUT, (*row, _checksum(row)))


def _is_sound(row: sqlite3.Row) -> bool:
    return bool(row["checksum"] == _checksum(row))


def _checksum(row: sqlite3.Row | tuple[Any, ...]) -> str:
    """Of all but the claim."""
    content = json.dumps([*row[:2], *row[4:8]], default=repr)
    return hashlib.sha256(content.encode()).hexdigest()[:32]
