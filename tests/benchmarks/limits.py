"""How a judge gets through providers' limits: all samples, few calls too many, little time lost.

    python tests/benchmarks/limits.py [--samples 200] [--limit NAME]

A scripted server takes so many calls a second, or tokens a minute, and refuses the rest, telling
when to come again in one of the ways that providers do; or takes nothing at all for six seconds.
Prints, for each, the samples that were scored, the requests and how many of them were needed, and
the wall time beside what the limit allows, on a machine that takes as long without one as this
did in the first run. Exit status 1 if a sample failed, more than 1.05 times
the calls were made, or it took more than 1.3 times as long.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate

import ground  # noqa: F401

from noisesense import LLMJudge
from noisesense_adapters.openai import OpenAILLM
from support import misbehavior as bad
from support.cost_workload import make_mind, run_pairs
from support.misbehavior import Misbehavior
from support.server import ScriptedServer

LATENCY = 0.05

Told = Callable[[float], dict[str, str]]


class Window:
    """So many units in each window of seconds; the units of a call are what ``price`` says."""

    def __init__(self, most: float, seconds: float, price: Callable[[str], float], told: Told):
        self.most = most
        self.seconds = seconds
        self.price = price
        self.told = told
        self.began = -math.inf
        self.used = 0.0

    def __call__(self, _: int, prompt: str) -> Misbehavior | None:
        now = time.monotonic()
        if now - self.began >= self.seconds:
            self.began = now
            self.used = 0.0
        if self.used + self.price(prompt) > self.most:
            return Misbehavior("429", 429, self.told(self.began + self.seconds - now))
        self.used += self.price(prompt)
        return None

    def allowed(self, units: float, unlimited: float) -> float:
        windows = math.ceil(units / self.most) - 1
        return max(windows * self.seconds, unlimited)


class Storm:
    """Nothing for six seconds, from the second second on."""

    def __init__(self) -> None:
        self.start = math.inf

    def __call__(self, *_: object) -> Misbehavior | None:
        now = time.monotonic()
        self.start = min(self.start, now)
        return bad.http_error(503) if 1 <= now - self.start < 7 else None

    def allowed(self, units: float, unlimited: float) -> float:
        return 6 + unlimited


def one(_: str) -> float:
    return 1.0


def tokens(prompt: str) -> float:
    return len(prompt) / 4


def in_seconds(wait: float) -> dict[str, str]:
    return {"retry-after": str(math.ceil(wait))}


def in_milliseconds(wait: float) -> dict[str, str]:
    return {"retry-after-ms": str(math.ceil(wait * 1_000))}


def as_date(wait: float) -> dict[str, str]:
    return {"retry-after": formatdate(math.ceil(time.time() + wait), usegmt=True)}


def never(_: float) -> dict[str, str]:
    return {}


def unlimited() -> Window:
    return Window(math.inf, 1, one, never)


LIMITS: dict[str, Callable[[], Window | Storm]] = {
    "8 calls a second, nothing said": lambda: Window(8, 1, one, never),
    "400,000 tokens a minute, in seconds": lambda: Window(400_000, 60, tokens, in_seconds),
    "40 calls in 5 seconds, in milliseconds": lambda: Window(40, 5, one, in_milliseconds),
    "100 calls in 10 seconds, as a date": lambda: Window(100, 10, one, as_date),
    "a storm of 6 seconds": Storm,
}


@dataclass
class Outcome:
    """What came of one limit."""

    scored: int
    requests: int
    needed: int
    seconds: float
    allowed: float

    def is_good(self, samples: int) -> bool:
        is_cheap = self.requests <= 1.05 * self.needed
        return self.scored == samples and is_cheap and self.seconds <= 1.3 * self.allowed


async def measured(limit: Window | Storm, samples: int, unlimited: float) -> Outcome:
    pairs = run_pairs()[:samples]
    with ScriptedServer(make_mind(), latency=LATENCY, script=limit) as server:
        judge = LLMJudge(OpenAILLM("m", base_url=server.base_url, api_key="k"))
        start = time.monotonic()
        asking = (judge.judge_detailed(sample) for sample, _ in pairs)
        found = await asyncio.gather(*asking, return_exceptions=True)
        seconds = time.monotonic() - start
    taken = [request for request in server.log.requests if request.status == 200]
    units = sum(tokens(request.prompt) for request in taken)
    if isinstance(limit, Window) and limit.price is one:
        units = len(taken)
    scored = sum(not isinstance(each, BaseException) for each in found)
    allowed = limit.allowed(units, unlimited)
    return Outcome(scored, server.log.calls, len(taken), seconds, allowed)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--limit", default="", help="only those whose name holds this")
    given = parser.parse_args()
    all_good = True
    free = asyncio.run(measured(unlimited(), given.samples, 0.0)).seconds
    print(f"without a limit: {free:.1f} s", flush=True)
    for name, make in LIMITS.items():
        if given.limit not in name:
            continue
        found = asyncio.run(measured(make(), given.samples, free))
        extra = found.requests / found.needed
        late = found.seconds / found.allowed
        calls = f"{found.requests:,} requests for {found.needed:,} ({extra:.3f})"
        times = f"{found.seconds:.1f} s of {found.allowed:.1f} ({late:.2f})"
        print(f"{name:42}{found.scored:>4} scored, {calls}, {times}", flush=True)
        all_good = all_good and found.is_good(given.samples)
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main())
