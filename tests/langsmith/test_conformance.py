"""The evaluator in LangSmith's own ``aevaluate`` and ``evaluate``, by the conformance kit."""

from __future__ import annotations

import asyncio
import datetime
import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from noisesense import DefinitionName, Judge, Sample
from noisesense.scoring.definitions import MODES
from noisesense.testing import AdapterTests, HostRun, Shown, ShownRow
from noisesense_adapters.langsmith import noise_sensitivity
from support.experiments import outputs, usage_in


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


def shown_row(results: Sequence[Any]) -> ShownRow:
    by_key = {result.key: result for result in results}
    if "noise_sensitivity" in by_key:
        return ShownRow(error=by_key["noise_sensitivity"].comment)
    return ShownRow(
        {
            mode: Shown(result.score, result.comment)
            for mode in MODES
            if (result := by_key.get(f"noise_sensitivity_{mode}")) is not None
        }
    )


@pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")
class TestLangSmith(AdapterTests):
    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        return asyncio.run(self._run(samples, judge, definition))

    async def _run(
        self, samples: Sequence[Sample], judge: Judge, definition: DefinitionName
    ) -> HostRun:
        from langsmith import aevaluate

        async def application(inputs: dict[str, Any]) -> dict[str, Any]:
            return outputs(samples[inputs["number"]])

        run = await aevaluate(
            application,
            data=examples(samples),
            evaluators=[noise_sensitivity(judge=judge, definition=definition)],
            upload_results=False,
            max_concurrency=8,
        )
        rows: dict[int, list[Any]] = {}
        async for row in run:
            number = (row["example"].inputs or {})["number"]
            rows[number] = row["evaluation_results"]["results"]
        everything = [result for number in sorted(rows) for result in rows[number]]
        return HostRun(
            [shown_row(rows[number]) for number in sorted(rows)],
            stored=repr(everything),
            usage=usage_in(result.metadata for result in everything),
            names=["example "] * len(samples),
        )


@pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")
class TestLangSmithBlocking(TestLangSmith):
    """The same evaluator in ``evaluate``, which runs each row in a thread's own loop."""

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        from langsmith import evaluate

        def application(inputs: dict[str, Any]) -> dict[str, Any]:
            return outputs(samples[inputs["number"]])

        run = evaluate(
            application,
            data=examples(samples),
            evaluators=[noise_sensitivity(judge=judge, definition=definition)],
            upload_results=False,
            max_concurrency=8,
        )
        rows = {
            row["example"].inputs["number"]: row["evaluation_results"]["results"] for row in run
        }
        everything = [result for number in sorted(rows) for result in rows[number]]
        return HostRun(
            [shown_row(rows[number]) for number in sorted(rows)],
            stored=repr(everything),
            usage=usage_in(result.metadata for result in everything),
            names=["example "] * len(samples),
        )
