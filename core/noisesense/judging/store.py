"""`VerdictStore`: judged calls in a SQLite file, so that none is paid for twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple, TypeVar

from noisesense.errors import StoreError, encodable
from noisesense.jsonl import as_path
from noisesense.judging.protocol import NO_USAGE, Usage

T = TypeVar("T")

_BUSY_SECONDS = 30.0
_LEASE_SECONDS, _RENEW_SECONDS = 20.0, 5.0
REQUEST = "request "
"""Before the key of a call: the row of a request for it that is out in a batch file."""
UNUSABLE = "null"
"""The reply of a request in a batch file, where nothing in its answer can be used."""

# Without a reply the call is being made; ``beat`` counts while its owner lives. This text is known
# as the file's format.
_TABLE = (
    "CREATE TABLE calls (key TEXT PRIMARY KEY, reply TEXT, owner TEXT NOT NULL,"
    " beat INTEGER NOT NULL, made REAL NOT NULL, model TEXT NOT NULL, version TEXT NOT NULL,"
    " usage TEXT NOT NULL, checksum TEXT NOT NULL)"
)
KEPT = f"FROM calls WHERE reply IS NOT NULL AND key NOT LIKE '{REQUEST}%'"
_PUT = "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_RENEW = "UPDATE calls SET beat = beat + 1 WHERE key = ? AND owner = ? AND reply IS NULL"
_RELEASE = "DELETE FROM calls WHERE key = ? AND owner = ? AND reply IS NULL"


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


class VerdictStore:
    """A SQLite file of judged calls, found by prompt version, model and input.

    A run that was killed resumes from it, and processes share it: finished calls are never
    repeated, and a call that one task or process is making the others wait for. Whoever makes a
    call shows a sign of life every 5 seconds; after 20 without one the call is free. Only useful
    replies are kept, each with a checksum: a damaged one is asked again. It holds no prompts and
    no keys. After a fork, open it anew.

    Args:
        path: made if it is not there. It must lie on a local disk, and be writable.
        must_exist: raise instead of making it.

    Raises:
        StoreError: damaged, another program's file, another format, no access.
    """

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False) -> None:
        self.path = as_path(path, StoreError)
        if must_exist and not self.path.is_file():
            raise StoreError("a verdict store", "no such file", where=str(self.path))
        self._lock, self._pid = threading.RLock(), os.getpid()
        self._connections: list[sqlite3.Connection] = []  # one, while it is open
        weakref.finalize(self, _close, self._connections, self._pid)
        self._owner, self._claims = uuid.uuid4().hex, set[str]()
        self._life = threading.Thread(target=self._live, args=(weakref.ref(self),), daemon=True)
        self._signs: dict[str, tuple[object, float]] = {}
        self.transact(lambda connection: None, write=False)

    def __repr__(self) -> str:
        return f"VerdictStore({str(self.path)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return VerdictStore, (self.path,)

    def __enter__(self) -> VerdictStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        with self._lock:
            self._claims.clear()
            _close(self._connections, self._pid)

    # Calls: never a wait for another program's lock that would hold up the event loop

    async def get(self, key: str) -> str | None:
        """The reply of that call, as JSON; None if there is no sound one."""
        return await self._soon(partial(reply_of, key=key), write=False)

    async def claim(self, key: str, *, over: str | None = None) -> bool:
        """May the caller make this call? If not, `get` has it or somebody is making it.

        Args:
            over: a kept reply that is of no use, and may be made again.
        """

        def claimed(connection: sqlite3.Connection) -> bool:
            row = _row_of(connection, key)
            if reply_of(connection, key) not in (None, over) or self._is_being_made(row):
                return False
            _put(connection, key, None, self._owner)
            self._claims.add(key)
            with suppress(RuntimeError):  # it is running already, or the process is ending
                self._life.start()
            return True

        return await self._soon(claimed)

    async def put(self, key: str, reply: str, model: str, version: str, usage: Usage) -> None:
        """Keep a finished call. Its claim ends."""
        row = key, reply, "", model, version, usage
        await self._soon(lambda connection: _put(connection, *row))
        self._claims.discard(key)

    async def release(self, key: str) -> None:
        """A claim ends without a reply. If that cannot be written, it runs out."""
        if key in self._claims:
            self._claims.discard(key)
            with suppress(StoreError):
                await self._soon(lambda file: file.execute(_RELEASE, (key, self._owner)))

    def _renew(self) -> bool:
        """A sign of life for each claim. False if it has to be tried again."""
        # In one go: between the two the store may be closed, and must not be opened again.
        with self._lock, suppress(StoreError):  # whoever uses the store next is told
            claims = [(key, self._owner) for key in tuple(self._claims)]
            if claims:
                self._now(lambda file: file.executemany(_RENEW, claims), write=True)
            return True
        return False

    @staticmethod
    def _live(this: weakref.ref[VerdictStore]) -> None:
        """Signs of life from time to time, as long as there is the store."""
        while (store := this()) is not None:
            pause = _RENEW_SECONDS if store._renew() else 0.05
            del store
            time.sleep(pause)

    def _is_being_made(self, row: Any) -> bool:
        """As long as there is a sign of life from time to time: no two clocks are compared."""
        if row is None or row["reply"] is not None:
            return False
        sign, now = (row["owner"], row["beat"]), time.monotonic()
        seen, since = self._signs.get(row["key"], (None, now))
        if sign != seen:
            self._signs[row["key"]] = sign, now
        return sign != seen or now - since < _LEASE_SECONDS

    def stats(self) -> list[StoredCalls]:
        """What is in it, by model and version of the prompts."""

        def counted(connection: sqlite3.Connection) -> dict[tuple[str, str], StoredCalls]:
            found: dict[tuple[str, str], StoredCalls] = {}
            for row in _useful(connection):
                of, made = (row["model"], row["version"]), row["made"]
                known = found.get(of) or StoredCalls(*of, 0, Usage(), made, made)
                usage = known.usage + Usage(**json.loads(row["usage"]))
                times = min(known.oldest, made), max(known.newest, made)
                found[of] = StoredCalls(*of, known.calls + 1, usage, *times)
            return found

        return [calls for _, calls in sorted(self.transact(counted, write=False).items())]

    def merge(self, other: VerdictStore) -> int:
        """Take over another store's calls where this one has none; how many are new."""
        rows = other.transact(lambda connection: list(_useful(connection)), write=False)

        def taken(connection: sqlite3.Connection) -> int:
            new = [row for row in rows if reply_of(connection, row["key"]) in (None, UNUSABLE)]
            connection.executemany(_PUT, new)
            return len(new)

        return self.transact(taken)

    def transact(self, work: Callable[[sqlite3.Connection], T], *, write: bool = True) -> T:
        """Do the work on the table ``calls`` in a transaction; while it is locked, wait."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while time.monotonic() < deadline:
            with suppress(_BusyError):
                return self._now(work, write)
            time.sleep(0.01)
        return self._now(work, write)

    async def _soon(self, work: Callable[[sqlite3.Connection], T], *, write: bool = True) -> T:
        """As `transact`; the event loop goes on."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while time.monotonic() < deadline:
            with suppress(_BusyError):
                return self._now(work, write)
            await asyncio.sleep(0.01)
        return self._now(work, write)

    def _now(self, work: Callable[[sqlite3.Connection], T], write: bool) -> T:
        """All or nothing. SQLite's errors come as ours."""
        if os.getpid() != self._pid:  # neither a connection nor a lock may cross a fork
            hint = "open the store in each process; they share its file"
            raise StoreError("the process that opened the store", "a fork of it", hint=hint)
        with self._lock:
            try:
                if not self._connections:
                    self._connections.append(_opened(self.path.absolute()))
                (connection,) = self._connections
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                with connection:  # commits; or rolls back, also if that fails
                    return work(connection)
            except _FAILURES as error:
                raise self._failure(error) from error

    def _failure(self, error: Exception) -> StoreError:
        got = encodable(getattr(error, "strerror", None) or str(error) or type(error).__name__)
        kind = _BusyError if "locked" in got or "busy" in got else StoreError
        hint = next((hint for sign, hint in _HINTS.items() if sign in got), "")
        return kind("a store that can be read and written", got, where=str(self.path), hint=hint)


class _BusyError(StoreError):
    """Another program is writing to it."""


# SQLite's own; and what Python says of names that are no UTF-8 and sizes that cannot be.
_FAILURES = (sqlite3.Error, UnicodeError, OverflowError, MemoryError, OSError)
_HINTS = {
    "locked": "another program has been writing to it for 30 seconds",
    "readonly": "make the file and its folder writable",
    "unable to open": "check that its folder exists and can be written",
    "disk I/O": "check that the file is still there, and that the disk is a local one",
    "malformed": "move the file away to start a new store",
    "not a database": "move the file away to start a new store",
}


def _opened(path: os.PathLike[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        connection.row_factory = sqlite3.Row
        # A damaged text is read, and found out by its row's checksum.
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        # With FULL a new file shrinks when it is pruned.
        for pragma in ("synchronous = NORMAL", "auto_vacuum = FULL", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            _check_format(connection, path)
        # Only now: it is written into the file, which may have been another program's.
        connection.execute("PRAGMA journal_mode = WAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_format(connection: sqlite3.Connection, path: os.PathLike[str]) -> None:
    """Our table alone; it is made in a new file."""
    # Triggers and views would run with every question, for as long as they like.
    question = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
    tables = [sql for (sql,) in connection.execute(question)]
    # Damage may hide the table; a file of several pages is not a new one.
    if not tables and connection.execute("PRAGMA page_count").fetchone()[0] <= 1:
        connection.execute(_TABLE)
    elif tables != [_TABLE]:
        hint = "use the version of noisesense that wrote it, or another file"
        expected = "a verdict store of this version's format"
        raise StoreError(expected, "another database", where=os.fspath(path), hint=hint)


def _close(connections: list[sqlite3.Connection], pid: int) -> None:
    while connections and os.getpid() == pid:  # a fork leaves its parent's alone
        connections.pop().close()


def _row_of(connection: sqlite3.Connection, key: str) -> Any:
    return connection.execute("SELECT * FROM calls WHERE key = ?", (key,)).fetchone()


def reply_of(connection: sqlite3.Connection, key: str) -> str | None:
    """The reply, if there is one and all that was put with it is as it was."""
    row = _row_of(connection, key)
    # Through a damaged index another call may be found, itself quite sound.
    return row["reply"] if row is not None and row["key"] == key and is_sound(row) else None


def _useful(connection: sqlite3.Connection) -> Iterator[sqlite3.Row]:
    rows = filter(is_sound, connection.execute(f"SELECT * {KEPT}"))
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


def is_sound(row: sqlite3.Row) -> bool:
    return bool(row["checksum"] == _checksum(row))


def _checksum(row: sqlite3.Row | tuple[Any, ...]) -> str:
    """Of all but the claim."""
    content = json.dumps([*row[:2], *row[4:8]], default=repr)
    return hashlib.sha256(content.encode()).hexdigest()[:32]
