"""The metric by itself: measure and a_measure, labels and verdicts, copies."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from typing import Any

import pytest
from deepeval.metrics.utils import copy_metrics
from deepeval.test_case import LLMTestCase

from noisesense import InputError, Sample, UndefinedScoreError, Verdicts, VerdictStore
from noisesense.fixtures import reference_examples
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.command import environment
from support.deepeval_run import CountingJudge, case_of

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


def scores(test_case: LLMTestCase, **arguments: Any) -> tuple[float | None, float | None]:
    return (
        NoiseSensitivityMetric(mode="relevant", **arguments).measure(test_case),
        NoiseSensitivityMetric(mode="irrelevant", **arguments).measure(test_case),
    )


def test_measure_returns_the_score_and_leaves_the_report_on_the_metric() -> None:
    metric = NoiseSensitivityMetric()

    assert metric.measure(case()) == metric.score == pytest.approx(1 / 3)
    assert metric.success is metric.is_successful() is False
    assert metric.score_detail is not None
    assert [claim.category for claim in metric.score_detail.claims] == [
        "correct",
        "relevant",
        "irrelevant",
    ]
    assert metric.judgement is not None
    assert metric.judgement.verdicts.response_claims[0].text == "Paris is the capital"
    assert metric.score_breakdown["partition"]["hallucination"] == 0
    assert metric.evaluation_model == "given verdicts"
    assert (metric.evaluation_cost, metric.input_tokens, metric.output_tokens) == (None,) * 3


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
    done = subprocess.run(
        [sys.executable, "-c", _INSIDE_A_LOOP],
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.strip() == str((1 / 3, 1 / 3))


def test_include_reason_false_leaves_the_reason_out() -> None:
    metric = NoiseSensitivityMetric(include_reason=False)
    metric.measure(case())
    assert metric.reason == "Lower is better."
    assert metric.verbose_logs is not None


def test_verbose_mode_prints_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    NoiseSensitivityMetric(verbose_mode=True).measure(case(), _show_indicator=False)
    printed = capsys.readouterr().out
    for part in ("Noise Sensitivity (relevant) Verbose Logs", "Claims:", "Verdicts:", "Score: 0."):
        assert part in printed


def test_labels_from_metadata_win_over_derived_relevance() -> None:
    metadata = {"verdicts": VERDICTS, "chunk_labels": [False, None]}
    # Both chunks are irrelevant now: the label says it of 0, the reference claim of 1.
    assert scores(case(metadata=metadata)) == pytest.approx((0, 2 / 3))


def test_labels_reach_the_judge() -> None:
    seen: list[Sample] = []

    class Seeing:
        async def judge(self, sample: Sample) -> Verdicts:
            seen.append(sample)
            return Verdicts.model_validate(VERDICTS)

    NoiseSensitivityMetric(judge=Seeing()).measure(
        case(metadata={"chunk_labels": [True, False], "other": 1})
    )
    assert [chunk.relevant for chunk in seen[0].retrieved_contexts] == [True, False]


def test_a_test_cases_own_verdicts_win_and_nobody_is_asked() -> None:
    judge = CountingJudge([(EXAMPLE.sample, EXAMPLE.verdicts)])
    metric = NoiseSensitivityMetric(judge=judge, mode="irrelevant")
    metric.measure(case())
    metric.measure(case_of(EXAMPLE.sample))
    assert len(judge.asked) == 1
    assert metric.evaluation_model == "CountingJudge"
    assert metric.evaluation_cost == 0.25


def test_empty_and_definition_are_honoured() -> None:
    none = case(metadata={"verdicts": {"response_claims": []}})
    assert scores(none, empty="zero") == (0, 0)
    with pytest.raises(UndefinedScoreError, match="test case 'What is the capital"):
        scores(none, empty="error")
    metric = NoiseSensitivityMetric(mode="irrelevant", definition="validmind")
    assert metric.measure(case()) is None
    assert "has no irrelevant mode" in str(metric.reason)
    assert scores(case(), definition="promptfoo") == pytest.approx((2 / 3, 1 / 3))


def test_bounds_are_told_where_verdicts_are_missing() -> None:
    verdicts = {**VERDICTS, "response_claims": [*VERDICTS["response_claims"]]}
    verdicts["response_claims"][2] = {"text": "?", "correct": None, "entailed_by": [0]}
    metric = NoiseSensitivityMetric()
    # Claim 1 counts, and claim 2 does if it is incorrect.
    assert metric.measure(case(metadata={"verdicts": verdicts})) is None
    assert "is undetermined: it lies between 0.3333 and 0.6667" in str(metric.reason)


def test_copy_metrics_keeps_every_argument() -> None:
    values: dict[str, Any] = {
        "threshold": 0.3,
        "model": "gpt-4o",
        "mode": "irrelevant",
        "definition": "paper",
        "include_reason": False,
        "async_mode": False,
        "strict_mode": False,
        "verbose_mode": True,
        "flaky": True,
        "empty": "zero",
        "undetermined": "high",
        "share": False,
        "store": VerdictStore("store.db"),
        "judge_options": {"votes": 3},
    }
    with_model = NoiseSensitivityMetric(**values)
    with_judge = NoiseSensitivityMetric(judge=CountingJudge([]))
    strict = NoiseSensitivityMetric(threshold=0.9, strict_mode=True)

    copies: list[Any] = copy_metrics(copy_metrics([with_model, with_judge, strict]))

    names = set(inspect.signature(NoiseSensitivityMetric.__init__).parameters) - {"self"}
    assert names == {*values, "judge"}
    assert {name: getattr(copies[0], name) for name in values} == values
    assert all(getattr(copies[0], name) is value for name, value in values.items())
    assert copies[1].judge is with_judge.judge
    assert (copies[2].threshold, copies[2].strict_mode) == (0, True)


def test_a_metric_that_was_overtaken_leaves_the_attributes_alone() -> None:
    """A timed-out measurement goes on in its thread while the object serves the next case."""
    started, go_on = asyncio.Event(), asyncio.Event()

    class Slow:
        async def judge(self, sample: Sample) -> Verdicts:
            started.set()
            await go_on.wait()
            return Verdicts.model_validate(VERDICTS)

    async def main() -> None:
        metric = NoiseSensitivityMetric(judge=Slow())
        late = asyncio.ensure_future(metric.a_measure(case(metadata=None)))
        await started.wait()
        empty = {"response_claims": []}
        await metric.a_measure(case(metadata={"verdicts": empty}))
        go_on.set()
        assert await late == pytest.approx(1 / 3)
        assert metric.score is None
        assert "no claims" in str(metric.reason)

    asyncio.run(main())


def test_a_test_case_of_another_kind_or_with_images_is_refused() -> None:
    with pytest.raises(InputError, match="expected an LLMTestCase, got str"):
        NoiseSensitivityMetric().measure("text")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected a test case of texts, got one with images"):
        NoiseSensitivityMetric().measure(case(multimodal=True))


def test_a_judge_stands_alone() -> None:
    others: dict[str, Any] = {"model": "m", "store": VerdictStore("s.db"), "judge_options": {}}
    for name, value in others.items():
        with pytest.raises(InputError, match=f"judge: expected a judge alone, got {name} too"):
            NoiseSensitivityMetric(judge=CountingJudge([]), **{name: value})
