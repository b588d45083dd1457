"""Neither a key nor a prompt is found where a judge leaves words: canaries."""

from __future__ import annotations

import asyncio
import traceback
from pathlib import Path
from typing import Any

import pytest

from noisesense import (
    JudgeError,
    LLMJudge,
    NoiseSenseError,
    ReplyError,
    Sample,
    VerdictStore,
    score,
)
from noisesense.judging.prompts import Prompts
from support.mind import Mind
from support.scripted_llm import ScriptedLLM
from support.tables import Shape, random_pair

KEY = "sk-canary-0123456789"
WORDS = "canary-instructions"
PROMPTS = Prompts(decompose=f"{WORDS} decompose", verify=f"{WORDS} verify", again=WORDS)
SAMPLE, TRUTH = random_pair(3, Shape(response_claims=(3, 3), chunks=(2, 2)))


class Keyed(ScriptedLLM):
    """A model object that holds a key, and shows it when it is printed."""

    api_key = KEY

    def __repr__(self) -> str:
        return f"Keyed(api_key={self.api_key})"


def clean(text: str, *canaries: str) -> None:
    for canary in canaries or (KEY, WORDS, "Keyed("):
        assert canary not in text


def everything_in(folder: Path) -> str:
    return "".join(path.read_bytes().decode("latin-1") for path in sorted(folder.iterdir()))


def test_store_reasons_and_reprs(tmp_path: Path) -> None:
    with VerdictStore(tmp_path / "verdicts.db") as store:
        llm = Keyed(Mind([(SAMPLE, TRUTH)]).answer)
        judge = LLMJudge(llm, store=store, prompts=PROMPTS)
        judgement = asyncio.run(judge.judge_detailed(SAMPLE))
        clean(everything_in(tmp_path))  # while the write-ahead log is still there
        assert SAMPLE.response in everything_in(tmp_path)
        clean("".join(map(repr, [judge, judge.usage, judge.totals, judgement, store])))
        clean("".join(map(repr, [*store.calls(), *store.samples(), store.stats()])))
        found = score(judgement.verdicts)
        clean(found.reason("relevant") + found.reason("irrelevant") + repr(found.to_dict()))
        store.export(tmp_path / "export.jsonl")
    clean(everything_in(tmp_path))


def told(error: BaseException) -> str:
    """An error with all it came from, as a log shows it."""
    return "".join(traceback.format_exception(error, value=error, tb=None)) + repr(error)


@pytest.mark.parametrize(
    "reply", ["garbage", ReplyError("refused"), JudgeError("no route"), '{"claims": [1]}']
)
def test_exceptions(tmp_path: Path, reply: Any) -> None:
    with VerdictStore(tmp_path / "verdicts.db") as store:
        judge = LLMJudge(Keyed(lambda prompt: reply), store=store, prompts=PROMPTS)
        with pytest.raises(NoiseSenseError) as caught:
            asyncio.run(judge.judge(SAMPLE))
        clean(told(caught.value))
        clean(told(caught.value), SAMPLE.response, SAMPLE.reference)
    clean(everything_in(tmp_path))


def test_wrong_model_objects(tmp_path: Path) -> None:
    class Wrong(Keyed):
        name = None  # type: ignore[assignment]

        def __init__(self) -> None:
            self.prompts = []

        async def generate(self, prompt: str, schema: Any) -> Any:
            return {"api_key": KEY}, None

    with VerdictStore(tmp_path / "verdicts.db") as store, pytest.raises(NoiseSenseError) as caught:
        LLMJudge(Wrong(), store=store)
    clean(told(caught.value))
    with pytest.raises(NoiseSenseError) as caught:
        asyncio.run(LLMJudge(Wrong(), prompts=PROMPTS).judge(SAMPLE))
    clean(told(caught.value))


def test_a_damaged_store_shows_no_reply(tmp_path: Path) -> None:
    with VerdictStore(tmp_path / "verdicts.db") as store:
        judge = LLMJudge(Keyed(Mind([(SAMPLE, TRUTH)]).answer), store=store)
        asyncio.run(judge.judge(SAMPLE))
        with store._database.transaction() as connection:
            connection.execute("UPDATE calls SET reply = ?", ('{"claims": "canary-reply"}',))
            connection.execute("UPDATE samples SET sample = ?", ('{"response": "canary-reply"}',))
        for listed in (store.calls, store.samples):
            with pytest.raises(NoiseSenseError) as caught:
                listed()
            clean(told(caught.value), "canary-reply")
        other = Sample.model_validate(SAMPLE.model_dump())
        assert score(asyncio.run(judge.judge(other))).relevant == score(TRUTH).relevant
