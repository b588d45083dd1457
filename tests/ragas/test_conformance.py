"""Our metric in ragas' ``evaluate()`` and collections API, by `AdapterTests`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from noisesense import DefinitionName, Judge, NoiseSenseError, Sample, Usage
from noisesense.scoring.definitions import MODES
from noisesense_adapters.ragas import NoiseSensitivity, rubrics
from support.adapter_tests import AdapterTests, HostRun, Shown, ShownRow
from support.ragas_peer import ragas_row
from support.ragas_runs import columns_of, evaluated


def metrics_of(judge: Judge, definition: DefinitionName) -> list[NoiseSensitivity]:
    return [NoiseSensitivity(mode=mode, judge=judge, definition=definition) for mode in MODES]


def shown(values: Sequence[Any], log: str = "") -> ShownRow:
    """ragas puts a plain NaN in the place of a failed row, and logs why."""
    texts = [f"{v.status}: {v.reason}" if hasattr(v, "score") else log for v in values]
    each = zip(MODES, values, texts, strict=True)
    return ShownRow({mode: Shown(float(value), text) for mode, value, text in each})


def usage_of(rows: Sequence[Sequence[Any]]) -> Usage:
    values = [value for row in rows for value in row if hasattr(value, "judgement")]
    return sum((value.judgement.usage for value in values), Usage())


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
        rows = []
        for sample in samples:
            labels = [chunk.relevant for chunk in sample.retrieved_contexts]
            rows.append({**ragas_row(sample), "rubrics": rubrics(labels=labels)})
        result = evaluated(rows, metrics_of(judge, definition))
        columns = columns_of(definition)
        values = [[row[columns[mode]] for mode in MODES] for row in result.scores]
        table = result.to_pandas().to_dict()
        return HostRun(
            [shown(row, self.log.text) for row in values],
            stored=f"{result.scores} {result.traces} {table} {self.log.text}",
            averages={mode: result._repr_dict[columns[mode]] for mode in MODES},
            usage=usage_of(values),
            names=[f"row {n} ('{sample.user_input}')" for n, sample in enumerate(samples)],
        )


class TestCollections(AdapterTests):
    tables = 50
    metrics = 2

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        metrics = metrics_of(judge, definition)

        async def values_of(sample: Sample) -> list[Any]:
            return [(await metric.ascore(**dict(sample))).value for metric in metrics]

        async def rows() -> list[Any]:
            return await asyncio.gather(*map(values_of, samples), return_exceptions=True)

        results = asyncio.run(rows())
        assert all(isinstance(row, (list, NoiseSenseError)) for row in results)
        values = [row for row in results if isinstance(row, list)]
        return HostRun(
            [shown(row) if isinstance(row, list) else ShownRow(error=str(row)) for row in results],
            stored=repr(results),
            usage=usage_of(values),
            names=[f"row '{sample.user_input}'" for sample in samples],
        )
