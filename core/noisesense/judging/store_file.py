"""A SQLite file of ours: opened, checked, shared with other processes, and its errors in words."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from noisesense.errors import StoreError, encodable
from noisesense.jsonl import as_path

T = TypeVar("T")
F = TypeVar("F", bound="StoreFile")

_BUSY_SECONDS = 30.0
# SQLite's own; and what Python says of names that are no UTF-8 and sizes that cannot be.
_FAILURES = (sqlite3.Error, UnicodeError, OverflowError, MemoryError, OSError)

# Without a reply the call is being made; ``beat`` counts up while its owner lives. A file is known
# by this text: another format needs another.
_TABLE = (
    "CREATE TABLE calls (key TEXT PRIMARY KEY, reply TEXT, owner TEXT NOT NULL,"
    " beat INTEGER NOT NULL, made REAL NOT NULL, model TEXT NOT NULL, version TEXT NOT NULL,"
    " usage TEXT NOT NULL, checksum TEXT NOT NULL)"
)


class _Process:
    """What each process has of its own: neither a connection nor a lock may cross a fork."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.connection: sqlite3.Connection | None = None


class StoreFile:
    """What a `noisesense.VerdictStore` is kept in.

    Args:
        path: made if it is not there.
        must_exist: raise instead of making it.

    Raises:
        StoreError: damaged, another program's file, another format, no access.
    """

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False) -> None:
        self.path = as_path(path, StoreError)
        if must_exist and not self.path.is_file():
            raise StoreError("a verdict store", "no such file", where=str(self.path))
        self._processes: dict[int, _Process] = {}
        weakref.finalize(self, _close, self._processes)
        self._mode = "rw" if must_exist else "rwc"
        self._patiently(lambda connection: None, write=False)
        self._mode = "rw"

    def __enter__(self: F) -> F:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close this process's connection; the next use opens another."""
        with self._own.lock:
            _close(self._processes)

    @property
    def _own(self) -> _Process:
        pid = os.getpid()
        return self._processes.get(pid) or self._processes.setdefault(pid, _Process())

    def _patiently(
        self,
        work: Callable[[sqlite3.Connection], T],
        *,
        write: bool = True,
        seconds: float = _BUSY_SECONDS,
    ) -> T:
        """Do the work in a transaction; while another program holds the lock, wait."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with suppress(_BusyError):
                return self._now(work, write)
            time.sleep(0.01)
        return self._now(work, write)

    async def _soon(self, work: Callable[[sqlite3.Connection], T], *, write: bool = True) -> T:
        """As `_patiently`; the event loop goes on."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while time.monotonic() < deadline:
            with suppress(_BusyError):
                return self._now(work, write)
            await asyncio.sleep(0.01)
        return self._now(work, write)

    def _now(self, work: Callable[[sqlite3.Connection], T], write: bool) -> T:
        """All or nothing. SQLite's errors come as ours."""
        own = self._own
        with own.lock:
            try:
                connection = own.connection = own.connection or self._open()
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                with connection:  # commits; or rolls back, also if that fails
                    return work(connection)
            except _FAILURES as error:
                raise self._failure(error) from error

    def _open(self) -> sqlite3.Connection:
        """Only to be read, where it cannot be written to."""
        try:
            return self._connect(self._mode)
        except sqlite3.OperationalError as error:
            if not self.path.is_file() or "lock" in str(error):
                raise
        return self._connect("ro&immutable=1")

    def _connect(self, mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            timeout=0,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = NORMAL")
            if mode == "rwc":
                connection.execute("PRAGMA auto_vacuum = FULL")  # a new file shrinks when pruned
            connection.execute("PRAGMA cell_size_check = ON")
            # A damaged text is read, and found out by its row's checksum.
            connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
            connection.execute("BEGIN IMMEDIATE" if mode.startswith("rw") else "BEGIN")
            with connection:
                self._check_format(connection)
            if mode.startswith("rw"):
                # Only now: it is written into the file, which may have been another program's.
                connection.execute("PRAGMA journal_mode = WAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_format(self, connection: sqlite3.Connection) -> None:
        """Our table alone; it is made in a new file."""
        # Triggers and views would run with every question, for as long as they like.
        question = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
        tables = [sql for (sql,) in connection.execute(question)]
        # Damage may hide the table; a file of several pages is not a new one.
        if not tables and connection.execute("PRAGMA page_count").fetchone()[0] <= 1:
            connection.execute(_TABLE)
        elif tables != [_TABLE]:
            raise StoreError(
                "a verdict store of this version's format",
                "another database",
                where=str(self.path),
                hint="use the version of noisesense that wrote it, or another file",
            )

    def _failure(self, error: Exception) -> StoreError:
        got = encodable(getattr(error, "strerror", None) or str(error) or type(error).__name__)
        kind = _BusyError if "locked" in got or "busy" in got else StoreError
        hint = next((hint for sign, hint in _HINTS.items() if sign in got), "")
        return kind("a store that can be read and written", got, where=str(self.path), hint=hint)


class _BusyError(StoreError):
    """Another program is writing to it."""


_HINTS = {
    "locked": "another program has been writing to it for 30 seconds",
    "readonly": "make the file and its folder writable",
    "unable to open": "check that its folder exists and can be written",
    "disk I/O": "check that the file is still there, and that the disk is a local one",
    "malformed": "nothing was changed; move the file away to start a new store",
    "not a database": "nothing was changed; move the file away to start a new store",
}


def _close(processes: dict[int, _Process]) -> None:
    own = processes.get(os.getpid())
    if own is not None and own.connection is not None:
        own.connection.close()
        own.connection = None
