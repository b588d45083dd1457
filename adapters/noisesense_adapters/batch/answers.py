"""What came back of a round, taken into the store."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from noisesense import Usage, VerdictStore
from noisesense.errors import InputError, ReplyError, describe
from noisesense.jsonl import as_path
from noisesense.judging.calls import run_blocking
from noisesense.judging.prompts import form_of
from noisesense.judging.store import StoredRequest
from noisesense.scoring.outcomes import Record
from noisesense_adapters.batch.rounds import is_request
from noisesense_adapters.datasets.files import jsonl_rows
from noisesense_adapters.toolbox.bridge import completion_reply
from noisesense_adapters.toolbox.given import as_object
from noisesense_adapters.toolbox.replies import read_reply

_AT_ONCE = 200


@dataclass(frozen=True)
class Imported(Record):
    """What became of the answers.

    Attributes:
        taken: requests whose answers are in the store now.
        unusable: of them, those in which nothing can be used: the next round asks again.
        known: answers to requests that were answered before; they are left as they were.
        open: requests that failed or expired, by the provider's reason: the next round asks them
            as they are.
        foreign: answers to requests that this store did not make.
        broken: lines that cannot be read.
        left: requests of this store that are still without an answer.
    """

    taken: int = 0
    unusable: int = 0
    known: int = 0
    open: dict[str, int] = field(default_factory=dict[str, int])
    foreign: int = 0
    broken: int = 0
    left: int = 0


class _Reply(NamedTuple):
    """An answer as the store keeps it: None where nothing in it can be used."""

    request: StoredRequest
    reply: str | None
    usage: Usage


class _Answer(NamedTuple):
    """One answer: a completion or a text, or why there is none."""

    key: str
    reply: Any = None
    failure: str = ""


def put_replies(store: VerdictStore, replies: Iterable[tuple[str, str | None]]) -> Imported:
    """Take the replies of any batch engine: each request's key, and the model's text.

    None stands for a request that failed, and stays open. A reply that is no answer is asked for
    again in other words, as often as the judge's ``max_reasks`` allows.

    Raises:
        InputError: not one of the keys is this store's.
        StoreError: the store cannot be read or written.
    """
    answers = (_Answer(key, text, "" if text is not None else "no reply") for key, text in replies)
    taking = _Import(store)
    taking.take(answers)
    return taking.finish()


def import_answers(
    *paths: str | os.PathLike[str],
    store: str | os.PathLike[str],
    on_error: Callable[[InputError], object] = lambda _: None,
) -> Imported:
    """Take the answers to exported requests: a batch's output files, and its error files.

    In the form of OpenAI's batches, which vLLM's ``run-batch`` and LiteLLM's proxy write as well,
    in any order. What fails or expires stays open. Importing again, or going on after an
    interrupt, takes what is new.

    Args:
        paths: the files.
        store: the `VerdictStore`'s file that the requests were exported with.
        on_error: called with the error of each line that cannot be read; the others are taken.

    Raises:
        InputError: no such file, one that holds requests, or answers to other requests alone.
        StoreError: the store cannot be read or written, or is not there.
    """
    with VerdictStore(store, must_exist=True) as opened:
        imported = _Import(opened)
        for path in map(as_path, paths):
            if not path.is_file():
                raise InputError("a readable file", "no such file", where=str(path))
            where = str(path)
            imported.take(_answers(where, jsonl_rows(path), imported, on_error), where)
        return imported.finish()


class _Import:
    """Takes answers of several sources, and counts."""

    def __init__(self, store: VerdictStore) -> None:
        self._store = store
        self._requests = store.requests()
        self._counts: Counter[str] = Counter()
        self._open: Counter[str] = Counter()

    def broken(self) -> None:
        self._counts["broken"] += 1

    def take(self, answers: Iterable[_Answer], where: str = "replies") -> None:
        rest, own, foreign = iter(answers), 0, 0
        while some := list(islice(rest, _AT_ONCE)):
            ours = [answer for answer in some if self._is_ours(answer)]
            own, foreign = own + len(ours), foreign + len(some) - len(ours)
            # An interrupt between two of these loses nothing: the next import goes on.
            self._put(run_blocking(self._calls(ours)))
        self._counts["foreign"] += foreign
        if foreign and not own:
            raise InputError(
                "answers to requests of this store",
                f"{foreign:,} answers to others",
                where=where,
                hint="is it the file of another round, or the store of another dataset?",
            )

    def finish(self) -> Imported:
        left = len(self._requests)
        return Imported(**self._counts, open=dict(sorted(self._open.items())), left=left)

    def _put(self, calls: list[_Reply]) -> None:
        self._store.put_answers(calls)
        for call in calls:
            del self._requests[call.request.key]
            self._counts["taken"] += 1
            self._counts["unusable"] += call.reply is None

    def _is_ours(self, answer: _Answer) -> bool:
        return answer.key in self._requests or self._store.is_answered(answer.key)

    async def _calls(self, answers: Iterable[_Answer]) -> list[_Reply]:
        """The answers to take."""
        calls: dict[str, _Reply] = {}
        for answer in answers:
            request = self._requests.get(answer.key)
            if request is None or answer.key in calls:
                self._counts["known"] += 1
            elif answer.failure:
                self._open[answer.failure] += 1
            else:
                calls[answer.key] = await _call(request, answer.reply)
        return list(calls.values())


async def _call(request: StoredRequest, answer: Any) -> _Reply:
    """The request with its answer, a completion or a text."""
    schema = form_of(request.form)
    if schema is None:  # as another version has made it
        return _Reply(request, None, Usage(calls=1))
    try:
        if isinstance(answer, str):
            usage = Usage(calls=1)
            reply = read_reply(answer, schema, usage)
        else:
            reply, usage = completion_reply(answer).read(schema)
    except ReplyError as error:
        spent = error.usage if isinstance(error.usage, Usage) else Usage(calls=1)
        return _Reply(request, None, spent)
    text = json.dumps(reply.model_dump(mode="json"), ensure_ascii=False)
    return _Reply(request, text, usage)


def _answers(
    where: str, rows: Iterable[Any], imported: _Import, on_error: Callable[[InputError], object]
) -> Iterator[_Answer]:
    for place, data in rows:
        if is_request(data):
            hint = "import what the provider gives for it: the batch's output and error files"
            raise InputError("answers", "the requests themselves", where=where, hint=hint)
        try:
            yield _answer(data)
        except InputError as error:
            imported.broken()
            on_error(error.within(place))


def _answer(data: Any) -> _Answer:
    if isinstance(data, InputError):
        raise data
    line = as_object(data)
    key = line.get("custom_id")
    if not isinstance(key, str) or not {"response", "error"} & line.keys():
        expected = "an answer: an object with 'custom_id' and 'response' or 'error'"
        raise InputError(expected, describe(data))
    reply = as_object(line.get("response"))
    status, body = reply.get("status_code"), as_object(reply.get("body"))
    if status == 200 and isinstance(reply.get("body"), dict) and not line.get("error"):
        return _Answer(key, _as_completion(body))
    errors = map(as_object, (line.get("error"), body.get("error")))
    codes = (each.get("code") or each.get("type") for each in errors)
    code = next((str(each)[:60] for each in codes if each), "")
    http = "" if status in (None, 200) else f"HTTP {status}"
    return _Answer(key, failure=" ".join(filter(None, (http, code))) or "no response")


def _as_completion(body: dict[str, Any]) -> SimpleNamespace:
    """The body as a client gives it: its parts as attributes."""
    parts = json.loads(json.dumps(body), object_hook=lambda fields: SimpleNamespace(**fields))
    return cast("SimpleNamespace", parts)
