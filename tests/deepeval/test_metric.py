"""The metric by itself: arguments, measure and a_measure, copies."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from deepeval import assert_test
from deepeval.metrics.utils import copy_metrics
from deepeval.test_case import LLMTestCase

from noisesense import InputError, UndefinedScoreError, VerdictStore
from noisesense.fixtures import reference_examples
from noisesense.scoring.definitions import MODES
from noisesense_adapters.deepeval import NoiseRobustnessMetric, NoiseSensitivityMetric
from support.command import environment
from support.deepeval_run import CountingJudge
from support.missing import error_without

EXAMPLE = reference_examples()[0]

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


def scores(test_case: LLMTestCase, **arguments: Any) -> tuple[float | None, ...]:
    return tuple(
        NoiseSensitivityMetric(mode=mode, **arguments).measure(test_case) for mode in MODES
    )


def test_measure_returns_the_score_and_leaves_the_report_on_the_metric() -> None:
    metric = NoiseSensitivityMetric()
    assert metric.measure(case(), False) == metric.score == pytest.approx(1 / 3)
    assert metric.success is metric.is_successful() is False
    assert [each.category for each in metric.score_detail.claims] == [
        *("correct", "relevant", "irrelevant")
    ]
    assert metric.judgement.verdicts.response_claims[0].text == "Paris is the capital"
    assert metric.evaluation_model == "given verdicts"
    assert metric.evaluation_cost is None
    short = NoiseSensitivityMetric(include_reason=False)
    short.measure(case())
    assert short.reason == "Lower is better."
    assert short.verbose_logs is not None


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


def test_empty_and_strict_mode_are_honoured() -> None:
    none = case(metadata={"verdicts": {"response_claims": []}})
    assert scores(none, empty="zero") == (0, 0)
    with pytest.raises(UndefinedScoreError, match="test case 'What is the capital"):
        scores(none, empty="error")
    # Open, but 0 in every completion; and open between 0 and 1.
    correct = {"text": "b", "correct": True, "entailed_by": []}
    sure = [{"text": "a", "correct": None, "entailed_by": []}, correct]
    unsure = [{"text": "a", "correct": False, "entailed_by": [], "undetermined": [0]}]
    for claims, number, success in ((sure, 0.0, True), (unsure, None, False)):
        metric = NoiseSensitivityMetric(threshold=0.9, strict_mode=True)
        given = case(metadata={"verdicts": {"response_claims": claims}})
        assert metric.measure(given, False) == number
        assert metric.threshold == 0
        assert metric.success == success


def test_copy_metrics_keeps_every_argument() -> None:
    values: dict[str, Any] = {
        **{"threshold": 0.3, "model": "gpt-4o", "mode": "irrelevant", "definition": "paper"},
        **{"include_reason": False, "async_mode": False, "strict_mode": False},
        **{"verbose_mode": True, "flaky": True, "empty": "zero", "undetermined": "high"},
        **{"store": VerdictStore("store.db"), "judge_options": {"plan": "full"}},
        **{"fail_undefined": False},
    }
    given = [{**values}, {"judge": CountingJudge([])}, {"threshold": 0.9, "strict_mode": True}]
    with_model, with_judge, strict = [NoiseSensitivityMetric(**each) for each in given]
    copies: list[Any] = copy_metrics(copy_metrics([with_model, with_judge, strict]))
    names = set(inspect.signature(NoiseSensitivityMetric.__init__).parameters) - {"self"}
    assert names == {*values, "judge"}
    assert all(getattr(copies[0], name) is value for name, value in values.items())
    assert copies[1].judge is with_judge.judge
    assert copies[2].threshold == 0
    assert copies[2].strict_mode is True


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        *(
            ({"threshold": wrong}, "threshold: expected a number from 0 to 1")
            for wrong in (-0.1, np.float64("nan"), True, None)
        ),
        ({"mode": "both"}, "mode: expected 'relevant' or 'irrelevant', got 'both'"),
        ({"judge_options": {"plans": 3}}, "judge_options: .*'plans'.*did you mean 'plan'"),
        ({"judge": CountingJudge([]), "model": "m"}, "a judge alone, got model too"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        NoiseSensitivityMetric(**arguments)


def test_without_deepeval_the_error_names_the_extra() -> None:
    expected = "the package 'deepeval' is not installed. Hint: pip install 'noisesense[deepeval]'"
    assert error_without("deepeval") == expected


@pytest.mark.parametrize("kind", [NoiseSensitivityMetric, NoiseRobustnessMetric])
def test_what_is_undefined_fails_unless_that_is_waived(kind: Any) -> None:
    lost = LLMTestCase(**{**CASE, "retrieval_context": [" "]})
    silent = case(metadata={"verdicts": {"response_claims": []}})
    for test_case, why in (
        (lost, "nothing was retrieved"),
        (silent, "the response has no claims"),
    ):
        metric = kind(judge=CountingJudge([]), include_reason=False)
        metric.measure(test_case, False)
        assert metric.score is None
        assert metric.success is False
        assert metric.is_successful() is False
        assert why in metric.reason
        assert metric.reason.endswith("What is undefined does not pass here.")
        # assert_test skips a metric without a verdict, and passes where it is the only one.
        waived = kind(judge=CountingJudge([]), fail_undefined=False)
        assert_test(test_case, [waived], run_async=False)
        with pytest.raises(AssertionError, match=why):
            assert_test(test_case, [metric], run_async=False)
    by_convention = kind(empty="zero")
    by_convention.measure(silent, False)
    assert by_convention.success is True
