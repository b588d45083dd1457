"""The same class in ragas' collections API: ascore, score, batch_score."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult

from noisesense import Chunk, Verdicts, score
from noisesense_adapters.ragas import NoiseSensitivity, rubrics
from support.bad_inputs import BAD_INPUTS, GOOD_SAMPLE, BadInput
from support.ragas_peer import ragas_row
from support.ragas_runs import CountingJudge, same
from support.tables import random_pairs

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


def test_batch_score_and_score_in_a_running_loop() -> None:
    pairs = list(random_pairs(30))
    metric = NoiseSensitivity(judge=CountingJudge(pairs, seconds=0.001))
    batch = metric.batch_score([ragas_row(sample) for sample, _ in pairs])
    for found, (_, verdicts) in zip(batch, pairs, strict=True):
        assert same(found.value, score(verdicts).relevant)

    async def main() -> None:
        METRIC.score(**ROW)

    with pytest.raises(RuntimeError, match="ascore"):
        asyncio.run(main())


def test_labels_in_rubrics_win_where_there_are_any() -> None:
    labeled = [Chunk(text="a", relevant=True), {"text": "b", "relevant": True}]
    row = {**ROW, "retrieved_contexts": labeled, "rubrics": rubrics(labels=[None, False])}
    assert METRIC.score(**row).value.score.chunk_relevance == (True, False)


# A number is a text here, as in every host.
TABLE = [bad for bad in BAD_INPUTS if bad.kind == "sample" and bad.data.get("response") != 42]


@pytest.mark.parametrize("bad", TABLE, ids=lambda bad: bad.name)
def test_bad_inputs(bad: BadInput) -> None:
    # An argument that is unknown is named by Python itself; one that is missing is None.
    by_python = bool(set(bad.data) - set(GOOD_SAMPLE))
    with pytest.raises(TypeError if by_python else bad.error) as caught:
        METRIC.score(**bad.data)
    # Contexts are read as in every host.
    some = by_python or len(bad.data) < len(GOOD_SAMPLE) or "context" in bad.name
    some = some or bad.data.get("response") is None
    names = [name.strip("'") for name in (bad.names[:1] if some else bad.names)]
    assert [name for name in names if name not in str(caught.value)] == []
