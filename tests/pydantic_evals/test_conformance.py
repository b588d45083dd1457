"""The evaluator in a `pydantic_evals.Dataset`, by `AdapterTests`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from noisesense import DefinitionName, Judge, Sample
from noisesense.scoring.definitions import MODES, Mode
from support.adapter_tests import HostRun, Shown, ShownRow
from support.experiments import ExperimentTests, contexts, score_name, usage_in


def report_of(samples: Sequence[Sample], *evaluators: Any, report_evaluators: Any = ()) -> Any:
    """The report on the samples; the task sets what was retrieved as an attribute."""
    from pydantic_evals import Case, Dataset, set_eval_attribute

    cases: list[Any] = [
        Case(
            name=f"case {number}",
            inputs={"question": sample.user_input, "number": number},
            expected_output=sample.reference,
        )
        for number, sample in enumerate(samples)
    ]

    def application(inputs: dict[str, Any]) -> str:
        sample = samples[inputs["number"]]
        set_eval_attribute("retrieved_contexts", contexts(sample))
        return sample.response

    dataset: Any = Dataset(
        name="rag",
        cases=cases,
        evaluators=list(evaluators),
        report_evaluators=list(report_evaluators),
    )
    # Not `evaluate_sync`, which makes an event loop that nobody closes.
    return asyncio.run(dataset.evaluate(application, progress=False))


def shown_row(case: Any, definition: str) -> ShownRow:
    if case.evaluator_failures:
        return ShownRow(error=case.evaluator_failures[0].error_message)
    modes: dict[Mode, Shown] = {}
    for mode in MODES:
        name = score_name(mode, definition)
        number = case.scores.get(name)
        status = case.labels.get(f"{name}_status")
        passed = case.assertions.get(f"{name}_ok")
        shown = number or status
        if shown is not None:
            modes[mode] = Shown(
                None if number is None else number.value,
                shown.reason if status is None else f"{status.value}: {status.reason}",
                None if passed is None else passed.value,
            )
    return ShownRow(modes)


class TestPydanticEvals(ExperimentTests):
    limit = 0.25

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        from noisesense_adapters.pydantic_evals import NoiseSensitivity  # not in every process

        evaluator = NoiseSensitivity(judge=judge, definition=definition, max_noise=self.limit)
        report = report_of(samples, evaluator)
        averages = report.averages().scores
        lines = [
            line
            for case in report.cases
            for line in case.attributes.get("noise_sensitivity", {}).values()
        ]
        return HostRun(
            [shown_row(case, definition) for case in report.cases],
            stored=report.render(include_reasons=True) + repr(report),
            averages={
                mode: averages[name]
                for mode in MODES
                if (name := score_name(mode, definition)) in averages
            },
            usage=usage_in(line.get("usage") for line in lines),
            names=[f"case {case.name!r}" for case in report.cases],
        )
