"""Models people write for ragas themselves: what they reply and raise, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.outputs import Generation, LLMResult
from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.llms.base import BaseRagasLLM, InstructorBaseRagasLLM
from ragas.run_config import RunConfig

from noisesense import Usage, score
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


@pytest.mark.parametrize("kind", [Texts, Objects])
@pytest.mark.parametrize("options", [{}, {"check": "each"}], ids=str)
def test_a_users_model_of_texts_or_objects_judges_in_both_apis(
    kind: Any, options: dict[str, str]
) -> None:
    llm = truthful(kind)
    found = NoiseSensitivity(llm=llm, judge_options=options).score(**ragas_row(SAMPLE))
    assert found.value == TRUTH
    assert found.value.judgement.usage == Usage(calls=len(llm.prompts))
    metric = NoiseSensitivity(judge_options=options)
    result = evaluated([SAMPLE], [metric], llm=truthful(kind), run_config=ONCE)
    assert column(result, "relevant") == [TRUTH]
    forms = ["Its keys are " in prompt for prompt in llm.prompts]
    assert any(forms) is (kind is Texts)


def test_a_model_of_an_older_ragas_with_fewer_attributes_is_taken() -> None:
    """ragas 0.4.0 and 0.4.1: every row failed."""
    llm: Any = llm_factory("m", client=AsyncOpenAI(api_key="k", base_url="http://127.0.0.1:9/v1"))
    for name in ("cache", "system_prompt"):
        vars(llm).pop(name, None)
    assert isinstance(bridge_over(llm), OpenAILLM)
    assert InstructorLLM(llm).name == "m"
