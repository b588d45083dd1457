"""The tables of a store: made once, and recognised again."""

from __future__ import annotations

import sqlite3

from noisesense.errors import StoreError

__all__ = ["prepare"]

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
    application, pages, tables = (
        connection.execute(question).fetchone()[0]
        for question in (
            "PRAGMA application_id",
            "PRAGMA page_count",
            "SELECT count(*) FROM sqlite_master",
        )
    )
    # Damage may hide the tables; a file of several pages is not a new one.
    if not application and pages <= 1 and not tables:
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
        return
    if application != _APPLICATION:
        raise StoreError("a verdict store", "another program's database", where=path)
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found != _FORMAT:
        raise StoreError(
            f"a verdict store of format {_FORMAT}",
            f"format {found}",
            where=path,
            hint="use the version of noisesense that wrote it, or another file",
        )
