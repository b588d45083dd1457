"""The SQLite file behind a store: tables, transactions across threads and processes, leases."""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from noisesense.errors import StoreError
from noisesense.utf8 import encodable

_BUSY_SECONDS = 30.0
# SQLite's own; and what Python says of names that are no UTF-8 and sizes that cannot be.
_FAILURES = (sqlite3.Error, UnicodeError, OverflowError, MemoryError, OSError)
_LEASE_SECONDS = 60.0
_RENEW_SECONDS = 15.0
_LONGEST_SECONDS = 3600.0
"""A call that is under way for longer than this is one nobody waits for any more."""

_in_use: weakref.WeakSet[Database] = weakref.WeakSet()
_in_use_lock = threading.Lock()  # also held while a process forks
_forking: list[Database] = []
_renewer: threading.Thread | None = None


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
        self.held: dict[str, float] = {}
        self.lock = threading.RLock()
        with self.connected(), _in_use_lock:
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
            self.held.clear()
            self.suspend()

    # Leases: who is making which call. They are renewed while it lasts.

    def lease(self, connection: sqlite3.Connection, key: str) -> bool:
        """Take the lease of that key, if nobody has it. To be called in a transaction."""
        now = time.time()  # under SQLite's lock: no lease there was made later
        # A lease that ends much later than it could is damaged, or the clock was set back.
        row = connection.execute(
            "SELECT owner FROM leases WHERE key = ? AND until > ? AND until <= ?",
            (key, now, now + 2 * _LEASE_SECONDS),
        ).fetchone()
        if row is not None and believed_alive(row[0]):
            return False
        row = key, this_process(), now + _LEASE_SECONDS
        connection.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", row)
        return True

    def hold(self, key: str) -> None:
        """Renew the lease from now on, until `let_go`: for an hour at most."""
        global _renewer
        with _in_use_lock, suppress(RuntimeError):  # no more threads, as the process is ending
            self.held[key] = time.monotonic()
            if _renewer is None or not _renewer.is_alive():
                _renewer = threading.Thread(target=_renew_all, daemon=True, name="leases")
                _renewer.start()

    def let_go(self, key: str) -> None:
        """Renew the lease no more, whether or not it can be given back."""
        self.held.pop(key, None)

    def renew(self) -> None:
        """Renew the leases of all calls that are under way."""
        oldest = time.monotonic() - _LONGEST_SECONDS
        held = [key for key, since in self.held.copy().items() if since > oldest]
        with self.transaction() as connection:
            connection.executemany(
                "UPDATE leases SET until = ? WHERE key = ? AND owner = ?",
                [(time.time() + _LEASE_SECONDS, key, this_process()) for key in held],
            )


def _renew_all() -> None:
    """One thread for all stores of the process; it ends when no call is under way."""
    global _renewer
    while True:
        time.sleep(_RENEW_SECONDS)
        with _in_use_lock:
            busy = [database for database in _in_use if database.held]
            if not busy:
                _renewer = None
                return
        for database in busy:
            with suppress(StoreError):  # whoever uses the store next is told
                database.renew()
        busy.clear()  # a store that is not used any more may go


def _before_fork() -> None:
    _in_use_lock.acquire()  # another thread may be forking as well
    _forking[:] = _in_use
    for database in _forking:
        database.lock.acquire()  # whoever is in a transaction ends it first
        database.suspend()


def _after_fork() -> None:
    for database in _forking:
        database.lock.release()
    _forking.clear()
    _in_use_lock.release()


def _after_fork_in_child() -> None:
    for database in _forking:
        database.held.clear()  # the calls are another process'
    _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child
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

_TABLES = {
    "calls": "key TEXT PRIMARY KEY, created REAL NOT NULL, model TEXT NOT NULL,"
    " identity TEXT NOT NULL, version TEXT NOT NULL, step TEXT NOT NULL, vote INTEGER NOT NULL,"
    " sample_key TEXT NOT NULL, label TEXT NOT NULL, reply TEXT, calls INTEGER NOT NULL,"
    " input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost REAL,"
    " unanswered INTEGER NOT NULL, checksum TEXT NOT NULL",
    "leases": "key TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL",
    "samples": "key TEXT PRIMARY KEY, created REAL NOT NULL, model TEXT NOT NULL,"
    " identity TEXT NOT NULL, version TEXT NOT NULL, settings TEXT NOT NULL, sample TEXT NOT NULL,"
    " verdicts TEXT NOT NULL, unanswered INTEGER NOT NULL, checksum TEXT NOT NULL",
}
# Stores made before batch files have it not.
_TABLES["requests"] = (
    "key TEXT PRIMARY KEY, created REAL NOT NULL, exchange TEXT NOT NULL, model TEXT NOT NULL,"
    " identity TEXT NOT NULL, version TEXT NOT NULL, step TEXT NOT NULL, vote INTEGER NOT NULL,"
    " sample_key TEXT NOT NULL, label TEXT NOT NULL, form TEXT NOT NULL, checksum TEXT NOT NULL"
)
_COLUMNS = {name: [each.split() for each in text.split(", ")] for name, text in _TABLES.items()}
_TYPES = {"TEXT": str, "INTEGER": int, "REAL": float}
_LATEST = 1e11  # in the year 5138; later, and dates cannot be shown


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
        for name, text in _TABLES.items():
            connection.execute(f"CREATE TABLE {name} ({text})")
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
        return
    if application != _APPLICATION:
        raise StoreError("a verdict store", "another program's database", where=path)
    expected = f"a verdict store of format {_FORMAT}"
    hint = "use the version of noisesense that wrote it, or another file"
    version = value("PRAGMA user_version")
    if version != _FORMAT:
        raise StoreError(expected, f"format {version}", where=path, hint=hint)
    connection.execute(f"CREATE TABLE IF NOT EXISTS requests ({_TABLES['requests']})")
    for name, columns in _COLUMNS.items():
        found = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
        if found != [column for column, *_ in columns]:
            got = f"a table {name} with the columns {encodable(', '.join(map(str, found)))}"
            raise StoreError(expected, got if found else f"no table {name}", where=path, hint=hint)
    # They would run with every question, for as long as they like.
    if value("SELECT count(*) FROM sqlite_master WHERE type IN ('trigger', 'view')"):
        raise StoreError(expected, "triggers or views beside it", where=path, hint=hint)


def check_types(table: str, row: Sequence[object]) -> None:
    """Raises `ValueError` if a value is of another type than its column, or a date is none."""
    for (name, kind, *required), value in zip(_COLUMNS[table], row, strict=True):
        if not (isinstance(value, _TYPES[kind]) or (value is None and not required)):
            raise ValueError(f"its {name} is of the type {type(value).__name__}")
        if name == "created" and not 0 <= value < _LATEST:  # type: ignore[operator]
            raise ValueError(f"it was made {value} seconds after 1970")


_own: tuple[int, str] = (-1, "")


def this_process() -> str:
    """``host/pid/token``, which no other process ever has; a forked child gets its own."""
    global _own
    pid = os.getpid()
    if _own[0] != pid:
        host = socket.gethostname()
        with suppress(OSError):  # containers may share a host's name, and not its numbers
            host += f" {Path('/proc/self/ns/pid').readlink()}"
        token = f"{uuid.uuid4().hex}-{_state_and_start(pid)[1]}"
        _own = pid, f"{host.replace('/', ' ')}/{pid}/{token}"
    return _own[1]


def believed_alive(name: object) -> bool:
    """Does the process of that name still run? False only if it certainly does not."""
    own = this_process()
    if name == own:
        return True
    host, number, token, *_ = [*(name if isinstance(name, str) else "").rsplit("/", 2), "", ""]
    sound = number.isascii() and number.isdecimal() and 0 < len(number) < 10
    # Elsewhere there is nobody to ask, nor is there about a name that is damaged; and
    # os.kill(pid, 0) would end a process on Windows.
    if host != own.rsplit("/", 2)[0] or os.name != "posix" or not sound or not int(number):
        return True
    pid = int(number)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    # Our own number under another name is a process that ended before this one began.
    if pid == os.getpid():
        return False
    state, start = _state_and_start(pid)
    its_start = token.partition("-")[2]
    # It has ended and nobody has asked after it (a zombie); or the number is used again.
    return state not in ("Z", "X") and not (start and its_start and start != its_start)


def _state_and_start(pid: int) -> tuple[str, str]:
    """A process' state and when it began, as Linux tells; elsewhere empty."""
    try:
        # Behind the program's name, which may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "", ""
