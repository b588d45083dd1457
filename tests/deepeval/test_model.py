"""The bridge: any of DeepEval's kinds of models as a `StructuredLLM`."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from deepeval.errors import DeepEvalError
from deepeval.models import DeepEvalBaseLLM, LocalModel
from deepeval.models.utils import EvaluationCost
from pydantic import BaseModel

from noisesense import JudgeError, ReplyError, Usage
from noisesense.judging.protocol import WordLLM
from noisesense_adapters.deepeval import DeepEvalLLM

SECRET = "the-prompt-holds-a-secret"


class Answer(BaseModel):
    text: str


class Other(BaseModel):
    text: str
    more: int = 0


class Custom(DeepEvalBaseLLM):
    """A user's own model; ``reply`` is returned, or raised."""

    def __init__(self, reply: object) -> None:
        self.reply = reply
        self.calls: list[dict[str, Any]] = []
        super().__init__("custom")

    def load_model(self) -> Any:
        return self

    def get_model_name(self) -> str:
        return "custom"

    def say(self, **call: Any) -> Any:
        self.calls.append(call)
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    def generate(self, prompt: str) -> Any:
        return self.say(prompt=prompt, way="generate")

    async def a_generate(self, prompt: str) -> Any:
        return self.say(prompt=prompt, way="a_generate")


class TakesSchema(Custom):
    def generate(self, prompt: str, schema: Any = None) -> Any:
        return self.say(prompt=prompt, schema=schema, way="generate")

    async def a_generate(self, prompt: str, schema: Any = None) -> Any:
        return self.say(prompt=prompt, schema=schema, way="a_generate")


def ask(model: Any, **options: Any) -> tuple[Answer, Usage]:
    return asyncio.run(DeepEvalLLM(model, **options).generate(SECRET, Answer))


@pytest.mark.parametrize(
    "reply",
    [
        Answer(text="a"),
        Other(text="a"),
        {"text": "a"},
        '{"text": "a"}',
        'Here is the JSON:\n```json\n{"text": "a"}\n```',
        (Answer(text="a"), None),
        ('{"text": "a"}', 0.5),
    ],
    ids=["schema", "model", "dict", "text", "fenced", "tuple", "text and cost"],
)
@pytest.mark.parametrize("kind", [Custom, TakesSchema])
@pytest.mark.parametrize("blocking", [False, True])
def test_every_form_of_reply_is_read(kind: type[Custom], blocking: bool, reply: object) -> None:
    model = kind(reply)

    answer, usage = ask(model, blocking=blocking)

    assert answer == Answer(text="a")
    cost = reply[1] if isinstance(reply, tuple) else None
    assert usage == Usage(calls=1, cost=cost)
    (call,) = model.calls
    assert call["way"] == ("generate" if blocking else "a_generate")
    assert call.get("schema", Answer) is Answer
    assert call["prompt"].startswith(SECRET)
    assert '"text"' in call["prompt"]  # the form is spelled out: the model may not enforce it


@pytest.mark.parametrize(
    ("cost", "usage"),
    [
        (EvaluationCost(0.25, 10, 2), Usage(1, input_tokens=10, output_tokens=2, cost=0.25)),
        (EvaluationCost(None, 10, 2), Usage(1, input_tokens=10, output_tokens=2)),
        (EvaluationCost(0.25), Usage(1, cost=0.25)),
        (0.0, Usage(1, cost=0.0)),
        (None, Usage(1)),
    ],
)
def test_cost_and_tokens_are_those_deepeval_reports(cost: Any, usage: Usage) -> None:
    assert ask(TakesSchema((Answer(text="a"), cost)))[1] == usage


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("", "empty"),
        (None, "empty"),
        ((None, EvaluationCost(0.25, 10, 2)), "empty"),
        ("I cannot help with that.", "no Answer"),
        ('{"text": ', "no Answer"),
        ('{"text": 7}', "does not fit"),
        ({"texts": "a"}, "does not fit"),
        (7, "does not fit"),
        ('{"text": "a"} {"text": "b"}', "something follows"),
        (json.JSONDecodeError("bad", "doc", 0), "not JSON"),
        (ValueError("Evaluation LLM outputted an invalid JSON. Please …"), "not JSON"),
    ],
)
def test_an_unusable_reply_is_a_reply_error(reply: object, says: str) -> None:
    with pytest.raises(ReplyError, match=says) as caught:
        ask(TakesSchema(reply))

    assert isinstance(caught.value.usage, Usage)
    assert caught.value.usage.calls == 1
    assert caught.value.__context__ is None


def test_a_models_own_validation_error_is_a_reply_error() -> None:
    class Validates(Custom):
        async def a_generate(self, prompt: str, schema: Any = None) -> Any:
            return schema.model_validate({"text": 7})

    with pytest.raises(ReplyError, match="does not fit"):
        ask(Validates(None))


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (ConnectionError(f"cannot send {SECRET}"), "custom cannot be reached"),
        (TimeoutError(SECRET), "custom gave no reply in time"),
        (
            RuntimeError(SECRET),
            r"custom could not be called: RuntimeError, raised in test_model\.py",
        ),
        (AttributeError(SECRET), r"AttributeError, raised in test_model\.py"),
        (TypeError(SECRET), r"TypeError, raised in test_model\.py"),
        (DeepEvalError("OpenAI API key is not configured."), "OpenAI API key is not configured"),
    ],
)
def test_a_call_that_failed_is_a_judge_error_without_its_words(failure: Any, says: str) -> None:
    model = TakesSchema(failure)

    with pytest.raises(JudgeError, match=says) as caught:
        ask(model)

    assert not isinstance(caught.value, ReplyError)
    assert len(model.calls) == 1
    assert SECRET not in str(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_a_synchronous_model_is_asked_in_threads() -> None:
    class SyncOnly(Custom):
        def generate(self, prompt: str) -> Any:
            threads.add(threading.get_ident())
            together.wait(300)  # passes only if both calls run at once
            return super().generate(prompt)

        async def a_generate(self, prompt: str) -> Any:
            raise NotImplementedError

    threads: set[int] = set()
    together = threading.Barrier(2)
    llm = DeepEvalLLM(SyncOnly('{"text": "a"}'))

    async def both() -> Any:
        return await asyncio.gather(llm.generate("p", Answer), llm.generate("q", Answer))

    assert [answer for answer, _ in asyncio.run(both())] == [Answer(text="a")] * 2
    assert threading.get_ident() not in threads


def test_an_a_generate_that_is_no_coroutine_will_do() -> None:
    class Plain(Custom):
        def a_generate(self, prompt: str) -> Any:  # type: ignore[override]
            return self.say(prompt=prompt)

    assert ask(Plain('{"text": "a"}'))[0] == Answer(text="a")


def test_cancelling_is_not_an_error() -> None:
    class Slow(Custom):
        async def a_generate(self, prompt: str) -> Any:
            await asyncio.sleep(600)

    async def main() -> None:
        await asyncio.wait_for(DeepEvalLLM(Slow(None)).generate("p", Answer), 0.01)

    with pytest.raises((asyncio.TimeoutError, TimeoutError)):
        asyncio.run(main())


def test_a_missing_key_is_said_by_deepeval_itself() -> None:
    for model in (None, "gpt-4o"):
        with pytest.raises(DeepEvalError, match="OpenAI API key is not configured"):
            DeepEvalLLM(model)
    with pytest.raises(JudgeError, match=r"^Local API key is not configured\. Set LOCAL"):
        ask(_keyless())


def _keyless() -> LocalModel:
    model = LocalModel(model="m", api_key="k", base_url="http://127.0.0.1:9/v1")
    model.local_model_api_key = None
    return model


def test_the_name_is_the_models_own() -> None:
    assert DeepEvalLLM(Custom("")).name == "custom"


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("kind", [Custom, TakesSchema])
@pytest.mark.parametrize("reply", ["Yes.", ("yes", EvaluationCost(0.25, 10, 2))])
def test_a_word_is_chosen_in_plain_text(kind: type[Custom], blocking: bool, reply: object) -> None:
    model = kind(reply)
    llm = DeepEvalLLM(model, blocking=blocking)
    assert isinstance(llm, WordLLM)
    choice, usage = asyncio.run(llm.choose("Is it so?", ["yes", "no"]))
    assert choice == ("yes", None)
    assert usage.calls == 1
    assert usage.cost == (0.25 if isinstance(reply, tuple) else None)
    assert model.calls[0]["prompt"] == "Is it so?"
    assert model.calls[0].get("schema") is None


def test_a_reply_that_is_none_of_the_words() -> None:
    for reply in ("perhaps", "yes and no", None):
        with pytest.raises(ReplyError):
            asyncio.run(DeepEvalLLM(Custom(reply)).choose("Is it so?", ["yes", "no"]))
