"""What came back of a round, taken into the store."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from pydantic import BaseModel

from noisesense import Usage, VerdictStore
from noisesense.errors import InputError, ReplyError, describe
from noisesense.jsonl import as_path
from noisesense.judging.calls import as_text, run_blocking
from noisesense.judging.prompts import Answer, Claims, answers_form
from noisesense.judging.store import UNUSABLE
from noisesense.scoring.outcomes import Record
from noisesense_adapters.batch.requests import StoredRequest, open_requests
from noisesense_adapters.batch.rounds import is_request
from noisesense_adapters.datasets.files import jsonl_rows
from noisesense_adapters.toolbox.bridge import completion_reply
from noisesense_adapters.toolbox.given import as_object
from noisesense_adapters.toolbox.replies import read_reply


@dataclass(frozen=True)
class Imported(Record):
    """What became of the answers.

    Attributes:
        taken: requests whose answers are in the store now.
        known: answers to requests that were answered before; they are left as they were.
        open: requests that failed or expired, by the provider's reason: the next round asks them
            as they are.
        foreign: answers to requests that this store did not make.
        left: requests of this store that are still without an answer.
    """

    taken: int = 0
    known: int = 0
    open: dict[str, int] = field(default_factory=dict[str, int])
    foreign: int = 0
    left: int = 0


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
    return run_blocking(_take(store, answers, "replies"))


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
        files = [as_path(path) for path in paths]
        for path in files:
            if not path.is_file():
                raise InputError("a readable file", "no such file", where=str(path))
        answers = chain.from_iterable(map(_answers, files))
        where = ", ".join(map(str, files))
        return run_blocking(_take(opened, answers, where, on_error))


async def _take(
    store: VerdictStore,
    answers: Iterable[_Answer | InputError],
    where: str,
    on_error: Callable[[InputError], object] = lambda _: None,
) -> Imported:
    """One by one: after an interrupt the next import goes on."""
    requests, failures = open_requests(store), Counter[str]()
    taken = known = foreign = 0
    for answer in answers:
        if isinstance(answer, InputError):
            on_error(answer)
        elif (request := requests.get(answer.key)) is None:
            is_known = await store.get(answer.key) is not None
            known, foreign = known + is_known, foreign + (not is_known)
        elif answer.failure:
            failures[answer.failure] += 1
        else:
            reply, usage = _read(request, answer.reply)
            await store.put(answer.key, reply, request.model, request.version, usage)
            del requests[answer.key]
            taken += 1
    if foreign and not (taken or known or failures):
        expected, got = "answers to requests of this store", f"{foreign:,} answers to others"
        hint = "is it the file of another round, or the store of another dataset?"
        raise InputError(expected, got, where=where, hint=hint)
    return Imported(taken, known, dict(sorted(failures.items())), foreign, len(requests))


def _read(request: StoredRequest, answer: Any) -> tuple[str, Usage]:
    """What the store keeps of an answer, a completion or a text."""
    schema, usage = _form(request.form), Usage(calls=1)
    if schema is None:
        return UNUSABLE, usage
    try:
        if isinstance(answer, str):
            return as_text(read_reply(answer, schema, usage)), usage
        reply, usage = completion_reply(answer).read(schema)
        return as_text(reply), usage
    except ReplyError as error:
        return UNUSABLE, error.usage if isinstance(error.usage, Usage) else usage


def _form(name: str) -> type[BaseModel] | None:
    """The form of that name: what an answer is read as; None for one of another version."""
    count = name.removeprefix("Answers")
    if count.isdecimal() and len(count) < 6:
        return answers_form(int(count))
    known: dict[str, type[BaseModel]] = {"Claims": Claims, "Answer": Answer}
    return known.get(name)


def _answers(path: Path) -> Iterator[_Answer | InputError]:
    for place, data in jsonl_rows(path):
        if is_request(data):
            hint = "import what the provider gives for it: the batch's output and error files"
            raise InputError("answers", "the requests themselves", where=str(path), hint=hint)
        try:
            yield _answer(data)
        except InputError as error:
            yield error.within(place)


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
        # As a client gives it: its parts as attributes.
        completion = json.loads(json.dumps(body), object_hook=lambda of: SimpleNamespace(**of))
        return _Answer(key, completion)
    errors = map(as_object, (line.get("error"), body.get("error")))
    codes = (each.get("code") or each.get("type") for each in errors)
    code = next((str(each)[:60] for each in codes if each), "")
    http = "" if status in (None, 200) else f"HTTP {status}"
    return _Answer(key, failure=" ".join(filter(None, (http, code))) or "no response")
