"""The judge's public types, as mypy and pyright see them."""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest
from pydantic import BaseModel
from typing_extensions import assert_type

from noisesense import (
    Judge,
    Judgement,
    LLMJudge,
    ReplyError,
    Sample,
    Usage,
    Verdicts,
    VerdictStore,
)
from noisesense.judging.prompts import Budget, Prompts
from noisesense.judging.protocol import DetailedJudge, StructuredLLM
from noisesense.judging.store import StoredCalls

S = TypeVar("S", bound=BaseModel)


class Refusing:
    """A model as a user would write one."""

    name = "refusing"

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        raise ReplyError("refused", Usage(calls=1))


def test_a_judge(tmp_path: Path) -> None:
    llm: StructuredLLM = Refusing()
    sample = Sample(response="It is.", reference="It is not.", retrieved_contexts=["It may be."])
    with VerdictStore(tmp_path / "verdicts.db") as store:
        judge = LLMJudge(
            llm,
            plan="full",
            store=store,
            prompts=Prompts(version="mine"),
            budget=Budget(claims=20),
        )
        protocols: tuple[Judge, DetailedJudge] = (judge, judge)
        assert isinstance(protocols[1], DetailedJudge)
        assert_type(judge.usage, Usage)
        with pytest.raises(ReplyError):
            assert_type(asyncio.run(judge.judge_detailed(sample)), Judgement)
        with pytest.raises(ReplyError):
            assert_type(asyncio.run(judge.judge(sample)), Verdicts)
        assert_type(store.stats(), list[StoredCalls])
        assert_type(store.prune(older_than=timedelta(days=1)), int)
    with pytest.raises(ValueError, match="plan"):
        LLMJudge(llm, plan="eager")  # type: ignore[arg-type]
