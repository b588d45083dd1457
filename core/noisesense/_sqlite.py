"""A SQLite file that threads, forks and processes share."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

__all__ = ["Database"]

_BUSY_SECONDS = 30.0
# SQLite's own; and what Python says of names that are no UTF-8 and sizes that cannot be.
_FAILURES = (sqlite3.Error, UnicodeError, OverflowError, MemoryError)

_in_use: weakref.WeakSet[Database] = weakref.WeakSet()
_forking: list[Database] = []
_fork_lock = threading.Lock()


class Database:
    """One connection in each process, used by one thread at a time.

    WAL mode: readers never wait, writers wait for each other up to 30 seconds. What is committed
    outlives the process being killed. SQLite's connections must not cross a fork, not even to be
    closed: they are closed before it, and opened again on both sides when next used.

    Args:
        path: must lie on a local disk: WAL does not work over a network.
        prepare: called with each new connection, under SQLite's write lock.
        failure: makes the exception to raise from SQLite's own, and from those of Python over
            what a damaged file holds.
    """

    def __init__(
        self,
        path: Path,
        prepare: Callable[[sqlite3.Connection], None],
        failure: Callable[[Exception], Exception],
    ) -> None:
        self._path = path
        self._prepare = prepare
        self._failure = failure
        self._closed = False
        self._connection: sqlite3.Connection | None = None
        self.lock = threading.RLock()
        with self.connected():
            _in_use.add(self)

    def _open(self) -> sqlite3.Connection:
        connection = self._connection = _connect(self._path)
        weakref.finalize(self, connection.close)
        try:
            with _begun(connection, write=True):
                self._prepare(connection)
            # Only now: it is written into the file, which may have been another program's.
            _switch_to_wal(connection)
        except BaseException:
            self.suspend()
            raise
        return connection

    @contextmanager
    def connected(self) -> Generator[sqlite3.Connection, None, None]:
        """The connection, outside of any transaction. SQLite's errors come as ours."""
        with self.lock:
            try:
                if self._closed:
                    raise sqlite3.ProgrammingError("it is closed")
                yield self._connection or self._open()
            except _FAILURES as error:
                raise self._failure(error) from error

    @contextmanager
    def transaction(self, *, write: bool = True) -> Generator[sqlite3.Connection, None, None]:
        """All or nothing. Never await inside."""
        with self.connected() as connection, _begun(connection, write=write):
            yield connection

    def compact(self) -> None:
        """Give freed pages back to the file system, if nobody is in the way."""
        with self.connected() as connection, suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA incremental_vacuum").fetchall()

    def suspend(self) -> None:
        """Close the connection; the next use opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Close for good."""
        with self.lock:
            self._closed = True
            self.suspend()


def _before_fork() -> None:
    _fork_lock.acquire()  # another thread may be forking as well
    _forking[:] = _in_use
    for database in _forking:
        database.lock.acquire()  # whoever is in a transaction ends it first
        database.suspend()


def _after_fork() -> None:
    for database in _forking:
        database.lock.release()
    _forking.clear()
    _fork_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cell_size_check = ON")
        # A damaged text is read, and found out by its row's checksum.
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    except BaseException:
        connection.close()
        raise
    return connection


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """SQLite does not wait for another process that is switching at the same moment."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def _begun(connection: sqlite3.Connection, *, write: bool) -> Generator[None, None, None]:
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
