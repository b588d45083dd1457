"""The store's rows of requests that wait for the answers of a batch."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from noisesense import VerdictStore
from noisesense.judging.protocol import NO_USAGE
from noisesense.judging.store import REQUEST, is_sound, reply_of


class StoredRequest(NamedTuple):
    """A request of a batch.

    Attributes:
        key: the store's key of the call.
        exchange: a digest of the samples and the judge, see `BatchJudge.exchange`; empty for a
            request of `next_requests`.
        form: the name of the reply's schema.
        model: the name of the model.
        version: the version of the prompts.
    """

    key: str
    exchange: str
    form: str
    model: str
    version: str


def open_requests(store: VerdictStore) -> dict[str, StoredRequest]:
    """The requests without an answer, by their keys, the oldest first."""

    def read(connection: Any) -> dict[str, StoredRequest]:
        requests: dict[str, StoredRequest] = {}
        query = f"SELECT * FROM calls WHERE key LIKE '{REQUEST}%' ORDER BY rowid"
        for row in connection.execute(query).fetchall():
            if not is_sound(row):
                continue
            key = row["key"].removeprefix(REQUEST)
            if reply_of(connection, key) is None:
                exchange, form = json.loads(row["reply"])
                requests[key] = StoredRequest(key, exchange, form, row["model"], row["version"])
        return requests

    return store.transact(read, write=False)


async def put_request(store: VerdictStore, request: StoredRequest) -> None:
    """Store a request until its answer is imported."""
    content = json.dumps([request.exchange, request.form])
    key = f"{REQUEST}{request.key}"
    await store.put(key, content, request.model, request.version, NO_USAGE)
