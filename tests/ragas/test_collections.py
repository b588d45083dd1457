"""The same class in ragas' collections API: ascore, score, batch_score, abatch_score."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest
from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult

from noisesense import Chunk, InputError, Verdicts, score
from noisesense_adapters.ragas import NoiseSensitivity, rubrics
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


def test_a_result_has_value_reason_and_traces() -> None:
    metric = NoiseSensitivity("irrelevant", judge=Always())
    result = asyncio.run(metric.ascore(**ROW))
    assert isinstance(metric, BaseMetric)
    assert isinstance(result, MetricResult)
    assert result.value == 0.5
    assert result.reason == score(VERDICTS).reason("irrelevant")
    assert result.traces["input"]["retrieved_contexts"] == ["a", "b"]
    assert json.loads(json.dumps(result.traces["output"]))["partition"]["irrelevant"] == 1
    assert result.value.score.partition.relevant == 1
    assert metric.validate_result_value(result.value) is None


def test_arguments_by_position_in_the_order_of_ragas_own() -> None:
    metric = NoiseSensitivity("irrelevant", judge=Always())
    result = asyncio.run(metric.ascore(*ROW.values()))
    assert (result.value, result.traces["input"]) == (0.5, {**ROW, "rubrics": None})


def test_score_and_batch_score_are_the_same_in_synchronous_code() -> None:
    pairs = list(random_pairs(30))
    rows = [ragas_row(sample) for sample, _ in pairs]
    metric = NoiseSensitivity(judge=CountingJudge(pairs, seconds=0.001))
    batch = metric.batch_score(rows)
    single = [metric.score(**row) for row in rows]
    for one, other, (_, verdicts) in zip(batch, single, pairs, strict=True):
        assert same(one.value, score(verdicts).relevant)
        assert same(other.value, score(verdicts).relevant)


def test_both_modes_judge_once_here_too() -> None:
    pairs = list(random_pairs(30))
    judge = CountingJudge(pairs, seconds=0.001)
    rows = [ragas_row(sample) for sample, _ in pairs]

    async def main() -> None:
        metrics = [NoiseSensitivity(mode, judge=judge) for mode in ("relevant", "irrelevant")]  # type: ignore[arg-type]
        await asyncio.gather(*(metric.abatch_score(rows) for metric in metrics))

    asyncio.run(main())
    assert len(judge.asked) == 30


def test_score_in_a_running_loop_points_to_ascore() -> None:
    async def main() -> None:
        NoiseSensitivity(judge=Always()).score(**ROW)

    with pytest.raises(RuntimeError, match="ascore"):
        asyncio.run(main())


def test_undefined_is_nan_with_a_reason() -> None:
    class Nothing:
        async def judge(self, sample: Any) -> Verdicts:
            return Verdicts(response_claims=())

    result = NoiseSensitivity(judge=Nothing()).score(**ROW)
    assert math.isnan(result.value)
    assert "undefined" in str(result.reason)
    assert result.traces["output"]["value"] is None


def test_contexts_may_carry_labels() -> None:
    """The labels turn the chunks around: chunk 0 is relevant, chunk 1 is not."""
    labelled = [Chunk(text="a", relevant=True), {"text": "b", "relevant": False}]
    found = NoiseSensitivity(judge=Always()).score(**{**ROW, "retrieved_contexts": labelled})
    assert found.value.score.chunk_relevance == (True, False)
    assert [claim.relevant_chunks for claim in found.value.score.claims] == [(0,), ()]


def test_labels_in_rubrics_win_where_there_are_any() -> None:
    labelled = [Chunk(text="a", relevant=True), Chunk(text="b", relevant=True)]
    row = {**ROW, "retrieved_contexts": labelled, "rubrics": rubrics(labels=[None, False])}
    found = NoiseSensitivity(judge=Always()).score(**row)
    assert found.value.score.chunk_relevance == (True, False)


def test_the_question_may_be_left_out() -> None:
    row = {name: value for name, value in ROW.items() if name != "user_input"}
    assert NoiseSensitivity(judge=Always()).score(**row).value == 0.5


@pytest.mark.parametrize("field", ["response", "reference", "retrieved_contexts"])
def test_a_field_that_is_missing_or_null(field: str) -> None:
    metric = NoiseSensitivity(judge=Always())
    for row in ({k: v for k, v in ROW.items() if k != field}, {**ROW, field: None}):
        with pytest.raises(InputError, match=f"{field}.*None"):
            metric.score(**row)
