"""What faulty endpoints and models come to, through every bridge and its real client.

    python tests/benchmarks/faults.py [--bridge NAME] [--kind TEXT]

Two samples are judged at once by a model on loopback, and one of them is struck by a fault of
`support.faults`. For each kind the table prints what came of that sample through each bridge:

- ``exact``: its true verdicts, with nothing unanswered;
- ``open``: some verdicts are missing, and none is wrong;
- ``unusable``, ``failed``: a `ReplyError` or another `JudgeError`, by which the row fails;
- ``WRONG``: a verdict that is not the true one, or another sample was touched;
- ``RAW``: an exception that is not NoiseSense's;

and how many requests were made about the sample, of how many allowed (``!``: more). Then replies
beside a field that says that they failed, through the bridges whose host hands such fields on: of
LangChain's models none does. Exit status 1 if anything is WRONG or RAW, or if more was asked than
allowed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import ground  # noqa: F401

from noisesense import Judgement, LLMJudge, ReferenceClaim, ResponseClaim, Verdicts
from noisesense.errors import JudgeError, ReplyError
from noisesense_adapters.langchain import LangChainLLM
from noisesense_adapters.models import running
from support import bridges, host_bridges
from support.bridges import Make
from support.faults import (
    ENVELOPES,
    FAULTS,
    FURTHER,
    MAX_WAIT,
    RETRIES,
    STRUCK,
    Fault,
    mind,
    other_cells,
    pairs,
)
from support.langchain_models import InWords, chat_openai, run
from support.server import ScriptedServer

Bridge = Callable[[ScriptedServer, float], Any]
OUTCOMES = ("exact", "open", "unusable", "failed", "WRONG", "RAW")


@asynccontextmanager
async def ours(make: Make, server: ScriptedServer, timeout: float) -> AsyncIterator[Any]:
    yield make(server, timeout=timeout, max_retries=RETRIES)


def in_words(server: ScriptedServer, **options: Any) -> LangChainLLM:
    return LangChainLLM(chat_openai(server, InWords, **options))


@asynccontextmanager
async def theirs(
    make: host_bridges.Bridge, server: ScriptedServer, timeout: float, **client: Any
) -> AsyncIterator[Any]:
    async with make(server, timeout=timeout, **client) as llm:
        yield llm


BRIDGES: dict[str, Bridge] = {
    **{name: partial(ours, make) for name, make in bridges.BRIDGES.items()},
    "in words": partial(ours, in_words),
    "ragas": partial(theirs, host_bridges.ragas, max_retries=RETRIES),
    "deepeval": partial(theirs, host_bridges.deepeval),
    "local": partial(theirs, host_bridges.deepeval_local),
}


LANGCHAINS = ("langchain", "in words")


async def judged(bridge: Bridge, fault: Fault) -> tuple[str, int]:
    """What came of the sample that was struck, and the requests made about it."""
    with ScriptedServer(mind(), script=fault.script()) as server:
        # Long enough that only what hangs is late, also on a busy machine.
        async with bridge(server, 4.0 if fault.misbehavior.hang else 60.0) as llm:
            judge = LLMJudge(llm, max_wait=MAX_WAIT)
            results = await asyncio.gather(
                *(judge.judge_detailed(sample) for sample, _ in pairs()), return_exceptions=True
            )
        requests = sum(STRUCK in prompt for prompt in server.log.prompts)
    outcomes = [
        outcome(result, truth) for result, (_, truth) in zip(results, pairs(), strict=True)
    ]
    untouched, struck = outcomes
    return struck if untouched == "exact" else "WRONG", requests


def outcome(result: object, truth: Verdicts) -> str:
    if isinstance(result, ReplyError):
        return "unusable"
    if isinstance(result, JudgeError):
        return "failed"
    if not isinstance(result, Judgement):
        return "RAW"
    if other_claims(result.verdicts, truth) or other_cells(result.verdicts, truth):
        return "WRONG"
    return "open" if result.unanswered else "exact"


def other_claims(found: Verdicts, truth: Verdicts) -> bool:
    """Are there others than there should be? None of the reference may have been asked for."""
    if texts(found.response_claims) != texts(truth.response_claims):
        return True
    reference = texts(found.reference_claims)
    return reference not in ([], texts(truth.reference_claims))


def texts(claims: Sequence[ResponseClaim | ReferenceClaim]) -> list[str]:
    return [claim.text for claim in claims]


def print_table(
    chosen: dict[str, Bridge], kinds: list[Fault], totals: dict[str, Counter[str]]
) -> None:
    width = max((len(fault.id) for fault in kinds), default=0)
    print(" " * width, *(f"{name:>12}" for name in chosen), sep="  ")
    for fault in kinds:
        cells: list[str] = []
        for name, bridge in chosen.items():
            running._first = None  # as in a new process
            result, requests = run(judged(bridge, fault))
            too_many = requests > fault.requests
            totals[name][result] += 1
            totals[name]["too many"] += too_many
            cells.append(f"{result} {requests:>2}{'!' if too_many else ' '}")
        print(f"{fault.id:{width}}", *(f"{cell:>12}" for cell in cells), fault.requests, sep="  ")
        sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bridge", choices=BRIDGES, action="append", help="only this one")
    parser.add_argument("--kind", default="", help="only kinds whose name holds this")
    given = parser.parse_args()
    logging.disable()
    os.environ["DEEPEVAL_RETRY_MAX_ATTEMPTS"] = str(1 + RETRIES)
    start = time.monotonic()
    chosen = {name: BRIDGES[name] for name in given.bridge or BRIDGES}
    kinds = [fault for fault in (*FAULTS, *FURTHER) if given.kind in fault.id]
    envelopes = [fault for fault in ENVELOPES if given.kind in fault.id]
    hand_on = {name: bridge for name, bridge in chosen.items() if name not in LANGCHAINS}
    totals: dict[str, Counter[str]] = {name: Counter() for name in chosen}
    with contextlib.redirect_stderr(None):
        print_table(chosen, kinds, totals)
        print_table(hand_on, envelopes, totals)
    counts = f"{len(kinds)} kinds, {len(envelopes)} envelopes, {len(chosen)} bridges"
    print(f"\n{counts}, {time.monotonic() - start:.0f} s")
    return print_totals(sum(totals.values(), Counter()))


def print_totals(whole: Counter[str]) -> int:
    """1 if anything came of a fault that never may."""
    wrong = 0
    for name in ("WRONG", "RAW", "too many", *OUTCOMES[:4]):
        print(f"{name:>10}: {whole[name]:>5}")
        if name not in OUTCOMES[:4]:
            wrong += whole[name]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
