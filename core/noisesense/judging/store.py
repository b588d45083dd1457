"""`VerdictStore`: judged calls in a SQLite file, so that none is paid for twice."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple, TypeVar

from noisesense.errors import InputError, StoreError, encodable
from noisesense.judging.protocol import Usage
from noisesense.judging.store_file import StoreFile, has_ended, this_process

T = TypeVar("T")

_LEASE_SECONDS, _RENEW_SECONDS = 60.0, 15.0


_BATCH = "batch "
_UNUSABLE = "null"


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
    call shows a sign of life every 15 seconds; after 60 without one the call is free, and at once
    if its process has ended on this machine. Only useful replies are kept, each with a checksum:
    a damaged one is asked again. It holds no prompts and no keys.

    A store that cannot be written to (a read-only disk) gives what it has.

    Args:
        path: made if it is not there. It must lie on a local disk.
        must_exist: raise instead of making it.

    Raises:
        StoreError: damaged, another program's file, another format, no access.
    """

    def _begin_process(self) -> None:
        super()._begin_process()
        self._owner = f"{this_process()}/{uuid.uuid4().hex[:12]}"
        self._held: set[str] = set()
        self._seen: dict[str, tuple[object, float]] = {}
        self._renewer: threading.Thread | None = None

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

        def claimed(connection: sqlite3.Connection) -> bool:
            row = _row_of(connection, key)
            reply = None if row is None else _reply_of(connection, key)
            if reply is not None and reply != over:
                return False
            if row is not None and row[1] is None and self._is_held(key, *row[2:4]):
                return False
            _put(connection, key, None, self._owner, "", "", Usage())
            self._held.add(key)  # before another thread can look
            return True

        mine = await self._soon(claimed)
        if mine:
            self._start_renewing()
        return mine

    async def put(self, key: str, reply: str, model: str, version: str, usage: Usage) -> None:
        """Keep a finished call. Its claim ends."""
        row = key, encodable(reply), "", model, version, usage
        await self._soon(lambda connection: _put(connection, *row))
        self._held.discard(key)

    def release(self, key: str) -> None:
        """The claim ends without a reply. If that cannot be written, it runs out."""

        def released(connection: sqlite3.Connection) -> None:
            connection.execute(
                "DELETE FROM calls WHERE key = ? AND owner = ? AND reply IS NULL",
                (key, self._owner),
            )
            self._held.discard(key)  # before another thread can claim it

        try:
            self._patiently(released, seconds=1.0)
        except StoreError:
            self._held.discard(key)

    def _is_held(self, key: str, owner: object, beat: object) -> bool:
        if owner == self._owner:
            return key in self._held
        if not isinstance(owner, str) or not owner or owner.startswith(_BATCH):
            return False
        if has_ended(owner):
            return False
        sign, now = (owner, beat), time.monotonic()
        seen, since = self._seen.get(key, (None, now))
        if sign != seen:
            self._seen[key] = sign, now
            return True
        if now - since < _LEASE_SECONDS:
            return True
        del self._seen[key]
        return False

    def _start_renewing(self) -> None:
        with self._lock, suppress(RuntimeError):  # no more threads, as the process is ending
            if self._renewer is None:
                self._renewer = threading.Thread(
                    target=self._renew_while_held,
                    args=(weakref.ref(self), self._owner),
                    daemon=True,
                )
                self._renewer.start()

    @staticmethod
    def _renew_while_held(store: weakref.ref[VerdictStore], owner: str) -> None:
        """One thread while a store's calls are being made; a store that nobody uses may go."""
        while True:
            time.sleep(_RENEW_SECONDS)
            living = store()
            if living is None or living._owner != owner or not living._renew():
                return
            del living

    def _renew(self) -> bool:
        """Show that the calls are still being made; False if there are none."""
        with self._lock:
            if not self._held:
                self._renewer = None
                return False
            held = [(key, self._owner) for key in self._held]
        with suppress(StoreError):  # whoever uses the store next is told
            self._patiently(
                lambda connection: connection.executemany(
                    "UPDATE calls SET beat = beat + 1"
                    " WHERE key = ? AND owner = ? AND reply IS NULL",
                    held,
                ),
                seconds=_RENEW_SECONDS,
            )
        return True

    # Requests of batch files: claims that nobody renews, and that whoever asks directly may take

    def requests(self) -> dict[str, StoredRequest]:
        """Those without an answer, by their keys."""
        rows = self._patiently(
            lambda connection: connection.execute(
                "SELECT key, owner, model, version FROM calls"
                " WHERE reply IS NULL AND owner LIKE 'batch %' ORDER BY rowid"
            ).fetchall(),
            write=False,
        )
        found: dict[str, StoredRequest] = {}
        for key, owner, model, version in rows:
            exchange, _, form = owner.removeprefix(_BATCH).partition(" ")
            found[key] = StoredRequest(key, exchange, form, model, version)
        return found

    def put_requests(self, requests: Iterable[StoredRequest]) -> None:
        """Note what is out, where there is no answer."""
        rows = [
            (each.key, None, f"{_BATCH}{each.exchange or '-'} {each.form}", *each[3:], Usage())
            for each in requests
        ]

        def noted(connection: sqlite3.Connection) -> None:
            for row in rows:
                if _reply_of(connection, row[0]) is None:
                    _put(connection, *row)

        self._patiently(noted)

    def put_answers(self, answers: Iterable[tuple[StoredRequest, str | None, Usage]]) -> None:
        """Keep what came back: the reply as JSON, None where nothing can be used."""
        rows = [
            (request.key, encodable(reply or _UNUSABLE), "", *request[3:], usage)
            for request, reply, usage in answers
        ]

        def kept(connection: sqlite3.Connection) -> None:
            for row in rows:
                _put(connection, *row)

        self._patiently(kept)

    def is_answered(self, key: str) -> bool:
        """Has that call a reply, useful or not?"""
        return self._patiently(partial(_reply_of, key=key), write=False) is not None

    # Upkeep

    def stats(self) -> list[StoredCalls]:
        """What is in it, by model and version of the prompts.

        Raises:
            StoreError: the file is damaged.
        """
        names = [name for name in asdict(Usage()) if name != "cost"]
        sums = ", ".join(f"total(json_extract(usage, '$.{name}'))" for name in names)

        def counted(connection: sqlite3.Connection) -> list[Any]:
            sound = connection.execute("PRAGMA quick_check(1)").fetchone()
            if sound != ("ok",):
                raise sqlite3.DatabaseError(" ".join(map(str, sound or ())))
            return connection.execute(
                "SELECT model, version, count(*), min(made), max(made),"
                f" sum(json_extract(usage, '$.cost')), {sums} FROM calls"
                f" WHERE reply IS NOT NULL AND reply != '{_UNUSABLE}'"
                " GROUP BY model, version ORDER BY model, version"
            ).fetchall()

        return [
            StoredCalls(model, version, calls, _usage(names, totals, cost), oldest, newest)
            for model, version, calls, oldest, newest, cost, *totals in self._patiently(
                counted, write=False
            )
        ]

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
        before = time.time() - older_than.total_seconds() if older_than else None
        where = (
            "reply IS NOT NULL AND (:before IS NULL OR made < :before)"
            " AND (:model IS NULL OR model = :model)"
        )

        def removed(connection: sqlite3.Connection) -> int:
            chosen = {"before": before, "model": model}
            question = f"SELECT count(*) FROM calls WHERE {where}"
            count = int(connection.execute(question, chosen).fetchone()[0])
            if not dry:
                connection.execute(f"DELETE FROM calls WHERE {where}", chosen)
            return count

        count = self._patiently(removed, write=not dry)
        if count and not dry:
            with self._lock, suppress(sqlite3.Error):
                self._open().execute("VACUUM")  # if nobody is in the way
        return count

    def merge(self, other: VerdictStore) -> int:
        """Take over another store's calls and open requests; how many calls are new.

        Of a call that both have, a useful reply is kept. A damaged one is left out.
        """

        def read(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
            return connection.execute(
                "SELECT * FROM calls WHERE reply IS NOT NULL OR owner LIKE 'batch %'"
            ).fetchall()

        def rank(reply: str | None) -> int:
            return 0 if reply is None else 1 if reply == _UNUSABLE else 2

        rows = other._patiently(read, write=False)

        def taken(connection: sqlite3.Connection) -> int:
            new = 0
            for row in rows:
                if row[1] is not None and row[-1] != _checksum(row):
                    continue
                known = _row_of(connection, row[0])
                kept = _reply_of(connection, row[0])
                if known is None or rank(kept) < rank(row[1]):
                    connection.execute(
                        f"INSERT OR REPLACE INTO calls VALUES ({', '.join('?' * len(row))})", row
                    )
                    new += rank(kept) < rank(row[1]) == 2
            return new

        return self._patiently(taken)


def _usage(names: list[str], totals: list[float], cost: float | None) -> Usage:
    return Usage(**dict(zip(names, map(int, totals), strict=True)), cost=cost)


def _row_of(connection: sqlite3.Connection, key: str) -> tuple[Any, ...] | None:
    row = connection.execute("SELECT * FROM calls WHERE key = ?", (key,)).fetchone()
    return None if row is None else tuple(row)


def _reply_of(connection: sqlite3.Connection, key: str) -> str | None:
    """The reply, if there is one and all that was put with it is as it was."""
    row = _row_of(connection, key)
    # Through a damaged index another call may be found, itself quite sound.
    if row is None or row[0] != key or row[-1] != _checksum(row):
        return None
    reply = row[1]
    return reply if isinstance(reply, str) else None


def _put(
    connection: sqlite3.Connection,
    key: str,
    reply: str | None,
    owner: str,
    model: str,
    version: str,
    usage: Usage,
) -> None:
    if usage.cost is not None and not math.isfinite(usage.cost):
        usage = replace(usage, cost=None)
    texts = encodable(model), encodable(version), json.dumps(asdict(usage))
    row = key, reply, owner, 0, time.time(), *texts
    connection.execute(
        "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, _checksum(row))
    )


def _checksum(row: tuple[Any, ...]) -> str:
    """Of all but the claim."""
    content = json.dumps([*row[:2], *row[4:8]], default=repr)
    return hashlib.sha256(content.encode()).hexdigest()[:32]
