"""Requests that are out in batch files: rows of the store, beside those of their calls."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from noisesense import VerdictStore
from noisesense.judging.protocol import NO_USAGE
from noisesense.judging.store import REQUEST, is_sound, reply_of


class StoredRequest(NamedTuple):
    """A request that is out in a batch file, without an answer yet.

    Attributes:
        key: of the call.
        exchange: a digest of the samples and of the judge it was made for.
        form: the name of the reply's form.
        model: by name; ``version`` of the prompts.
    """

    key: str
    exchange: str
    form: str
    model: str
    version: str


def open_requests(store: VerdictStore) -> dict[str, StoredRequest]:
    """Those without an answer, by their keys, the oldest first."""

    def waiting(connection: Any) -> dict[str, StoredRequest]:
        found: dict[str, StoredRequest] = {}
        question = f"SELECT * FROM calls WHERE key LIKE '{REQUEST}%' ORDER BY rowid"
        for row in filter(is_sound, connection.execute(question).fetchall()):
            key = row["key"].removeprefix(REQUEST)
            if reply_of(connection, key) is None:
                exchange, form = json.loads(row["reply"])
                found[key] = StoredRequest(key, exchange, form, row["model"], row["version"])
        return found

    return store.transact(waiting, write=False)


async def put_request(store: VerdictStore, request: StoredRequest) -> None:
    """Note that it is out."""
    key, exchange, form, model, version = request
    about = json.dumps([exchange, form])
    await store.put(f"{REQUEST}{key}", about, model, version, NO_USAGE)
