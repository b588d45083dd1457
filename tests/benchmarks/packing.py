"""Fewer calls: what several chunks in a call save, and what they cost.

    python tests/benchmarks/packing.py [--latency 0.05] [--samples 40]

The judge over a scripted server that takes 50 ms a call, with 1, 2, 5 and 10 chunks a call, over
samples of 10 chunks of 200, 800 and 3,000 characters. Prints calls, characters sent and received,
and the wall time. The scripted mind answers every form alike, so that the scores are the same: how
well a model judges several chunks at once, this cannot say, and the default stays one.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "adapters"), str(ROOT / "tests")]

from noisesense import LLMJudge, Sample, Verdicts, score  # noqa: E402
from noisesense_adapters.openai import OpenAILLM  # noqa: E402
from support.cost_workload import pair  # noqa: E402
from support.mind import Mind  # noqa: E402
from support.server import ScriptedServer  # noqa: E402

SIZES, PACKS, CHUNKS = (200, 800, 3000), (1, 2, 5, 10), 10


def pairs(samples: int, size: int) -> list[tuple[Sample, Verdicts]]:
    """The cost comparison's samples, with chunks of that many characters."""
    made: list[tuple[Sample, Verdicts]] = []
    for number in range(samples):
        sample, verdicts = pair(CHUNKS, wrong=number % 3 > 0, number=number)
        texts = [(f"{chunk.text} " * 9)[:size] for chunk in sample.retrieved_contexts]
        sample = sample.model_copy(update={"retrieved_contexts": ()})
        sample = Sample.model_validate({**sample.model_dump(), "retrieved_contexts": texts})
        bare = verdicts.model_copy(update={"chunks": None})
        made.append((sample, bare.beside(sample)))
    return made


async def judged(url: str, known: list[tuple[Sample, Verdicts]], pack: int) -> float:
    judge = LLMJudge(OpenAILLM("m", base_url=url, api_key="none"), chunks_per_call=pack)
    start = time.perf_counter()
    found = await asyncio.gather(*(judge.judge(sample) for sample, _ in known))
    seconds = time.perf_counter() - start
    for mine, (_, true) in zip(found, known, strict=True):
        assert score(mine).bounds("relevant") == score(true).bounds("relevant")
        assert score(mine).bounds("irrelevant") == score(true).bounds("irrelevant")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency", type=float, default=0.05, help="seconds a call takes")
    parser.add_argument("--samples", type=int, default=40)
    options = parser.parse_args()
    print(f"{options.samples} samples of {CHUNKS} chunks, {options.latency * 1000:.0f} ms a call")
    print(f"{'chunk':>8}{'a call':>8}{'calls':>8}{'sent':>12}{'received':>10}{'seconds':>9}")
    for size in SIZES:
        known = pairs(options.samples, size)
        for pack in PACKS:
            with ScriptedServer(Mind(known), latency=options.latency) as server:
                seconds = asyncio.run(judged(server.base_url, known, pack))
                figures = server.log.figures()
            print(
                f"{size:>8,}{pack:>8}{figures['calls']:>8,}{figures['prompt_chars']:>12,}"
                f"{figures['completion_chars']:>10,}{seconds:>9.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
