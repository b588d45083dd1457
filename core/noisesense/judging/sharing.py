"""Metrics over one sample judge it once in a run: across tasks, threads and event loops."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Generic, TypeVar

from noisesense.errors import JudgeError, NoiseSenseError
from noisesense.judging.protocol import DetailedJudge, Judge, Judgement, Usage
from noisesense.verdicts.sample import Sample

T = TypeVar("T")

_SAMPLES_KEPT = 10_000


class Once(Generic[T]):
    """Work that is done once, whoever asks for it: across tasks, threads and event loops.

    An error reaches all who wait. If whoever does it fails or is cancelled, the next who asks, or
    waits, does it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._future: Future[T] | None = None

    async def get(self, work: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """The result, and whether it was the caller who did the work."""
        while True:
            with self._lock:
                theirs = self._future
                if theirs is None:
                    # Futures of `concurrent.futures` belong to no event loop.
                    own = self._future = Future[T]()
                    # From here on a waiter's cancellation cannot cancel it for the others.
                    own.set_running_or_notify_cancel()
                    break
            with suppress(_GoneError):
                return await asyncio.wrap_future(theirs), False
        try:
            result = await work()
        except BaseException as error:
            self._future = None
            own.set_exception(error if isinstance(error, Exception) else _GoneError())
            raise
        own.set_result(result)
        return result, True


class _GoneError(Exception):
    """Whoever did the work was cancelled."""


class _Judging(Once[Judgement]):
    """One judging of a sample, and the metrics that have taken it."""

    def __init__(self) -> None:
        super().__init__()
        self.takers: set[Hashable] = set()


class _Run:
    """What is judged in one run, of the 10,000 samples that came last.

    Judges are told apart by identity: they need not be hashable (a plain dataclass is not).
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.judges: dict[int, Judge] = {}  # kept, so that an id stays its judge's own
        self.judgings: dict[Hashable, list[_Judging]] = {}


_runs: dict[int, tuple[_Run, object]] = {}
"""By the id of the host's object. One that takes no weak reference is kept, and so is its id."""


def _run_of(owner: object) -> _Run:
    """What is judged in the run that ends with the host's object."""
    if id(owner) not in _runs:
        kept = None
        try:
            weakref.finalize(owner, _runs.pop, id(owner), None).atexit = False
        except TypeError:
            kept = owner
        _runs.setdefault(id(owner), (_Run(), kept))
    return _runs[id(owner)][0]


def sharing_key(sample: Sample) -> tuple[str, tuple[bool | None, ...]]:
    """What samples that share a judging have in common: their content and labels."""
    return sample.key, tuple(chunk.relevant for chunk in sample.retrieved_contexts)


async def judge_once(
    judge: Judge, sample: Sample, *, metric: Hashable, run: object | None = None
) -> Judgement:
    """The judge's verdicts on the sample: metrics over one sample share them within one run.

    A metric takes the first judging of the sample in this run that it has not taken yet, and
    asks the judge where there is none: two modes agree for the price of one, and measuring again
    asks again. Whoever asks while the sample is being judged waits for the same answer; an error
    reaches all who wait and is not remembered. A finished judgement with unanswered cells is not
    kept for anyone. What is kept, of 10,000 samples at most, goes when the run goes.

    Args:
        judge: told apart from others by identity.
        sample: samples of the same content and labels are one.
        metric: the asking metric's configuration: everything in which metrics over the same
            verdicts differ (host, class, mode, definition, …), and not the metric object.
        run: an object that lives as long as the host's run; it is held weakly. What was judged
            in one run is never given to another. None is the run that ends with the judge.

    Returns:
        The judgement; ``shared=True`` and no usage where another metric has paid for it.

    Raises:
        NoiseSenseError: as the judge raises.
    """
    shared = _run_of(judge if run is None else run)
    with shared.lock:
        if run is not None:
            shared.judges[id(judge)] = judge
        judgings = shared.judgings.setdefault((id(judge), sharing_key(sample)), [])
        if len(shared.judgings) > _SAMPLES_KEPT:
            del shared.judgings[next(iter(shared.judgings))]
        judging = next((each for each in judgings if metric not in each.takers), None)
        if judging is None:
            judging = _Judging()
            judgings.append(judging)
        judging.takers.add(metric)

    try:
        judgement, leads = await judging.get(partial(ask_judge, judge, sample))
    except BaseException:
        judging.takers.discard(metric)
        raise
    if not leads:
        return replace(judgement, usage=Usage(), shared=True, paid=judgement.usage)
    if judgement.unanswered:  # for those who waited, and nobody later
        with shared.lock:
            judgings.remove(judging)
    return judgement


async def ask_judge(judge: Judge, sample: Sample) -> Judgement:
    """The judge's verdicts on the sample, beside it; shared with nobody.

    Raises:
        NoiseSenseError: as the judge raises; `JudgeError` in place of anything else.
    """
    failure: JudgeError
    try:
        if isinstance(judge, DetailedJudge):
            judgement = await judge.judge_detailed(sample)
            return replace(judgement, verdicts=judgement.verdicts.beside(sample))
        return Judgement((await judge.judge(sample)).beside(sample))
    except NoiseSenseError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, hosts keep its words and traceback
        name = type(judge).__name__
        failure = JudgeError(
            f"{name} failed with {type(error).__name__}; its message may hold a key or a prompt "
            "and is withheld. Hint: await the judge yourself to see it"
        )
    raise failure
