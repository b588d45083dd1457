"""The scorer in MLflow's own ``mlflow.genai.evaluate``, by `AdapterTests`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from noisesense import DefinitionName, Judge, Sample
from noisesense.scoring.definitions import MODES, Mode
from support.adapter_tests import AdapterTests, HostRun, Shown, ShownRow
from support.experiments import usage_in

pytestmark = pytest.mark.filterwarnings("default")  # MLflow warns of its own type hints

_COSTS = {
    "noisesense.calls": "calls",
    "mlflow.assessment.judgeInputTokens": "input_tokens",
    "mlflow.assessment.judgeOutputTokens": "output_tokens",
    "mlflow.assessment.judgeCost": "cost",
}


def evaluated(samples: Sequence[Sample], scorer: Any) -> tuple[Any, list[Any]]:
    """The result, and what is known of each trace, in the order of the samples."""
    import mlflow
    from mlflow.entities import Document, SpanType

    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def retrieve(number: int) -> object:
        return [
            Document(
                page_content=chunk.text,
                id=chunk.id,
                metadata={} if chunk.relevant is None else {"relevant": chunk.relevant},
            )
            for chunk in samples[number].retrieved_contexts
        ]

    @mlflow.trace
    def application(question: str, number: int) -> str:
        retrieve(number)
        return samples[number].response

    data = [
        {
            "inputs": {"question": sample.user_input, "number": number},
            "expectations": {"expected_response": sample.reference, "expected_facts": ["no"]},
        }
        for number, sample in enumerate(samples)
    ]
    result = mlflow.genai.evaluate(data=data, predict_fn=application, scorers=[scorer])
    traces: Any = mlflow.search_traces(
        run_id=result.run_id, return_type="list", max_results=len(samples) + 1
    )
    numbered = {json.loads(trace.data.request)["number"]: trace for trace in traces}
    return result, [numbered[number].info for number in range(len(samples))]


def shown_row(assessments: Sequence[Any]) -> ShownRow:
    ours = [each for each in assessments if each.name.startswith("noise_sensitivity")]
    errors = [each.error.error_message for each in ours if each.error is not None]
    if errors:
        return ShownRow(error=errors[0])
    return ShownRow({_mode(each): Shown(each.value, each.rationale) for each in ours})


def _mode(feedback: Any) -> Mode:
    mode: Mode = feedback.name.rpartition("/")[2]
    return mode


@pytest.mark.usefixtures("tracking")
class TestMLflow(AdapterTests):
    side_by_side = False  # its active run is one of the process
    tables = 4  # MLflow writes some twenty rows a second to its database

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        from noisesense_adapters.mlflow import NoiseSensitivity  # not in every process

        scorer = NoiseSensitivity(judge=judge, definition=definition)
        result, traces = evaluated(samples, scorer)
        assert result.result_df is not None, "MLflow lost the table of results"
        stored = [each.to_dictionary() for trace in traces for each in trace.assessments]
        return HostRun(
            [shown_row(trace.assessments) for trace in traces],
            stored=json.dumps(stored, default=str) + repr(scorer),
            averages=averages_in(result.metrics, scorer.name),
            usage=usage_in([costs_of(each) for t in traces for each in t.assessments]),
            names=[f"trace {trace.trace_id}: " for trace in traces],
        )


def costs_of(assessment: Any) -> dict[str, Any]:
    metadata = assessment.metadata or {}
    return {_COSTS[key]: json.loads(metadata[key]) for key in metadata if key in _COSTS}


def averages_in(metrics: Mapping[str, float], name: str) -> dict[Mode, float]:
    means = {mode: metrics.get(f"{name}/{mode}/mean") for mode in MODES}
    averages = {mode: float(mean) for mode, mean in means.items() if mean is not None}
    assert not any(map(math.isnan, averages.values())), "a NaN reached MLflow's mean"
    return averages
