"""A process that judges many samples through a store, and logs every call it makes.

Run as ``python -m support.store_worker STORE LOG SAMPLES``; prints the scores as JSON.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys

from noisesense import LLMJudge, Sample, VerdictStore, score
from noisesense.judging import store as store_module
from support.mind import Mind
from support.scripted_llm import ScriptedLLM
from support.tables import Shape, random_pairs

CONCURRENCY = 8
SHAPE = Shape(response_claims=(0, 4), reference_claims=(1, 3), chunks=(1, 5))


def pairs(count: int) -> list[tuple[Sample, object]]:
    """What every worker judges."""
    return list(random_pairs(count, seed=1000, shape=SHAPE))


class LoggingLLM(ScriptedLLM):
    """Writes a line when it is asked, before it answers; takes a moment to do so."""

    def __init__(self, log: str, mind: Mind) -> None:
        super().__init__(mind.answer)
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def wait(self) -> None:
        line = hashlib.sha256(self.prompts[-1].encode()).hexdigest() + "\n"
        os.write(self._log, line.encode())
        await asyncio.sleep(0.002)


def main(path: str, log: str, count: str) -> None:
    truths = pairs(int(count))
    store_module._LEASE_SECONDS = 2.0
    store_module._RENEW_SECONDS = 0.3  # they are killed often
    store = VerdictStore(path)
    judge = LLMJudge(LoggingLLM(log, Mind(truths)), store=store, max_concurrency=CONCURRENCY)

    async def run() -> list[object]:
        found = await asyncio.gather(*(judge.judge(sample) for sample, _ in truths))
        return [[score(each).relevant, score(each).irrelevant] for each in found]

    print(json.dumps(asyncio.run(run())))
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
