"""The evaluator in LangSmith's own ``aevaluate`` and ``evaluate``, by the conformance kit."""

from __future__ import annotations

import asyncio
import datetime
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from noisesense import DefinitionName, Judge, Sample
from noisesense.scoring.definitions import MODES
from noisesense.testing import HostRun, Shown, ShownRow
from noisesense_adapters.langsmith import noise_sensitivity
from support.experiments import ExperimentTests, outputs, score_name, usage_in


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


def host_run(rows: Iterable[Any], definition: str) -> HostRun:
    ordered = sorted(rows, key=lambda row: row["example"].inputs["number"])
    results = [row["evaluation_results"]["results"] for row in ordered]
    everything = [result for row in results for result in row]
    return HostRun(
        [shown_row(row, definition) for row in results],
        stored=repr(everything),
        usage=usage_in(result.metadata for result in everything),
        names=[f"example {row['example'].id}: " for row in ordered],
    )


def arguments(samples: Sequence[Sample], judge: Judge, definition: DefinitionName) -> Any:
    return {
        "data": examples(samples),
        "evaluators": [noise_sensitivity(judge=judge, definition=definition)],
        "upload_results": False,
        "max_concurrency": 8,
    }


@pytest.mark.filterwarnings("ignore:'upload_.*' parameter is in beta")
class TestLangSmith(ExperimentTests):
    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        from langsmith import aevaluate

        async def application(inputs: dict[str, Any]) -> dict[str, Any]:
            return outputs(samples[inputs["number"]])

        async def rows() -> list[Any]:
            run = await aevaluate(application, **arguments(samples, judge, definition))
            return [row async for row in run]

        return host_run(asyncio.run(rows()), definition)


@pytest.mark.filterwarnings("ignore:'upload_.*' parameter is in beta")
class TestLangSmithBlocking(ExperimentTests):
    """The same evaluator in ``evaluate``, which runs each row in a thread's own loop."""

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        from langsmith import evaluate

        def application(inputs: dict[str, Any]) -> dict[str, Any]:
            return outputs(samples[inputs["number"]])

        return host_run(evaluate(application, **arguments(samples, judge, definition)), definition)
