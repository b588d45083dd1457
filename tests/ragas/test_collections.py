"""The same class in ragas' collections API: ascore, score, batch_score."""

from __future__ import annotations

import asyncio
from typing import Any

from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult

from noisesense import Verdicts, score
from noisesense_adapters.ragas import NoiseSensitivity

ROW: dict[str, Any] = {
    "user_input": "?",
    "response": "One. Two.",
    "reference": "Three.",
    "retrieved_contexts": ["a", "b"],
}
# Both claims are wrong; the first comes from chunk 0, the second from chunk 1; chunk 1 entails
# the reference. So one of two in each mode.
VERDICTS = Verdicts.from_matrices([False, False], [[True, False], [False, True]], [[False, True]])


class Always:
    async def judge(self, sample: Any) -> Verdicts:
        return VERDICTS


METRIC = NoiseSensitivity("irrelevant", judge=Always())


def test_a_result_has_value_reason_and_traces() -> None:
    for result in (METRIC.score(**ROW), asyncio.run(METRIC.ascore(*ROW.values()))):
        assert isinstance(METRIC, BaseMetric)
        assert isinstance(result, MetricResult)
        assert result.value == 0.5
        assert result.reason == score(VERDICTS).reason("irrelevant")
        assert result.traces["input"] == {**ROW, "rubrics": None}
        assert result.traces["output"] == {"value": 0.5, **score(VERDICTS).to_dict()}
        assert METRIC.validate_result_value(result.value) is None
