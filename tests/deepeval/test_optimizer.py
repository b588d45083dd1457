"""Where DeepEval reads a score as higher is better: its prompt optimizer and its DAG."""

from __future__ import annotations

from typing import Any

import pytest
from deepeval.dataset import Golden
from deepeval.models import DeepEvalBaseLLM
from deepeval.optimizer import PromptOptimizer
from deepeval.optimizer.algorithms import GEPA
from deepeval.optimizer.configs import AsyncConfig, DisplayConfig
from deepeval.prompt import Prompt
from deepeval.test_case import LLMTestCase

from noisesense import Sample, Verdicts
from noisesense_adapters.deepeval import NoiseRobustnessMetric
from support.deepeval_run import run_one

# A prompt, and whether the two claims of what it makes the model respond are correct. The first
# claim is from chunk 0, which is relevant; the second from chunk 1, which is not. So by hand
# "first" has a noise sensitivity of 1/2 and 0, the better one of 0 in both modes.
CLAIMS = {"worse": (False, False), "first": (False, True), "better": (True, True)}


class Author(DeepEvalBaseLLM):
    """The optimizer's model: rewrites a prompt to the worse one, then to the better one. Whatever
    else it is asked about is so."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.rewritten = 0
        super().__init__("author")

    def load_model(self) -> Any:
        return self

    def get_model_name(self) -> str:
        return "author"

    def generate(self, prompt: str, schema: Any = None) -> Any:
        self.asked.append(prompt)
        written: dict[str, Any] = {}
        for name, field in schema.model_fields.items():
            written[name] = ["one", "another"] if "List[str]" in str(field.annotation) else "words"
            if name == "verdict":
                written[name] = True
            if name in ("revised_prompt", "candidate_prompt"):
                written[name] = ("worse", "better")[self.rewritten % 2]
                self.rewritten += 1
        return schema(**written)

    async def a_generate(self, prompt: str, schema: Any = None) -> Any:
        return self.generate(prompt, schema)


class ByPrompt:
    """A judge that knows the prompt: it is the response's first word."""

    def __init__(self, *, silent: bool = False, no_claims: bool = False) -> None:
        self.asked = 0
        self.silent = silent
        self.no_claims = no_claims

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
            }
        )


both_ways = pytest.mark.parametrize("run_async", [True, False])


def optimize(*metrics: Any, run_async: bool = True) -> tuple[str, set[float], str]:
    """The best prompt, the scores it was chosen by, and what the author was shown."""

    def app(prompt: Prompt, golden: Any) -> str:
        return f"{prompt.text_template} {golden.input}"

    author = Author()
    optimizer = PromptOptimizer(
        model_callback=app,
        metrics=list(metrics),
        optimizer_model=author,
        algorithm=GEPA(iterations=4, pareto_size=2, random_seed=1),
        async_config=AsyncConfig(run_async=run_async),
        display_config=DisplayConfig(show_indicator=False),
    )
    given: Any = {"expected_output": "three", "retrieval_context": ["c", "d"]}
    goldens = [Golden(input=f"question {n}", **given) for n in range(4)]
    best = optimizer.optimize(Prompt(text_template="first"), goldens)
    report = optimizer.optimization_report
    scores = {*report.pareto_scores.get(report.best_id, [])}
    return str(best.text_template), scores, "\n".join(author.asked)


def case_with(answer: str) -> LLMTestCase:
    given: Any = {"expected_output": "three", "retrieval_context": ["c", "d"]}
    return LLMTestCase(input="question", actual_output=answer, **given)


class IrrelevantRobustness(NoiseRobustnessMetric):
    """The optimizer keeps one metric of each class name."""


@both_ways
def test_the_optimizer_looks_for_less_noise_by_both_modes(
    run_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = ByPrompt()
    together = ByPrompt()
    best, scores, _ = optimize(NoiseRobustnessMetric(judge=alone), run_async=run_async)
    assert best == "better"
    assert scores == {1.0}
    modes = [
        NoiseRobustnessMetric(mode="relevant", judge=together),
        IrrelevantRobustness(mode="irrelevant", judge=together),
    ]
    optimize(*modes, run_async=run_async)
    assert alone.asked == together.asked > 0  # two modes judge an answer once
    # No prompt is better than the first one: its scores are the report's, (1/2 + 1) / 2.
    monkeypatch.setitem(CLAIMS, "better", CLAIMS["worse"])
    best, scores, shown = optimize(*modes, run_async=run_async)
    assert best == "first"
    assert scores == {0.75}
    assert "NoiseRobustnessMetric (Score: 0.5)" in shown
    assert "IrrelevantRobustness (Score: 1.0)" in shown


@both_ways
@pytest.mark.parametrize(("threshold", "success"), [(0.5, True), (0.8, False)])
def test_what_the_judge_left_open_does_not_pass(
    threshold: float, success: bool, run_async: bool
) -> None:
    """Irrelevant noise of 0 or 1/2."""
    options: Any = {"mode": "irrelevant", "judge": ByPrompt(silent=True)}
    metric = NoiseRobustnessMetric(threshold, **options)
    result, data = run_one(case_with("better answer"), metric, run_async=run_async)
    assert data.score is None
    assert data.success == success
    assert result.success == success
    assert "lies between 0.5 and 1 (higher is better)" in data.reason
    high = NoiseRobustnessMetric(threshold, undetermined="high", **options)
    _, data = run_one(case_with("better answer"), high, run_async=run_async)
    assert data.score == 0.5
    assert data.success == success
