"""The evaluator in Langfuse's own ``run_experiment``, by `AdapterTests`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from noisesense import DefinitionName, Judge, Sample, Verdicts
from noisesense.scoring.definitions import MODES
from noisesense_adapters.langfuse import noise_sensitivity, noise_sensitivity_run
from support.adapter_tests import HostRun, Shown, ShownRow
from support.experiments import ExperimentTests, outputs, score_name, usage_in


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk")
    monkeypatch.setenv("LANGFUSE_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")


def experiment(samples: Sequence[Sample], evaluator: Any, *run_evaluators: Any) -> Any:
    """``run_experiment`` over the samples; an application's outputs are looked up."""
    from langfuse import Langfuse

    data: list[Any] = [
        {"input": sample.user_input, "expected_output": sample.reference, "metadata": {"n": n}}
        for n, sample in enumerate(samples)
    ]

    def application(*, item: Any, **_: Any) -> dict[str, Any]:
        return outputs(samples[item["metadata"]["n"]])

    return Langfuse(tracing_enabled=False).run_experiment(
        name="rag",
        data=data,
        task=application,
        evaluators=[evaluator] if callable(evaluator) else evaluator,
        run_evaluators=list(run_evaluators),
    )


class TestLangfuse(ExperimentTests):
    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        result = experiment(samples, noise_sensitivity(judge=judge, definition=definition))
        items = sorted(result.item_results, key=lambda item: item.item["metadata"]["n"])
        averages: dict[Any, Any] = {}
        for mode in MODES:
            values = [
                each.value
                for item in items
                for each in item.evaluations
                if each.name == score_name(mode, definition)
            ]
            if values:  # as Langfuse's own `format` averages
                averages[mode] = sum(values) / len(values)
        return HostRun(
            [self._row(item.evaluations, definition) for item in items],
            stored=result.format(include_item_results=True)
            + repr([vars(each) for item in items for each in item.evaluations]),
            averages=averages,
            usage=usage_in(each.metadata for item in items for each in item.evaluations),
            names=[f"item with the input {item.item['input']!r}" for item in items],
        )

    def _row(self, evaluations: Sequence[Any], definition: str) -> ShownRow:
        by_name = {each.name: each for each in evaluations}
        if "noise_sensitivity_error" in by_name:
            return ShownRow(error=by_name["noise_sensitivity_error"].value)
        modes: dict[Any, Shown] = {}
        for mode in MODES:
            number = by_name.get(score_name(mode, definition))
            status = by_name.get(f"{score_name(mode, definition)}_status")
            if number is not None:
                modes[mode] = Shown(number.value, number.comment)
            elif status is not None:
                modes[mode] = Shown(None, f"{status.value}: {status.comment}")
        return ShownRow(modes)


class Incorrect:
    """Whether the chunk entails the one claim is the response."""

    async def judge(self, sample: Sample) -> Verdicts:
        said = {"yes": True, "open": None}[sample.response]
        return Verdicts.from_matrices([False], [[said]], relevant=[True])


@pytest.mark.parametrize(
    ("responses", "shown"),
    [
        (["yes", "yes"], ("noise_sensitivity_relevant_mean", 1.0)),
        (["yes", "open"], ("noise_sensitivity_relevant_mean_status", "undetermined")),
    ],
)
def test_a_runs_mean_is_a_number_or_the_word_undetermined(
    responses: list[str], shown: tuple[str, Any]
) -> None:
    evaluator = noise_sensitivity(judge=Incorrect(), mode="relevant")
    another = noise_sensitivity(name="another", judge=Incorrect())
    samples = [
        Sample(user_input=f"q{n}", response=text, reference="r", retrieved_contexts=["c"])
        for n, text in enumerate(responses)
    ]
    result = experiment(samples, [evaluator, another], noise_sensitivity_run(evaluator))
    (mean,) = result.run_evaluations
    assert (mean.name, mean.value) == shown
