"""Calls to the model: at most so many at once, none that is in the store, all of them counted."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from noisesense.errors import InputError, JudgeError, NoiseSenseError, ReplyError
from noisesense.judging.prompts import YES_NO, Answer, ChosenAnswer
from noisesense.judging.protocol import StructuredLLM, Usage, WordLLM

if TYPE_CHECKING:
    from noisesense.judging.store import VerdictStore

T = TypeVar("T")
S = TypeVar("S", bound=BaseModel)
A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)

_FORM = 3
"""Part of every key; raised when a stored reply could no longer be read."""

_POLL = (0.02, 0.5)
_GOING_SECONDS = 5.0


class AwaitingAnswerError(NoiseSenseError):
    """What was asked in a batch file has no answer yet: the sample goes on when it has."""


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


async def _within(seconds: float, work: Coroutine[Any, Any, T], late: Exception) -> T:
    """The result of the work, if it comes in time; else ``late``, and the work is cancelled."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise late
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_GOING_SECONDS)
        if task.done() and not task.cancelled():
            task.exception()  # seen: asyncio would report it


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run(work)``, in a thread if this one's loop is busy waiting for us.

    An interrupt cancels the work, waits until it has cleaned up, and is raised.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = Future()

    async def cancellable() -> T:
        task = asyncio.ensure_future(work)
        started.set_result((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(1, "noisesense-scoring") as pool:
        done = pool.submit(asyncio.run, cancellable())
        try:
            return done.result()
        except BaseException:
            if not done.done():
                loop, task = started.result()
                with suppress(RuntimeError):  # the loop has just ended
                    loop.call_soon_threadsafe(task.cancel)
            raise


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


@dataclass
class SampleRun:
    """What judging one sample has cost so far, and what was wrong with its last bad reply."""

    usage: Usage = field(default_factory=Usage)
    problem: str = ""


@dataclass(frozen=True)
class ModelCall(Generic[S, A_co]):
    """One call to be made.

    Attributes:
        prompts: its own, and those of later attempts, as long as nothing is answered.
        schema: the form of the reply.
        read: what the reply answers; None if nothing, and then it is not kept.
        vote: calls that differ in it alone are separate calls.
        attempt: above 0, it asks for what earlier replies left out.
    """

    prompts: Sequence[str]
    schema: type[S]
    read: Callable[[S], A_co | None]
    vote: int = 0
    attempt: int = 0


class Calls:
    """Makes the calls of one judge.

    Args:
        llm: the model.
        model: its name.
        version: of the prompts.
        store: of replies.
        most: calls at once in each event loop.
        timeout: seconds that a whole call may take.
    """

    def __init__(
        self,
        llm: StructuredLLM,
        model: str,
        version: str,
        store: VerdictStore | None,
        most: int,
        timeout: float = 600.0,
    ) -> None:
        self.llm, self.model, self.version, self.store = llm, model, version, store
        self.totals = Totals()
        self._lock = threading.Lock()
        # A semaphore belongs to the loop that first waits on it, and a judge may serve several.
        self._slots: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}
        self._most, self._timeout = most, timeout

    def add(self, more: Totals) -> None:
        """Add to the totals; several threads may."""
        with self._lock:
            self.totals += more

    def slot(self) -> asyncio.Semaphore:
        """The running loop's semaphore, to be used with ``async with``."""
        loop = asyncio.get_running_loop()
        with self._lock:
            slot = self._slots.get(loop)
            if slot is None:
                # Weak keys would not do: a semaphore that was waited on holds its loop.
                for closed in [each for each in self._slots if each.is_closed()]:
                    del self._slots[closed]
                slot = self._slots[loop] = asyncio.Semaphore(self._most)
            return slot

    async def ask(self, run: SampleRun, call: ModelCall[S, A]) -> tuple[A | None, int]:
        """What the reply answers, and to which attempt; None if nothing.

        If the store has an answer to a later attempt, that is taken: what an earlier run repaired
        is not paid for again.

        Raises:
            JudgeError: the model could not be asked, or gave no reply in time.
            StoreError: the store cannot be read or written.
        """
        if self.store is not None:
            return await self._through(self.store, run, call)
        async with self.slot():
            reply, _ = await self._reply(run, call)
        return (None if reply is None else call.read(reply)), call.attempt

    async def _through(
        self, store: VerdictStore, run: SampleRun, call: ModelCall[S, A]
    ) -> tuple[A | None, int]:
        keys = [self._key(prompt, call) for prompt in call.prompts]
        pause, longest = _POLL
        while True:
            unread = None
            for later, key in enumerate(keys):
                stored = await store.get(key)
                answer = None if stored is None else _read(call, stored)
                if answer is not None:
                    self._count(run, Usage(cached_calls=1))
                    return answer, call.attempt + later
                unread = stored if not later else unread
            if (defer := getattr(self.llm, "defer", None)) is not None:
                if unread is None:
                    defer(keys[0], call.prompts[0], call.schema, self.version)
                    raise AwaitingAnswerError("a batch file has no answer to this yet")
                # It has come, and is of no use.
                self._count(run, Usage(cached_calls=1, reasks=int(call.attempt > 0)))
                return None, call.attempt
            # Whoever claims a call holds a slot already, so waiting for it cannot deadlock.
            async with self.slot():
                if await store.claim(keys[0], over=unread):
                    return await self._kept(store, keys[0], run, call), call.attempt
            # Another task or process is making this very call.
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, longest)

    async def _kept(
        self, store: VerdictStore, key: str, run: SampleRun, call: ModelCall[S, A]
    ) -> A | None:
        """Make the call and keep its reply. The claim ends with it, whatever comes of it."""
        kept = False
        try:
            reply, usage = await self._reply(run, call)
            answer = None if reply is None else call.read(reply)
            if reply is not None and answer is not None:
                # Not as pydantic writes it, which half of a surrogate pair would stop.
                data = json.dumps(reply.model_dump(mode="json"), ensure_ascii=False)
                await store.put(key, data, self.model, self.version, usage)
                kept = True
            return answer
        finally:
            if not kept:
                store.release(key)

    def _key(self, prompt: str, call: ModelCall[Any, Any]) -> str:
        form = [_FORM, call.schema.__name__, call.vote]
        parts = [*form, self.version, self.model, identity_of(self.llm), prompt]
        content = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    async def _reply(self, run: SampleRun, call: ModelCall[S, A]) -> tuple[S | None, Usage]:
        reply, spent = None, None
        late = JudgeError(f"{self.model} gave no reply within {self._timeout:g} seconds")
        again = int(call.attempt > 0)
        try:
            work = self._generate(call.prompts[0], call.schema)
            reply, spent = await _within(self._timeout, work, late)
        except ReplyError as error:
            spent, run.problem = error.usage, str(error)
        except JudgeError as error:
            if error is late:
                self._count(run, Usage(calls=1, reasks=again))
            raise
        usage = spent if isinstance(spent, Usage) else Usage()
        if not usage.calls and not usage.cached_calls:
            usage = replace(usage, calls=1)  # a bridge that does not count its calls made one
        usage = replace(usage, reasks=usage.reasks + again)
        self._count(run, usage)
        if reply is not None and not isinstance(reply, call.schema):
            raise JudgeError(
                f"generate() of {type(self.llm).__name__} gave a {type(reply).__name__}"
                f" where a {call.schema.__name__} was asked for"
            )
        return reply, usage

    async def _generate(self, prompt: str, schema: type[S]) -> tuple[Any, object]:
        if schema is not ChosenAnswer:
            return await self.llm.generate(prompt, schema)
        if not isinstance(self.llm, WordLLM):
            reply, usage = await self.llm.generate(prompt, Answer)
            return (ChosenAnswer(answer=reply.answer) if type(reply) is Answer else reply), usage
        choice, usage = await self.llm.choose(prompt, YES_NO)
        if choice.word not in YES_NO:
            raise JudgeError(f"choose() of {type(self.llm).__name__} gave none of the words")
        known = choice.probability is not None and 0 <= choice.probability <= 1
        return ChosenAnswer.model_validate(
            {"answer": choice.word, "probability": choice.probability if known else None}
        ), usage

    def _count(self, run: SampleRun, usage: Usage) -> None:
        run.usage += usage
        self.add(Totals(usage))


def _read(call: ModelCall[S, A], stored: str) -> A | None:
    """What a stored reply answers; None if nothing, as what has stood there in another form."""
    try:
        return call.read(call.schema.model_validate_json(stored))
    except (ValueError, RecursionError):
        return None


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
    """To be shown: should an option hold a secret after all, it stays out."""
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]
