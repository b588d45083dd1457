"""Import the answers to a round of requests into the store."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
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
from noisesense.stats.summarize import counted
from noisesense_adapters.batch.requests import StoredRequest, open_requests
from noisesense_adapters.batch.rounds import is_request
from noisesense_adapters.datasets.files import jsonl_rows
from noisesense_adapters.models.bridge import completion_reply
from noisesense_adapters.models.replies import read_reply
from noisesense_adapters.reading.values import as_object


@dataclass(frozen=True)
class Imported(Record):
    """The counts of an import.

    Attributes:
        taken: imported answers.
        known: answers to requests that already had one; the first answer is kept.
        open: failed or expired requests, by the provider's reason; the next round repeats them.
        foreign: answers to requests that are not in the store.
        left: requests in the store that still have no answer.
    """

    taken: int = 0
    known: int = 0
    open: dict[str, int] = field(default_factory=dict[str, int])
    foreign: int = 0
    left: int = 0


class _Answer(NamedTuple):
    """The reply to a request (a completion or a text), or the reason why there is none."""

    key: str
    reply: Any = None
    failure: str = ""


def put_replies(store: VerdictStore, replies: Iterable[tuple[str, str | None]]) -> Imported:
    """Import the replies of any batch engine: pairs of a request's key and the model's text.

    None instead of a text means that the request failed; it stays open. The request behind an
    unusable reply is repeated in other words, as often as the judge's ``max_reasks`` allows.

    Raises:
        InputError: none of the keys is in the store, or a reply that is neither a text nor None.
            Nothing is imported then.
        StoreError: the store cannot be read or written.
    """
    answers: list[_Answer] = []
    for key, text in replies:
        if text is None:
            answers.append(_Answer(key, failure="no reply"))
        elif isinstance(text, str):
            answers.append(_Answer(key, text))
        else:
            expected = "a text, or None of a request that failed"
            raise InputError(expected, describe(text), where=f"the reply to {key!r}")
    _check_one_for_each(answers, "replies")
    return run_blocking(_import(store, answers, "replies"))


def import_answers(
    *paths: str | os.PathLike[str],
    store: str | os.PathLike[str],
    on_error: Callable[[InputError], object] = lambda _: None,
) -> Imported:
    """Import the answers to exported requests from the output files and error files of a batch.

    The format is OpenAI's, which vLLM's ``run-batch`` and LiteLLM's proxy write as well, in any
    order. Failed and expired requests stay open. An import can be repeated or resumed.

    Args:
        paths: the files.
        store: the file of the `VerdictStore` from which the requests were exported.
        on_error: called with the error of each line that cannot be read, before the import.

    Raises:
        InputError: no such file, a file of requests, two answers to one request, or only answers
            to other requests.
        StoreError: the store does not exist, or cannot be read or written.
    """
    with VerdictStore(store, must_exist=True) as opened:
        files = [as_path(path) for path in paths]
        for path in files:
            if not path.is_file():
                raise InputError("a readable file", "no such file", where=str(path))
        where = ", ".join(map(str, files))
        answers: list[_Answer] = []
        errors: list[InputError] = []
        for path in files:
            for answer in _answers(path):
                if isinstance(answer, InputError):
                    errors.append(answer)
                else:
                    answers.append(answer)
        _check_one_for_each(answers, where)
        for error in errors:
            on_error(error)
        return run_blocking(_import(opened, answers, where))


async def _import(store: VerdictStore, answers: Iterable[_Answer], where: str) -> Imported:
    """Store the replies to open requests, and count what became of each answer."""
    requests = open_requests(store)
    taken: set[str] = set()
    failures: dict[str, str] = {}  # by request
    counts = Counter[str]()
    for answer in answers:
        request = requests.get(answer.key)
        if answer.failure and (request or answer.key in taken):
            failures[answer.key] = answer.failure
        elif request is None:
            is_known = await store.get(answer.key) is not None
            counts["known" if is_known else "foreign"] += 1
        else:
            # Stored one by one, so that an import can be resumed.
            reply, usage = _read(request, answer.reply)
            await store.put(answer.key, reply, request.model, request.version, usage)
            del requests[answer.key]
            taken.add(answer.key)
    if set(counts) == {"foreign"} and not failures and not taken:
        raise InputError(
            "answers to requests of this store",
            f"{counted(counts['foreign'], 'answer')} to others",
            where=where,
            hint="is it the file of another round, or the store of another dataset?",
        )
    reasons = Counter[str]()
    for key, failure in failures.items():
        if key not in taken:  # by a later answer
            reasons[failure] += 1
    still_open = dict(sorted(reasons.items()))
    return Imported(len(taken), open=still_open, left=len(requests), **counts)


def _check_one_for_each(answers: Iterable[_Answer], where: str) -> None:
    """Raise `InputError` if a request has two answers, because nothing says which one to take.

    A failure is no answer: a request may have failed in one file and have its answer in another.
    """
    seen: set[str] = set()
    for answer in answers:
        if answer.failure:
            continue
        if answer.key in seen:
            hint = "nothing was imported; give the files of one batch"
            got = f"two to {describe(answer.key)}"
            raise InputError("one answer to each request", got, where=where, hint=hint)
        seen.add(answer.key)


def _read(request: StoredRequest, answer: Any) -> tuple[str, Usage]:
    """The reply to store, read from a completion or a text, and its usage.

    It is `UNUSABLE` if it does not fit the form that was asked for, or if another version asked.
    """
    schema = _schema(request.form)
    usage = Usage(calls=1)
    if schema is None:
        return UNUSABLE, usage
    try:
        if isinstance(answer, str):
            return as_text(read_reply(answer, schema, usage)), usage
        reply, usage = completion_reply(answer).read(schema)
        return as_text(reply), usage
    except ReplyError as error:
        if isinstance(error.usage, Usage):
            usage = error.usage
        return UNUSABLE, usage


def _schema(name: str) -> type[BaseModel] | None:
    """The reply's schema of this name; None for a request that another version made."""
    count = name.removeprefix("Answers")
    if count.isdecimal() and len(count) < 6:
        return answers_form(int(count))
    schemas: dict[str, type[BaseModel]] = {"Claims": Claims, "Answer": Answer}
    return schemas.get(name)


def _answers(path: Path) -> Iterator[_Answer | InputError]:
    """The answers in a file, with an error for each line that is none.

    Raises `InputError` for a file of requests.
    """
    for place, data in jsonl_rows(path):
        if is_request(data):
            hint = "import what the provider gives for it: the batch's output and error files"
            raise InputError("answers", "the requests themselves", where=str(path), hint=hint)
        try:
            yield _answer(data)
        except InputError as error:
            yield error.within(place)


def _answer(data: Any) -> _Answer:
    """The answer in a line. Raises `InputError` if there is none, or if the line is an error."""
    if isinstance(data, InputError):
        raise data
    line = as_object(data)
    key = line.get("custom_id")
    if not isinstance(key, str) or not {"response", "error"} & line.keys():
        expected = "an answer: an object with 'custom_id' and 'response' or 'error'"
        raise InputError(expected, describe(data))
    response = as_object(line.get("response"))
    status = response.get("status_code")
    body = as_object(response.get("body"))
    if status == 200 and isinstance(response.get("body"), dict) and not line.get("error"):
        # With attributes, as a client returns it.
        completion = json.loads(json.dumps(body), object_hook=_as_attributes)
        return _Answer(key, completion)
    reasons: list[str] = []
    if status not in (None, 200):
        reasons.append(f"HTTP {status}")
    code = _error_code(line.get("error")) or _error_code(body.get("error"))
    if code:
        reasons.append(str(code)[:60])
    return _Answer(key, failure=" ".join(reasons) or "no response")


def _error_code(error: object) -> Any:
    """The code of a provider's error, or else its type."""
    fields = as_object(error)
    return fields.get("code") or fields.get("type")


def _as_attributes(fields: dict[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(**fields)
