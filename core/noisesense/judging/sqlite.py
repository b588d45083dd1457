"""The SQLite file behind a store: tables, transactions across threads and processes, leases."""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from noisesense.errors import StoreError

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
        connection = self._connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        self._close_connection = weakref.finalize(self, connection.close)
        try:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA cell_size_check = ON")
            # A damaged text is read, and found out by its row's checksum.
            connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
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
            self._close_connection()
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
    with connection:  # commits; or rolls back, also if that fails
        yield


_APPLICATION = 0x4E6F6953  # "NoiS": tells `file` and us that it is one of ours
_FORMAT = 2

_TABLES = """
CREATE TABLE calls (
    key TEXT PRIMARY KEY, created REAL NOT NULL, model TEXT NOT NULL, identity TEXT NOT NULL,
    version TEXT NOT NULL, step TEXT NOT NULL, vote INTEGER NOT NULL,
    sample_key TEXT NOT NULL, label TEXT NOT NULL, reply TEXT,
    calls INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    cost REAL, unanswered INTEGER NOT NULL, checksum TEXT NOT NULL
);
CREATE TABLE leases (key TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL);
CREATE TABLE samples (
    key TEXT PRIMARY KEY, created REAL NOT NULL, model TEXT NOT NULL, identity TEXT NOT NULL,
    version TEXT NOT NULL, settings TEXT NOT NULL, sample TEXT NOT NULL,
    verdicts TEXT NOT NULL, unanswered INTEGER NOT NULL, checksum TEXT NOT NULL
)
"""


def prepare(connection: sqlite3.Connection, path: str) -> None:
    """Make the tables in a new file; in another, check that they are ours.

    Raises:
        StoreError: another program's database, or another format of ours.
    """

    def value(question: str) -> int:
        return int(connection.execute(question).fetchone()[0])

    application = value("PRAGMA application_id")
    # Damage may hide the tables; a file of several pages is not a new one.
    new = value("PRAGMA page_count") <= 1 and not value("SELECT count(*) FROM sqlite_master")
    if new and not application:
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
        return
    if application != _APPLICATION:
        raise StoreError("a verdict store", "another program's database", where=path)
    version = value("PRAGMA user_version")
    if version != _FORMAT:
        raise StoreError(
            f"a verdict store of format {_FORMAT}",
            f"format {version}",
            where=path,
            hint="use the version of noisesense that wrote it, or another file",
        )


_own: tuple[int, str] = (-1, "")


def this_process() -> str:
    """``host/pid/token``, which no other process ever has; a forked child gets its own."""
    global _own
    pid = os.getpid()
    if _own[0] != pid:
        _own = pid, f"{socket.gethostname()}/{pid}/{uuid.uuid4().hex}"
    return _own[1]


def believed_alive(name: object) -> bool:
    """Does the process of that name still run? False only if it certainly does not."""
    own = this_process()
    if name == own:
        return True
    host, pid, *_ = [*(name if isinstance(name, str) else "").rsplit("/", 2), "", ""]
    # Elsewhere there is nobody to ask, nor is there about a name that is damaged; and
    # os.kill(pid, 0) would end a process on Windows.
    if host != own.rsplit("/", 2)[0] or os.name != "posix" or not _is_number(pid):
        return True
    # Our own number under another name is a process that ended before this one began.
    return int(pid) != os.getpid() and _runs(int(pid))


def _is_number(pid: str) -> bool:
    return pid.isascii() and pid.isdecimal() and 0 < len(pid) < 10 and int(pid) > 0


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
