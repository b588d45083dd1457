"""Models people write for ragas themselves: what they reply and raise, and what comes of it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, Generation, LLMResult
from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.llms.base import BaseRagasLLM, InstructorBaseRagasLLM
from ragas.run_config import RunConfig

from noisesense import InputError, JudgeError, ReplyError, Usage, VerdictStore, score
from noisesense.judging.prompts import Claims
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.ragas import NoiseSensitivity
from noisesense_adapters.ragas.llm import InstructorLLM, bridge_over
from support.mind import Mind
from support.ragas_peer import ragas_row
from support.ragas_runs import column, evaluated
from support.tables import random_pair

SAMPLE, VERDICTS = random_pair(1)
TRUTH = score(VERDICTS).relevant
MIND = Mind([(SAMPLE, VERDICTS)])
SECRET = "sk-canary-0123456789"
ONCE = RunConfig(max_retries=1)


def said(text: str) -> LLMResult:
    return LLMResult(generations=[[Generation(text=text)]])


class Texts(BaseRagasLLM):
    def __init__(self, says: Callable[[str], LLMResult], *, finished: bool = True) -> None:
        super().__init__(run_config=ONCE)
        self._says = says
        self._finished = finished
        self.prompts: list[str] = []

    def generate_text(self, *args: Any, **kwargs: Any) -> LLMResult:
        raise AssertionError("ragas' evaluate() asks agenerate_text")

    async def agenerate_text(self, prompt: Any, *args: Any, **kwargs: Any) -> LLMResult:
        self.prompts.append(prompt.to_string())
        return self._says(self.prompts[-1])

    def is_finished(self, response: LLMResult) -> bool:
        return self._finished


class Objects(InstructorBaseRagasLLM):
    """With the two methods ragas demands, and nothing else."""

    def __init__(self, says: Callable[[str, type[Any]], Any]) -> None:
        self._says = says
        self.prompts: list[str] = []

    def generate(self, prompt: str, response_model: type[Any]) -> Any:
        raise AssertionError("an async model is asked asynchronously")

    async def agenerate(self, prompt: str, response_model: type[Any]) -> Any:
        self.prompts.append(prompt)
        return self._says(prompt, response_model)


def truthful(kind: Any) -> Any:
    if kind is Texts:
        return Texts(lambda prompt: said(MIND.answer(prompt)))
    return Objects(lambda prompt, form: form.model_validate_json(MIND.answer(prompt)))


def generated(llm: Any) -> tuple[Claims, Usage]:
    return asyncio.run(bridge_over(llm)().generate("a prompt", Claims))


@pytest.mark.parametrize("kind", [Texts, Objects])
@pytest.mark.parametrize("options", [{}, {"check": "each"}], ids=str)
def test_by_both_apis(kind: Any, options: dict[str, str]) -> None:
    llm = truthful(kind)
    found = NoiseSensitivity(llm=llm, judge_options=options).score(**ragas_row(SAMPLE))
    assert found.value == TRUTH
    assert found.value.judgement.usage == Usage(calls=len(llm.prompts))
    metric = NoiseSensitivity(judge_options=options)
    result = evaluated([SAMPLE], [metric], llm=truthful(kind), run_config=ONCE)
    assert column(result, "relevant") == [TRUTH]
    forms = ["Its keys are " in prompt for prompt in llm.prompts]
    assert any(forms) is (kind is Texts)


def test_usage_as_langchain_or_the_provider_tells_it() -> None:
    tokens: Any = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    message = AIMessage('{"claims": []}', usage_metadata=tokens)
    langchains = LLMResult(generations=[[ChatGeneration(message=message)]])
    openais = said('{"claims": []}')
    openais.llm_output = {"token_usage": {"prompt_tokens": 5, "completion_tokens": 3}}
    assert generated(Texts(lambda _: langchains))[1] == Usage(1, 0, 0, 7, 2)
    assert generated(Texts(lambda _: openais))[1] == Usage(1, 0, 0, 5, 3)


def test_a_reply_that_is_cut_short_is_asked_for_three_times() -> None:
    llm = Texts(lambda prompt: said('{"claims": []}'), finished=False)
    with pytest.raises(ReplyError, match="cut short"):
        generated(llm)
    llm.prompts.clear()
    result = evaluated([SAMPLE], [NoiseSensitivity()], llm=llm, run_config=ONCE)
    assert math.isnan(*column(result, "relevant"))
    assert len(llm.prompts) == 6  # both lists of claims
    with pytest.raises(ReplyError, match="no reply"):
        generated(Texts(lambda _: LLMResult(generations=[])))


@pytest.mark.parametrize("kind", [Texts, Objects])
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ConnectionError(SECRET), "the model cannot be reached"),
        (TimeoutError(SECRET), "no reply in time"),
        (KeyError(SECRET), "could not be called: KeyError, raised in test_custom_models.py"),
        (RuntimeError(f"Event loop is closed {SECRET}"), "opened in another event loop"),
        (RuntimeError(f"pip install litellm {SECRET}"), r"withheld, names 'pip install litellm'$"),
    ],
)
def test_what_a_model_raises_is_told_without_its_words(
    kind: Any, error: Exception, message: str
) -> None:
    def says(*_: Any) -> Any:
        raise error

    llm = kind(says)
    with pytest.raises(JudgeError, match=message) as caught:
        generated(llm)
    assert not isinstance(caught.value, ReplyError)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert len(llm.prompts) == 1


def test_a_model_without_a_name_and_a_store(tmp_path: Path) -> None:
    llm = truthful(Texts)
    with VerdictStore(tmp_path / "store.sqlite") as store:
        with pytest.raises(InputError, match="a model with a name"):
            NoiseSensitivity(llm=llm, store=store).score(**ragas_row(SAMPLE))
        named = NoiseSensitivity(llm=llm, store=store, judge_options={"model": "mine"})
        assert named.score(**ragas_row(SAMPLE)).value == TRUTH


def test_a_model_of_an_older_ragas_has_fewer_attributes() -> None:
    """ragas 0.4.0 and 0.4.1: every row failed."""
    llm: Any = llm_factory("m", client=AsyncOpenAI(api_key="k", base_url="http://127.0.0.1:9/v1"))
    for name in ("cache", "system_prompt"):
        vars(llm).pop(name, None)
    assert isinstance(bridge_over(llm)(), OpenAILLM)
    assert InstructorLLM(llm).name == "m"
