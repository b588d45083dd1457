"""A real model behind the command line and two bridges: no reply is taken for another.

SmolLM2-135M cannot judge, which is what makes it useful: its replies are cut short, repeat
themselves, answer something else. Every verdict that was taken must stand in a reply to a prompt
that had that text and that claim.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from noisesense import (
    LLMJudge,
    Sample,
)
from noisesense_adapters.openai import OpenAILLM
from support.real_model import Recorder

pytestmark = pytest.mark.broad

SAMPLE = Sample(
    user_input="What color is the lighthouse?",
    response="The lighthouse is red. It was built in 1864.",
    reference="The lighthouse is white.",
    retrieved_contexts=["The lighthouse is white.", "The lighthouse was built in 1864."],
)
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


def _openai(url: str) -> Any:
    return OpenAILLM("smollm2", base_url=url, api_key="none", timeout=120)


def _langchain(url: str) -> Any:
    from langchain_openai import ChatOpenAI

    from noisesense_adapters.langchain import LangChainLLM

    return LangChainLLM(ChatOpenAI(model="smollm2", base_url=url, api_key="none", max_retries=0))  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [LIST, EACH], ids=["list", "each"])
@pytest.mark.parametrize("bridge", [_openai, _langchain])
def test_given_claims(
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
