"""Where DeepEval reads a score as higher is better: its prompt optimizer and its DAG."""

from __future__ import annotations

from typing import Any

import pytest
from deepeval.test_case import LLMTestCase

from noisesense import Sample, Verdicts
from noisesense_adapters.deepeval import NoiseRobustnessMetric
from support.deepeval_run import run_one

CASE = LLMTestCase(
    input="question",
    actual_output="answer",
    expected_output="three",
    retrieval_context=["c", "d"],
)


class Second:
    """The first of two claims is correct, from relevant chunk 0; the second, from chunk 1, is
    incorrect or left open: an irrelevant noise of 1/2, or of 0 to 1/2."""

    def __init__(self, *, is_open: bool) -> None:
        self._is_open = is_open

    async def judge(self, sample: Sample) -> Verdicts:
        second = None if self._is_open else False
        return Verdicts.from_matrices(
            [True, second], [[True, False], [False, True]], [[True, False]]
        )


@pytest.mark.parametrize("run_async", [True, False])
@pytest.mark.parametrize(("threshold", "success"), [(0.5, True), (0.8, False)])
def test_what_passes_is_at_least_the_threshold_whatever_is_open(
    threshold: float, success: bool, run_async: bool
) -> None:
    def measured(*, is_open: bool, **options: Any) -> Any:
        options |= {"mode": "irrelevant", "judge": Second(is_open=is_open)}
        metric = NoiseRobustnessMetric(threshold, **options)
        result, data = run_one(CASE, metric, run_async=run_async)
        assert data.success == result.success == success
        return data

    assert measured(is_open=False).score == 0.5
    left_open = measured(is_open=True)
    assert left_open.score is None
    assert "is 0.5 to 1 (higher is better)" in left_open.reason
    assert measured(is_open=True, undetermined="high").score == 0.5
