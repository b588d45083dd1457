"""DeepEval's DAG reads a metric's score as higher is better: ours below one of its verdicts."""

from __future__ import annotations

from typing import Any

import pytest
from deepeval import assert_test
from deepeval.metrics import DAGMetric
from deepeval.metrics.dag.graph import DeepAcyclicGraph
from deepeval.metrics.dag.nodes import BinaryJudgementNode, VerdictNode
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, SingleTurnParams

from noisesense import InputError, NoiseSenseError, Sample, Verdicts
from noisesense_adapters.deepeval import NoiseRobustnessMetric, NoiseSensitivityMetric

CASE: dict[str, Any] = {
    "input": "question",
    "actual_output": "answer",
    "expected_output": "reference",
    "retrieval_context": ["chunk"],
}


class Agreeing(DeepEvalBaseLLM):
    """The graph's model: every judgement is true."""

    def load_model(self) -> Any:
        return self

    def get_model_name(self) -> str:
        return "agreeing"

    def generate(self, prompt: str, schema: Any = None) -> Any:
        fields = schema.model_fields
        return schema(**{name: True if name == "verdict" else "it is" for name in fields})

    async def a_generate(self, prompt: str, schema: Any = None) -> Any:
        return self.generate(prompt, schema)


class Noisy:
    """A share of the response's two claims is noise, as far as the judge says."""

    def __init__(self, noise: bool | None) -> None:
        self.noise = noise

    async def judge(self, sample: Sample) -> Verdicts:
        return Verdicts.from_matrices([False, False], [[True], [self.noise]], [[True]])


def dag(child: Any, *, async_mode: bool) -> DAGMetric:
    root = BinaryJudgementNode(
        criteria="Is it an answer?",
        evaluation_params=[SingleTurnParams.ACTUAL_OUTPUT],
    )
    root.children += [VerdictNode(False, score=0), VerdictNode(True, child=child)]
    return DAGMetric(
        name="graph",
        dag=DeepAcyclicGraph([root]),
        model=Agreeing(),
        include_reason=False,
        async_mode=async_mode,
    )


both_ways = pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])


@both_ways
def test_an_answer_that_is_all_noise_does_not_pass(run_async: bool) -> None:
    graph = dag(
        NoiseSensitivityMetric(judge=Noisy(noise=True), async_mode=run_async), async_mode=run_async
    )
    with pytest.raises(InputError, match=r"NoiseRobustnessMetric\(mode='relevant'\)"):
        assert_test(LLMTestCase(**CASE), [graph], run_async=run_async)


@both_ways
def test_robustness_has_the_graphs_direction(run_async: bool) -> None:
    graph = dag(
        NoiseRobustnessMetric(judge=Noisy(noise=False), async_mode=run_async), async_mode=run_async
    )
    assert graph.measure(LLMTestCase(**CASE), _show_indicator=False) == 0.5
    graph = dag(
        NoiseRobustnessMetric(judge=Noisy(noise=True), async_mode=run_async), async_mode=run_async
    )
    with pytest.raises(AssertionError, match=r"score: 0\.0"):
        assert_test(LLMTestCase(**CASE), [graph], run_async=run_async)


@both_ways
def test_what_is_open_is_no_number_and_no_pass(run_async: bool) -> None:
    graph = dag(
        NoiseRobustnessMetric(judge=Noisy(noise=None), async_mode=run_async), async_mode=run_async
    )
    with pytest.raises(NoiseSenseError, match=r'undetermined.*undetermined="high"'):
        assert_test(LLMTestCase(**CASE), [graph], run_async=run_async)
