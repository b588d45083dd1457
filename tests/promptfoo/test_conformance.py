"""Our assertion, called as Promptfoo calls it, by `AdapterTests`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from noisesense import DefinitionName, Judge, Sample, Usage
from noisesense.scoring.definitions import MODES, Mode
from noisesense_adapters.promptfoo import get_assert, llm
from support.adapter_tests import AdapterTests, HostRun, Shown, ShownRow
from support.experiments import contexts


class TestGetAssert(AdapterTests):
    """Two assertions on each answer, one for each mode. The judge alone is replaced."""

    tables = 50
    limit = 0.25
    metrics = 2
    side_by_side = False  # the judge is replaced in the module

    @pytest.fixture(autouse=True)
    def _judge_replaced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        monkeypatch.setenv("OPENAI_API_KEY", "any")

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        self._patch.setattr(llm, "judge_over", lambda *_, **__: judge)

        def assess(sample: Sample) -> list[dict[str, Any]]:
            given = {
                "query": sample.user_input,
                "reference": sample.reference,
                "contextChunks": contexts(sample),
            }
            config = {"judge": "scripted", "maxNoise": self.limit, "definition": definition}
            return [
                get_assert(sample.response, {"vars": given, "config": {**config, "mode": mode}})
                for mode in MODES
            ]

        with ThreadPoolExecutor(len(samples)) as threads:
            results = list(threads.map(assess, samples))
        usage = Usage()
        for result in [one for both in results for one in both]:
            tokens = result.get("tokensUsed", {})
            usage += Usage(
                tokens.get("numRequests", 0),
                input_tokens=tokens.get("prompt", 0),
                output_tokens=tokens.get("completion", 0),
            )
        return HostRun(
            [_row(both, definition) for both in results], stored=json.dumps(results), usage=usage
        )


def _row(results: list[dict[str, Any]], definition: DefinitionName) -> ShownRow:
    end = "" if definition == "ragas" else f"_{definition}"
    modes: dict[Mode, Shown] = {}
    for mode, result in zip(MODES, results, strict=True):
        value = result.get("namedScores", {}).get(f"noise_sensitivity_{mode}{end}")
        modes[mode] = Shown(value, result["reason"], result["pass"])
    failed = [each["reason"] for each in results if each["metadata"]["status"] == "error"]
    return ShownRow(modes, error=failed[0] if failed else None)
