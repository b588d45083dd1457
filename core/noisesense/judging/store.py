"""`VerdictStore`: the judge's calls in a SQLite file, so that none is paid for twice."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from noisesense.errors import StoreError, encodable
from noisesense.jsonl import as_path

T = TypeVar("T")

_BUSY_SECONDS = 30.0
_LEASE_SECONDS = 20.0
_RENEW_SECONDS = 5.0

# Without a reply the call is in progress; ``beat`` increases while its owner lives. A file has the
# right format if it has this very statement.
_TABLE = (
    "CREATE TABLE calls (key TEXT PRIMARY KEY, reply TEXT, owner TEXT NOT NULL,"
    " beat INTEGER NOT NULL, checksum TEXT NOT NULL)"
)
_PUT = "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?)"
_RENEW = "UPDATE calls SET beat = beat + 1 WHERE key = ? AND owner = ? AND reply IS NULL"
_RELEASE = "DELETE FROM calls WHERE key = ? AND owner = ? AND reply IS NULL"


class VerdictStore:
    """A SQLite file of the judge's calls, found by prompt version, model and input.

    A killed run resumes from it. Processes share it: finished calls are not repeated, and while
    one task or process makes a call, the others wait for it. Its owner renews the claim on the
    call every 5 seconds; after 20 seconds without renewal, others may make the call. Only usable
    replies are kept, each with a checksum; a call whose reply is damaged is made again. The file
    holds no prompts and no API keys. Open the store again after a fork.

    Args:
        path: a writable file on a local disk; created if it does not exist.

    Raises:
        StoreError: damaged, not a verdict store, another format, or no access. Each use of the
            store may raise it, but not `close` and `release`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = as_path(path, StoreError)
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._connections: list[sqlite3.Connection] = []  # one, while it is open
        weakref.finalize(self, _close, self._connections, self._pid)
        self._owner = uuid.uuid4().hex
        self._claims: set[str] = set()
        weak = weakref.ref(self)
        self._renewal = threading.Thread(target=self._keep_renewing, args=(weak,), daemon=True)
        self._beats: dict[str, _Beat] = {}
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
        """Close the connection; the next use opens a new one. Claims are left to expire."""
        with self._lock:
            self._claims.clear()
            _close(self._connections, self._pid)

    async def get(self, key: str) -> str | None:
        """Return the reply to that call, as JSON; None if there is none, or a damaged one."""
        return self.transact(partial(_reply_of, key=key), write=False)

    async def claim(self, key: str, *, over: str | None = None) -> bool:
        """Take the call for the caller and return True; False if it has a reply or is being made.

        A claim of this same store counts as being made, too.

        Args:
            key: of the call.
            over: a stored reply that is unusable: the call may be made again.
        """

        def claim(connection: sqlite3.Connection) -> bool:
            if _reply_of(connection, key) not in (None, over):
                return False
            if self._is_in_progress(_row_of(connection, key)):
                return False
            _put(connection, key, None, self._owner)
            self._claims.add(key)
            with suppress(RuntimeError):  # the thread runs already, or the process is ending
                self._renewal.start()
            return True

        return self.transact(claim)

    async def put(self, key: str, reply: str) -> None:
        """Store the reply to a call, in place of any other, and end the claim on it."""
        self.transact(lambda file: _put(file, key, reply, ""))
        self._claims.discard(key)

    async def release(self, key: str) -> None:
        """End this store's claim without a reply; without a claim, do nothing.

        A claim that cannot be released expires.
        """
        if key in self._claims:
            self._claims.discard(key)
            with suppress(StoreError):
                self.transact(lambda file: file.execute(_RELEASE, (key, self._owner)))

    def _renew(self) -> None:
        """Renew all claims."""
        # One lock for both steps: a store that is closed between them must not be opened again.
        with self._lock, suppress(StoreError):  # the next use of the store raises it
            claims = [(key, self._owner) for key in tuple(self._claims)]
            if claims:
                self.transact(lambda file: file.executemany(_RENEW, claims))

    @staticmethod
    def _keep_renewing(this: weakref.ref[VerdictStore]) -> None:
        """Renew the claims until the store is gone."""
        while (store := this()) is not None:
            store._renew()
            del store
            time.sleep(_RENEW_SECONDS)

    def _is_in_progress(self, row: Any) -> bool:
        """Tell whether the claim has been renewed lately, by this process's clock alone.

        One that is seen for the first time counts as renewed.
        """
        if row is None or row["reply"] is not None:
            return False
        now = time.monotonic()
        last = self._beats.get(row["key"])
        if last is None or (last.owner, last.beat) != (row["owner"], row["beat"]):
            self._beats[row["key"]] = _Beat(row["owner"], row["beat"], now)
            return True
        return now - last.seen < _LEASE_SECONDS

    def transact(self, work: Callable[[sqlite3.Connection], T], *, write: bool = True) -> T:
        """Run the function in a transaction and return its result; wait while the file is locked.

        If the function raises, nothing is written.

        Args:
            work: gets the connection.
            write: lock the file for other writers from the beginning.

        Raises:
            StoreError: the file cannot be used, is locked for over 30 seconds, or was opened
                before a fork; or ``work`` raised an error of SQLite or the system.
        """
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
        got = encodable(str(error) or type(error).__name__)
        hint = "make its folder, or move a damaged file away, and a new store is started"
        expected = "a store that can be read and written"
        return StoreError(expected, got, where=str(self.path), hint=hint)


class _Beat(NamedTuple):
    """The last renewal of a claim, and when this process has seen it."""

    owner: str
    beat: int
    seen: float


# The others are for names that are not UTF-8, and for impossible sizes in a damaged file.
_FAILURES = (sqlite3.Error, UnicodeError, OverflowError, MemoryError, OSError)


def _opened(path: Path) -> sqlite3.Connection:
    # For its owner alone; SQLite gives the files beside it the same mode.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
    connection.isolation_level = None  # transactions begin where we say so
    try:
        connection.row_factory = sqlite3.Row
        # A damaged text is read all the same; the checksum of the row detects it.
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        for pragma in ("synchronous = NORMAL", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            _check_format(connection, path)
        # After the check, as this writes to the file, which could be another program's. It does
        # not wait for another process that is opening the file, and will do the same.
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_format(connection: sqlite3.Connection, path: os.PathLike[str]) -> None:
    """Create the table in a new file; accept a file with just this table.

    Not one with triggers and views, which run with every query.
    """
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
    tables = [sql for (sql,) in connection.execute(query)]
    # A file of several pages is not new: damage hides its table.
    if not tables and connection.execute("PRAGMA page_count").fetchone()[0] <= 1:
        connection.execute(_TABLE)
    elif tables != [_TABLE]:
        hint = "use the version of noisesense that wrote it, or another file"
        expected = "a verdict store of this version's format"
        raise StoreError(expected, "another database", where=os.fspath(path), hint=hint)


def _close(connections: list[sqlite3.Connection], pid: int) -> None:
    while connections and os.getpid() == pid:  # after a fork they are the parent's
        connections.pop().close()


def _row_of(connection: sqlite3.Connection, key: str) -> Any:
    return connection.execute("SELECT * FROM calls WHERE key = ?", (key,)).fetchone()


def _reply_of(connection: sqlite3.Connection, key: str) -> str | None:
    """Return the reply, if there is one and its row is undamaged."""
    row = _row_of(connection, key)
    # A damaged index may lead to another row, itself undamaged.
    if row is None or row["key"] != key or row["checksum"] != _checksum(key, row["reply"]):
        return None
    reply: str | None = row["reply"]
    return reply


def _put(connection: sqlite3.Connection, key: str, reply: str | None, owner: str) -> None:
    """Write the reply to a call, or without one the owner's claim on it."""
    kept = None if reply is None else encodable(reply)
    beat = time.time_ns()  # so that no two claims of an owner are taken for one
    connection.execute(_PUT, (key, kept, owner, beat, _checksum(key, kept)))


def _checksum(key: str, reply: object) -> str:
    """Return the checksum of a row: of all its columns but those of the claim."""
    content = json.dumps([key, reply], default=repr)
    return hashlib.sha256(content.encode()).hexdigest()[:32]
