"""The files DeepEval writes are read by `noisesense_adapters.datasets.read`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from deepeval.dataset import EvaluationDataset, Golden
from deepeval.test_case import RetrievedContextData
from deepeval.test_run.api import LLMApiTestCase
from deepeval.test_run.test_run import TestRun as Run

from noisesense.fixtures import ReferenceExample, reference_examples
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import Row

EXAMPLES = reference_examples()


def texts_of(example: ReferenceExample) -> tuple[tuple[str, str, str], list[str]]:
    sample = example.sample
    texts = (sample.user_input, sample.response, sample.reference)
    return texts, [chunk.text for chunk in sample.retrieved_contexts]


def rows_of(path: Path, **columns: str) -> list[Row]:
    rows = [row for row in read_rows(path, columns, guess=True) if isinstance(row, Row)]
    keys = [row.sample.key for row in rows if row.sample]
    assert keys == [example.sample.key for example in EXAMPLES]
    return rows


@pytest.mark.parametrize("kind", ["json", "csv", "jsonl"])
def test_saved_datasets(kind: Literal["json", "csv", "jsonl"], tmp_path: Path) -> None:
    goldens = []
    for texts, contexts in map(texts_of, EXAMPLES):
        first = RetrievedContextData(source="a.md", context=contexts[0])
        retrieved: list[Any] = [first, *contexts[1:]]
        given = dict(zip(("input", "actual_output", "expected_output"), texts, strict=True))
        goldens.append(Golden(retrieval_context=retrieved, **given))
    EvaluationDataset(goldens=goldens).save_as(kind, str(tmp_path), "saved")
    for row in rows_of(tmp_path / f"saved.{kind}"):
        ids = [chunk.id for chunk in row.sample.retrieved_contexts]
        assert ids == ["a.md", *[None] * (len(ids) - 1)]


def test_test_runs(tmp_path: Path) -> None:
    cases = []
    for i, (texts, contexts) in enumerate(map(texts_of, EXAMPLES)):
        given = dict(zip(("input", "actualOutput", "expectedOutput"), texts, strict=True))
        done: Any = {"name": f"test_case_{i}", "success": True, "metricsData": [], "order": i}
        cases.append(LLMApiTestCase(retrievalContext=contexts, **given, **done))
    with (tmp_path / "run.json").open("w", encoding="utf-8") as file:
        Run(testPassed=0, testFailed=0, testCases=cases).save(file)
    rows = rows_of(tmp_path / "run.json", id="name")
    assert [row.id for row in rows][:2] == ["test_case_0", "test_case_1"]
