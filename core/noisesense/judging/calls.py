"""Calls to the model: at most so many at once, kept in the store, counted."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from noisesense.errors import InputError, JudgeError, NoiseSenseError, ReplyError, StoreError
from noisesense.judging.protocol import StructuredLLM, Usage
from noisesense.judging.records import StoredCall

if TYPE_CHECKING:
    from noisesense.judging.store import VerdictStore

T = TypeVar("T")


class AwaitingAnswerError(NoiseSenseError):
    """What was asked in a batch file has no answer yet: the sample goes on when it has."""


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

    The first failure (of several at once, the first in order), or being cancelled, cancels the
    rest and waits until it is gone. `asyncio.gather` would leave it running. A call that waits for
    its answer is no failure: the others go on, and may have something to ask as well.
    """
    tasks = {asyncio.ensure_future(each): i for i, each in enumerate(work)}
    running = set(tasks)
    try:
        while running:
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
            for task in sorted(done, key=tasks.__getitem__):
                with suppress(AwaitingAnswerError):
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

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.usage + other.usage,
            self.samples + other.samples,
            self.failed + other.failed,
            self.unanswered + other.unanswered,
        )


class RunningTotals:
    """`Totals` that several threads add to; ``now`` holds them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now = Totals()

    def add(self, more: Totals) -> None:
        with self._lock:
            self.now += more


S = TypeVar("S", bound=BaseModel)
A = TypeVar("A")

_FORM = 2
"""Part of every key; raised when a stored reply could no longer be read."""

_POLL = (0.02, 0.5)


@dataclass
class SampleRun:
    """One sample being judged: what its calls are filed under, and what they cost so far.

    Attributes:
        problem: what was wrong with the last unusable reply, if the model's bridge says it.
    """

    sample_key: str
    label: str
    identity: str = ""
    usage: Usage = field(default_factory=Usage)
    problem: str = ""


@dataclass(frozen=True)
class ModelCall(Generic[S, A]):
    """One call to be made.

    Attributes:
        read: what the reply answers; None if nothing, and then the reply is not used again.
        attempt: above 0, it asks for what earlier replies left out.
    """

    step: str
    prompt: str
    schema: type[S]
    read: Callable[[S], A | None]
    vote: int = 0
    attempt: int = 0


@dataclass(frozen=True)
class CallResult(Generic[A]):
    """An answer, if there is a usable one; to which attempt, and whether the model gave it now."""

    answer: A | None
    attempt: int
    from_model: bool


@dataclass(frozen=True)
class CallRunner:
    """Makes calls: at most so many at once, and none that is in the store."""

    llm: StructuredLLM
    model: str
    version: str
    store: VerdictStore | None
    limit: LoopLimit
    totals: RunningTotals

    async def call(
        self,
        run: SampleRun,
        attempts: range,
        model_call: Callable[[int], Awaitable[ModelCall[S, A]]],
    ) -> CallResult[A]:
        """Make the first of the attempts once.

        The store may hold a reply to it that answered nothing, and one to a later attempt that
        did. Then the later one is taken: what an earlier run repaired is not paid for again.

        Args:
            model_call: the call of an attempt, as long as those before it have brought nothing.

        Raises:
            JudgeError: the model could not be asked.
            StoreError: the store cannot be read or written.
        """
        first = await model_call(attempts[0])
        if self.store is not None:
            return await self._through(self.store, run, first, attempts[1:], model_call)
        async with self.limit.slot():
            reply, _ = await self._ask(run, first)
        answer = None if reply is None else first.read(reply)
        return CallResult(answer, first.attempt, from_model=True)

    def key(self, run: SampleRun, call: ModelCall[S, A]) -> str:
        """What a call is found by in the store: everything its reply depends on."""
        form = [_FORM, call.schema.__name__, call.vote]
        parts = [*form, self.version, self.model, run.identity, call.prompt]
        content = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    async def _through(
        self,
        store: VerdictStore,
        run: SampleRun,
        first: ModelCall[S, A],
        later: range,
        model_call: Callable[[int], Awaitable[ModelCall[S, A]]],
    ) -> CallResult[A]:
        key = self.key(run, first)
        pause, longest = _POLL
        while True:
            stored = store.get(key, unanswered=True)
            result = self._stored(store, run, first, stored)
            if stored is not None and result is None:
                if stored.answered:
                    store.mark_unanswered([key])  # else nobody could claim it
                for attempt in later:
                    again = await model_call(attempt)
                    result = self._stored(store, run, again, store.get(self.key(run, again)))
                    if result is not None:
                        break
            if result is not None:
                return result
            # Whoever claims a call holds a slot already, so waiting for it cannot deadlock.
            async with self.limit.slot():
                if store.claim(key):
                    return await self._ask_and_store(store, key, run, first)
            # Another task or process is making this very call.
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, longest)

    def _stored(
        self, store: VerdictStore, run: SampleRun, call: ModelCall[S, A], stored: StoredCall | None
    ) -> CallResult[A] | None:
        """What the stored reply answers; None if there is no usable one."""
        if stored is None or not stored.answered:
            return None
        answer = read_stored(store, call, stored)
        if answer is None:
            return None
        self._count(run, Usage(cached_calls=1))
        return CallResult(answer, call.attempt, from_model=False)

    async def _ask_and_store(
        self, store: VerdictStore, key: str, run: SampleRun, call: ModelCall[S, A]
    ) -> CallResult[A]:
        """The claim ends with it, whatever comes of it."""
        try:
            reply, usage = await self._ask(run, call)
            answer = None if reply is None else call.read(reply)
            # Not as pydantic writes it, which half of a surrogate pair would stop.
            data = None if reply is None else reply.model_dump(mode="json")
            store.put(
                StoredCall(
                    key=key,
                    model=self.model,
                    version=self.version,
                    step=call.step,
                    vote=call.vote,
                    sample_key=run.sample_key,
                    label=run.label,
                    reply=None if reply is None else json.dumps(data, ensure_ascii=False),
                    usage=usage,
                    unanswered=answer is None,
                    identity=digest(run.identity),
                )
            )
        except BaseException:
            with suppress(StoreError):  # else it runs out
                store.release(key)
            raise
        return CallResult(answer, call.attempt, from_model=True)

    async def _ask(self, run: SampleRun, call: ModelCall[S, A]) -> tuple[S | None, Usage]:
        reply: S | None = None
        spent: object
        try:
            reply, spent = await self.llm.generate(call.prompt, call.schema)
        except ReplyError as error:
            spent = error.usage
            run.problem = str(error)
        usage = spent if isinstance(spent, Usage) else Usage()
        if not usage.calls and not usage.cached_calls:
            usage = replace(usage, calls=1)  # a bridge that does not count its calls made one
        if call.attempt:
            usage = replace(usage, reasks=usage.reasks + 1)
        self._count(run, usage)
        if reply is not None and not isinstance(reply, call.schema):
            raise JudgeError(
                f"generate() of {type(self.llm).__name__} gave a {type(reply).__name__}"
                f" where a {call.schema.__name__} was asked for"
            )
        return reply, usage

    def _count(self, run: SampleRun, usage: Usage) -> None:
        run.usage += usage
        self.totals.add(Totals(usage))


def read_stored(store: VerdictStore, call: ModelCall[S, A], stored: StoredCall) -> A | None:
    """What the stored reply answers; None if nothing. Raises `StoreError`."""
    try:
        reply = call.schema.model_validate_json(stored.reply or "")
    except (ValidationError, RecursionError):
        raise store.damaged(f"a {stored.step} reply that cannot be read") from None
    return call.read(reply)


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
