"""DeepEval's prompt optimizer: it raises scores, and tells metrics apart by their class's name."""

from __future__ import annotations

from typing import Any

import pytest
from deepeval.dataset import Golden
from deepeval.metrics.utils import copy_metrics
from deepeval.models import DeepEvalBaseLLM
from deepeval.optimizer import PromptOptimizer
from deepeval.optimizer.algorithms import COPRO, GEPA, SIMBA
from deepeval.optimizer.configs import AsyncConfig, DisplayConfig
from deepeval.prompt import Prompt
from deepeval.test_case import LLMTestCase

from noisesense import InputError, Judge, NoiseSenseError, Sample, Verdicts
from noisesense_adapters.deepeval import NoiseRobustnessMetric, NoiseSensitivityMetric
from support.deepeval_run import case_of, run_one

# A prompt, and whether the two claims of what it makes the model respond are correct. The first
# claim is from chunk 0, which is relevant; the second from chunk 1, which is not.
CLAIMS = {"worse": (False, False), "first": (False, True), "better": (True, True)}
NOISE = {  # relevant, irrelevant: incorrect claims of the two, counted by hand
    "worse": (1 / 2, 1 / 2),
    "first": (1 / 2, 0.0),
    "better": (0.0, 0.0),
}


class Author(DeepEvalBaseLLM):
    """The optimizer's model: rewrites a prompt to the worse one, then to the better one."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.rewritten = 0
        super().__init__("author")

    def load_model(self) -> Any:
        return None

    def get_model_name(self) -> str:
        return "author"

    def generate(self, prompt: str, schema: Any = None) -> Any:
        self.asked.append(prompt)
        written: dict[str, Any] = {}
        for name, field in schema.model_fields.items():
            written[name] = ["one", "another"] if "List[str]" in str(field.annotation) else "words"
            if name in ("revised_prompt", "candidate_prompt"):
                written[name] = ("worse", "better")[self.rewritten % 2]
                self.rewritten += 1
        return schema(**written)

    async def a_generate(self, prompt: str, schema: Any = None) -> Any:
        return self.generate(prompt, schema)


class ByPrompt:
    """A judge that knows the prompt: it is the response's first word."""

    def __init__(self, *, silent: bool = False, no_claims: bool = False) -> None:
        self.asked, self.silent, self.no_claims = 0, silent, no_claims

    async def judge(self, sample: Sample) -> Verdicts:
        self.asked += 1
        relevant, irrelevant = CLAIMS[sample.response.split()[0]]
        claims = [
            {"text": "one", "correct": relevant, "entailed_by": [0]},
            {"text": "two", "correct": None if self.silent else irrelevant, "entailed_by": [1]},
        ]
        return Verdicts.model_validate(
            {
                "response_claims": [] if self.no_claims else claims,
                "reference_claims": [{"text": "three", "entailed_by": [0]}],
                "chunks": [{"text": chunk.text} for chunk in sample.retrieved_contexts],
            }
        )


ALGORITHMS: dict[str, Any] = {
    "GEPA": lambda: GEPA(iterations=4, pareto_size=2, random_seed=1),
    "COPRO": lambda: COPRO(depth=2, breadth=2, random_state=1),
    "SIMBA": lambda: SIMBA(iterations=1, minibatch_full_eval_steps=1, random_state=1),
}


def optimizer(
    *metrics: Any, algorithm: str = "GEPA", run_async: bool = True
) -> tuple[PromptOptimizer, Author]:
    author = Author()
    made = PromptOptimizer(
        model_callback=lambda prompt, golden: f"{prompt.text_template} {golden.input}",
        metrics=list(metrics),
        optimizer_model=author,
        algorithm=ALGORITHMS[algorithm](),
        async_config=AsyncConfig(run_async=run_async),
        display_config=DisplayConfig(show_indicator=False),
    )
    return made, author


def optimize(*metrics: Any, **options: Any) -> tuple[str, list[float], str]:
    """The best prompt, the scores it was chosen by, and what the author was shown."""
    made, author = optimizer(*metrics, **options)
    goldens = [
        Golden(input=f"question {n}", expected_output="three", retrieval_context=["c", "d"])
        for n in range(4)
    ]
    best = made.optimize(Prompt(text_template="first"), goldens)
    report = made.optimization_report
    assert report is not None
    return (
        str(best.text_template),
        report.pareto_scores.get(report.best_id, []),
        "\n".join(author.asked),
    )


both_ways = pytest.mark.parametrize("run_async", [True, False])


@both_ways
@pytest.mark.parametrize("algorithm", ["GEPA", "COPRO"])
def test_the_optimizer_looks_for_less_noise(algorithm: str, run_async: bool) -> None:
    metric = NoiseRobustnessMetric(judge=ByPrompt())

    best, scores, _ = optimize(metric, algorithm=algorithm, run_async=run_async)

    assert best == "better"
    assert set(scores) == {1.0}


@both_ways
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_the_other_metric_is_refused_before_anything_is_asked(
    algorithm: str, run_async: bool
) -> None:
    judge = ByPrompt()
    with pytest.raises(
        InputError, match=r"more noise.*NoiseRobustnessMetric\(mode='irrelevant'\)"
    ):
        optimize(
            NoiseSensitivityMetric(mode="irrelevant", judge=judge),
            algorithm=algorithm,
            run_async=run_async,
        )
    assert judge.asked == 0


@both_ways
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_both_modes_count(
    algorithm: str, run_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = ByPrompt()
    modes = [NoiseRobustnessMetric(mode=mode, judge=judge) for mode in ("relevant", "irrelevant")]
    # No prompt is better than the first one: its scores are the report's.
    monkeypatch.setitem(CLAIMS, "better", CLAIMS["worse"])

    best, scores, shown = optimize(*modes, algorithm=algorithm, run_async=run_async)

    assert best.startswith("first")
    relevant, irrelevant = NOISE["first"]
    assert set(scores) == {((1 - relevant) + (1 - irrelevant)) / 2} == {0.75}
    if algorithm != "SIMBA":  # which shows the author but one answer of a golden
        assert "NoiseRobustnessMetric (relevant) (Score: 0.5)" in shown
        assert "NoiseRobustnessMetric (irrelevant) (Score: 1.0)" in shown


def test_two_modes_judge_an_answer_once() -> None:
    alone, together = ByPrompt(), ByPrompt()
    optimize(NoiseRobustnessMetric(judge=alone))
    optimize(
        *(NoiseRobustnessMetric(mode=mode, judge=together) for mode in ("relevant", "irrelevant"))
    )
    assert alone.asked == together.asked > 0


@both_ways
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_an_answer_without_a_number_is_named(algorithm: str, run_async: bool) -> None:
    def run(judge: Judge, **options: Any) -> list[float]:
        metric = NoiseRobustnessMetric(mode="irrelevant", judge=judge, **options)
        return optimize(metric, algorithm=algorithm, run_async=run_async)[1]

    with pytest.raises(NoiseSenseError, match=r'question \d.*undetermined="high"'):
        run(ByPrompt(silent=True))
    assert set(run(ByPrompt(silent=True), undetermined="high")) == {0.5}

    with pytest.raises(NoiseSenseError, match=r'question \d.*no claims.*empty="zero"'):
        run(ByPrompt(no_claims=True))
    # SIMBA looks no further where nothing can be better.
    found = [] if algorithm == "SIMBA" else [1.0]
    assert sorted(set(run(ByPrompt(no_claims=True), empty="zero"))) == found

    with pytest.raises(
        NoiseSenseError, match=r"question \d.*no irrelevant mode.*number is needed here"
    ):
        run(ByPrompt(), definition="validmind")


def test_a_metric_within_the_app_is_no_business_of_the_optimizer() -> None:
    # An app may measure what it answers itself, e.g. to answer again.
    guard = NoiseSensitivityMetric(judge=ByPrompt())
    made, _ = optimizer(NoiseRobustnessMetric(judge=ByPrompt()), run_async=False)

    def app(prompt: Prompt, golden: Any) -> str:
        answer = f"{prompt.text_template} {golden.input}"
        guard.measure(_case(answer), _show_indicator=False)
        return answer

    made.algorithm.scorer.model_callback = app
    goldens = [
        Golden(input=f"question {n}", expected_output="three", retrieval_context=["c", "d"])
        for n in range(2)
    ]
    assert made.optimize(Prompt(text_template="first"), goldens).text_template == "better"


def _case(answer: str) -> LLMTestCase:
    return LLMTestCase(
        input="question",
        actual_output=answer,
        expected_output="three",
        retrieval_context=["c", "d"],
    )


@pytest.mark.parametrize(
    ("threshold", "success"), [(0.5, True), (0.51, False), (0.0, True), (None, None)]
)
def test_it_passes_from_its_threshold_on(threshold: float | None, success: bool | None) -> None:
    metric = NoiseRobustnessMetric(threshold, judge=ByPrompt())
    assert metric.measure(_case("first answer"), _show_indicator=False) == metric.score == 0.5
    assert metric.success is metric.is_successful() is success
    assert metric.reason.startswith(
        "Noise robustness, one minus noise sensitivity, is 0.5 (higher is better). "
    )
    assert ("The robustness is below the threshold 0.51." in metric.reason) is (success is False)


def test_the_robustness_is_counted() -> None:
    # 9 of 10 claims are noise: 1 - 0.9 would be less than 0.1.
    sample = Sample(user_input="q", response="r", reference="s", retrieved_contexts=["c"])
    verdicts = Verdicts.from_matrices([False] * 9 + [True], [[True]] * 10, [[True]])
    case = case_of(sample, metadata={"verdicts": verdicts.model_dump()})
    metric = NoiseRobustnessMetric(0.1)
    assert metric.measure(case, _show_indicator=False) == 0.1
    assert metric.success is True


def test_what_the_judge_left_open_does_not_pass() -> None:
    # Irrelevant noise of 0 or 1/2.
    for threshold, success in ((0.5, True), (0.8, False)):
        metric = NoiseRobustnessMetric(threshold, mode="irrelevant", judge=ByPrompt(silent=True))
        result, data = run_one(_case("better answer"), metric)
        assert (data.score, data.success, result.success) == (None, success, success)
    assert (
        "Whether the robustness is below the threshold 0.8 cannot be decided: "
        "it lies between 0.5 and 1."
    ) in data.reason
    metric = NoiseRobustnessMetric(
        mode="irrelevant", judge=ByPrompt(silent=True), undetermined="high"
    )
    assert metric.measure(_case("better answer"), _show_indicator=False) == 0.5
    assert metric.success is False


@pytest.mark.parametrize("run_async", [True, False])
def test_in_evaluate_it_is_a_metric_like_deepevals_own(run_async: bool) -> None:
    result, data = run_one(
        _case("worse answer"),
        NoiseRobustnessMetric(judge=ByPrompt(), mode="irrelevant"),
        run_async=run_async,
    )
    assert (data.name, data.score, data.threshold) == ("Noise Robustness (irrelevant)", 0.5, 0.8)
    assert data.success is result.success is False


def test_its_class_is_named_after_what_it_measures() -> None:
    metric = NoiseRobustnessMetric(mode="irrelevant", definition="paper", strict_mode=True)
    assert isinstance(metric, NoiseRobustnessMetric)
    (copy,) = copy_metrics([metric])
    assert type(copy) is type(metric)
    assert type(copy).__name__ == "NoiseRobustnessMetric (irrelevant, paper)"
    assert (copy.threshold, copy.definition, copy.mode) == (1, "paper", "irrelevant")


def test_a_class_of_ones_own_keeps_its_name() -> None:
    class Mine(NoiseRobustnessMetric):  # type: ignore[no-untyped-call]
        pass

    assert type(Mine()).__name__ == "Mine (relevant)"
    assert isinstance(copy_metrics([Mine()])[0], Mine)
