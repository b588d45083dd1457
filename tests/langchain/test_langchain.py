"""`LangChainLLM` over real chat models: structured output and not, loops, threads, callbacks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from noisesense.errors import InputError, JudgeError, ReplyError
from noisesense.judging.protocol import Usage
from noisesense_adapters.langchain import LangChainLLM
from support.langchain_models import chat_openai, run
from support.misbehavior import SERVER_ERROR, always
from support.says import Answer, Says
from support.server import ScriptedServer

YES = '{"text": "yes"}'


class OwnModel(BaseChatModel):
    """A user's own chat model: sync only, no structured output; says what it was told to."""

    says: AIMessage = AIMessage(YES)
    asked: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "own"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.asked.append(str(messages[0].content))
        return ChatResult(generations=[ChatGeneration(message=self.says)])


class ToolModel(OwnModel):
    """The same with tools, through LangChain's own structured output."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=tools)


class BrokenModel(ToolModel):
    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise KeyError(f"key sk-canary, prompt {messages[0].content}")


def _say(model: Any, times: int = 1) -> list[tuple[Answer, Usage]]:
    llm = model if isinstance(model, LangChainLLM) else LangChainLLM(model)

    async def main() -> list[tuple[Answer, Usage]]:
        return list(await asyncio.gather(*(llm.generate("Well?", Answer) for _ in range(times))))

    return run(main())


def test_chat_openai_answers_in_the_form_also_by_fallback_or_retry() -> None:
    with ScriptedServer(Says()) as server:
        llm = LangChainLLM(chat_openai(server))
        assert _say(llm) == [(Answer(text="yes"), Usage(calls=1, input_tokens=2, output_tokens=4))]
        assert [(r.form, r.prompt) for r in server.log.requests] == [("json_schema", "Well?")]
        with ScriptedServer(Says(), script=always(SERVER_ERROR)) as broken:
            first: Any = chat_openai(broken)
            for model in (
                first.with_fallbacks([chat_openai(server)]),
                chat_openai(server).with_retry(),
            ):
                assert _say(model)[0][0] == Answer(text="yes")
    assert llm.name == "ChatOpenAI gpt-4o-mini"


@pytest.mark.parametrize(
    "content",
    [
        f"Here you are:\n```json\n{YES}\n```",
        [
            {"type": "thinking", "thinking": '{"text": "no"}'},
            {"type": "text", "text": '{"text":'},
            {"type": "text", "text": ' "yes"}'},
        ],
        [YES],
    ],
)
def test_a_model_without_structured_output_is_asked_in_words(content: Any) -> None:
    used: Any = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    model = OwnModel(says=AIMessage(content, usage_metadata=used))
    assert _say(model) == [(Answer(text="yes"), Usage(1, 0, 0, 3, 4))]
    with_tools = ToolModel(says=_calls({"text": "yes"}))
    assert _say(with_tools)[0][0] == Answer(text="yes")
    assert with_tools.asked == ["Well?"]
    assert model.asked == [
        'Well?\n\nReply with one JSON object and nothing else. Its keys are "text".'
    ]


def _calls(*arguments: dict[str, Any]) -> AIMessage:
    calls = [{"name": "Answer", "args": args, "id": str(i)} for i, args in enumerate(arguments)]
    return AIMessage("", tool_calls=calls)


# As the model wrote it: LangChain's own parser takes the last of two values.
_TWICE = {"name": "Answer", "arguments": '{"text": "yes", "text": "no"}'}


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (AIMessage("sk-canary"), "does not begin with a JSON"),
        (AIMessage(YES, additional_kwargs={"refusal": "no"}), "refused"),
        (AIMessage(YES, response_metadata={"stop_reason": "refusal"}), "refused"),
        (_calls({"text": "yes"}, {"text": "no"}), "something follows"),
        (_calls({"text": 1}), r"does not fit \(string_type\)"),
        (AIMessage("", additional_kwargs={"tool_calls": [{"function": _TWICE}]}), "not fit"),
    ],
)
def test_what_is_no_reply_is_an_error_without_its_text(message: AIMessage, says: str) -> None:
    for model in (OwnModel(says=message), ToolModel(says=message)):
        # Where no function was offered, none is to be called.
        with pytest.raises(ReplyError, match=f"{says}|another function") as caught:
            _say(model)
        assert caught.value.usage == Usage(calls=1)
        assert "sk-canary" not in str(caught.value)


def test_a_model_that_breaks_tells_where_and_nothing_it_carried() -> None:
    with pytest.raises(JudgeError, match=r"KeyError, raised in test_langchain.py") as caught:
        _say(BrokenModel())
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize("include_raw", [True, False])
def test_a_model_that_is_bound_to_a_form_is_refused(include_raw: bool) -> None:
    """It cost five calls, and the error did not name it."""
    with ScriptedServer(Says("")) as server:
        chat: Any = chat_openai(server)
    wrapped = chat.with_structured_output(Answer, include_raw=include_raw)
    for model in (wrapped, wrapped.with_retry()):
        with pytest.raises(InputError, match="a chat model, got with_structured_output's"):
            LangChainLLM(model)
