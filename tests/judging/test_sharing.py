"""Two metrics over one sample judge it once: across tasks, threads and event loops."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from noisesense import (
    Judge,
    JudgeError,
    Judgement,
    ResponseClaim,
    Sample,
    Usage,
    Verdicts,
)
from noisesense.judging.sharing import judge_once
from support.bad_inputs import GOOD_SAMPLE, GOOD_VERDICTS

SAMPLE = Sample.model_validate(GOOD_SAMPLE)
CHUNKS = [
    {"text": "Paris is the capital of France.", "id": "fr.md"},
    "Ten million people live there.",
]
NAMED = Sample.model_validate({**GOOD_SAMPLE, "retrieved_contexts": CHUNKS})
OTHER = Sample.model_validate({**GOOD_SAMPLE, "user_input": "And of Spain?"})
VERDICTS = Verdicts.model_validate(GOOD_VERDICTS)
BESIDE = VERDICTS.with_sample(SAMPLE)


@dataclass
class Counting:
    """A plain dataclass: not hashable, and equal to others of the same state."""

    fail: int = 0
    asked: list[Sample] = field(default_factory=list)
    may_answer: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.may_answer.set()

    async def judge(self, sample: Sample) -> Verdicts:
        self.asked.append(sample)
        await asyncio.sleep(0)
        while not self.may_answer.is_set():
            await asyncio.sleep(0.001)
        if self.fail > 0:
            self.fail -= 1
            raise JudgeError("not now")
        return VERDICTS


class Detailed(Counting):
    async def judge_detailed(self, sample: Sample) -> Judgement:
        return Judgement(await self.judge(sample), Usage(calls=3, cost=0.5))


class Run:
    """Stands for a host's run."""


_metrics = itertools.count()


async def ask(judge: Judge, sample: Sample = SAMPLE, run: object | None = None) -> Judgement:
    """Asks as a metric that has not asked before."""
    return await judge_once(judge, sample, metric=next(_metrics), run=run)


def test_many_tasks_ask_once() -> None:
    judge = Detailed()

    async def run() -> list[Judgement]:
        return await asyncio.gather(ask(judge), *(ask(judge, NAMED) for _ in range(49)))

    first, *others = asyncio.run(run())
    assert len(judge.asked) == 1
    cost = Usage(calls=3, cost=0.5)
    assert not first.shared
    assert first.usage == cost
    # Whoever shares has no usage of its own, so that usages add up.
    shared = {(other.shared, other.usage, other.paid) for other in others}
    assert shared == {(True, Usage(), cost)}
    # Documents' names are the caller's own.
    assert {other.verdicts for other in others} == {BESIDE.with_sample(NAMED)}
    assert first.verdicts == BESIDE


def asked(judge: Judge, metrics: str, run: object | None = None) -> list[bool]:
    """For each metric (a letter), one after another: was the judge asked anew?"""
    return [
        not asyncio.run(judge_once(judge, SAMPLE, metric=metric, run=run)).shared
        for metric in metrics
    ]


class Drawing:
    """Gives another answer every time."""

    def __init__(self) -> None:
        self.drawn = 0

    async def judge(self, sample: Sample) -> Verdicts:
        self.drawn += 1
        text = f"draw {self.drawn}"
        await asyncio.sleep(0)
        claim = ResponseClaim(text=text, correct=True, entailed_by=())
        return Verdicts(response_claims=(claim,), chunks=sample.retrieved_contexts)


def drawn(judgements: list[Judgement]) -> list[str]:
    return [judgement.verdicts.response_claims[0].text for judgement in judgements]


@pytest.mark.parametrize("order", ["aaabbb", "abbaab"])
@pytest.mark.parametrize("at_once", [False, True])
def test_equal_samples_in_a_run_are_judged_each_and_shared_pair_by_pair(
    order: str, at_once: bool
) -> None:
    """Three equal rows and two modes: three judgings, and each mode gets all three."""
    judge = Drawing()
    run = Run()

    async def work() -> list[Judgement]:
        each = [judge_once(judge, SAMPLE, metric=metric, run=run) for metric in order]
        return await asyncio.gather(*each) if at_once else [await one for one in each]

    texts = drawn(asyncio.run(work()))
    assert judge.drawn == 3
    for mode in "ab":
        own = [text for metric, text in zip(order, texts, strict=True) if metric == mode]
        assert own == ["draw 1", "draw 2", "draw 3"]


def test_runs_share_nothing() -> None:
    judge = Counting()
    first = Run()
    second = Run()
    assert asked(judge, "ab", first) == [True, False]
    assert asked(judge, "cd", second) == [True, False]
    assert asked(judge, "ef") == [True, False]
    assert asked(judge, "g", first) == [False]
    assert not asyncio.run(ask(judge, OTHER)).shared


class Broken(Counting):
    """Leaves one cell open until it is repaired."""

    open: int = 1

    async def judge_detailed(self, sample: Sample) -> Judgement:
        return Judgement(await self.judge(sample), Usage(calls=1), unanswered=self.open)


def test_unanswered_cells_are_for_those_who_wait_and_nobody_later() -> None:
    judge = Broken()
    run = Run()

    async def both() -> list[Judgement]:
        return await asyncio.gather(ask(judge, run=run), ask(judge, run=run))

    assert [judgement.shared for judgement in asyncio.run(both())] == [False, True]
    assert len(judge.asked) == 1
    assert not asyncio.run(ask(judge, run=run)).shared  # still broken
    judge.open = 0
    repaired = asyncio.run(ask(judge, run=run))
    assert repaired.shared is False
    assert repaired.unanswered == 0
    assert asyncio.run(ask(judge, run=run)).shared
    assert len(judge.asked) == 3


async def _waiting(judge: Judge) -> asyncio.Task[Judgement]:
    """A task that has asked, and judges or waits for whoever judges."""
    task = asyncio.create_task(ask(judge))
    await asyncio.sleep(0)
    return task


def _in_threads(judge: Counting, count: int) -> list[Judgement | BaseException]:
    """Asks in so many threads, each with a loop of its own; answers when all have asked."""
    judge.may_answer.clear()
    barrier = threading.Barrier(count, action=judge.may_answer.set)

    async def ask() -> Judgement:
        task = await _waiting(judge)
        barrier.wait()
        return await task

    def work(_: int) -> Judgement | BaseException:
        try:
            return asyncio.run(ask())
        except JudgeError as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


def test_threads_with_their_own_loops_ask_once() -> None:
    judge = Counting()
    judgements = _in_threads(judge, 8)
    assert len(judge.asked) == 1
    assert [judgement.verdicts for judgement in judgements] == [BESIDE] * 8
    assert sum(not judgement.shared for judgement in judgements) == 1


def test_when_the_first_is_cancelled_the_next_judges() -> None:
    judge = Counting()
    judge.may_answer.clear()

    async def run() -> list[Judgement]:
        first = await _waiting(judge)
        others = [await _waiting(judge) for _ in range(3)]
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        judge.may_answer.set()
        return await asyncio.gather(*others)

    judgements = asyncio.run(run())
    assert [judgement.verdicts for judgement in judgements] == [BESIDE] * 3
    assert len(judge.asked) == 2
    assert sum(not judgement.shared for judgement in judgements) == 1


@pytest.mark.parametrize("end", ["judge", "run"])
def test_what_was_judged_goes_with_the_run(end: str) -> None:
    """Without a run it goes with the judge."""
    judge = Counting()
    run = Run()
    kept = weakref.ref(asyncio.run(ask(judge, run=run if end == "run" else None)).verdicts)
    assert kept() is not None
    if end == "judge":
        del judge
    else:
        del run
    gc.collect()
    assert kept() is None
