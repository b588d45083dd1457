"""The same sample, from each host's own retrieved objects, has the same two numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest
from langchain_core.documents import Document

from noisesense import Sample, Verdicts
from noisesense.scoring.definitions import MODES

TEXTS = ["c0", "c1", "c2"]
# Seven claims, claim i from chunk i mod 3; the first five are incorrect; the reference's claim is
# in chunk 0. Relevant noise: claims 0 and 3. Irrelevant noise: claims 1, 2 and 4.
EXPECTED = {"relevant": 2 / 7, "irrelevant": 3 / 7}


class Sevens:
    name = "sevens"

    async def judge(self, sample: Sample) -> Verdicts:
        assert [chunk.text for chunk in sample.retrieved_contexts] == TEXTS
        cells = [[chunk == claim % 3 for chunk in range(3)] for claim in range(7)]
        correct = [claim >= 5 for claim in range(7)]
        return Verdicts.from_matrices(correct, cells, [[True, False, False]]).with_sample(sample)


Numbers = dict[str, Any]


def ragas() -> Numbers:
    from noisesense_adapters.ragas import NoiseSensitivity

    texts: Any = {"user_input": "q", "response": "x", "reference": "r"}
    result: Any = asyncio.run(
        NoiseSensitivity(judge=Sevens()).ascore(**texts, retrieved_contexts=TEXTS)
    )
    other: Any = asyncio.run(
        NoiseSensitivity(judge=Sevens(), mode="irrelevant").ascore(
            **texts, retrieved_contexts=TEXTS
        )
    )
    return {"relevant": result.value, "irrelevant": other.value}


def deepeval() -> Numbers:
    from deepeval.test_case import LLMTestCase
    from deepeval.test_case.llm_test_case import RetrievedContextData

    from noisesense_adapters.deepeval import NoiseSensitivityMetric

    context: Any = [RetrievedContextData(context=text, source="s.md") for text in TEXTS]
    case = LLMTestCase(
        input="q", actual_output="x", expected_output="r", retrieval_context=context
    )
    found: Numbers = {}
    for mode in MODES:
        metric = NoiseSensitivityMetric(judge=Sevens(), mode=mode)
        found[mode] = asyncio.run(metric.a_measure(case, _show_indicator=False))
    return found


def promptfoo() -> Numbers:
    from noisesense_adapters.promptfoo import get_assert, llm

    given = {"query": "q", "reference": "r", "contextChunks": [{"text": text} for text in TEXTS]}
    key = mock.patch.dict("os.environ", {"OPENAI_API_KEY": "any"})
    with key, mock.patch.object(llm, "judge_over", return_value=Sevens()):
        result = get_assert("x", {"vars": given, "config": {"judge": "scripted"}})
    return {mode: result["namedScores"][f"noise_sensitivity_{mode}"] for mode in MODES}


def langsmith() -> Numbers:
    """As openevals calls an evaluator, too: with documents, or with an object of them."""
    from noisesense_adapters.langsmith import noise_sensitivity

    evaluator: Any = noise_sensitivity(judge=Sevens())
    documents = [Document(page_content=text) for text in TEXTS]
    expected = {"answer": "r"}
    row = evaluator(
        inputs="q", outputs={"answer": "x", "context": documents}, reference_outputs=expected
    )
    found = {each["key"]: each["score"] for each in asyncio.run(row)}
    call = evaluator(
        inputs="q", outputs="x", reference_outputs="r", context={"documents": documents}
    )
    assert found == {each["key"]: each["score"] for each in asyncio.run(call)}
    graph = {"messages": [{"type": "human", "content": "q"}, {"type": "ai", "content": "x"}]}
    state = evaluator(
        inputs={"messages": graph["messages"][:1]},
        outputs={**graph, "documents": documents},
        reference_outputs=expected,
    )
    assert found == {each["key"]: each["score"] for each in asyncio.run(state)}
    return {mode: found[f"noise_sensitivity_{mode}"] for mode in MODES}


def langfuse() -> Numbers:
    from noisesense_adapters.langfuse import noise_sensitivity

    chunks = [{"page_content": text, "metadata": {"title": "T"}} for text in TEXTS]
    output = {"answer": "x", "source_documents": chunks}
    row = noise_sensitivity(judge=Sevens())(input="q", output=output, expected_output="r")
    found = {each.name: each.value for each in asyncio.run(row)}
    return {mode: found[f"noise_sensitivity_{mode}"] for mode in MODES}


def mlflow() -> Numbers:
    from mlflow.entities import Document as Retrieved

    from noisesense_adapters.mlflow import NoiseSensitivity

    outputs = {"response": "x", "documents": [Retrieved(page_content=text) for text in TEXTS]}
    shown = NoiseSensitivity(judge=Sevens())(
        inputs={"question": "q"}, outputs=outputs, expectations={"expected_response": "r"}
    )
    return {each.name.rpartition("/")[2]: each.value for each in shown}


@dataclass
class Hit:
    content: str
    score: float = 0.5


def pydantic_evals() -> Numbers:
    from pydantic_evals import Case, Dataset

    from noisesense_adapters.pydantic_evals import NoiseSensitivity

    case = Case(name="row", inputs="q", expected_output="r")
    dataset = Dataset(name="rows", cases=[case], evaluators=[NoiseSensitivity(judge=Sevens())])

    async def task(_: str) -> Any:
        return {"answer": "x", "documents": [Hit(text) for text in TEXTS]}

    (row,) = asyncio.run(dataset.evaluate(task, progress=False)).cases
    return {mode: row.scores[f"noise_sensitivity_{mode}"].value for mode in MODES}


HOSTS: dict[str, Callable[[], Numbers]] = {
    "ragas": ragas,
    "DeepEval": deepeval,
    "Promptfoo": promptfoo,
    "LangSmith, openevals, LangGraph": langsmith,
    "Langfuse": langfuse,
    "MLflow": mlflow,
    "pydantic-evals": pydantic_evals,
}


@pytest.mark.parametrize("host", HOSTS)
def test_the_same_two_numbers(host: str) -> None:
    assert HOSTS[host]() == {mode: pytest.approx(EXPECTED[mode], abs=1e-12) for mode in MODES}


def test_one_text_as_openevals_gives_it() -> None:
    """Its ``context`` may be one text: one chunk. Under any other name that is an error."""
    from noisesense_adapters.langsmith import noise_sensitivity

    class One:
        async def judge(self, sample: Sample) -> Verdicts:
            assert [chunk.text for chunk in sample.retrieved_contexts] == ["one text"]
            return Verdicts.from_matrices([False], [[True]], [[True]]).with_sample(sample)

    evaluator: Any = noise_sensitivity(judge=One())
    row = evaluator(inputs="q", outputs="x", reference_outputs="r", context="one text")
    assert asyncio.run(row)[0]["score"] == 1.0
    wrong = evaluator(inputs="q", outputs={"answer": "x", "contexts": "a"}, reference_outputs="r")
    with pytest.raises(ValueError, match="expected a list of chunks, got one text"):
        asyncio.run(wrong)
