"""A real model behind the command line and two bridges: no reply is taken for another.

SmolLM2-135M cannot judge, which is what makes it useful: its replies are cut short, repeat
themselves, answer something else. Every verdict that was taken must stand in a reply to a prompt
that had that text and that claim.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from noisesense import (
    LLMJudge,
    Sample,
    Score,
    Verdicts,
    gate,
    read_results,
    score,
)
from noisesense.judging.protocol import Judgement
from noisesense_adapters.openai import OpenAILLM
from support.command_here import run_here
from support.real_model import Recorder

pytestmark = pytest.mark.broad
Capsys = pytest.CaptureFixture[str]

SAMPLE = Sample(
    user_input="What color is the lighthouse?",
    response="The lighthouse is red. It was built in 1864.",
    reference="The lighthouse is white.",
    retrieved_contexts=["The lighthouse is white.", "The lighthouse was built in 1864."],
)
ROW = SAMPLE.model_dump(mode="json", exclude_defaults=True)
LIST, EACH = ({"check": check, "max_reasks": 1} for check in ("list", "each"))


def is_in_a_reply(recorder: Recorder, text: str, claim: str, verdict: bool) -> bool:
    """Some reply to a prompt with both says so, by the claim's number if it has one."""
    word = "(?:yes|true)" if verdict else "(?:no|false)"
    for exchange in recorder.exchanges:
        prompt = "\n".join(str(each["content"]) for each in exchange.request["messages"])
        plain = prompt.replace('\\"', '"').replace("\\n", "\n")
        for asked in {prompt, plain}:
            if text not in asked or claim not in asked:
                continue
            numbers = re.findall(rf"(\d+)[\W_]{{1,4}}{re.escape(claim)}", asked)
            before = rf"\b{numbers[-1]}\W+" if numbers else r"^\W*(?:answer\W+)?"
            if re.search(rf"{before}{word}\b", exchange.text, re.IGNORECASE):
                return True
    return False


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[Verdicts]:
    """The verdicts of every sample that an `LLMJudge` of this process judged to its end."""
    found: list[Verdicts] = []
    inner = LLMJudge.judge_detailed

    async def spy(self: LLMJudge, sample: Sample) -> Judgement:
        judgement = await inner(self, sample)
        found.append(judgement.verdicts)
        return judgement

    monkeypatch.setattr(LLMJudge, "judge_detailed", spy)
    return found


def scores_of(judged: Sequence[Verdicts], recorder: Recorder) -> list[Score]:
    """Of every sample judged; each of its verdicts stands in a reply."""
    scores: list[Score] = []
    for verdicts in judged:
        for claim in (*verdicts.response_claims, *verdicts.reference_claims):
            correct = getattr(claim, "correct", None)
            if correct is not None:
                assert is_in_a_reply(recorder, SAMPLE.reference, claim.text, correct)
            for at, chunk in enumerate(verdicts.chunks or ()):
                if at not in claim.undetermined:
                    entailed = at in claim.entailed_by
                    assert is_in_a_reply(recorder, chunk.text, claim.text, entailed)
        scores.append(score(verdicts))
    return scores


def same(value: float | None, scores: Sequence[Score]) -> None:
    """The host's figure is that of the kept verdicts; without any it is none."""
    expected = scores[0].relevant if scores else None
    if expected is None:
        assert value is None or math.isnan(value)
    else:
        assert value == expected


def test_the_command_line_takes_no_verdict_that_no_reply_says(
    recorder: Recorder, url: str, judged: list[Verdicts], tmp_path: Path, capsys: Capsys
) -> None:
    data = tmp_path / "data.jsonl"
    out = tmp_path / "out.jsonl"
    data.write_text(json.dumps(ROW) + "\n", "utf-8")
    how = ["--judge", "openai:smollm2", "--base-url", url, "--check", "each"]
    done = run_here(capsys, "score", data, *how, "--out", out, "--fail-above", "0.2")
    assert done.status in (0, 1, 3, 4, 5), done.err  # 4: not decided, 5: nothing was measured
    assert recorder.exchanges
    scores = scores_of(judged, recorder)
    results = list(read_results(out))
    assert len(results) == 1
    same(results[0].score.relevant if results[0].score else None, scores)
    if done.status == 0:
        assert gate(scores[0], 0.2).status == "pass"


def _openai(url: str) -> Any:
    return OpenAILLM("smollm2", base_url=url, api_key="none", timeout=120)


def _langchain(url: str) -> Any:
    from langchain_openai import ChatOpenAI

    from noisesense_adapters.langchain import LangChainLLM

    return LangChainLLM(ChatOpenAI(model="smollm2", base_url=url, api_key="none", max_retries=0))  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [LIST, EACH], ids=["list", "each"])
@pytest.mark.parametrize("bridge", [_openai, _langchain])
def test_each_verdict_on_given_claims_stands_in_a_reply(
    recorder: Recorder, url: str, bridge: Callable[[str], Any], options: Any
) -> None:
    """Through each bridge: a verdict stands in a reply, and what stands in none is open."""
    texts = ["The shop sells tea.", "The red tower is old."]
    claims = ["The shop sells tea.", "The tower is new.", "Bees make honey."]
    judge = LLMJudge(bridge(url), **options)
    found = asyncio.run(judge.entailment(texts, claims))
    for claim, row in zip(claims, found.cells, strict=True):
        for text, cell in zip(texts, row, strict=True):
            if cell is not None:
                assert is_in_a_reply(recorder, text, claim, cell)
    assert found.unanswered == sum(cell is None for row in found.cells for cell in row)
