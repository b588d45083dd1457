"""Requests that were exported to batch files, as rows of the store."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from noisesense import VerdictStore
from noisesense.judging.protocol import NO_USAGE
from noisesense.judging.store import REQUEST, is_sound, reply_of


class StoredRequest(NamedTuple):
    """An exported request.

    Attributes:
        key: the key of its call.
        exchange: a digest of the samples and the judge; see `BatchJudge.exchange`.
        form: the name of the reply's schema.
        model: the name of the model.
        version: of the prompts.
    """

    key: str
    exchange: str
    form: str
    model: str
    version: str


def open_requests(store: VerdictStore) -> dict[str, StoredRequest]:
    """The requests without an answer by their keys, the oldest first."""

    def read(connection: Any) -> dict[str, StoredRequest]:
        requests: dict[str, StoredRequest] = {}
        query = f"SELECT * FROM calls WHERE key LIKE '{REQUEST}%' ORDER BY rowid"
        for row in filter(is_sound, connection.execute(query).fetchall()):
            key = row["key"].removeprefix(REQUEST)
            if reply_of(connection, key) is None:
                exchange, form = json.loads(row["reply"])
                requests[key] = StoredRequest(key, exchange, form, row["model"], row["version"])
        return requests

    return store.transact(read, write=False)


async def put_request(store: VerdictStore, request: StoredRequest) -> None:
    """Store an exported request."""
    content = json.dumps([request.exchange, request.form])
    key = f"{REQUEST}{request.key}"
    await store.put(key, content, request.model, request.version, NO_USAGE)
