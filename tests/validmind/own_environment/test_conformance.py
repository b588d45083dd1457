"""The test in ``vm.tests.run_test``, by `AdapterTests`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from noisesense import DefinitionName, Judge, Sample, Usage
from noisesense.scoring.definitions import MODES, Mode, check_definition
from support.adapter_tests import AdapterTests, HostRun, Shown, ShownRow


class TestRunTest(AdapterTests):
    @pytest.fixture(autouse=True)
    def _run(self, run: Any) -> None:
        self._run_test = run

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        rows = [sample.model_dump(mode="json") for sample in samples]
        both = check_definition(definition).irrelevant is not None
        result = self._run_test(
            pd.DataFrame(rows),
            judge=judge,
            definition=definition,
            mode="both" if both else "relevant",
        )
        raw = result.raw_data.evaluation_results
        tables = [table.data for table in result.tables]
        summary: dict[str, Any] = result.raw_data.summary
        return HostRun(
            [_row(row) for row in raw.to_dict("records")],
            stored=f"{raw.to_json()} {summary} {[table.to_json() for table in tables]}",
            usage=Usage(**summary["usage"]),
            names=[f"row {n}: " for n in range(len(samples))],
        )


def _row(row: dict[str, Any]) -> ShownRow:
    modes: dict[Mode, Shown] = {}
    for mode in MODES:
        name = f"noise_sensitivity_{mode}"
        texts = [row[f"{name}_status"], row[f"{name}_reason"]]
        modes[mode] = Shown(row[name], " ".join(text for text in texts if isinstance(text, str)))
    return ShownRow(modes, error=row["error"] if isinstance(row["error"], str) else None)
