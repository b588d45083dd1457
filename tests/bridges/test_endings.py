"""Why a reply ended, through every host's model: what only looks whole counts for nothing."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from noisesense.errors import JudgeError, ReplyError
from noisesense.judging.prompts import Claims
from noisesense_adapters.langchain import LangChainLLM
from noisesense_adapters.models.bridge import ending_of
from noisesense_adapters.models.replies import stop_problem
from support import misbehavior as bad
from support.host_bridges import BRIDGES
from support.langchain_models import run
from support.says import Says
from support.server import ScriptedServer

WHOLE = '{"claims": ["One."]}'
REASONS = ["length", "MAX_TOKENS", "content_filter", "content_filtered", "RECITATION", "error"]
REASONS += ["malformed_function_call", "a reason of tomorrow"]


def _asked(name: str, fault: bad.Misbehavior) -> Any:
    async def ask(server: ScriptedServer) -> Any:
        async with BRIDGES[name](server) as llm:
            return await llm.generate("Which claims?", Claims)

    with ScriptedServer(Says(WHOLE), script=bad.always(fault)) as server:
        return run(ask(server))


@pytest.mark.parametrize("name", BRIDGES)
@pytest.mark.parametrize("reason", REASONS)
def test_a_whole_answer_that_ended_for_another_reason(name: str, reason: str) -> None:
    with pytest.raises(ReplyError):
        _asked(name, bad.Misbehavior(reason, finish_reason=reason))


def _refused(completion: dict[str, Any]) -> dict[str, Any]:
    completion["choices"][0]["message"]["refusal"] = "I cannot help with that."
    return completion


@pytest.mark.parametrize("name", BRIDGES)
def test_a_refusal_beside_an_answer(name: str) -> None:
    assert _asked(name, bad.Misbehavior("none"))[0].claims == ["One."]
    with pytest.raises(ReplyError):
        _asked(name, bad.Misbehavior("refusal beside", reshape=_refused))


def _failed(completion: dict[str, Any]) -> dict[str, Any]:
    completion["error"] = {"code": 502, "message": "the provider went away"}
    return completion


@pytest.mark.parametrize("name", sorted(BRIDGES.keys() - {"pydantic-ai"}))
def test_an_error_beside_an_answer(name: str) -> None:
    """As a router says that the provider behind it failed. pydantic-ai does not hand it on."""
    with pytest.raises(JudgeError):
        _asked(name, bad.Misbehavior("error beside", reshape=_failed))


class Replies(BaseChatModel):
    """A chat model that replies as its provider's class in LangChain does."""

    message: AIMessage

    @property
    def _llm_type(self) -> str:
        return "replies"

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.message)])


_CUT = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


@pytest.mark.parametrize(
    ("metadata", "content"),
    [
        (_CUT, WHOLE),
        ({"status": "incomplete", "incomplete_details": None}, WHOLE),
        ({"status": "failed"}, WHOLE),
        ({"status": "completed"}, [{"type": "text", "text": WHOLE}, {"type": "refusal"}]),
        ({"finish_reason": "SAFETY"}, WHOLE),
        ({"stop_reason": "model_context_window_exceeded"}, WHOLE),
    ],
)
def test_responses_and_others_over_langchain(metadata: dict[str, Any], content: Any) -> None:
    for stopped, is_whole in ((metadata, False), ({"status": "completed"}, content == WHOLE)):
        model = Replies(message=AIMessage(content, response_metadata=stopped))
        asking = LangChainLLM(model).generate("Which claims?", Claims)
        if is_whole:
            assert asyncio.run(asking)[0].claims == ["One."]
        else:
            with pytest.raises(ReplyError):
                asyncio.run(asking)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (SimpleNamespace(stop_reason="end_turn"), ""),
        (SimpleNamespace(stop_reason="max_tokens"), "cut short"),
        ({"stopReason": "max_tokens", "metrics": {}}, "cut short"),  # Bedrock's Converse
        ({"done_reason": "stop"}, ""),
        ({"done_reason": "length"}, "cut short"),
        ({"candidates": [SimpleNamespace(finish_reason="FinishReason.STOP")]}, ""),
        ({"candidates": [{"finish_reason": "FinishReason.SPII"}]}, "filter"),
        ({"choices": [{"finish_reason": "load"}]}, "not whole"),
        ({}, ""),
        (None, ""),
    ],
)
def test_each_providers_own_reply(reply: object, problem: str) -> None:
    """Anthropic's, Ollama's, Google's, and one that says nothing."""
    found = stop_problem(ending_of(reply).stop)
    assert problem in found
    assert bool(problem) == bool(found)
