"""Calls to the model: at most so many at once, kept in the store, counted."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from noisesense.errors import InputError, JudgeError, ReplyError
from noisesense.judging.protocol import StructuredLLM, Usage
from noisesense.judging.store import StoredCall

if TYPE_CHECKING:
    from noisesense.judging.store import VerdictStore

__all__ = [
    "Answer",
    "Caller",
    "Case",
    "LoopLimit",
    "Question",
    "RunningTotals",
    "Totals",
    "digest",
    "gather_all",
    "identity_of",
    "model_name",
]

T = TypeVar("T")


class LoopLimit:
    """At most so many at once in each event loop.

    A semaphore belongs to the loop that first waits on it, and a judge may serve several loops:
    each gets its own when it first asks.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._slots: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}

    def slot(self) -> asyncio.Semaphore:
        """The running loop's semaphore, to be used with ``async with``."""
        loop = asyncio.get_running_loop()
        with self._lock:
            slots = self._slots.get(loop)
            if slots is None:
                # Weak keys would not do: a semaphore that was waited on holds its loop.
                for closed in [each for each in self._slots if each.is_closed()]:
                    del self._slots[closed]
                slots = self._slots[loop] = asyncio.Semaphore(self.limit)
            return slots


async def gather_all(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run everything at once; the results in order.

    The first failure, or being cancelled, cancels the rest and waits until it is gone.
    `asyncio.gather` would leave it running.
    """
    tasks = [asyncio.ensure_future(each) for each in work]
    if not tasks:
        return []
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            if task.done():
                task.result()
        return [task.result() for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        # Waits for the cancelled, and marks further errors as seen: asyncio would report them.
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True)
class Totals:
    """A judge's running totals.

    Attributes:
        usage: of every call, those of samples that failed later included.
        samples: judged to the end.
        failed: samples that raised, or were cancelled.
        unanswered: cells that were asked and stayed without an answer.
    """

    usage: Usage = field(default_factory=Usage)
    samples: int = 0
    failed: int = 0
    unanswered: int = 0


class RunningTotals:
    """`Totals` that several threads add to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = Totals()

    @property
    def now(self) -> Totals:
        """The totals at this moment."""
        return self._now

    def add(
        self, usage: Usage | None = None, *, samples: int = 0, failed: int = 0, unanswered: int = 0
    ) -> None:
        with self._lock:
            now = self._now
            self._now = Totals(
                now.usage + (usage or Usage()),
                now.samples + samples,
                now.failed + failed,
                now.unanswered + unanswered,
            )


S = TypeVar("S", bound=BaseModel)

_FORM = 2
"""Part of every key; raised when a kept reply could no longer be read."""

_POLL = (0.02, 0.5)


@dataclass
class Case:
    """One sample being judged: what its calls are filed under, and what they cost so far."""

    sample_key: str
    label: str
    identity: str = ""
    usage: Usage = field(default_factory=Usage)
    problem: str = ""

    @property
    def told(self) -> str:
        """What was wrong with the last unusable reply, if the model's bridge says it."""
        return f" ({self.problem})" if self.problem else ""


@dataclass(frozen=True)
class Question(Generic[S]):
    """One call to be made.

    Attributes:
        answers: does the reply answer anything of what is asked? If not, it is not kept.
        attempt: above 0, it asks for what earlier replies left out.
    """

    step: str
    prompt: str
    schema: type[S]
    answers: Callable[[S], bool]
    vote: int = 0
    attempt: int = 0


@dataclass(frozen=True)
class Answer(Generic[S]):
    """A usable reply, or None; to which attempt, and whether the model was asked for it."""

    reply: S | None
    attempt: int
    asked: bool


@dataclass(frozen=True)
class Caller:
    """Makes calls: at most so many at once, and none that is in the store."""

    llm: StructuredLLM
    model: str
    version: str
    store: VerdictStore | None
    limit: LoopLimit
    totals: RunningTotals

    async def call(
        self, case: Case, attempts: range, question: Callable[[int], Awaitable[Question[S]]]
    ) -> Answer[S]:
        """Ask the first of the attempts once.

        Where the store has a reply to it that answered nothing, but one to a later attempt that
        did, that one is taken: what an earlier run healed by asking again is not paid for again.

        Args:
            question: what an attempt asks, as long as those before it have brought nothing.

        Raises:
            JudgeError: the model could not be asked.
            StoreError: the store cannot be read or written.
        """
        first = await question(attempts[0])
        if self.store is not None:
            return await self._through(self.store, case, first, attempts[1:], question)
        async with self.limit.slot():
            value, _ = await self._ask(case, first)
        return _answer(first, value, asked=True)

    def key(self, case: Case, question: Question[S]) -> str:
        """What a call is found by in the store: everything its reply depends on."""
        form = [_FORM, question.schema.__name__, question.vote]
        parts = [*form, self.version, self.model, case.identity, question.prompt]
        content = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    async def _through(
        self,
        store: VerdictStore,
        case: Case,
        first: Question[S],
        later: range,
        question: Callable[[int], Awaitable[Question[S]]],
    ) -> Answer[S]:
        key = self.key(case, first)
        pause, longest = _POLL
        while True:
            kept = store.get(key, unanswered=True)
            answer = None if kept is None else self._kept(store, case, first, kept)
            if kept is not None and answer is None:
                if kept.answered:
                    store.mark_unanswered([key])  # else nobody could claim it
                for attempt in later:
                    again = await question(attempt)
                    kept = store.get(self.key(case, again))
                    answer = None if kept is None else self._kept(store, case, again, kept)
                    if answer is not None:
                        break
            if answer is not None:
                return answer
            # Whoever claims a call holds a slot already, so waiting for it cannot deadlock.
            async with self.limit.slot():
                if store.claim(key):
                    value = await self._ask_and_keep(store, key, case, first)
                    return _answer(first, value, asked=True)
            # Another task or process is asking just this.
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, longest)

    def _kept(
        self, store: VerdictStore, case: Case, question: Question[S], kept: StoredCall
    ) -> Answer[S] | None:
        """The kept reply, if it answers anything."""
        if not kept.answered:
            return None
        answer = _answer(question, _read(kept, question.schema, store), asked=False)
        if answer.reply is None:
            return None
        self._count(case, Usage(cached_calls=1))
        return answer

    async def _ask_and_keep(
        self, store: VerdictStore, key: str, case: Case, question: Question[S]
    ) -> S | None:
        """The claim ends with it, whatever comes of it."""
        try:
            value, usage = await self._ask(case, question)
        except BaseException:
            store.release(key)
            raise
        store.put(
            StoredCall(
                key=key,
                model=self.model,
                version=self.version,
                step=question.step,
                vote=question.vote,
                sample_key=case.sample_key,
                label=case.label,
                reply=None if value is None else value.model_dump_json(),
                usage=usage,
                unanswered=_answer(question, value, asked=True).reply is None,
                identity=digest(case.identity),
            )
        )
        return value

    async def _ask(self, case: Case, question: Question[S]) -> tuple[S | None, Usage]:
        value: S | None = None
        spent: object
        try:
            value, spent = await self.llm.generate(question.prompt, question.schema)
        except ReplyError as error:
            spent = error.usage
            case.problem = str(error)
        usage = _at_least_one_call(spent)
        if question.attempt:
            usage = replace(usage, reasks=usage.reasks + 1)
        self._count(case, usage)
        if value is not None and not isinstance(value, question.schema):
            raise JudgeError(
                f"generate() of {type(self.llm).__name__} gave a {type(value).__name__}"
                f" where a {question.schema.__name__} was asked for"
            )
        return value, usage

    def _count(self, case: Case, usage: Usage) -> None:
        case.usage += usage
        self.totals.add(usage)


def _answer(question: Question[S], reply: S | None, *, asked: bool) -> Answer[S]:
    if reply is not None and not question.answers(reply):
        reply = None
    return Answer(reply, question.attempt, asked)


def _read(kept: StoredCall, schema: type[S], store: VerdictStore) -> S:
    try:
        return schema.model_validate_json(kept.reply or "")
    except ValidationError:
        raise store.damaged(f"a {kept.step} reply that cannot be read") from None


def _at_least_one_call(usage: object) -> Usage:
    """A bridge that does not count its calls made one."""
    if not isinstance(usage, Usage):
        return Usage(calls=1)
    return usage if usage.calls or usage.cached_calls else replace(usage, calls=1)


def model_name(llm: StructuredLLM, model: str | None, *, needed: bool) -> str:
    """The name the store keeps a model's calls under.

    Raises:
        InputError: there is none and it is needed.
    """
    name: object = getattr(llm, "name", None) if model is None else model
    if isinstance(name, str) and name:
        return name
    if needed:
        raise InputError(
            "a model with a name, to keep its calls under",
            f"{type(llm).__name__} without one",
            where="store",
            hint='name it: LLMJudge(…, store=…, model="…")',
        )
    return type(llm).__name__


def identity_of(llm: StructuredLLM) -> str:
    """What the model's answers depend on beside its name, as it says or else by its class."""
    identity: object = getattr(llm, "identity", None)
    if isinstance(identity, str) and identity:
        return identity
    return f"{type(llm).__module__}.{type(llm).__qualname__}"


def digest(identity: str) -> str:
    """As a store shows it: should an option hold a secret after all, it stays out."""
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]
