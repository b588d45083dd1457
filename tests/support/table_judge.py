"""What the tests of adapters judge with: given verdicts, samples, and a model that agrees."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel

from noisesense import Judgement, Sample, Usage, Verdicts
from noisesense.errors import JudgeError
from noisesense.judging.protocol import NO_USAGE

S = TypeVar("S", bound=BaseModel)
Pair = tuple[Sample, Verdicts]
Row = Sequence[bool | None]

KEY = "sk-canary-5f1d0c"


class TableJudge:
    """A judge that returns given verdicts, records the samples, and can fail or be slow.

    Args:
        pairs: samples with their verdicts; on any other sample it fails.
        usage: the cost of each judging.
        failing: samples on which it fails.
        slow: whether later samples are finished first.
        both: a barrier at the first sample, to run two judges at the same time.
    """

    name = "table"

    def __init__(
        self,
        pairs: Sequence[Pair],
        *,
        usage: Usage = NO_USAGE,
        failing: Sequence[Sample] = (),
        slow: bool = False,
        both: threading.Barrier | None = None,
    ) -> None:
        self._verdicts = {sample.key: verdicts for sample, verdicts in pairs}
        self._failing = {sample.key for sample in failing}
        self._usage = usage
        self._slow = slow
        self._both = both
        self.asked: list[Sample] = []

    async def judge(self, sample: Sample) -> Verdicts:
        """The verdicts on the sample."""
        return (await self.judge_detailed(sample)).verdicts

    async def judge_detailed(self, sample: Sample) -> Judgement:
        """The verdicts with their cost. Raises `JudgeError` on unknown or failing samples."""
        self.asked.append(sample)
        if self._both is not None and len(self.asked) == 1:
            with contextlib.suppress(threading.BrokenBarrierError):
                await asyncio.to_thread(self._both.wait, 5)
        if sample.key in self._failing:
            raise JudgeError("the judge's endpoint refused this sample")
        if sample.key not in self._verdicts:
            raise JudgeError("a text did not arrive unchanged")
        if self._slow:
            position = list(self._verdicts).index(sample.key)
            later_samples = len(self._verdicts) - position
            await asyncio.sleep(0.002 * later_samples)
        return Judgement(self._verdicts[sample.key].with_sample(sample), self._usage)


def pair_of(seed: int, correct: Row, response: Sequence[Row], reference: Sequence[Row]) -> Pair:
    """A sample with these tables of verdicts; its texts occur in no other seed's."""
    claims = [f"Sample {seed} states {number}." for number in range(len(correct))]
    references = [f"Reference {seed} has {number}." for number in range(len(reference))]
    verdicts = Verdicts.from_matrices(
        correct, response, reference, response_claims=claims, reference_claims=references
    )
    contexts = [f"Chunk {number} of sample {seed}." for number in range(verdicts.chunk_count)]
    sample = Sample(
        user_input=f"Question {seed}?",
        response=f"Response {seed}.",
        reference=f"Reference {seed}.",
        retrieved_contexts=contexts,
    )
    return sample, verdicts.with_sample(sample)


def noisy_pair() -> Pair:
    """Relevant 1/4, irrelevant 2/4: other scores than 0 in both modes."""
    table = [[True, False], [False, True], [False, True], [True, False]]
    return pair_of(998, [False, False, False, True], table, [[True, False]])


def all_from(sample: Sample, correct: bool) -> Pair:
    """One claim, which all chunks entail; all are relevant."""
    cells = [True] * len(sample.retrieved_contexts)
    verdicts = Verdicts.from_matrices([correct], [cells], [cells])
    return sample, verdicts.with_sample(sample)


class AgreeingLLM:
    """A model that finds one claim in each text of `random_pair`, and says yes to all.

    On a prompt with the text ``failing`` it raises an error that quotes its API key.
    """

    def __init__(self, failing: str) -> None:
        self.name = "agreeing"
        self.api_key = KEY
        self._failing = failing

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        if self._failing in prompt:
            raise RuntimeError(f"Authorization: Bearer {KEY}; the prompt was {prompt}")
        fields = schema.model_json_schema()["properties"]
        reply: dict[str, object] = dict.fromkeys(fields, "yes")
        if "claims" in reply:
            reply["claims"] = ["Response and reference agree."]
        return schema.model_validate(reply), Usage(calls=1)
