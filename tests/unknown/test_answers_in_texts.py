"""An answer that is an object in a text is the same answer in every host, never the whole JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from support.reading_hosts import Watcher

OBJECT = {"answer": "It burned.", "contexts": ["c0", "c1"], "score": 0.5}
WRITTEN = {
    "JSON": json.dumps(OBJECT),
    "a fence": f"```json\n{json.dumps(OBJECT, indent=2)}\n```",
    "Python": repr(OBJECT),
}


def langsmith(text: str, judge: Any) -> None:
    from noisesense_adapters.langsmith import noise_sensitivity

    evaluator: Any = noise_sensitivity(judge=judge)
    asyncio.run(evaluator(inputs="q", outputs={"output": text}, reference_outputs="r"))


def langfuse(text: str, judge: Any) -> None:
    from noisesense_adapters.langfuse import noise_sensitivity

    evaluator = noise_sensitivity(judge=judge)
    asyncio.run(evaluator(input="q", output=text, expected_output="r"))


def mlflow(text: str, judge: Any) -> None:
    from noisesense_adapters.mlflow import NoiseSensitivity

    scorer = NoiseSensitivity(judge=judge)
    scorer(inputs={"q": "q"}, outputs=text, expectations={"expected_response": "r"})


def pydantic_evals(text: str, judge: Any) -> None:
    from pydantic_evals import Case, Dataset

    from noisesense_adapters.pydantic_evals import NoiseSensitivity

    cases = [Case(name="row", inputs="q", expected_output="r")]
    dataset = Dataset(name="rows", cases=cases, evaluators=[NoiseSensitivity(judge=judge)])

    async def task(_: str) -> str:
        return text

    asyncio.run(dataset.evaluate(task, progress=False))


def promptfoo(text: str, judge: Any) -> None:
    from noisesense_adapters.promptfoo import get_assert, llm

    key = mock.patch.dict("os.environ", {"OPENAI_API_KEY": "any"})
    with key, mock.patch.object(llm, "judge_over", return_value=judge):
        get_assert(text, {"vars": {"query": "q", "reference": "r"}, "config": {"judge": "m"}})


def ragas(text: str, judge: Any) -> None:
    """Its contexts have a column of their own."""
    from noisesense_adapters.ragas import NoiseSensitivity

    row: Any = {"user_input": "q", "response": text, "reference": "r"}
    asyncio.run(NoiseSensitivity(judge=judge).ascore(**row, retrieved_contexts=["c0", "c1"]))


def deepeval(text: str, judge: Any) -> None:
    """Likewise."""
    from deepeval.test_case import LLMTestCase

    from noisesense_adapters.deepeval import NoiseSensitivityMetric

    case = LLMTestCase(
        input="q", actual_output=text, expected_output="r", retrieval_context=["c0", "c1"]
    )
    metric = NoiseSensitivityMetric(judge=judge)
    asyncio.run(metric.a_measure(case, _show_indicator=False))


HOSTS: dict[str, Callable[[str, Any], None]] = {
    each.__name__: each
    for each in (langsmith, langfuse, mlflow, pydantic_evals, promptfoo, ragas, deepeval)
}


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("host", HOSTS)
def test_the_answer_is_judged(host: str, written: str) -> None:
    judge = Watcher()
    HOSTS[host](WRITTEN[written], judge)
    assert judge.sample is not None
    assert judge.sample.response == "It burned."
    assert [chunk.text for chunk in judge.sample.retrieved_contexts] == ["c0", "c1"]
