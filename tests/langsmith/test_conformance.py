"""The evaluator in LangSmith's own ``aevaluate`` and ``evaluate``, by `AdapterTests`."""

from __future__ import annotations

import asyncio
import datetime
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from noisesense import DefinitionName, Judge, Sample, score
from noisesense.scoring.definitions import MODES
from noisesense_adapters.langsmith import noise_sensitivity, noise_sensitivity_summary
from support.adapter_tests import HostRun, Shown, ShownRow
from support.experiments import ExperimentTests, outputs, score_name, usage_in
from support.table_judge import TableJudge, noisy_pair


def examples(samples: Sequence[Sample]) -> list[Any]:
    from langsmith.schemas import Example

    now = datetime.datetime.now(datetime.timezone.utc)
    return [
        Example(
            id=uuid.uuid4(),
            dataset_id=uuid.uuid4(),
            created_at=now,
            inputs={"question": sample.user_input, "number": number},
            outputs={"answer": sample.reference},
        )
        for number, sample in enumerate(samples)
    ]


def shown_row(results: Sequence[Any], definition: str) -> ShownRow:
    by_key = {result.key: result for result in results}
    if "noise_sensitivity" in by_key:
        return ShownRow(error=by_key["noise_sensitivity"].comment)
    return ShownRow(
        {
            mode: Shown(result.score, result.comment)
            for mode in MODES
            if (result := by_key.get(score_name(mode, definition))) is not None
        }
    )


@pytest.mark.filterwarnings("ignore:'upload_.*' parameter is in beta")
class TestLangSmith(ExperimentTests):
    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        evaluator = noise_sensitivity(judge=judge, definition=definition)
        arguments = {"data": examples(samples), "evaluators": [evaluator], "max_concurrency": 8}
        rows = self.rows(samples, {**arguments, "upload_results": False})
        ordered = sorted(rows, key=lambda row: row["example"].inputs["number"])
        results = [row["evaluation_results"]["results"] for row in ordered]
        everything = [result for row in results for result in row]
        return HostRun(
            [shown_row(row, definition) for row in results],
            stored=repr(everything),
            usage=usage_in(result.metadata for result in everything),
            names=[f"example {row['example'].id}: " for row in ordered],
        )

    def rows(self, samples: Sequence[Sample], arguments: dict[str, Any]) -> Iterable[Any]:
        from langsmith import aevaluate

        async def application(inputs: dict[str, Any]) -> dict[str, Any]:
            return outputs(samples[inputs["number"]])

        async def all_rows() -> list[Any]:
            return [row async for row in await aevaluate(application, **arguments)]

        return asyncio.run(all_rows())


class TestLangSmithBlocking(TestLangSmith):
    """The same evaluator in ``evaluate``, which runs each row in a thread's own loop."""

    def rows(self, samples: Sequence[Sample], arguments: dict[str, Any]) -> Iterable[Any]:
        from langsmith import evaluate

        return evaluate(lambda inputs: outputs(samples[inputs["number"]]), **arguments)


@pytest.mark.filterwarnings("ignore:'upload_.*' parameter is in beta")
def test_a_runs_mean_has_every_row() -> None:
    """One noisy claim of one, and a row that failed; each run has figures of its own."""
    from langsmith import evaluate

    pair = noisy_pair()
    judge = TableJudge([pair])
    evaluator = noise_sensitivity(judge=judge, mode="relevant")
    samples = [pair[0], pair[0].model_copy(update={"response": "Another."})]
    for _ in range(2):
        run = evaluate(
            lambda inputs: outputs(samples[inputs["number"]]),
            data=examples(samples),
            evaluators=[evaluator],
            summary_evaluators=[noise_sensitivity_summary(evaluator)],
            upload_results=False,
        )
        (mean,) = run._summary_results["results"]
        assert mean.score == score(pair[1]).relevant
        assert "1 of 2 samples failed" in mean.comment
