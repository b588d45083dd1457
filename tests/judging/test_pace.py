"""A provider that is busy: one pause for all calls, one that asks, and a limit to the patience."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from noisesense import LLMJudge, score
from noisesense.errors import BusyError
from noisesense.judging import pace
from noisesense.judging.pace import Pace
from noisesense_adapters.models.failures import judge_error
from support.faults import TRUTH, mind, pairs
from support.scripted_llm import ScriptedLLM


class Busy:
    """Refuses the first so many calls."""

    def __init__(self, times: int, wait: float | None = None) -> None:
        self.left = times
        self.wait = wait
        self.calls = 0

    def __call__(self, prompt: str) -> str:
        self.calls += 1
        self.left -= 1
        if self.left >= 0:
            raise BusyError("busy", self.wait)
        return mind().answer(prompt)


def _judged(llm: Any, **options: Any) -> list[Any]:
    judge = LLMJudge(ScriptedLLM(llm), **options)

    async def main() -> list[Any]:
        asking = [judge.judge_detailed(sample) for sample, _ in pairs()]
        return await asyncio.gather(*asking, return_exceptions=True)

    return asyncio.run(main())


def test_calls_that_a_busy_provider_refuses_are_made_again() -> None:
    """The four calls that are out at first are refused, and each is made once more."""
    busy = Busy(4, 0.05)
    found = _judged(busy)
    assert [score(each.verdicts).relevant for each in found] == [TRUTH] * 2
    assert busy.calls == 4 + 2 * 6


def test_without_patience_a_refused_call_is_an_error_and_not_made_again() -> None:
    busy = Busy(10**6, 3_600.0)
    assert all(isinstance(each, BusyError) for each in _judged(busy, max_wait=0.0))
    # For the two lists of two samples.
    assert busy.calls <= 4


def test_a_call_that_alone_is_refused_does_not_ask_for_ever() -> None:
    """Others are taken meanwhile, so this pause is the first; but the call is a minute old."""
    now = time.monotonic()
    assert Pace(60.0).refused(now - 1.0, now, 1.0)
    assert not Pace(60.0).refused(now - 60.0, now, 1.0)


class Clock:
    """Time that passes only where somebody sleeps."""

    def __init__(self, now: float) -> None:
        self.now = now

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_the_rate_after_a_pause_is_what_was_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 calls from second 0 to 2, then a pause: 20 / 2 = 10 a second, of which 92% go on: 9.2.
    That grows by 1% a second: after 2 s it is 9.2 * 1.02 = 9.38."""
    clock = Clock(100.0)
    monkeypatch.setattr(pace, "time", clock)
    monkeypatch.setattr(pace, "asyncio", clock)
    held = Pace(600)
    for _ in range(20):
        held.taken(clock.now)
    clock.now = 102.0
    assert held.refused(101.9, 101.9, 0.0)
    assert held.waiting == 0.5  # who asks for nothing means nothing
    assert held.refused(101.9, 102.0, 2.0)
    assert held.waiting == 2.0
    probe = asyncio.run(held.turn())  # one asks whether the pause is over
    assert probe == 104.0
    held.taken(probe)
    assert held.waiting == 0.0
    starts = [asyncio.run(held.turn()) for _ in range(20)]
    assert starts[-1] - starts[-2] == pytest.approx(1 / 9.38, rel=0.01)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_seconds_to_wait_are_read_from_the_headers(
    headers: dict[str, str], wait: float | None
) -> None:
    assert asked_by(headers) == wait


def asked_by(headers: dict[str, str]) -> float | None:
    error = RuntimeError("too many")
    error.response = SimpleNamespace(status_code=429, headers=headers)  # type: ignore[attr-defined]
    found = judge_error(error, "m")
    assert isinstance(found, BusyError)
    return found.wait
