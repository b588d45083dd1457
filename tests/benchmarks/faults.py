"""What faulty endpoints and models come to, through every bridge and its real client.

    python tests/benchmarks/faults.py [--bridge NAME] [--kind TEXT] [--every 10]

First the fault table of `support.faults`: two samples are judged at once by a model on
loopback, and one of them is struck. For each kind the table prints what came of that sample
through each bridge:

- ``exact``: its true verdicts, with nothing unanswered;
- ``open``: some verdicts are missing, and none is wrong;
- ``unusable``, ``failed``: a `ReplyError` or another `JudgeError`, by which the row fails;
- ``WRONG``: a verdict that is not the true one, or another sample was touched;
- ``RAW``: an exception that is not NoiseSense's;

and how many requests were made about the sample, of how many allowed (``!``: more). Then replies
beside a field that says that they failed, through the bridges whose host hands such fields on: of
LangChain's models none does. Then replies that think first are cut after every ``--every``-th byte
(1: after each), in a completion that says it is whole: each is read as the answer, or not at all.
Exit status 1 if anything is WRONG or RAW, or if more was asked than allowed.
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
from langchain_openai import ChatOpenAI

from noisesense import Judgement, LLMJudge, ReferenceClaim, ResponseClaim, Verdicts
from noisesense.errors import JudgeError, ReplyError
from noisesense.judging.prompts import DEFAULT_PROMPTS, Premise, answers_form
from noisesense_adapters.langchain import LangChainLLM
from noisesense_adapters.models import running
from support import bridges
from support import misbehavior as bad
from support.bridges import Make
from support.faults import (
    DRAFTS,
    ENVELOPES,
    FAULTS,
    FURTHER,
    MAX_WAIT,
    RETRIES,
    STRUCK,
    Fault,
    drafted,
    mind,
    pairs,
)
from support.langchain_models import chat_openai, run
from support.server import ScriptedServer

Bridge = Callable[[ScriptedServer, float], Any]
LANGCHAINS = ("langchain", "in words", "ragas, LC")
OUTCOMES = ("exact", "open", "unusable", "failed", "WRONG", "RAW")


class InWords(ChatOpenAI):
    """A chat model without structured output."""

    def with_structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


@asynccontextmanager
async def ours(make: Make, server: ScriptedServer, timeout: float) -> AsyncIterator[Any]:
    yield make(server, timeout=timeout, max_retries=RETRIES)


def in_words(server: ScriptedServer, **options: Any) -> LangChainLLM:
    return LangChainLLM(chat_openai(server, InWords, **options))


@asynccontextmanager
async def ragas(kind: str, server: ScriptedServer, timeout: float) -> AsyncIterator[Any]:
    from noisesense_adapters.ragas.llm import bridge_over
    from support.ragas_llms import ragas_llm

    async with ragas_llm(kind, server, timeout=timeout, max_retries=RETRIES) as model:
        if kind != "async client":
            model.run_config.max_retries = 1
        yield bridge_over(model)()


@asynccontextmanager
async def deepeval(
    make: Callable[[dict[str, Any], Any], Any], server: ScriptedServer, timeout: float
) -> AsyncIterator[Any]:
    from openai import DefaultAsyncHttpxClient

    from noisesense_adapters.deepeval.llm import DeepEvalLLM

    os.environ["DEEPEVAL_RETRY_MAX_ATTEMPTS"] = str(1 + RETRIES)
    given = {"base_url": server.base_url, "api_key": "k", "timeout": timeout}
    async with DefaultAsyncHttpxClient() as client:
        yield DeepEvalLLM(make(given, client))


def structured(given: dict[str, Any], client: Any) -> Any:
    from support.deepeval_run import OpenAIModel

    return OpenAIModel("gpt-4o", async_http_client=client, **given)


def local(given: dict[str, Any], client: Any) -> Any:
    from deepeval.models import LocalModel

    model = LocalModel("m", **given)
    model.kwargs["http_client"] = client
    return model


BRIDGES: dict[str, Bridge] = {
    **{name: partial(ours, make) for name, make in bridges.BRIDGES.items()},
    "in words": partial(ours, in_words),
    "ragas": partial(ragas, "async client"),
    "ragas, LC": partial(ragas, "LangChain wrapped"),
    "deepeval": partial(deepeval, structured),
    "local": partial(deepeval, local),
}


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


def other_cells(found: Verdicts, truth: Verdicts) -> bool:
    """Is any verdict given that is not the true one?"""
    table = found.to_matrices()
    true_table = truth.to_matrices()
    rows = [(table["reference_to_response"], true_table["reference_to_response"])]
    rows += zip(table["chunks_to_response"], true_table["chunks_to_response"], strict=True)
    # Without claims of the reference there is no row of them.
    reference = true_table["chunks_to_reference"] or []
    rows += zip(table["chunks_to_reference"] or [], reference, strict=False)
    for row, true_row in rows:
        for cell, true in zip(row, true_row, strict=True):
            if cell not in (None, true):
                return True
    return False


async def cut(bridge: Bridge, form: str, every: int) -> Counter[str]:
    """What is read of one reply, cut after each such number of bytes."""
    sample, truth = pairs()[1]
    claims = {i: claim.text for i, claim in enumerate(truth.response_claims, start=1)}
    prompt = DEFAULT_PROMPTS.verification(Premise(sample.reference), claims)
    answer = [claim.correct for claim in truth.response_claims]
    whole = drafted(form)(mind().answer(prompt)).encode()
    ends = iter(range(0, len(whole), every))
    text = ""
    outcomes: Counter[str] = Counter()
    with ScriptedServer(mind(), script=bad.always(bad.mutated("cut", lambda _: text))) as server:
        async with bridge(server, 60.0) as llm:
            for end in ends:
                text = whole[:end].decode(errors="ignore")
                try:
                    reply, _ = await llm.generate(prompt, answers_form(len(answer)))
                except ReplyError:
                    outcomes["unusable"] += 1
                except JudgeError:
                    outcomes["failed"] += 1
                except Exception:  # noqa: BLE001 - this is what is counted
                    outcomes["RAW"] += 1
                else:
                    found = [reply.by_number.get(i) for i in range(1, len(answer) + 1)]
                    outcomes["exact" if found == answer else "WRONG"] += 1
    return outcomes


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


def print_cuts(chosen: dict[str, Bridge], every: int, totals: dict[str, Counter[str]]) -> None:
    width = max(map(len, DRAFTS))
    print(f"\nCut after every {every} bytes: read / not read / WRONG / RAW")
    print(" " * width, *(f"{name:>14}" for name in chosen), sep="  ")
    for form_name, form in DRAFTS.items():
        cells: list[str] = []
        for name, bridge in chosen.items():
            running._first = None
            result = run(cut(bridge, form, every))
            totals[name].update({f"cut, {key}": number for key, number in result.items()})
            figures = (result["exact"], result["unusable"] + result["failed"])
            cells.append("/".join(map(str, (*figures, result["WRONG"], result["RAW"]))))
        print(f"{form_name:{width}}", *(f"{cell:>14}" for cell in cells), sep="  ")
        sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bridge", choices=BRIDGES, action="append", help="only this one")
    parser.add_argument("--kind", default="", help="only kinds whose name holds this")
    parser.add_argument("--every", type=int, default=10, help="bytes between cuts; 0: none")
    given = parser.parse_args()
    logging.disable()
    start = time.monotonic()
    chosen = {name: BRIDGES[name] for name in given.bridge or BRIDGES}
    kinds = [fault for fault in (*FAULTS, *FURTHER) if given.kind in fault.id]
    envelopes = [fault for fault in ENVELOPES if given.kind in fault.id]
    hand_on = {name: bridge for name, bridge in chosen.items() if name not in LANGCHAINS}
    totals: dict[str, Counter[str]] = {name: Counter() for name in chosen}
    with contextlib.redirect_stderr(None):
        print_table(chosen, kinds, totals)
        print_table(hand_on, envelopes, totals)
        if given.every:
            print_cuts(chosen, given.every, totals)
    counts = f"{len(kinds)} kinds, {len(envelopes)} envelopes, {len(chosen)} bridges"
    print(f"\n{counts}, {time.monotonic() - start:.0f} s")
    return print_totals(sum(totals.values(), Counter()))


def print_totals(whole: Counter[str]) -> int:
    """1 if anything came of a fault that never may."""
    wrong = 0
    for name in ("WRONG", "RAW", "too many", *OUTCOMES[:4]):
        cut_off = whole[f"cut, {name}"]
        print(f"{name:>10}: {whole[name]:>5}   of replies cut: {cut_off:>6}")
        if name not in OUTCOMES[:4]:
            wrong += whole[name] + cut_off
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
