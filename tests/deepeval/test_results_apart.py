"""One metric object measures several test cases at once: each keeps its own results."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deepeval.dataset import EvaluationDataset, Golden
from deepeval.evaluate.configs import DisplayConfig
from deepeval.test_case import LLMTestCase
from deepeval.tracing import observe, update_current_span

from noisesense import InputError, Sample, Verdicts
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.deepeval_run import run

COUNT = 8


class Eighths:
    """Answer number i makes eight incorrect claims, of which the one chunk entails i."""

    async def judge(self, sample: Sample) -> Verdicts:
        number = int(sample.response.split()[1])
        await asyncio.sleep(0.01 * (number % 3))
        entailed = [[claim < number] for claim in range(8)]
        return Verdicts.from_matrices([False] * 8, entailed, [[True]])


def _case(number: int, **fields: Any) -> LLMTestCase:
    return LLMTestCase(
        name=f"case {number}",
        input=f"question {number}",
        actual_output=f"answer {number}",
        expected_output="the reference",
        retrieval_context=[f"chunk {number}"],
        **fields,
    )


def test_observed_functions_in_an_evals_iterator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DeepEval measures all rows at once with the metric in ``@observe(metrics=[…])``."""
    monkeypatch.setenv("DEEPEVAL_RESULTS_FOLDER", str(tmp_path / "results"))
    metric = NoiseSensitivityMetric(judge=Eighths())

    @observe(metrics=[metric])
    def app(question: str) -> str:
        case = _case(int(question.split()[1]))
        update_current_span(
            input=case.input,
            output=case.actual_output,
            expected_output=case.expected_output,
            retrieval_context=case.retrieval_context,
        )
        return str(case.actual_output)

    dataset = EvaluationDataset(goldens=[Golden(input=f"question {i}") for i in range(COUNT)])
    shown = DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False)
    for golden in dataset.evals_iterator(display_config=shown):
        app(golden.input)
    files = [json.loads(path.read_text("utf-8")) for path in (tmp_path / "results").glob("*.json")]
    rows = [row for file in files for row in file["testCases"]]
    found = {}
    for row in rows:
        (span,) = row["trace"]["baseSpans"]
        (data,) = span["metricsData"]
        found[row["input"]] = (data["score"], data["success"], data["reason"][:56])
    title = "Noise sensitivity (relevant, definition ragas) is "
    assert found == {
        f"question {i}": (i / 8, i / 8 <= 0.2, f"{title}{i / 8:.4g} (lower is better)"[:56])
        for i in range(COUNT)
    }


def test_gathered_by_hand_the_values_are_each_ones_own(loop: asyncio.AbstractEventLoop) -> None:
    metric = NoiseSensitivityMetric(judge=Eighths())

    async def main() -> list[float | None]:
        return await asyncio.gather(
            *(metric.a_measure(_case(i), _show_indicator=False) for i in range(COUNT))
        )

    # Not asyncio.run, after which DeepEval would make a loop for `measure` and never close it.
    assert loop.run_until_complete(main()) == [i / 8 for i in range(COUNT)]
    assert metric.score in [i / 8 for i in range(COUNT)]
    assert f"is {metric.score:.4g} " in str(metric.reason)
    assert metric.success is (metric.score <= 0.2)
    # And again, after which it is this test case's.
    assert metric.measure(_case(3), _show_indicator=False) == 3 / 8 == metric.score


class Hanging(Eighths):
    def __init__(self) -> None:
        self.go_on, self.gone_on = threading.Event(), threading.Event()

    async def judge(self, sample: Sample) -> Verdicts:
        if sample.response == "answer 5":
            self.go_on.wait(60)
            self.gone_on.set()
        return await super().judge(sample)


def test_what_follows_a_timeout_shows_no_earlier_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_PER_TASK_TIMEOUT_SECONDS_OVERRIDE", "12")
    hanging = Hanging()
    metrics = [
        NoiseSensitivityMetric(judge=hanging, async_mode=False),
        NoiseSensitivityMetric(judge=Eighths(), threshold=1, mode="irrelevant", async_mode=False),
    ]
    cases = [_case(4), _case(5), _case(6)]
    first, hung, last = run(cases, metrics, run_async=False, ignore_errors=True)
    assert [data.score for data in first.metrics_data] == [4 / 8, 0.0]
    assert [data.score for data in last.metrics_data] == [6 / 8, 0.0]
    assert all(data.score is None for data in hung.metrics_data)
    assert not any(data.success for data in hung.metrics_data)
    assert hung.success is False
    # The thread of the hung one goes on, and changes nothing.
    threads = [t for t in threading.enumerate() if t.name.startswith("deepeval-timeout")]
    hanging.go_on.set()
    assert hanging.gone_on.wait(60)
    for thread in threads:
        thread.join(60)
    assert metrics[0].score == 6 / 8


@pytest.mark.parametrize("threshold", [np.float32(0.5), np.float64(0.5), np.float16(0.5)])
def test_numbers_of_numpy_are_numbers(threshold: Any) -> None:
    metric = NoiseSensitivityMetric(threshold=threshold, judge=Eighths())
    metric.measure(_case(4), _show_indicator=False)
    assert metric.success is True
    assert type(metric.threshold) is float
    assert NoiseSensitivityMetric(threshold=np.int64(1), judge=Eighths()).threshold == 1


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), np.float64("nan"), True, "0.2"])
def test_a_threshold_that_no_score_can_meet_or_miss(threshold: Any) -> None:
    with pytest.raises(InputError, match="threshold: expected a number from 0 to 1"):
        NoiseSensitivityMetric(threshold=threshold, judge=Eighths())


def test_without_a_reason_the_direction_is_still_said() -> None:
    metric = NoiseSensitivityMetric(judge=Eighths(), include_reason=False)
    (result,) = run([_case(4)], [metric])
    assert result.metrics_data[0].reason == "Lower is better."
