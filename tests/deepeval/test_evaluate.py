"""DeepEval's own runner: rows at once keep their own values, and so do those after a timeout."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest
from deepeval.dataset import EvaluationDataset, Golden
from deepeval.evaluate.configs import DisplayConfig
from deepeval.test_case import LLMTestCase
from deepeval.tracing import observe, update_current_span

from noisesense import Sample, Verdicts
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.deepeval_run import run

# One metric object measures several test cases at once: each keeps its own results.

COUNT = 8


class Eighths:
    """Answer number i makes eight incorrect claims, of which the one chunk entails i."""

    def __init__(self) -> None:
        self.go_on, self.gone_on = threading.Event(), threading.Event()
        self.hangs = ""

    async def judge(self, sample: Sample) -> Verdicts:
        if sample.response == self.hangs:
            self.go_on.wait(60)
            self.gone_on.set()
        number = int(sample.response.split()[1])
        await asyncio.sleep(0.01 * (number % 3))
        entailed = [[claim < number] for claim in range(8)]
        return Verdicts.from_matrices([False] * 8, entailed, [[True]])


def numbered(number: int) -> LLMTestCase:
    return LLMTestCase(
        name=f"case {number}",
        input=f"question {number}",
        actual_output=f"answer {number}",
        expected_output="the reference",
        retrieval_context=[f"chunk {number}"],
    )


def test_observed_rows_measured_at_once_keep_their_own_score_and_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DeepEval measures all rows at once with the metric in ``@observe(metrics=[…])``."""
    monkeypatch.setenv("DEEPEVAL_RESULTS_FOLDER", str(tmp_path / "results"))

    @observe(metrics=[NoiseSensitivityMetric(judge=Eighths())])
    def app(question: str) -> str:
        case = numbered(int(question.split()[1]))
        names = ("input", "expected_output", "retrieval_context")
        fields = {name: getattr(case, name) for name in names}
        update_current_span(output=case.actual_output, **fields)
        return str(case.actual_output)

    dataset = EvaluationDataset(goldens=[Golden(input=f"question {i}") for i in range(COUNT)])
    shown = DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False)
    for golden in dataset.evals_iterator(display_config=shown):
        app(golden.input)
    files = [json.loads(path.read_text("utf-8")) for path in (tmp_path / "results").glob("*.json")]
    found = {}
    for row in (row for file in files for row in file["testCases"]):
        (span,) = row["trace"]["baseSpans"]
        (data,) = span["metricsData"]
        found[row["input"]] = (data["score"], data["success"], data["reason"][:54])
    title = "Noise sensitivity (relevant, definition ragas) is "
    assert found == {
        f"question {i}": (i / 8, i / 8 <= 0.2, f"{title}{i / 8:.4g} (lower"[:54])
        for i in range(COUNT)
    }


def test_what_follows_a_timeout_shows_no_earlier_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_PER_TASK_TIMEOUT_SECONDS_OVERRIDE", "12")
    hanging = Eighths()
    hanging.hangs = "answer 5"
    metric = NoiseSensitivityMetric(judge=hanging, async_mode=False)
    cases = [numbered(4), numbered(5), numbered(6)]
    results = run(cases, [metric], run_async=False, ignore_errors=True)
    shown = [(result.metrics_data[0].score, bool(result.success)) for result in results]
    assert shown == [(4 / 8, False), (None, False), (6 / 8, False)]
    # The thread of the hung one goes on, and changes nothing.
    threads = [t for t in threading.enumerate() if t.name.startswith("deepeval-timeout")]
    hanging.go_on.set()
    assert hanging.gone_on.wait(60)
    for thread in threads:
        thread.join(60)
    assert metric.score == 6 / 8
