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
from noisesense_adapters.models.envelopes import problem_of
from support import misbehavior as bad
from support import odd_replies as odd
from support.faults import Fault, envelopes_through
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
def test_a_whole_answer_that_ended_for_another_reason_is_no_reply(name: str, reason: str) -> None:
    with pytest.raises(ReplyError):
        _asked(name, bad.Misbehavior(reason, finish_reason=reason))


def _refused(completion: dict[str, Any]) -> dict[str, Any]:
    completion["choices"][0]["message"]["refusal"] = "I cannot help with that."
    return completion


@pytest.mark.parametrize("name", BRIDGES)
def test_an_answer_with_a_refusal_beside_it_is_no_reply(name: str) -> None:
    assert _asked(name, bad.Misbehavior("none"))[0].claims == ["One."]
    with pytest.raises(ReplyError):
        _asked(name, bad.Misbehavior("refusal beside", reshape=_refused))


FINE: dict[str, dict[str, Any]] = {
    "nothing failed": {"error": None, "errors": [], "success": True, "code": 0},
    "a status": {"status": "completed", "base_resp": {"status_code": 0, "status_msg": ""}},
    "a code": {"status": 200, "code": 200, "incomplete_details": None},
    "unknown": {"warnings": ["slow"], "moderation": {"status": "failed"}, "provider": "x"},
}
HAND_ON = sorted(BRIDGES.keys() - {"pydantic-ai", "langchain"})
"""LangChain and pydantic-ai keep what they know of a reply, and drop the rest."""


def _outside(fields: dict[str, Any]) -> bad.Misbehavior:
    return bad.Misbehavior("beside", reshape=lambda completion: {**completion, **fields})


def _inside(fields: dict[str, Any]) -> bad.Misbehavior:
    def reshape(completion: dict[str, Any]) -> object:
        (choice,) = completion["choices"]
        return {**completion, "choices": [{**choice, **fields}]}

    return bad.Misbehavior("beside", reshape=reshape)


@pytest.mark.parametrize(("fault", "name"), envelopes_through(HAND_ON))
def test_an_answer_with_a_field_that_says_it_failed_is_an_error(fault: Fault, name: str) -> None:
    with pytest.raises(JudgeError):
        _asked(name, fault.misbehavior)


@pytest.mark.parametrize("name", HAND_ON)
@pytest.mark.parametrize("place", [_outside, _inside])
@pytest.mark.parametrize("fields", FINE.values(), ids=FINE)
def test_an_answer_with_fields_that_name_no_failure_is_read(
    name: str, place: Any, fields: dict[str, Any]
) -> None:
    assert _asked(name, place(fields))[0].claims == ["One."]


def test_over_langchain_an_error_beside_an_answer_is_an_error() -> None:
    with pytest.raises(JudgeError):
        _asked("langchain", _outside(odd.LISTED["failed"]["error"]))


def _shuffled(completion: dict[str, Any]) -> dict[str, Any]:
    (choice,) = completion["choices"]
    return {**completion, "choices": [{**choice, "index": 1}, {**choice, "index": 0}]}


@pytest.mark.parametrize("name", HAND_ON)
def test_choices_out_of_order_are_refused(name: str) -> None:
    with pytest.raises(ReplyError, match="out of order"):
        _asked(name, bad.Misbehavior("shuffled", reshape=_shuffled))


def _calls(name: str) -> bad.Misbehavior:
    def reshape(completion: dict[str, Any]) -> object:
        call = {"id": "1", "type": "function", "function": {"name": name, "arguments": WHOLE}}
        completion["choices"][0]["message"].update(content=WHOLE, tool_calls=[call])
        return completion

    return bad.Misbehavior("calls", reshape=reshape)


@pytest.mark.parametrize("name", sorted(BRIDGES.keys() - {"pydantic-ai"}))
def test_a_call_of_another_function_is_refused(name: str) -> None:
    with pytest.raises(ReplyError, match="another function"):
        _asked(name, _calls("delete_everything"))


@pytest.mark.parametrize("name", ["openai", "ragas", "langchain"])
def test_a_call_of_the_function_that_was_asked_for_is_read(name: str) -> None:
    assert _asked(name, _calls("Claims"))[0].claims == ["One."]


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
    ids=["cut, with details", "cut", "failed", "refusal block", "filtered", "no more room"],
)
def test_over_langchain_only_what_ended_whole_and_unrefused_is_read(
    metadata: dict[str, Any], content: Any
) -> None:
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
def test_each_providers_reply_says_why_it_is_not_whole(reply: object, problem: str) -> None:
    """Anthropic's, Ollama's, Google's, and one that says nothing."""
    found = problem_of(reply)
    assert problem in found
    assert bool(problem) == bool(found)
