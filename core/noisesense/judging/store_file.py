"""A SQLite file of ours: opened, checked, shared with other processes, and its errors in words."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from noisesense.errors import StoreError, encodable
from noisesense.jsonl import as_path

T = TypeVar("T")
F = TypeVar("F", bound="StoreFile")

_APPLICATION = 0x4E6F6953  # "NoiS": tells `file` and us that it is one of ours
_FORMAT = 3
_BUSY_SECONDS = 30.0
# SQLite's own; and what Python says of names that are no UTF-8 and sizes that cannot be.
_FAILURES = (sqlite3.Error, UnicodeError, OverflowError, MemoryError, OSError)

# No reply: the call is being made, by the owner; "null": it was answered with nothing usable, in
# a batch file. ``beat`` counts up while the owner lives: no two clocks are compared.
_TABLE = (
    "CREATE TABLE calls (key TEXT PRIMARY KEY, reply TEXT, owner TEXT NOT NULL,"
    " beat INTEGER NOT NULL, made REAL NOT NULL, model TEXT NOT NULL, version TEXT NOT NULL,"
    " usage TEXT NOT NULL, checksum TEXT NOT NULL)"
)


class StoreFile:
    """What a `noisesense.VerdictStore` is kept in.

    Args:
        path: made if it is not there.
        must_exist: raise instead of making it.

    Raises:
        StoreError: damaged, another program's file, another format, no access.
    """

    _connection: sqlite3.Connection | None

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False) -> None:
        self.path = as_path(path, StoreError)
        if must_exist and not self.path.is_file():
            raise StoreError("a verdict store", "no such file", where=str(self.path))
        self._mode = "rw" if must_exist else "rwc"
        self._inherited: list[object] = []
        self._begin_process()
        self._patiently(lambda connection: None)
        self._mode = "rw"

    def __enter__(self: F) -> F:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close this process's connection; the next use opens another."""
        with self._lock:
            if self._connection is not None:
                self._close_connection()
                self._connection = None

    def _begin_process(self) -> None:
        """A connection must not cross a fork, not even to be closed: it is kept aside."""
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._connection = None

    def _patiently(
        self,
        work: Callable[[sqlite3.Connection], T],
        *,
        write: bool = True,
        seconds: float = _BUSY_SECONDS,
    ) -> T:
        """Do the work in a transaction; while another program holds the lock, wait."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self._now(work, write)
            except _BusyError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.01)

    async def _soon(self, work: Callable[[sqlite3.Connection], T], *, write: bool = True) -> T:
        """As `_patiently`; the event loop goes on."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                return self._now(work, write)
            except _BusyError:
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.01)

    def _now(self, work: Callable[[sqlite3.Connection], T], write: bool) -> T:
        """All or nothing. SQLite's errors come as ours."""
        if self._pid != os.getpid():
            self._inherited += [self._connection, self._close_connection.detach()]
            self._begin_process()
        with self._lock:
            try:
                connection = self._open()
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                with connection:  # commits; or rolls back, also if that fails
                    return work(connection)
            except _FAILURES as error:
                raise self._failure(error) from error

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None:
            return self._connection
        try:
            connection = self._connect(f"mode={self._mode}")
        except sqlite3.OperationalError as error:
            if not self.path.is_file() or "lock" in str(error):
                raise
            try:
                connection = self._connect("mode=ro")
            except sqlite3.OperationalError:
                wal = self.path.with_name(f"{self.path.name}-wal")
                if wal.exists() and wal.stat().st_size:
                    raise
                connection = self._connect("mode=ro&immutable=1")
        self._connection = connection
        return connection

    def _connect(self, options: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?{options}",
            timeout=0,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        self._close_connection = weakref.finalize(self, connection.close)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA cell_size_check = ON")
            # A damaged text is read, and found out by its row's checksum.
            connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
            if "ro" in options.split("&")[0]:
                self._check_format(connection)
                return connection
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                self._prepare(connection)
            # Only now: it is written into the file, which may have been another program's.
            connection.execute("PRAGMA journal_mode = WAL")
        except BaseException:
            self._close_connection()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the table in a new file; in another, check that it is ours."""
        # Damage may hide the table; a file of several pages is not a new one.
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        if pages <= 1 and not tables and not application:
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
        else:
            self._check_format(connection)

    def _check_format(self, connection: sqlite3.Connection) -> None:
        where, hint = (
            str(self.path),
            "use the version of noisesense that wrote it, or another file",
        )
        if connection.execute("PRAGMA application_id").fetchone() != (_APPLICATION,):
            raise StoreError("a verdict store", "another program's database", where=where)
        expected = f"a verdict store of format {_FORMAT}"
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != _FORMAT:
            raise StoreError(expected, f"format {version}", where=where, hint=hint)
        # Triggers and views would run with every question, for as long as they like.
        question = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
        if connection.execute(question).fetchall() != [(_TABLE,)]:
            raise StoreError(expected, "other tables", where=where, hint=hint)

    def _failure(self, error: Exception) -> StoreError:
        got = encodable(getattr(error, "strerror", None) or str(error) or type(error).__name__)
        kind = _BusyError if "locked" in got or "busy" in got else StoreError
        if isinstance(error, (sqlite3.OperationalError, sqlite3.ProgrammingError, OSError)):
            expected = "a store that can be read and written"
            hint = next((hint for sign, hint in _HINTS.items() if sign in got), "")
            return kind(expected, got, where=str(self.path), hint=hint)
        hint = "nothing was changed; move the file away to start a new store"
        return StoreError("a sound verdict store", got, where=str(self.path), hint=hint)


class _BusyError(StoreError):
    """Another program is writing to it."""


_HINTS = {
    "locked": "another program has been writing to it for 30 seconds",
    "full": "free some space on the disk; what was finished before is kept",
    "readonly": "make the file and its folder writable",
    "unable to open": "check that its folder exists and can be written",
    "disk I/O": "check that the file is still there, and that the disk is a local one",
}


def this_process() -> str:
    """``host/number/start``; a forked child has its own."""
    return _named(os.getpid())


@lru_cache(maxsize=4)
def _named(pid: int) -> str:
    host = socket.gethostname()
    with suppress(OSError):  # containers may share a host's name, and not its numbers
        host += f" {Path('/proc/self/ns/pid').readlink()}"
    return f"{host.replace('/', ' ')}/{pid}/{_state_and_start(pid)[1]}"


def has_ended(owner: str) -> bool:
    """Has the process whose name it begins with ended? True only if it certainly has."""
    host, number, start, *_ = [*owner.split("/"), "", ""]
    sound = number.isascii() and number.isdecimal() and 0 < len(number) < 10 and int(number) > 0
    # Elsewhere there is nobody to ask, nor is there about a name that is damaged; and
    # os.kill(pid, 0) would end a process on Windows.
    if host != this_process().split("/")[0] or os.name != "posix" or not sound:
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    state, its_start = _state_and_start(int(number))
    # It has ended and nobody has asked after it (a zombie); or the number is used again.
    return state in ("Z", "X") or bool(start and its_start and start != its_start)


def _state_and_start(pid: int) -> tuple[str, str]:
    """A process' state and when it began, as Linux tells; elsewhere empty."""
    try:
        # Behind the program's name, which may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "", ""
