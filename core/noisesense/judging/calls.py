"""Calls to the model: at most so many at once, none that is in the store, all of them counted."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from pydantic import BaseModel

from noisesense.errors import (
    BusyError,
    InputError,
    JudgeError,
    PromptTooLongError,
    ReplyError,
)
from noisesense.judging.pace import Pace
from noisesense.judging.protocol import ClaimChange, StructuredLLM, Usage
from noisesense.judging.tokens import TokenCheck

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


async def gather_all(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run everything at once; return the results in the order of ``work``.

    The first failure, or being cancelled, cancels the rest, waits until it has ended, and is
    raised. `asyncio.gather` would leave the rest running.
    """
    coroutines = list(work)
    if len(coroutines) == 1:  # most are: a task more for each would cost as much as the rest of it
        return [await coroutines[0]]
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        # Waits for the cancelled, and marks further errors as seen: asyncio would report them.
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def _within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Return the work's result. If it does not end in time, it is cancelled.

    Raises:
        asyncio.TimeoutError: it did not.
        JudgeError: it was cancelled, and not by us: it would look as if the whole run were.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        await _give_up(task)
        raise
    if task.cancelled():
        raise JudgeError("the model's own client cancelled the call")
    if not done:
        await _give_up(task)
        raise asyncio.TimeoutError
    return task.result()


async def _give_up(task: asyncio.Task[Any]) -> None:
    """Cancel it, and wait a little: a client may not let itself be cancelled."""
    task.cancel()
    gone = asyncio.gather(task, return_exceptions=True)  # asyncio would report its error
    await asyncio.wait({gone}, timeout=_GOING_SECONDS)


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of ``asyncio.run(work)``; in another thread if this one runs a loop.

    That loop stands still until then. An interrupt cancels the work, waits until it has cleaned
    up, and is raised.
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


@dataclass
class SampleRun:
    """What came of judging one sample so far.

    Attributes:
        usage: what it has cost.
        problem: what was wrong with the last bad reply.
        changes: claims added and dropped.
        open_questions: how often the model was asked whether to add or drop a claim and gave no
            answer.
        has_claims: set once those of the response are known. Without them the sample fails, and
            nothing else is worth asking for again.
    """

    usage: Usage = field(default_factory=Usage)
    problem: str = ""
    changes: list[ClaimChange] = field(default_factory=list[ClaimChange])
    open_questions: int = 0
    has_claims: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True)
class ModelCall(Generic[S, A_co]):
    """One thing to be asked, in one call or more.

    Attributes:
        prompt: of an attempt, from 0 on.
        attempts: at most, as long as nothing is answered.
        schema: the form of the reply.
        read: what the reply answers; None if nothing, and then it is not kept.
        vote: calls that differ in it alone are separate calls.
        is_aside: it is worth asking again only once the response's claims are known.
    """

    prompt: Callable[[int], str]
    attempts: int
    schema: type[S]
    read: Callable[[S], A_co | None]
    vote: int = 0
    is_aside: bool = False


class Calls:
    """Makes the calls of one judge.

    Args:
        llm: the model.
        model: its name.
        version: of the prompts.
        store: of replies.
        most: calls at once in each event loop.
        timeout: seconds that a whole call may take.
        max_wait: seconds to wait in a row for a provider that takes no calls.
    """

    def __init__(
        self,
        llm: StructuredLLM,
        model: str,
        version: str,
        store: VerdictStore | None,
        most: int,
        timeout: float,
        max_wait: float,
    ) -> None:
        self.llm = llm
        self.model = model
        self.version = version
        self.store = store
        self.usage = Usage()
        self._lock = threading.Lock()
        self._slots = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]()
        self._most = most
        self._timeout = timeout
        self.pace = Pace(max_wait)
        self._token_check = TokenCheck()

    async def ask(
        self, run: SampleRun, call: ModelCall[S, A], attempt: int = 0
    ) -> tuple[A | None, int]:
        """Return what the first useful reply answers, None if there is none; and the next attempt.

        A useless reply is followed by the next attempt, up to ``call.attempts``. If the call is an
        aside, that waits for ``run.has_claims``.

        Args:
            run: of the sample; it notes what the replies cost, and what was wrong with them.
            call: what to ask.
            attempt: the first to be made, from 0 on.

        Raises:
            PromptTooLongError: the prompt was refused as too long, or cut.
            JudgeError: the model could not be asked, gave no reply in time, or gave one of another
                type than the call's schema.
            StoreError: the store cannot be read or written.
        """
        answer: A | None = None
        while answer is None and attempt < call.attempts:
            if attempt and call.is_aside:
                await run.has_claims.wait()
            if self.store is not None:
                answer, attempt = await self._by_store(self.store, run, call, attempt)
            else:
                async with self._slot():
                    answer, attempt = await self._reply(run, call, attempt), attempt + 1
        return answer, attempt

    async def _by_store(
        self, store: VerdictStore, run: SampleRun, call: ModelCall[S, A], attempt: int
    ) -> tuple[A | None, int]:
        """Return the answer to one attempt, None if its reply is of no use; and the next attempt.

        A reply in the store is not paid for again: not to this attempt, nor to a later one, with
        which an earlier run has repaired it. Else the model is asked, by one caller at a time.
        """
        keys = [self._key(call.prompt(n), call) for n in range(attempt, call.attempts)]
        pause, longest = _POLL
        while True:
            unusable = None  # what the store has for this very attempt
            for later, key in enumerate(keys):
                stored = await store.get(key)
                answer = None if stored is None else _read(call, stored)
                if answer is not None:
                    self._count(run, Usage(cached_calls=1))
                    return answer, attempt + later + 1
                if later == 0:
                    unusable = stored
            # Whoever claims a call holds a slot already, so waiting for it cannot deadlock.
            async with self._slot():
                if await store.claim(keys[0], over=unusable):
                    try:
                        return await self._reply(run, call, attempt), attempt + 1
                    finally:
                        await store.release(keys[0])
            # Another task or process is making this very call.
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, longest)

    async def _reply(self, run: SampleRun, call: ModelCall[S, A], attempt: int) -> A | None:
        """What the model answers, when the pace allows it; again while the provider is busy."""
        first = 0.0
        while True:
            started = await self.pace.turn()
            first = first or started
            exchange = self._exchange(run, call, attempt, started)
            try:
                return await _within(self._timeout, exchange)
            except BusyError as error:
                if not self.pace.refused(first, started, error.wait):
                    raise
            except asyncio.TimeoutError:
                self.pace.left(started)
                self._count(run, Usage(calls=1, reasks=int(attempt > 0)))
                late = f"{self.model} gave no reply within {self._timeout:g} seconds"
                raise JudgeError(late) from None
            except BaseException:
                self.pace.left(started)
                raise

    async def _exchange(
        self, run: SampleRun, call: ModelCall[S, A], attempt: int, started: float
    ) -> A | None:
        """Ask the model once. What was paid for is kept before anybody hears."""
        prompt = call.prompt(attempt)
        reply: object = None
        spent: object = None
        try:
            reply, spent = await self.llm.generate(prompt, call.schema)
        except ReplyError as error:
            spent = error.usage
            run.problem = str(error)
        self.pace.taken(started)
        usage = spent if isinstance(spent, Usage) else Usage()
        if not usage.calls and not usage.cached_calls:
            usage = replace(usage, calls=1)  # a bridge that does not count its calls made one
        usage = replace(usage, reasks=usage.reasks + int(attempt > 0))
        self._count(run, usage)
        if self._token_check.is_cut(prompt, usage.input_tokens):
            raise PromptTooLongError(
                f"{self.model} read only {usage.input_tokens:,} tokens of a prompt: the server"
                " seems to cut prompts. Hint: raise its context window (Ollama: num_ctx), or give"
                " LLMJudge a smaller budget="
            )
        if reply is None:
            return None
        if not isinstance(reply, call.schema):
            got = type(reply).__name__
            asked = call.schema.__name__
            bridge = type(self.llm).__name__
            raise JudgeError(f"generate() of {bridge} gave a {got} where a {asked} was asked for")
        answer = call.read(reply)
        if answer is not None and self.store is not None:
            await self.store.put(self._key(prompt, call), reply.model_dump_json())
        return answer

    def _key(self, prompt: str, call: ModelCall[Any, Any]) -> str:
        form = [_FORM, call.schema.__name__, call.vote]
        parts = [*form, self.version, self.model, identity_of(self.llm), prompt]
        content = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    def _count(self, run: SampleRun, usage: Usage) -> None:
        run.usage += usage
        with self._lock:
            self.usage += usage

    def _slot(self) -> asyncio.Semaphore:
        """Return the running loop's semaphore: one serves one loop, and a judge may have many."""
        return self._slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._most))


def _read(call: ModelCall[S, A], stored: str) -> A | None:
    """Return what a stored reply answers; None if nothing, or if it is not in the call's form."""
    try:
        return call.read(call.schema.model_validate_json(stored))
    except (ValueError, RecursionError):
        return None


def model_name(llm: StructuredLLM, model: str | None, *, needed: bool) -> str:
    """Return the name the store keeps a model's calls under: ``model``, or else ``llm.name``.

    If that is no text or empty, and no name is needed, it is the name of the class.

    Raises:
        InputError: it is needed and there is none; or, without ``model``, an empty
            ``llm.identity`` says that the model's options are unknown.
    """
    name: object = getattr(llm, "name", None) if model is None else model
    has_unknown_options = model is None and getattr(llm, "identity", None) == ""
    if isinstance(name, str) and name and not (needed and has_unknown_options):
        return name
    if needed:
        expected = "a model with a name and an identity"
        hint = 'name it: LLMJudge(…, store=…, model="…")'
        got = f"{type(llm).__name__} without, to keep its calls under"
        raise InputError(expected, got, where="store", hint=hint)
    return type(llm).__name__


def identity_of(llm: StructuredLLM) -> str:
    """Return what the model's answers depend on beside its name: its ``identity``.

    If that is missing, empty or no text, its class with the module stands for it.
    """
    identity: object = getattr(llm, "identity", None)
    if isinstance(identity, str) and identity:
        return identity
    return f"{type(llm).__module__}.{type(llm).__qualname__}"


def digest(identity: str) -> str:
    """Return 8 hexadecimal digits that stand for an identity where people see it.

    Should one of its options hold a secret after all, it stays out.
    """
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:8]
