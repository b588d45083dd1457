"""The files ragas writes are read by `noisesense_adapters.datasets.read`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ragas import EvaluationDataset, SingleTurnSample

from noisesense import write_recording
from noisesense.fixtures import reference_examples
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.score import score_dataset
from support.ragas_peer import ragas_row

EXAMPLES = reference_examples()
WRITERS: dict[str, Callable[[EvaluationDataset, Path], Any]] = {
    "rows.jsonl": lambda dataset, path: dataset.to_jsonl(str(path)),
    "rows.csv": lambda dataset, path: dataset.to_csv(str(path)),
    "pandas.csv": lambda dataset, path: dataset.to_pandas().to_csv(path, index=False),
    "rows.parquet": lambda dataset, path: dataset.to_pandas().to_parquet(path),
    "hub.parquet": lambda dataset, path: dataset.to_hf_dataset().to_parquet(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_datasets(name: str, tmp_path: Path) -> None:
    samples = [SingleTurnSample(**ragas_row(example.sample)) for example in EXAMPLES]
    WRITERS[name](EvaluationDataset(samples=samples), tmp_path / name)
    recording = tmp_path / "recording.jsonl"
    write_recording(recording, ((example.sample, example.verdicts) for example in EXAMPLES))
    summary = score_dataset(tmp_path / name, verdicts=recording)

    assert summary.scored == len(EXAMPLES)
    assert summary.failed == 0
    # 0.5, 0, 1/3, 1/3 and twice 0.
    assert summary.relevant.mean.value == pytest.approx(7 / 36, abs=1e-12)


@pytest.mark.parametrize("name", WRITERS)
def test_the_documents_keep_their_names(name: str, tmp_path: Path) -> None:
    """ragas' own field was left out of every file, without a word."""
    wanted = [["a.md", "b.md"], ["7", "8"]]
    ids: list[list[Any]] = [["a.md", "b.md"], ["7", "8"]]
    if name.endswith((".jsonl", ".csv")):  # a column of Parquet has one type
        ids[1] = [7, 8]
    sample = EXAMPLES[1].sample  # of two contexts
    rows = [
        SingleTurnSample(**{**ragas_row(sample), "retrieved_context_ids": names}) for names in ids
    ]
    WRITERS[name](EvaluationDataset(samples=rows), tmp_path / name)
    found = [
        [chunk.id for chunk in row.sample.retrieved_contexts] for row in read_rows(tmp_path / name)
    ]  # type: ignore[union-attr]
    assert found == wanted
