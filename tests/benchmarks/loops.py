"""Many rows, three event loops after one another, and every third reply is faulty.

    python tests/benchmarks/loops.py [--rows 300] [--host NAME]

One model object of each host judges all rows in each of three loops of one process, as three
runs of a notebook do. The faults are those of `support.faults`, drawn at random, without the
endpoints that refuse every call. By hand each row scores 1/3 in both modes. Prints how many rows
have that (exact), have no score because verdicts are missing (open), or failed, and how many have
another score (WRONG). Exit status 1 if one has.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import ground  # noqa: F401

from noisesense import LLMJudge, Sample, score
from noisesense.judging.protocol import Judgement
from noisesense.scoring.definitions import MODES
from support.faults import FAULTS, FURTHER, TRUTH, pair
from support.mind import Mind
from support.misbehavior import Misbehavior, Script
from support.ragas_runs import dataset
from support.server import ScriptedServer

LOOPS = range(3)
SHARE = 1 / 3
Values = list["float | None"]
Run = Callable[[Sequence[Sample]], list[Values]]


def sends_replies(fault: Misbehavior) -> bool:
    """And not for ever nothing, a refusal, or megabytes."""
    is_large = fault.name in ("padded", "deep", "1 MB of prose")
    return fault.status in (200, 500, 502) and not fault.hang and not is_large


def faulty(seed: int) -> Script:
    kinds = [fault.misbehavior for fault in (*FAULTS, *FURTHER)]
    kinds = [kind for kind in kinds if sends_replies(kind)]
    drawn = random.Random(seed)

    def script(index: int, prompt: str) -> Misbehavior | None:
        return drawn.choice(kinds) if drawn.random() < SHARE else None

    return script


def by_judge(llm: Any) -> Run:
    """In each run a loop and a judge of its own, over the one model."""

    async def judged(samples: Sequence[Sample]) -> list[Any]:
        judge = LLMJudge(llm)
        asking = (judge.judge_detailed(sample) for sample in samples)
        return await asyncio.gather(*asking, return_exceptions=True)

    def run(samples: Sequence[Sample]) -> list[Values]:
        rows: list[Values] = []
        for found in asyncio.run(judged(samples)):
            if isinstance(found, Judgement):
                scored = score(found.verdicts)
                rows.append([scored.value(mode) for mode in MODES])
            else:
                rows.append([])
        return rows

    return run


def openai(server: ScriptedServer) -> Run:
    from noisesense_adapters.openai import OpenAILLM

    return by_judge(OpenAILLM("m", base_url=server.base_url, api_key="k"))


def langchain(server: ScriptedServer) -> Run:
    from langchain_openai import ChatOpenAI

    from noisesense_adapters.langchain import LangChainLLM

    return by_judge(LangChainLLM(ChatOpenAI(model="m", base_url=server.base_url, api_key="k")))


def deepeval(server: ScriptedServer) -> Run:
    from noisesense_adapters.deepeval.llm import DeepEvalLLM
    from support.deepeval_run import OpenAIModel

    model = OpenAIModel("gpt-4o", base_url=server.base_url, api_key="k")
    return by_judge(DeepEvalLLM(model))


def ragas(server: ScriptedServer) -> Run:
    from langchain_openai import ChatOpenAI
    from ragas import evaluate
    from ragas.llms import LangchainLLMWrapper

    from noisesense_adapters.ragas import NoiseSensitivity

    model = LangchainLLMWrapper(ChatOpenAI(model="m2", base_url=server.base_url, api_key="k"))
    names = [f"noise_sensitivity(mode={mode})" for mode in MODES]

    def run(samples: Sequence[Sample]) -> list[Values]:
        metrics = [NoiseSensitivity(mode) for mode in MODES]
        result: Any = evaluate(dataset(samples), metrics, llm=model, show_progress=False)
        return [[row[name] for name in names] for row in result.scores]

    return run


HOSTS: dict[str, Callable[[ScriptedServer], Run]] = {
    "openai": openai,
    "langchain": langchain,
    "deepeval": deepeval,
    "ragas": ragas,
}


def outcome(values: Values) -> str:
    if not values:
        return "failed"
    known = [value for value in values if value is not None and not math.isnan(value)]
    if any(value != TRUTH for value in known):
        return "WRONG"
    return "exact" if len(known) == len(values) else "open"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--host", choices=HOSTS, action="append", help="only this one")
    given = parser.parse_args()
    logging.disable()
    truths = [pair(f"Name{number}") for number in range(given.rows)]
    samples = [sample for sample, _ in truths]
    wrong = 0
    for name in given.host or HOSTS:
        start = time.monotonic()
        with ScriptedServer(Mind(truths), script=faulty(0)) as server:
            run = HOSTS[name](server)
            counts = [Counter(map(outcome, run(samples))) for _ in LOOPS]
            faults = sum(bool(request.fault) for request in server.log.requests)
        replies = f"{faults:,} of {server.log.calls:,} replies faulty"
        print(f"{name:10}{replies}, {time.monotonic() - start:.0f} s")
        for loop, count in zip(LOOPS, counts, strict=True):
            kinds = ("exact", "open", "failed", "WRONG")
            print(f"  loop {loop + 1}:", *(f"{count[kind]} {kind}" for kind in kinds))
            wrong += count["WRONG"]
        sys.stdout.flush()
    print(f"WRONG: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
