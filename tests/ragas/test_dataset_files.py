"""The files ragas writes are read by `noisesense_adapters.datasets.read`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ragas import EvaluationDataset, SingleTurnSample

from noisesense import write_recording
from noisesense.fixtures import reference_examples
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

    assert (summary.scored, summary.failed) == (len(EXAMPLES), 0)
    # 0.5, 0, 1/3, 1/3 and twice 0.
    assert summary.relevant.mean.value == pytest.approx(7 / 36, abs=1e-12)
