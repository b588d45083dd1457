"""Metrics over one sample judge it once in a run: across tasks, threads and event loops."""

from __future__ import annotations

import asyncio
import threading
import weakref
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Hashable
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from sys import getsizeof

from noisesense.errors import JudgeError, NoiseSenseError
from noisesense.judging.protocol import DetailedJudge, Judge, Judgement, Usage
from noisesense.verdicts.sample import Sample

_BYTES_KEPT = 64 * 2**20
_JUDGES_KEPT = 16
_ITEM_BYTES = 600
"""About what a claim or a chunk takes beside its text."""

_Owners = tuple[int, int]
_Key = tuple[str, tuple[bool | None, ...]]


class _LeaderGoneError(Exception):
    """The task that was judging was cancelled; whoever waits for it judges instead."""


@dataclass(eq=False)
class _Judging:
    """One judging of a sample. Futures of `concurrent.futures` belong to no event loop."""

    number: int
    owners: _Owners
    key: _Key
    future: Future[Judgement] = field(default_factory=Future[Judgement])
    bytes: int = 0


@dataclass
class _Judgings:
    """All judgings of one sample in a run, oldest first, and the last that each metric took."""

    all: list[_Judging] = field(default_factory=list[_Judging])
    taken: dict[Hashable, int] = field(default_factory=dict[Hashable, int])


@dataclass
class _Run:
    """What one judge has said in one run."""

    samples: dict[_Key, _Judgings] = field(default_factory=dict[_Key, _Judgings])
    owners: list[object] = field(default_factory=list[object])
    """Weak references. What cannot have one (``__slots__``) is kept, and with it its id."""


class _Memory:
    """What judges have said, least recently used first out.

    Judges and runs are told apart by identity, not equality: they need not be hashable (a plain
    dataclass is not).
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0
        self._lock = threading.Lock()
        self._runs: dict[_Owners, _Run] = {}
        self._kept: OrderedDict[_Judging, None] = OrderedDict()
        self._gone: deque[_Owners] = deque()
        self._numbers = count(1)

    def take(
        self, judge: Judge, run: object | None, key: _Key, metric: Hashable
    ) -> tuple[_Judging, bool]:
        """The first judging that the metric has not taken yet. Is it the caller's to do?"""
        with self._locked():
            owners = (id(judge), id(run))
            known = self._run(owners, judge, run).samples.setdefault(key, _Judgings())
            at = bisect_right(known.all, known.taken.get(metric, 0), key=lambda one: one.number)
            leads = at == len(known.all)
            if leads:
                judging = _Judging(next(self._numbers), owners, key)
                # From here on a waiter's cancellation cannot cancel it for the others.
                judging.future.set_running_or_notify_cancel()
                known.all.append(judging)
            judging = known.all[at]
            known.taken[metric] = judging.number
            if judging in self._kept:
                self._kept.move_to_end(judging)
            return judging, leads

    def keep(self, judging: _Judging, judgement: Judgement) -> None:
        with self._locked():
            judging.bytes = _size(judgement)
            self.bytes += judging.bytes
            self._kept[judging] = None
            while self.bytes > self.limit:
                self._drop(next(iter(self._kept)))

    def drop(self, judging: _Judging) -> None:
        with self._locked():
            self._drop(judging)

    def _run(self, owners: _Owners, *objects: object) -> _Run:
        run = self._runs.get(owners)
        if run is None:
            run = self._runs[owners] = _Run()
            for each in objects:
                try:
                    run.owners.append(weakref.ref(each, lambda _: self._clear_up(owners)))
                except TypeError:
                    run.owners.append(each)
        return run

    def _drop(self, judging: _Judging) -> None:
        self._uncount(judging)
        run = self._runs.get(judging.owners)
        known = run.samples.get(judging.key) if run else None
        # A judging that nobody awaits any more may be collected after its run.
        if run is None or known is None or judging not in known.all:
            return
        known.all.remove(judging)
        if not known.all:
            del run.samples[judging.key]
        if not run.samples:
            self._drop_run(judging.owners)

    def _drop_run(self, owners: _Owners) -> None:
        run = self._runs.pop(owners, None)
        for known in run.samples.values() if run else ():
            for judging in known.all:
                self._uncount(judging)

    def _uncount(self, judging: _Judging) -> None:
        if judging in self._kept:
            del self._kept[judging]
            self.bytes -= judging.bytes

    def _clear_up(self, *gone: _Owners) -> None:
        # The garbage collector may call this in the middle of anything, also while this very
        # thread holds the lock: then whoever holds it clears up.
        self._gone.extend(gone)
        while self._gone and self._lock.acquire(blocking=False):
            try:
                self._drop_gone()
            finally:
                self._lock.release()

    def _drop_gone(self) -> None:
        while self._gone:
            self._drop_run(self._gone.popleft())

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        with self._lock:
            # First, so that a new object in the place of one that is gone inherits nothing.
            self._drop_gone()
            yield
        self._clear_up()


def _size(judgement: Judgement) -> int:
    """About how many bytes a judgement holds."""
    verdicts = judgement.verdicts
    sides = verdicts.response_claims, verdicts.reference_claims
    claims = [claim for side in sides for claim in side]
    texts = [each.text for each in (*claims, *(verdicts.chunks or ()))]
    cells = sum(len(claim.entailed_by) + len(claim.undetermined) for claim in claims)
    return 8 * cells + _ITEM_BYTES * (1 + len(texts)) + sum(map(getsizeof, texts))


_memory = _Memory(_BYTES_KEPT)


def sharing_key(sample: Sample) -> _Key:
    """What samples that share a judging have in common: their content and labels."""
    return sample.key, tuple(chunk.relevant for chunk in sample.retrieved_contexts)


async def judge_once(
    judge: Judge,
    sample: Sample,
    *,
    metric: Hashable,
    run: object | None = None,
    share: bool = True,
) -> Judgement:
    """The judge's verdicts on the sample: metrics over one sample share them within one run.

    A metric takes the first judging of the sample in this run that it has not taken yet, and
    asks the judge where there is none: two modes agree for the price of one, and measuring again
    asks again. Whoever asks while the sample is being judged waits for the same answer; an error
    reaches all who wait and is not remembered. A finished judgement with unanswered cells is not
    kept for anyone. What is kept, 64 MB in all at most, goes when the run or the judge goes.

    Args:
        judge: told apart from others by identity.
        sample: samples of the same content and labels are one.
        metric: the asking metric's configuration: everything in which metrics over the same
            verdicts differ (host, class, mode, definition, …), and not the metric object.
        run: an object that lives as long as the host's run; it is held weakly. What was judged
            in one run is never given to another. None is a run that does not end.
        share: False asks the judge and leaves the answer to nobody else.

    Returns:
        The judgement; ``shared=True`` and no usage where another metric has paid for it.

    Raises:
        NoiseSenseError: as the judge raises.
    """
    if not share:
        return await _ask(judge, sample)
    key = sharing_key(sample)
    while True:
        judging, leads = _memory.take(judge, run, key, metric)
        if leads:
            break
        try:
            judgement = await asyncio.wrap_future(judging.future)
        except _LeaderGoneError:
            continue
        return replace(judgement, usage=Usage(), shared=True, paid=judgement.usage)
    try:
        judgement = await _ask(judge, sample)
    except BaseException as error:
        _memory.drop(judging)
        gone = error if isinstance(error, Exception) else _LeaderGoneError()
        judging.future.set_exception(gone)
        raise
    if judgement.unanswered:
        _memory.drop(judging)
    else:
        _memory.keep(judging, judgement)
    judging.future.set_result(judgement)
    return judgement


async def _ask(judge: Judge, sample: Sample) -> Judgement:
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


_judges: OrderedDict[tuple[Hashable, Hashable], tuple[object, Judge]] = OrderedDict()
_judges_lock = threading.Lock()


def judge_for(owner: object, options: Hashable, make: Callable[[], Judge]) -> Judge:
    """One judge for one model object of a host and one set of options.

    Metrics that were given the same model (the same object, or the same name) get the same
    judge, so that `judge_once` can share what it says. The last 16 are kept.
    """
    key = (owner if isinstance(owner, str) else id(owner), options)
    with _judges_lock:
        entry = _judges.get(key)
        if entry is None:
            # The owner is kept with its judge: its id stays its own as long as the key is there.
            entry = _judges[key] = (owner, make())
            if len(_judges) > _JUDGES_KEPT:
                _judges.popitem(last=False)
        _judges.move_to_end(key)
        return entry[1]
