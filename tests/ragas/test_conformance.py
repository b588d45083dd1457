"""Our metric in ragas' ``evaluate()`` and collections API, by the conformance kit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from noisesense import DefinitionName, Judge, NoiseSenseError, Sample, Usage
from noisesense.scoring.definitions import MODES, Mode
from noisesense.testing import AdapterTests, HostRun, Shown, ShownRow
from noisesense_adapters.ragas import NoiseSensitivity, rubrics
from support.ragas_runs import columns_of, evaluated


def usage_of(values: Sequence[Any]) -> Usage:
    total = Usage()
    for value in values:
        total += value.judgement.usage
    return total


def shown(value: Any) -> Shown:
    return Shown(float(value), f"{value.status}: {value.reason}")


class TestEvaluate(AdapterTests):
    tables = 50
    metrics = 2

    @pytest.fixture(autouse=True)
    def _log(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        self.log = caplog

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        self.log.clear()
        metrics = [
            NoiseSensitivity(mode=mode, judge=judge, definition=definition) for mode in MODES
        ]
        rows = [
            {
                **{
                    name: getattr(sample, name) for name in ("user_input", "response", "reference")
                },
                "retrieved_contexts": [chunk.text for chunk in sample.retrieved_contexts],
                "rubrics": rubrics(labels=[chunk.relevant for chunk in sample.retrieved_contexts]),
            }
            for sample in samples
        ]
        result = evaluated(rows, metrics)
        columns = columns_of(definition)
        values: list[dict[Mode, Any]] = [
            {mode: row[columns[mode]] for mode in MODES} for row in result.scores
        ]
        shown_rows = [self._row(row) for row in values]
        numbers = [value for row in values for value in row.values()]
        table = result.to_pandas().to_dict()
        return HostRun(
            shown_rows,
            stored=f"{result.scores} {result.traces} {table} {self.log.text}",
            averages={mode: result._repr_dict[columns[mode]] for mode in MODES},
            usage=usage_of([value for value in numbers if hasattr(value, "judgement")]),
            names=[f"row {n} ('{sample.user_input}')" for n, sample in enumerate(samples)],
        )

    def _row(self, row: dict[Mode, Any]) -> ShownRow:
        if all(hasattr(value, "score") for value in row.values()):
            return ShownRow({mode: shown(value) for mode, value in row.items()})
        # ragas puts a plain NaN in the place of a failed row, and logs why.
        return ShownRow({mode: Shown(float(value), self.log.text) for mode, value in row.items()})


class TestCollections(AdapterTests):
    tables = 50
    metrics = 2

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        metrics = [
            NoiseSensitivity(mode=mode, judge=judge, definition=definition) for mode in MODES
        ]

        async def row(sample: Sample) -> tuple[ShownRow, list[Any]]:
            texts = dict(sample)
            try:
                values = [(await metric.ascore(**texts)).value for metric in metrics]
            except NoiseSenseError as error:
                return ShownRow(error=str(error)), []
            modes = {mode: shown(value) for mode, value in zip(MODES, values, strict=True)}
            return ShownRow(modes), values

        async def rows() -> list[tuple[ShownRow, list[Any]]]:
            return list(await asyncio.gather(*map(row, samples)))

        results = asyncio.run(rows())
        return HostRun(
            [row for row, _ in results],
            stored=repr(results),
            usage=usage_of([value for _, values in results for value in values]),
            names=[f"row '{sample.user_input}'" for sample in samples],
        )
