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
from noisesense.scoring.definitions import MODES
from noisesense_adapters.langchain import LangChainLLM
from support.langchain_models import chat_openai, run
from support.plain_definitions import open_cells
from support.scripted_llm import ScriptedLLM
from support.server import ScriptedServer
from support.withholding import (
    CASES,
    LIMIT,
    WAYS,
    Case,
    few_or_all,
    mind,
    reply,
    script,
    wrong_with,
)

Judged = Judgement | ReplyError


def test_the_table_has_cases_of_every_kind() -> None:
    """Else a host could pass by saying "undetermined" to everything, or to nothing."""
    assert len(WAYS) >= 12
    expected = [case.expected(mode) for case in CASES for mode in MODES]
    failing = [each for each in expected if each.truth > LIMIT]
    assert sum(each.value is None for each in failing) > 20
    assert sum(each.value is None and each.truth == 0 for each in expected) > 20
    assert sum(each.value is not None for each in failing) > 5
    assert any(each.value is None and each.passes for each in expected)
    assert not any(each.passes for each in failing)
    # Verdicts are missing, and the value is what it is all the same: 0 and above.
    known = [case for case in CASES if case.usable and open_cells(case.said())]
    assert {0.0, 0.5, 1 / 3, 0.2} <= {
        case.expected(mode).value for case in known for mode in MODES
    }
    unknown = {c.way for c in CASES for mode in MODES if c.expected(mode).value is None}
    assert unknown == {*WAYS}


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
                continue
            result = score(each.verdicts)
            expected = case.expected(mode)
            passed = result.gate(mode, LIMIT) == "pass"
            words = result.reason(mode)
            number = result.value(mode)
            wrong += wrong_with(case, mode, number=number, passed=passed, words=words)
            assert result.bounds(mode) == expected.bounds, case.id
            if expected.value is None:
                assert result.status(mode) == "undetermined"
                assert each.unanswered > 0
    assert wrong == ""


def answer(prompt: str) -> str | Exception:
    said = reply(prompt)
    if said.refusal or said.finish_reason != "stop":
        return ReplyError("refused, or cut short")
    return said.text


@pytest.mark.parametrize("plan", ["lazy", "full"])
def test_the_core(plan: Any) -> None:
    found = asyncio.run(judged(LLMJudge(ScriptedLLM(answer), plan=plan)))
    check(found)


@few_or_all
def test_langchain(cases: tuple[Case, ...]) -> None:
    with ScriptedServer(mind(), script=script) as server:
        found = run(judged(LLMJudge(LangChainLLM(chat_openai(server))), cases))
    check(found, cases)
