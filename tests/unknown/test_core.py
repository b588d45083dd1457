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
    Score,
    score,
    summarize,
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
    NOTHING,
    WAYS,
    Case,
    Way,
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
    known = [case for case in CASES if case.usable and open_cells(case.said())]
    assert sum(each.value is None for each in failing) > 20
    assert sum(each.value is None and each.truth == 0 for each in expected) > 20
    assert sum(each.value is not None for each in failing) > 5
    assert any(each.value is None and each.passes for each in expected)
    # Verdicts are missing, and the value is what it is all the same: 0 and above.
    whole = [case.expected(mode) for case in known for mode in MODES]
    assert {0.0, 0.5, 1 / 3, 0.2} <= {each.value for each in whole if each.value is not None}
    assert not any(each.passes and each.truth > LIMIT for each in expected)
    for way in WAYS:
        assert any(case.expected(mode).value is None for case in CASES if case.way is way
                   for mode in MODES), way.id  # fmt: skip


async def judged(judge: LLMJudge, cases: Sequence[Case] = CASES) -> list[Judged]:
    async def one(sample: Sample) -> Judged:
        try:
            return await judge.judge_detailed(sample)
        except ReplyError as error:
            return error

    return list(await asyncio.gather(*(one(case.sample) for case in cases)))


def score_of(judgement: Judgement) -> Score:
    return score(judgement.verdicts)


def check(found: list[Judged], cases: Sequence[Case] = CASES) -> None:
    wrong = ""
    for case, each in zip(cases, found, strict=True):
        for mode in MODES:
            if isinstance(each, ReplyError):
                wrong += wrong_with(case, mode, words=str(each))
                continue
            result, expected = score_of(each), case.expected(mode)
            wrong += wrong_with(
                case,
                mode,
                number=result.value(mode),
                passed=result.gate(mode, LIMIT) == "pass",
                words=result.reason(mode),
            )
            assert result.bounds(mode) == expected.bounds, case.id
            assert case.usable
            if expected.value is None:
                assert result.status(mode) == "undetermined"
                assert each.unanswered > 0
    assert wrong == ""


def check_summary(found: list[Judged], cases: list[Case]) -> None:
    """The run's mean is a number only if nothing is open, and its range holds the truth."""
    scores = [score_of(each) for each in found if not isinstance(each, ReplyError)]
    assert scores
    summary = summarize(scores)
    for mode in MODES:
        expected = [case.expected(mode) for case in cases]
        truth = sum(each.truth for each in expected) / len(cases)
        ends = [sum(each.bounds[end] for each in expected) / len(cases) for end in (0, 1)]
        assert ends[0] <= truth <= ends[1]
        got = getattr(summary, mode)
        assert got.mean is not None
        assert tuple(got.mean) == pytest.approx(tuple(ends), abs=1e-12)
        if any(each.value is None for each in expected):
            assert got.mean.value is None or got.mean.low == got.mean.high
            assert "undetermined" in str(summary)
        else:
            assert got.mean.value == pytest.approx(truth, abs=1e-12)


def answer(prompt: str) -> str | Exception:
    said = reply(prompt)
    if said.refusal or said.finish_reason != "stop":
        return ReplyError("refused, or cut short")
    return said.text


@pytest.mark.parametrize("plan", ["lazy", "full"])
def test_the_core(plan: Any) -> None:
    found = asyncio.run(judged(LLMJudge(ScriptedLLM(answer), plan=plan)))
    check(found)


@pytest.mark.parametrize("way", [way for way in WAYS if way.id != NOTHING], ids=lambda way: way.id)
def test_a_summary(way: Way) -> None:
    cases = [case for case in CASES if case.way is way]
    check_summary(asyncio.run(judged(LLMJudge(ScriptedLLM(answer)), cases)), cases)


def test_votes_settle_nothing_that_nobody_said() -> None:
    check(asyncio.run(judged(LLMJudge(ScriptedLLM(answer), votes=3))))


@few_or_all
def test_langchain(cases: tuple[Case, ...]) -> None:
    with ScriptedServer(mind(), script=script) as server:
        found = run(judged(LLMJudge(LangChainLLM(chat_openai(server))), cases))
    check(found, cases)
