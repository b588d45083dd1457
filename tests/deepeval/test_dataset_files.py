"""The files DeepEval writes are read by `noisesense_adapters.datasets.read`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from deepeval.dataset import EvaluationDataset, Golden
from deepeval.test_case import RetrievedContextData
from deepeval.test_run.api import LLMApiTestCase
from deepeval.test_run.test_run import TestRun as Run

from noisesense import write_recording
from noisesense.fixtures import reference_examples
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import Row
from noisesense_adapters.datasets.score import score_dataset

EXAMPLES = reference_examples()


def golden(example: Any) -> Golden:
    sample = example.sample
    return Golden(
        input=sample.user_input,
        actual_output=sample.response,
        expected_output=sample.reference,
        retrieval_context=[chunk.text for chunk in sample.retrieved_contexts],
    )


@pytest.mark.parametrize("kind", ["json", "csv", "jsonl"])
def test_saved_datasets(kind: Literal["json", "csv", "jsonl"], tmp_path: Path) -> None:
    EvaluationDataset(goldens=[golden(example) for example in EXAMPLES]).save_as(
        kind, str(tmp_path), "saved"
    )
    recording = tmp_path / "recording.jsonl"
    write_recording(recording, ((example.sample, example.verdicts) for example in EXAMPLES))
    summary = score_dataset(tmp_path / f"saved.{kind}", verdicts=recording)

    assert (summary.scored, summary.failed) == (len(EXAMPLES), 0)
    assert summary.relevant is not None
    # 0.5, 0, 1/3, 1/3 and twice 0.
    assert summary.relevant.mean.value == pytest.approx(7 / 36, abs=1e-12)


@pytest.mark.parametrize("kind", ["json", "csv", "jsonl"])
def test_sources_of_chunks(kind: Literal["json", "csv", "jsonl"], tmp_path: Path) -> None:
    one = golden(EXAMPLES[1])
    assert one.retrieval_context is not None
    one.retrieval_context = [
        RetrievedContextData(source="a.md", context=str(one.retrieval_context[0])),
        one.retrieval_context[1],
    ]
    EvaluationDataset(goldens=[one]).save_as(kind, str(tmp_path), "saved")
    (row,) = read_rows(tmp_path / f"saved.{kind}")

    assert isinstance(row, Row), row.error
    assert row.sample is not None
    assert row.sample.key == EXAMPLES[1].sample.key
    assert [chunk.id for chunk in row.sample.retrieved_contexts] == ["a.md", None]


def test_test_runs(tmp_path: Path) -> None:
    run = Run(
        testPassed=0,
        testFailed=0,
        testCases=[
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
        ],
    )
    path = tmp_path / "run.json"
    with path.open("w", encoding="utf-8") as file:
        run.save(file)
    assert "testCases" in json.loads(path.read_text(encoding="utf-8"))

    for row, example in zip(read_rows(path), EXAMPLES, strict=True):
        assert isinstance(row, Row), row.error
        assert row.sample is not None
        assert row.sample.key == example.sample.key
    assert [row.id for row in read_rows(path)][:2] == ["test_case_0", "test_case_1"]
