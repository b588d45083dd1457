"""DeepEval's models as the judge's: from texts to the number, and whatever they reply or raise."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from deepeval.errors import DeepEvalError
from deepeval.models import DeepEvalBaseLLM
from deepeval.models.utils import EvaluationCost
from pydantic import BaseModel

from noisesense import JudgeError, ReplyError, Usage
from noisesense.fixtures import reference_examples
from noisesense.scoring.definitions import MODES
from noisesense_adapters.deepeval import DeepEvalLLM, NoiseSensitivityMetric
from noisesense_adapters.deepeval.llm import judge_of
from support.deepeval_run import MindModel, case_of, run, run_one
from support.mind import Mind

EXAMPLE = reference_examples()[0]
MIND = Mind([(EXAMPLE.sample, EXAMPLE.verdicts)])
SECRET = "the-prompt-holds-a-secret"
BOTH = pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])


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
    model = kind(("Yes.", 0.5))
    choice, usage = asyncio.run(DeepEvalLLM(model, blocking=blocking).choose("So?", ["yes", "no"]))
    assert choice == "yes"
    assert usage == Usage(1, cost=0.5)
    assert model.calls[0]["prompt"] == "So?"
    assert model.calls[0].get("schema") is None


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("", "empty"),
        ((None, EvaluationCost(0.25, 10, 2)), "empty"),
        ('{"text": ', "no Answer"),
        ('{"text": 7}', "does not fit"),
        (7, "no Answer"),
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


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (ConnectionError(f"cannot send {SECRET}"), "custom cannot be reached"),
        (TimeoutError(SECRET), "custom gave no reply in time"),
        (RuntimeError(SECRET), r"custom could not be called: RuntimeError, raised in test_model"),
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
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_synchronous_model_is_asked_in_threads() -> None:
    class SyncOnly(Custom):
        def generate(self, prompt: str) -> Any:
            assert threading.current_thread() is not threading.main_thread()
            together.wait(300)  # passes only if both calls run at once
            return super().generate(prompt)

        async def a_generate(self, prompt: str) -> Any:
            raise NotImplementedError

    together = threading.Barrier(2)
    llm = DeepEvalLLM(SyncOnly('{"text": "a"}'))

    async def both() -> Any:
        return await asyncio.gather(llm.generate("p", Answer), llm.generate("q", Answer))

    assert [answer for answer, _ in asyncio.run(both())] == [Answer(text="a")] * 2


def test_threads_share_what_a_model_has_said_and_options_reach_the_judge() -> None:
    model = MindModel(MIND)
    test_case = case_of(EXAMPLE.sample)
    metrics = [NoiseSensitivityMetric(mode=mode, model=model, async_mode=False) for mode in MODES]
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda each: each.measure(test_case, False), metrics))
    assert found == [0.5, 0.0]
    assert len(model.prompts) == 4
    model.prompts.clear()
    metric = NoiseSensitivityMetric(model=model, judge_options={"check": "each", "max_reasks": 0})
    assert metric.measure(test_case) == 0.5
    assert len(model.prompts) == 2 + 2 + 3  # each claim is asked about by itself


@BOTH
def test_a_missing_key_is_deepevals_own_error(run_async: bool) -> None:
    metric = NoiseSensitivityMetric()  # nothing is resolved here
    test_case = case_of(EXAMPLE.sample, name="a")
    with pytest.raises(DeepEvalError, match="OpenAI API key is not configured"):
        run([test_case], [metric], run_async=run_async)
    # With verdicts nobody needs a key.
    test_case.metadata = {"verdicts": EXAMPLE.verdicts.model_dump()}
    _, data = run_one(test_case, metric, run_async=run_async)
    assert data.score == 0.5


def test_a_key_set_later_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong key is corrected in a notebook: a model that is only named is made anew."""
    judges = []
    for key in ("wrong", "right", "right"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        judges.append(judge_of(NoiseSensitivityMetric()))
    assert judges[0] is not judges[1] is judges[2]
