"""The files DeepEval writes are read by `noisesense_adapters.datasets.read`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from deepeval.dataset import EvaluationDataset, Golden
from deepeval.test_case import RetrievedContextData
from deepeval.test_run.api import LLMApiTestCase
from deepeval.test_run.test_run import TestRun as Run

from noisesense.fixtures import reference_examples
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import Row

EXAMPLES = reference_examples()


def rows_of(path: Path) -> list[Row]:
    rows = [row for row in read_rows(path) if isinstance(row, Row)]
    keys = [row.sample.key for row in rows if row.sample]
    assert keys == [example.sample.key for example in EXAMPLES]
    return rows


@pytest.mark.parametrize("kind", ["json", "csv", "jsonl"])
def test_saved_datasets(kind: Literal["json", "csv", "jsonl"], tmp_path: Path) -> None:
    goldens = []
    for example in EXAMPLES:
        contexts: list[Any] = [chunk.text for chunk in example.sample.retrieved_contexts]
        contexts[0] = RetrievedContextData(source="a.md", context=contexts[0])
        golden = Golden(
            input=example.sample.user_input,
            actual_output=example.sample.response,
            expected_output=example.sample.reference,
            retrieval_context=contexts,
        )
        goldens.append(golden)
    EvaluationDataset(goldens=goldens).save_as(kind, str(tmp_path), "saved")
    for row in rows_of(tmp_path / f"saved.{kind}"):
        assert [chunk.id for chunk in row.sample.retrieved_contexts][:2] in (
            ["a.md", None],
            ["a.md"],
        )


def test_test_runs(tmp_path: Path) -> None:
    cases = [
        LLMApiTestCase(
            name=f"test_case_{i}",
            input=example.sample.user_input,
            actualOutput=example.sample.response,
            expectedOutput=example.sample.reference,
            retrievalContext=[chunk.text for chunk in example.sample.retrieved_contexts],
            success=True,
            metricsData=[],
            order=i,
        )
        for i, example in enumerate(EXAMPLES)
    ]
    with (tmp_path / "run.json").open("w", encoding="utf-8") as file:
        Run(testPassed=0, testFailed=0, testCases=cases).save(file)
    assert [row.id for row in rows_of(tmp_path / "run.json")][:2] == ["test_case_0", "test_case_1"]
