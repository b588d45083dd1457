"""Our metric in DeepEval's ``evaluate()``, by `AdapterTests`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from noisesense import DefinitionName, Judge, Sample, Usage
from noisesense.scoring.definitions import MODES, Mode
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.adapter_tests import AdapterTests, HostRun, Shown, ShownRow
from support.deepeval_run import case_of, run


class TestEvaluate(AdapterTests):
    tables = 50
    limit = 0.25
    metrics = 2

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        metrics = [
            NoiseSensitivityMetric(self.limit, mode=mode, judge=judge, definition=definition)
            for mode in MODES
        ]
        cases = [
            case_of(
                sample,
                name=f"case {n}",
                metadata={"chunk_labels": [chunk.relevant for chunk in sample.retrieved_contexts]},
            )
            for n, sample in enumerate(samples)
        ]
        results = run(cases, metrics, run_async=self.run_async, ignore_errors=True)
        usage = Usage()
        for result in results:
            for data in result.metrics_data:
                usage += Usage(
                    input_tokens=data.input_tokens or 0,
                    output_tokens=data.output_tokens or 0,
                    cost=data.evaluation_cost,
                )
        return HostRun(
            [self._row(result.metrics_data) for result in results],
            stored=json.dumps([result.model_dump() for result in results], default=str)
            if hasattr(results[0], "model_dump")
            else repr(results),
            usage=usage,
            names=[f"test case 'case {n}'" for n in range(len(samples))],
        )

    run_async = True

    def _row(self, metrics_data: Sequence[Any]) -> ShownRow:
        errors = [data.error for data in metrics_data if data.error]
        modes: dict[Mode, Shown] = {}
        for mode, data in zip(MODES, metrics_data, strict=True):
            modes[mode] = Shown(data.score, data.reason or "", data.success)
        return ShownRow(modes, error=errors[0] if errors else None)


class TestEvaluateBlocking(TestEvaluate):
    run_async = False
