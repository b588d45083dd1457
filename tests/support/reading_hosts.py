"""Each host's own call with one row, and the sample that its judge sees."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from noisesense import Sample, Verdicts
from noisesense.errors import NoiseSenseError

Seen = tuple[str, str, list[str], str]
"""Response, reference, chunks and question."""


class Watcher:
    """A judge that keeps the sample it is given."""

    name = "watcher"

    def __init__(self) -> None:
        self.sample: Sample | None = None

    async def judge(self, sample: Sample) -> Verdicts:
        self.sample = sample
        none = [False for _ in sample.retrieved_contexts]
        return Verdicts.from_matrices([False], [none], [none]).with_sample(sample)


INSIDE = object()
"""Contexts that stand in the response alone."""


def _contexts(row: dict[str, Any], name: str = "contexts") -> dict[str, Any]:
    return {} if row["contexts"] is INSIDE else {name: row["contexts"]}


def _output(row: dict[str, Any]) -> Any:
    """What a task returns."""
    if row["contexts"] is INSIDE:
        return row["response"]
    return {"answer": row["response"], **_contexts(row), **row["more"]}


def ragas(row: dict[str, Any], judge: Any) -> object:
    from noisesense_adapters.ragas import NoiseSensitivity

    given = {
        "user_input": row["question"],
        "response": row["response"],
        "reference": row["reference"],
        "retrieved_contexts": row["contexts"],
    }
    return asyncio.run(NoiseSensitivity(judge=judge).ascore(**given)).value.reason


def deepeval(row: dict[str, Any], judge: Any) -> object:
    from deepeval.test_case import LLMTestCase

    from noisesense_adapters.deepeval import NoiseSensitivityMetric

    case = LLMTestCase.model_construct(
        input=row["question"],
        actual_output=row["response"],
        expected_output=row["reference"],
        retrieval_context=row["contexts"],
        multimodal=False,
        name="row",
    )
    metric = NoiseSensitivityMetric(judge=judge)
    asyncio.run(metric.a_measure(case, _show_indicator=False))
    return metric.reason


def langfuse(row: dict[str, Any], judge: Any) -> object:
    from noisesense_adapters.langfuse import noise_sensitivity

    shown = asyncio.run(
        noise_sensitivity(judge=judge)(
            input=row["question"],
            output=_output(row),
            expected_output=row["reference"],
            metadata=row["item"],
        )
    )
    if shown[0].name == "noise_sensitivity_error":
        raise NoiseSenseError(str(shown[0].value))
    return shown[0].comment


def langsmith(row: dict[str, Any], judge: Any) -> object:
    from noisesense_adapters.langsmith import noise_sensitivity

    evaluator: Any = noise_sensitivity(judge=judge)
    output = _output(row)
    return asyncio.run(
        evaluator(
            inputs={"question": row["question"], **row["item"]},
            outputs=output if isinstance(output, dict) else {"output": output},
            reference_outputs=row["reference"],
        )
    )


def opik(row: dict[str, Any], judge: Any) -> object:
    from noisesense_adapters.opik import NoiseSensitivity

    shown, _ = NoiseSensitivity(judge=judge, track=False).score(
        input=row["question"],
        answer=row["response"],
        expected_output=row["reference"],
        **_contexts(row),
        **row["more"],
    )
    if shown.metadata["status"] == "error":
        raise NoiseSenseError(str(shown.reason))
    return shown.reason


def phoenix(row: dict[str, Any], judge: Any) -> object:
    from noisesense_adapters.phoenix import NoiseSensitivity

    given = {"input": row["question"], "answer": row["response"], **_contexts(row)}
    shown = NoiseSensitivity(judge=judge).evaluate(
        {**given, "expected_output": row["reference"], **row["more"]}
    )
    return shown[0].explanation


def mlflow(row: dict[str, Any], judge: Any) -> object:
    from noisesense_adapters.mlflow import NoiseSensitivity

    shown = NoiseSensitivity(judge=judge)(
        inputs={"question": row["question"], **row["item"]},
        outputs=_output(row),
        expectations={"expected_response": row["reference"]},
    )
    return shown[0].rationale


def pydantic_evals(row: dict[str, Any], judge: Any) -> object:
    from noisesense_adapters.pydantic_evals import NoiseSensitivity

    context: Any = SimpleNamespace(
        name="row",
        inputs={"question": row["question"]},
        output=_output(row),
        expected_output=row["reference"],
        metadata=row["item"],
        attributes={},
    )
    shown = asyncio.run(NoiseSensitivity(judge=judge).evaluate(context))
    return [each.reason for each in shown.values()]


def inspect_ai(row: dict[str, Any], judge: Any) -> object:
    from inspect_ai.scorer import Target

    from noisesense_adapters.inspect_ai import noise_sensitivity

    state: Any = SimpleNamespace(
        input_text=row["question"],
        output=SimpleNamespace(completion=row["response"]),
        metadata=row["item"],
        store={**_contexts(row), **row["more"]},
        sample_id=1,
    )
    target: Any = [row["reference"]]
    if isinstance(row["reference"], str):
        target = Target(row["reference"])
    else:
        target = SimpleTarget(row["reference"])
    return asyncio.run(noise_sensitivity(judge=judge)(state, target)).explanation


class SimpleTarget(list[Any]):
    """A target of one value, which Inspect itself takes only as a text."""

    def __init__(self, value: Any) -> None:
        super().__init__([value])
        self.text = value


def promptfoo(row: dict[str, Any], judge: Any) -> object:
    from noisesense_adapters.promptfoo import get_assert, llm

    given = {
        "query": row["question"],
        "reference": row["reference"],
        **_contexts(row, "contextChunks"),
    }
    response = {"metadata": row["more"]}
    config = {"judge": "scripted", "maxNoise": 0.5}
    context = {"vars": given, "config": config, "providerResponse": response}
    key = mock.patch.dict("os.environ", {"OPENAI_API_KEY": "any"})
    with key, mock.patch.object(llm, "judge_over", return_value=judge):
        shown: dict[str, Any] = get_assert(row["response"], context)
    if shown["metadata"]["status"] == "error":
        raise NoiseSenseError(shown["reason"])
    return shown["reason"]


def file(row: dict[str, Any], judge: Any) -> object:
    from noisesense_adapters.datasets.read import read_rows
    from noisesense_adapters.datasets.score import score_rows

    columns = {"question": row["question"], "answer": row["response"]}
    columns |= {"ground_truth": row["reference"], **_contexts(row), **row["more"]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text(json.dumps(columns), "utf-8")
        (result,) = score_rows(list(read_rows(path)), judge)
    if result.error is not None:
        raise NoiseSenseError(result.error)
    return result.score and result.score.reason("relevant")


HOSTS: dict[str, Callable[[dict[str, Any], Any], object]] = {
    each.__name__: each
    for each in (
        *(ragas, deepeval, langfuse, langsmith, opik, phoenix),
        *(mlflow, pydantic_evals, inspect_ai, promptfoo, file),
    )
}
FLAT = ("opik", "phoenix", "file", "promptfoo")
"""Where all places of a field are equal."""

ROW: dict[str, Any] = {
    "question": "Who?",
    "response": "Ada did.",
    "reference": "Ada.",
    "contexts": ["a", "b"],
    "more": {},
    "item": {},
}


def seen(host: str, **changes: Any) -> Seen | str:
    """What the judge sees of a row, or the error's text, or what is said of nothing retrieved."""
    judge = Watcher()
    try:
        shown = HOSTS[host]({**ROW, **changes}, judge)
    except Exception as error:  # noqa: BLE001 - a host may wrap it
        return str(error) if judge.sample is None else f"judged, then {error!r}"
    if judge.sample is None:
        return str(shown)
    sample = judge.sample
    chunks = [chunk.text for chunk in sample.retrieved_contexts]
    return sample.response, sample.reference, chunks, sample.user_input
