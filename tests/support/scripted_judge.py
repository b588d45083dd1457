"""A judge that says what is recorded, and a small dataset for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noisesense import JudgeError, Judgement, Sample, Usage, Verdicts, read_results, score
from support.datasets import write_jsonl
from support.tables import random_pairs

PAIRS = list(random_pairs(30, seed=800))


@dataclass
class Scripted:
    """Judges as recorded, after the next turn of the loop; knows what it was asked."""

    name: str | None = "scripted"
    pairs: Sequence[tuple[Sample, Verdicts]] = tuple(PAIRS)
    fails: Callable[[Sample], Exception | None] = lambda sample: None
    asked: list[Sample] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def judge(self, sample: Sample) -> Verdicts:
        return (await self.judge_detailed(sample)).verdicts

    async def judge_detailed(self, sample: Sample) -> Judgement:
        self.asked.append(sample)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        error = self.fails(sample)
        if error is not None:
            raise error
        verdicts = next(v for s, v in self.pairs if s.key == sample.key)
        return Judgement(verdicts, Usage(calls=3, input_tokens=10, output_tokens=2))


def texts(folder: Path, pairs: Any = PAIRS) -> Path:
    lines = [sample.model_dump(mode="json") for sample, _ in pairs]
    return write_jsonl(folder / "data.jsonl", lines)


def expected(pairs: Any = PAIRS, **options: Any) -> list[Any]:
    return [score(verdicts.with_sample(sample), **options) for sample, verdicts in pairs]


def scores(path: Path) -> list[Any]:
    return [result.score for result in read_results(path)]


def failing(*which: int, error: Exception | None = None) -> Callable[[Sample], Exception | None]:
    keys = {PAIRS[i][0].key for i in which}
    told = error or JudgeError("the model gave no reply in time")
    return lambda sample: told if sample.key in keys else None
