"""DeepEval's own runner, sync and async, with recorded verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deepeval import assert_test
from deepeval.errors import MissingTestCaseParamsError
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase

from noisesense import InputError, RecordedJudge, SampleNotRecordedError, write_recording
from noisesense.fixtures import ReferenceExample, reference_examples
from noisesense.scoring.definitions import DEFINITIONS, MODES, DefinitionName
from noisesense_adapters.deepeval import NoiseRobustnessMetric, NoiseSensitivityMetric
from support.deepeval_run import CountingJudge, MindModel, case_of, run, run_one
from support.mind import Mind

EXAMPLES = reference_examples()
PAIRS = [(example.sample, example.verdicts) for example in EXAMPLES]
BOTH = pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])


def _cases(examples: tuple[ReferenceExample, ...] = EXAMPLES) -> list[LLMTestCase]:
    return [case_of(example.sample, name=example.id) for example in examples]


@BOTH
@pytest.mark.parametrize("definition", DEFINITIONS)
def test_reference_examples_give_the_documented_figures(
    definition: DefinitionName, run_async: bool, tmp_path: Path
) -> None:
    write_recording(tmp_path / "verdicts.jsonl", PAIRS)
    judge = RecordedJudge(tmp_path / "verdicts.jsonl")
    metrics = [
        NoiseSensitivityMetric(mode=mode, judge=judge, definition=definition) for mode in MODES
    ]

    results = run(_cases(), metrics, run_async=run_async)

    for example, result in zip(EXAMPLES, results, strict=True):
        scores = tuple(data.score for data in result.metrics_data)
        assert scores == pytest.approx(example.expected[definition], abs=1e-12), example.id


@BOTH
def test_two_metrics_judge_each_case_once(run_async: bool) -> None:
    judge = CountingJudge(PAIRS)
    metrics = [NoiseSensitivityMetric(mode=mode, judge=judge) for mode in MODES]

    results = run(_cases(), metrics, run_async=run_async)

    assert sorted(judge.asked) == sorted(example.sample.key for example in EXAMPLES)
    costs = [sorted(data.evaluation_cost for data in r.metrics_data) for r in results]
    assert costs == [[0.0, 0.25]] * len(EXAMPLES)  # one pays, the other shares
    tokens = [sum(data.input_tokens for data in r.metrics_data) for r in results]
    assert tokens == [100] * len(EXAMPLES)


@BOTH
def test_the_report_carries_number_direction_and_claims(run_async: bool) -> None:
    example = EXAMPLES[0]  # 1 of 2 claims is incorrect and from the relevant chunk 0
    metric = NoiseSensitivityMetric(judge=CountingJudge(PAIRS))

    result, data = run_one(case_of(example.sample), metric, run_async=run_async)

    assert (result.success, data.success, data.score, data.threshold) == (False, False, 0.5, 0.2)
    assert data.name == "Noise Sensitivity (relevant)"
    assert "is 0.5 (lower is better): 1 of 2 response claims" in data.reason
    assert "comes from relevant chunk 0" in data.reason
    assert "chunk 0: relevant" in data.verbose_logs
    assert "is supported by the reference" in data.verbose_logs
    assert "Judge: 4 calls" in data.verbose_logs
    assert (data.evaluation_model, data.error) == ("CountingJudge", None)


@BOTH
@pytest.mark.parametrize("include_reason", [True, False])
def test_undefined_shows_as_none_with_a_reason_and_the_case_does_not_fail(
    include_reason: bool, run_async: bool
) -> None:
    case = case_of(EXAMPLES[0].sample, metadata={"verdicts": {"response_claims": []}})
    metric = NoiseSensitivityMetric(include_reason=include_reason)

    result, data = run_one(case, metric, run_async=run_async)

    assert (data.score, data.success, data.error) == (None, None, None)
    assert data.reason.endswith("is undefined: the response has no claims.")
    assert result.success is True


@BOTH
def test_one_object_serves_case_after_case(run_async: bool) -> None:
    """A defined case, an undefined one, an erroneous one, a defined one: nothing is carried on."""
    first, second = EXAMPLES[0], EXAMPLES[-1]
    cases = [
        case_of(first.sample, name="1"),
        case_of(first.sample, name="2", metadata={"verdicts": {"response_claims": []}}),
        case_of(first.sample, name="3", metadata={"verdicts": 7}),
        LLMTestCase(name="4", input="a question", actual_output="an answer"),
        case_of(second.sample, name="5"),
    ]
    metric = NoiseSensitivityMetric(judge=CountingJudge(PAIRS))

    results = run(cases, [metric], run_async=run_async, ignore_errors=True)

    data = [result.metrics_data[0] for result in results]
    assert [one.score for one in data] == [0.5, None, None, None, second.expected["ragas"][0]]
    assert [one.error is None for one in data] == [True, True, False, False, True]
    assert "metadata['verdicts']" in data[2].error
    assert "'expected_output' and 'retrieval_context'" in data[3].error
    assert [one.success for one in data[1:4]] == [None, False, False]
    assert data[4].verbose_logs
    assert "no claims" not in data[4].reason


@BOTH
def test_errors_stop_the_run_unless_they_are_ignored(run_async: bool, tmp_path: Path) -> None:
    write_recording(tmp_path / "verdicts.jsonl", PAIRS[1:])
    metric = NoiseSensitivityMetric(judge=RecordedJudge(tmp_path / "verdicts.jsonl"))
    cases = _cases(EXAMPLES[:2])

    with pytest.raises(SampleNotRecordedError, match=r"verdicts\.jsonl"):
        run(cases, [metric], run_async=run_async)
    missed, found = run(cases, [metric], run_async=run_async, ignore_errors=True)

    assert "recording of the sample" in missed.metrics_data[0].error
    assert missed.metrics_data[0].success is False
    assert found.metrics_data[0].score == EXAMPLES[1].expected["ragas"][0]


@BOTH
def test_missing_fields_are_deepevals_own_error(run_async: bool) -> None:
    case = LLMTestCase(name="poor", input="a question", actual_output="", retrieval_context=["c"])
    metric = NoiseSensitivityMetric(judge=CountingJudge(PAIRS))
    expected = (
        "'actual_output' and 'expected_output' cannot be None or empty "
        r"for the 'Noise Sensitivity \(relevant\)' metric"
    )

    with pytest.raises(MissingTestCaseParamsError, match=expected):
        run([case], [metric], run_async=run_async)
    (skipped,) = run([case], [metric], run_async=run_async, skip_on_missing_params=True)

    assert not skipped.metrics_data


@BOTH
def test_a_type_error_is_not_measured_twice(run_async: bool) -> None:
    class Broken:
        asked = 0

        async def judge(self, sample: object) -> object:
            Broken.asked += 1
            raise TypeError("unsupported operand")

    metric = NoiseSensitivityMetric(judge=Broken())  # type: ignore[arg-type]
    _, data = run_one(case_of(EXAMPLES[0].sample), metric, run_async=run_async, ignore_errors=True)

    assert Broken.asked == 1
    assert "Broken failed with TypeError" in data.error
    assert "unsupported operand" not in data.error  # a foreign message may hold a key
    assert data.success is False


@BOTH
def test_copies_keep_every_argument(run_async: bool) -> None:
    """The runner's copies in async mode see what the user gave, the uncommon arguments too."""
    example = EXAMPLES[0]
    metric = NoiseSensitivityMetric(
        threshold=0.5,
        mode="irrelevant",
        definition="paper",
        strict_mode=False,
        empty="zero",
        judge=CountingJudge(PAIRS),
    )

    case = case_of(example.sample, metadata={"chunk_labels": [False]})
    _, data = run_one(case, metric, run_async=run_async)

    # The label makes the one chunk irrelevant, and so the incorrect claim irrelevant noise.
    assert (data.score, data.threshold, data.success) == (0.5, 0.5, True)
    assert data.name == "Noise Sensitivity (irrelevant, paper, empty=zero)"


def test_strict_mode_passes_at_zero_only() -> None:
    judge = CountingJudge(PAIRS)
    for mode, success in (("relevant", False), ("irrelevant", True)):  # 0.5 and 0.0
        metric = NoiseSensitivityMetric(threshold=0.9, mode=mode, judge=judge, strict_mode=True)
        _, data = run_one(case_of(EXAMPLES[0].sample), metric)
        assert (data.threshold, data.success, data.strict_mode) == (0, success, True)


def test_a_wrong_argument_is_refused_before_the_run() -> None:
    for wrong, expected in (
        ({"mode": "both"}, "mode: expected 'relevant' or 'irrelevant', got 'both'"),
        ({"definition": "ragsa"}, "definition: expected one of 'ragas'"),
        ({"threshold": "0.2"}, "threshold: expected a number from 0 to 1, got '0.2'"),
        ({"threshold": 20}, "threshold: expected a number from 0 to 1, got 20"),
        ({"undetermined": "nan"}, "undetermined: expected 'none', 'low' or 'high', got 'nan'"),
        ({"judge": 7}, "judge: expected a recording.s path, .* got int"),
    ):
        with pytest.raises(InputError, match=expected):
            NoiseSensitivityMetric(**wrong)


class NoClaims(DeepEvalBaseLLM):
    """Says of every text that it makes no claims, the first ``times`` times."""

    def __init__(self, times: int) -> None:
        self.times, self.asked = times, 0
        self.mind = Mind(PAIRS)
        super().__init__("no claims")

    def load_model(self) -> Any:
        return self

    def get_model_name(self) -> str:
        return "no claims"

    def generate(self, prompt: str) -> str:
        reply = str(self.mind.answer(prompt))
        if '"claims"' not in reply or EXAMPLES[0].sample.response not in prompt:
            return reply
        self.asked += 1
        return '{"claims": []}' if self.asked <= self.times else reply

    async def a_generate(self, prompt: str) -> str:
        return self.generate(prompt)


@BOTH
@pytest.mark.parametrize("strict_mode", [False, True])
def test_an_undefined_sample_is_none_and_never_a_pass(strict_mode: bool, run_async: bool) -> None:
    sample = EXAMPLES[0].sample
    nothing = case_of(sample, name="nothing")
    nothing.retrieval_context = ["", " "]
    noisy = case_of(sample, name="noisy")
    metrics = [
        NoiseSensitivityMetric(mode=mode, model=MindModel(Mind(PAIRS)), strict_mode=strict_mode)
        for mode in MODES
    ]
    undefined, failed = run([nothing, noisy], metrics, run_async=run_async)
    for data in undefined.metrics_data:
        assert (data.score, data.success, data.error) == (None, None, None)
        assert data.reason.endswith("is undefined: nothing was retrieved.")
    assert failed.metrics_data[0].success is False
    assert_test(nothing, metrics, run_async=run_async)  # skipped, as DeepEval's NONE is
    robustness = NoiseRobustnessMetric(model=MindModel(Mind(PAIRS)), strict_mode=strict_mode)
    _, data = run_one(nothing, robustness, run_async=run_async)
    assert (data.score, data.success) == (None, None)


@BOTH
@pytest.mark.parametrize("strict_mode", [False, True])
def test_a_first_empty_list_of_claims_is_not_believed(strict_mode: bool, run_async: bool) -> None:
    case = case_of(EXAMPLES[0].sample)
    metric = NoiseSensitivityMetric(model=NoClaims(times=1), strict_mode=strict_mode)
    with pytest.raises(AssertionError, match=r"score: 0\.5"):
        assert_test(case, [metric], run_async=run_async)
    # Two that agree are: there is nothing to measure.
    metric = NoiseSensitivityMetric(model=NoClaims(times=9), strict_mode=strict_mode)
    _, data = run_one(case, metric, run_async=run_async)
    assert (data.score, data.success) == (None, None)
    assert data.reason.endswith("the response has no claims.")
