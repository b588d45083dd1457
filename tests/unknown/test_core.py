"""Every way to withhold a verdict, through the core and through LangChain's models."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from noisesense import (
    Judgement,
    LLMJudge,
    ReplyError,
    Sample,
    score,
)
from noisesense.scoring.definitions import MODES, Mode
from noisesense_adapters.langchain import LangChainLLM
from support.langchain_models import chat_openai, run
from support.scripted_llm import ScriptedLLM
from support.server import ScriptedServer
from support.withholding import (
    CASES,
    LIMIT,
    Case,
    few_or_all,
    mind,
    reply,
    script,
    wrong_with,
)

Judged = Judgement | ReplyError


async def judged(judge: LLMJudge, cases: Sequence[Case] = CASES) -> list[Judged]:
    async def one(sample: Sample) -> Judged:
        try:
            return await judge.judge_detailed(sample)
        except ReplyError as error:
            return error

    return list(await asyncio.gather(*(one(case.sample) for case in cases)))


def check(found: list[Judged], cases: Sequence[Case] = CASES) -> None:
    wrong = ""
    for case, each in zip(cases, found, strict=True):
        assert isinstance(each, ReplyError) is not case.usable
        for mode in MODES:
            if isinstance(each, ReplyError):
                wrong += wrong_with(case, mode, words=str(each))
            else:
                wrong += wrong_with_judgement(case, mode, each)
    assert wrong == ""


def wrong_with_judgement(case: Case, mode: Mode, judgement: Judgement) -> str:
    result = score(judgement.verdicts)
    expected = case.expected(mode)
    assert result.bounds(mode) == expected.bounds, case.id
    if expected.value is None:
        assert result.status(mode) == "undetermined"
        assert judgement.unanswered > 0
    passed = result.gate(mode, LIMIT) == "pass"
    words = result.reason(mode)
    return wrong_with(case, mode, number=result.value(mode), passed=passed, words=words)


def answer(prompt: str) -> str | Exception:
    said = reply(prompt)
    if said.refusal or said.finish_reason != "stop":
        return ReplyError("refused, or cut short")
    return said.text


@pytest.mark.parametrize("plan", ["lazy", "full"])
def test_the_core_gives_what_every_completion_gives(plan: Any) -> None:
    found = asyncio.run(judged(LLMJudge(ScriptedLLM(answer), plan=plan)))
    check(found)


@few_or_all
def test_over_langchain_the_score_is_what_every_completion_gives(cases: tuple[Case, ...]) -> None:
    with ScriptedServer(mind(), script=script) as server:
        found = run(judged(LLMJudge(LangChainLLM(chat_openai(server))), cases))
    check(found, cases)
