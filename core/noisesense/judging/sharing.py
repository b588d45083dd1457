"""Metrics over one sample share one judging in a run: across tasks, threads and event loops."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from noisesense.errors import JudgeError, NoiseSenseError
from noisesense.judging.placebos import COUNT, with_placebos
from noisesense.judging.protocol import NO_USAGE, Judge, Judgement
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import ResponseClaim


class _Judging:
    """One judging of a sample, done once for all callers, and the metrics that have used it.

    An error reaches all who wait. If the work fails or is cancelled, the next caller, or one who
    waits, does it again.
    """

    def __init__(self) -> None:
        self.users: set[Hashable] = set()
        self._lock = threading.Lock()
        self._future: Future[Judgement] | None = None

    async def get(self, work: Callable[[], Awaitable[Judgement]]) -> tuple[Judgement, bool]:
        """Return the result, and whether this caller did the work."""
        while True:
            with self._lock:
                theirs = self._future
                if theirs is None:
                    # Futures of `concurrent.futures` belong to no event loop.
                    own = self._future = Future[Judgement]()
                    # A running future is not cancelled when one who waits for it is.
                    own.set_running_or_notify_cancel()
                    break
            with suppress(_CancelledError):
                return await asyncio.wrap_future(theirs), False
        try:
            result = await work()
        except BaseException as error:
            self._future = None
            own.set_exception(error if isinstance(error, Exception) else _CancelledError())
            raise
        own.set_result(result)
        return result, True


class _CancelledError(Exception):
    """The task that did the work was cancelled."""


class _Run:
    """The judgings of one run, by judge and sample; of a judge also the rows of its placebos.

    Those are the first rows in their order, whichever is judged first: with a store, a run that
    goes on asks the same.

    Judges are told apart by identity, as they need not be hashable (a plain dataclass is not).
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.judges: dict[int, Judge] = {}  # held, so that no other object gets their ids
        self.judgings = defaultdict[Hashable, list[_Judging]](list)
        self.first: dict[Sample, tuple[ResponseClaim, ...] | None] = {}
        self.is_tested = False


_runs: dict[int, tuple[_Run, object]] = {}
"""By the id of the host's object. An object without weak references is held, to keep its id."""


def _run_of(owner: object) -> _Run:
    """Return the run that ends with the host's object; it begins when it is first asked for."""
    if id(owner) not in _runs:
        held = None
        try:
            weakref.finalize(owner, _runs.pop, id(owner), None).atexit = False
        except TypeError:
            held = owner
        _runs.setdefault(id(owner), (_Run(), held))
    return _runs[id(owner)][0]


def begin_run(judge: Judge) -> None:
    """Tell that a run begins: `ask_judge` asks the judge placebos again.

    If the run before had too few samples for them, its samples count as well.
    """
    _run_of(judge).is_tested = False


def sharing_key(sample: Sample) -> tuple[str, tuple[bool | None, ...]]:
    """Return the key by which samples share a judging: their texts and labels, without ids."""
    return sample.key, tuple(chunk.relevant for chunk in sample.retrieved_contexts)


async def judge_once(
    judge: Judge, sample: Sample, *, metric: Hashable, run: object | None = None
) -> Judgement:
    """Return the judge's verdicts on the sample, shared by the metrics of one run.

    A metric gets the first judging of the sample in this run that it has not used yet; if there
    is none, the judge is asked. So two modes agree for the price of one, and measuring again asks
    again. Callers during a judging wait for its result; an error reaches all of them and is not
    kept. Nor is a judgement with unanswered cells. The judgings of a run are dropped with it.

    Args:
        judge: told apart from others by identity.
        sample: samples of the same texts and labels are judged once, whatever the chunks' ids
            are; each caller's verdicts have the ids of its own sample.
        metric: the metric's configuration, not the metric object: everything in which metrics
            over the same verdicts differ (host, class, mode, definition, …).
        run: an object that lives as long as the host's run; it is held weakly. Nothing is shared
            between runs. By default, the run ends with the judge.

    Returns:
        The judgement; with ``shared=True`` and no usage if another metric has paid for it.

    Raises:
        NoiseSenseError: as `ask_judge` raises.
    """
    shared = _run_of(judge if run is None else run)
    with shared.lock:
        if run is not None:
            shared.judges[id(judge)] = judge
        judgings = shared.judgings[id(judge), sharing_key(sample)]
        unused = [each for each in judgings if metric not in each.users]
        if not unused:
            unused = [_Judging()]
            judgings += unused
        judging = unused[0]
        judging.users.add(metric)
    try:
        judgement, leads = await judging.get(partial(ask_judge, judge, sample))
    except BaseException:
        judging.users.discard(metric)
        raise
    if not leads:
        verdicts = judgement.verdicts.with_sample(sample)
        paid = judgement.usage
        return replace(judgement, verdicts=verdicts, usage=NO_USAGE, shared=True, paid=paid)
    if judgement.unanswered:
        with shared.lock:
            judgings.remove(judging)
    return judgement


async def ask_judge(judge: Judge, sample: Sample) -> Judgement:
    """Return the judge's verdicts on the sample, with its chunks; not shared.

    A judge that can check given claims is asked placebos once, beside the sample with which its
    first five are judged; see `noisesense.judging.placebos`. Their cost is in the usage.

    Raises:
        NoiseSenseError: as the judge raises; `JudgeError` in place of anything else that judging
            the sample raises. Errors of the placebos are as in `with_placebos`.
    """
    run = _run_of(judge)
    if run.is_tested:
        return await _judged(judge, sample)
    with run.lock:
        run.first.setdefault(sample)
    try:
        judgement = await _judged(judge, sample)
    except BaseException:
        run.first.pop(sample, None)
        raise
    with run.lock:
        run.first[sample] = judgement.verdicts.response_claims
        rows = {
            each: claims for each, claims in islice(run.first.items(), COUNT) if claims is not None
        }
        if len(rows) < COUNT or run.is_tested:
            return judgement
        run.is_tested = True
        run.first.clear()
    return await with_placebos(judge, rows, judgement)


async def _judged(judge: Judge, sample: Sample) -> Judgement:
    failure: JudgeError
    try:
        # isinstance is slow with a protocol, and this is asked of each sample.
        judge_detailed: Any = getattr(judge, "judge_detailed", None)
        if judge_detailed is not None:
            judgement: Judgement = await judge_detailed(sample)
            return replace(judgement, verdicts=judgement.verdicts.with_sample(sample))
        return Judgement((await judge.judge(sample)).with_sample(sample))
    except NoiseSenseError:
        raise
    except Exception as error:  # noqa: BLE001 - hosts log the message and traceback of any error
        name = type(judge).__name__
        failure = JudgeError(
            f"{name} failed with {type(error).__name__}; its message may hold a key or a prompt "
            "and is withheld. Hint: await the judge yourself to see it"
        )
    raise failure
