"""The metric by itself: arguments, measure and a_measure, copies."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest
from deepeval import assert_test
from deepeval.metrics.utils import copy_metrics
from deepeval.test_case import LLMTestCase

from noisesense import VerdictStore
from noisesense_adapters.deepeval import NoiseRobustnessMetric, NoiseSensitivityMetric
from support.command import environment
from support.table_judge import TableJudge

# Two chunks, three claims. By its reference claim chunk 0 is relevant and chunk 1 is not; claim 1
# is incorrect and from chunk 0, claim 2 incorrect and from chunk 1: 1/3 in both modes.
CASE: dict[str, Any] = {
    "input": "What is the capital of France?",
    "actual_output": "Paris, on the Loire, with ten million people.",
    "expected_output": "Paris.",
    "retrieval_context": ["Paris lies on the Loire.", "Ten million people live there."],
}
VERDICTS: dict[str, Any] = {
    "response_claims": [
        {"text": "Paris is the capital", "correct": True, "entailed_by": []},
        {"text": "Paris is on the Loire", "correct": False, "entailed_by": [0]},
        {"text": "Paris has ten million people", "correct": False, "entailed_by": [1]},
    ],
    "reference_claims": [{"text": "Paris is the capital", "entailed_by": [0]}],
}


def case(**fields: Any) -> LLMTestCase:
    return LLMTestCase(**{**CASE, "metadata": {"verdicts": VERDICTS}, **fields})


_INSIDE_A_LOOP = f"""
import asyncio
from deepeval.test_case import LLMTestCase
from noisesense_adapters.deepeval import NoiseSensitivityMetric

case = LLMTestCase(**{CASE!r}, metadata={{"verdicts": {VERDICTS!r}}})

async def main():
    awaited = await NoiseSensitivityMetric().a_measure(case, _show_indicator=False)
    return awaited, NoiseSensitivityMetric().measure(case, _show_indicator=False)

print(asyncio.run(main()))
"""


def test_a_measure_and_measure_inside_a_running_loop() -> None:
    # In a process of its own: DeepEval then patches asyncio for good, and what the patched one
    # runs leaves its loops open.
    command = [sys.executable, "-c", _INSIDE_A_LOOP]
    done = subprocess.run(command, env=environment(), capture_output=True, check=True)
    assert done.stdout.decode().strip() == str((1 / 3, 1 / 3))


def test_copy_metrics_keeps_every_argument() -> None:
    values: dict[str, Any] = {
        **{"threshold": 0.3, "model": "gpt-4o", "mode": "irrelevant", "definition": "paper"},
        **{"include_reason": False, "async_mode": False, "strict_mode": False},
        **{"verbose_mode": True, "flaky": True, "empty": "zero", "undetermined": "high"},
        **{"store": VerdictStore("store.db"), "judge_options": {"plan": "full"}},
        **{"fail_undefined": False, "results": []},
    }
    given = [{**values}, {"judge": TableJudge([])}, {"threshold": 0.9, "strict_mode": True}]
    with_model, with_judge, strict = [NoiseSensitivityMetric(**each) for each in given]
    copies: list[Any] = copy_metrics(copy_metrics([with_model, with_judge, strict]))
    names = set(inspect.signature(NoiseSensitivityMetric.__init__).parameters) - {"self"}
    assert names == {*values, "judge"}
    assert all(getattr(copies[0], name) is value for name, value in values.items())
    assert copies[1].judge is with_judge.judge
    assert copies[2].threshold == 0
    assert copies[2].strict_mode is True


@pytest.mark.parametrize("kind", [NoiseSensitivityMetric, NoiseRobustnessMetric])
def test_what_is_undefined_fails_unless_that_is_waived(kind: Any) -> None:
    lost = LLMTestCase(**{**CASE, "retrieval_context": [" "]})
    silent = case(metadata={"verdicts": {"response_claims": []}})
    for test_case, why in (
        (lost, "nothing was retrieved"),
        (silent, "the response has no claims"),
    ):
        metric = kind(judge=TableJudge([]), include_reason=False)
        metric.measure(test_case, False)
        assert metric.score is None
        assert metric.success is False
        assert metric.is_successful() is False
        assert why in metric.reason
        assert metric.reason.endswith("What is undefined does not pass here.")
        # assert_test skips a metric without a verdict, and passes where it is the only one.
        waived = kind(judge=TableJudge([]), fail_undefined=False)
        assert_test(test_case, [waived], run_async=False)
        with pytest.raises(AssertionError, match=why):
            assert_test(test_case, [metric], run_async=False)
    by_convention = kind(empty="zero")
    by_convention.measure(silent, False)
    assert by_convention.success is True
