"""DeepEval's models as the judge's: from texts to the number, and whatever they reply or raise."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from deepeval.models import DeepEvalBaseLLM
from deepeval.models.utils import EvaluationCost
from pydantic import BaseModel

from noisesense import ReplyError, Usage
from noisesense_adapters.deepeval import DeepEvalLLM, NoiseSensitivityMetric
from noisesense_adapters.deepeval.llm import judge_of

SECRET = "the-prompt-holds-a-secret"


class Answer(BaseModel):
    text: str


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


@pytest.mark.parametrize("kind", [Custom, TakesSchema])
@pytest.mark.parametrize("blocking", [False, True])
def test_every_form_of_reply_is_read(kind: type[Custom], blocking: bool) -> None:
    way = "generate" if blocking else "a_generate"
    for reply, usage in (
        (Answer(text="a"), Usage(1)),
        ({"text": "a"}, Usage(1)),
        ('Here is the JSON:\n```json\n{"text": "a"}\n```', Usage(1)),
        ((Answer(text="a"), None), Usage(1)),
        (('{"text": "a"}', 0.5), Usage(1, cost=0.5)),
        (('{"text": "a"}', EvaluationCost(0.25, 10, 2)), Usage(1, 0, 0, 10, 2, 0.25)),
        (('{"text": "a"}', EvaluationCost(None, 10, 2)), Usage(1, 0, 0, 10, 2)),
    ):
        model = kind(reply)
        assert ask(model, blocking=blocking) == (Answer(text="a"), usage)
        (call,) = model.calls
        assert call["way"] == way
        assert call.get("schema", Answer) == Answer
        assert call["prompt"].startswith(SECRET)
        assert '"text"' in call["prompt"]  # the form is spelled out: nobody may enforce it


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("", "empty"),
        ((None, EvaluationCost(0.25, 10, 2)), "empty"),
        ('{"text": ', "form Answer"),
        ('{"text": 7}', "does not fit"),
        (7, "form Answer"),
        ('{"text": "a"} {"text": "b"}', "something follows"),
        (json.JSONDecodeError("bad", "doc", 0), "not JSON"),
        (ValueError("Evaluation LLM outputted an invalid JSON. Please …"), "not JSON"),
    ],
)
def test_an_unusable_reply_is_a_reply_error(reply: object, says: str) -> None:
    with pytest.raises(ReplyError, match=says) as caught:
        ask(TakesSchema(reply))
    assert caught.value.usage == (
        Usage(1, 0, 0, 10, 2, 0.25) if isinstance(reply, tuple) else Usage(1)
    )
    assert caught.value.__context__ is None


def test_a_key_set_later_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong key is corrected in a notebook: a model that is only named is made anew."""
    judges = []
    for key in ("wrong", "right", "right"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        judges.append(judge_of(NoiseSensitivityMetric()))
    assert judges[0] is not judges[1] is judges[2]
