"""A model of pydantic-ai as the judge's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from noisesense.errors import JudgeError, ReplyError
from noisesense.judging.prompts import Claims
from noisesense_adapters.pydantic_evals import PydanticAILLM


def test_its_replies_are_read_by_the_one_rule() -> None:
    said: dict[str, Any] = {"parts": [TextPart('{"claims": ["a"]}')], "finish_reason": None}
    llm = PydanticAILLM(FunctionModel(lambda *_: ModelResponse(**said), model_name="m"))
    reply, usage = asyncio.run(llm.generate("Which claims?", Claims))
    assert reply.claims == ["a"]
    assert usage.calls == 1
    assert llm.name == "function:m"
    said["finish_reason"] = "length"
    with pytest.raises(ReplyError, match="cut short"):
        asyncio.run(llm.generate("Which claims?", Claims))
    said["parts"] = [TextPart("Yes.")]
    assert asyncio.run(llm.choose("Well?", ("yes", "no")))[0] == "yes"


def test_a_key_or_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(JudgeError, match=r"names '(OPENAI_API_KEY|pip install .*)'$"):
        PydanticAILLM("openai:gpt-4.1-mini")
