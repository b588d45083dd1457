"""The same samples and verdicts as files of every kind that is read."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from noisesense import Result, Sample, Verdicts, score, write_recording, write_results

Pairs = Iterable[tuple[Sample, Verdicts]]
_NAMES = ("user_input", "response", "reference", "retrieved_contexts")
_OLD = ("question", "answer", "ground_truth", "contexts")
_DEEPEVAL = ("input", "actual_output", "expected_output", "retrieval_context")


def rows(pairs: Pairs, names: Iterable[str] = _NAMES) -> list[dict[str, Any]]:
    """A row a sample with a column of verdicts, in which the chunks' labels are."""
    found: list[dict[str, Any]] = []
    for sample, verdicts in pairs:
        fields = {
            **sample.model_dump(mode="json"),
            "retrieved_contexts": [chunk.text for chunk in sample.retrieved_contexts],
        }
        row = dict(zip(names, (fields[name] for name in _NAMES), strict=True))
        found.append({**row, "verdicts": verdicts.with_sample(sample).model_dump(mode="json")})
    return found


def write_jsonl(path: Path, lines: Iterable[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def _results(path: Path, pairs: Pairs) -> None:
    found = (
        Result(str(i), score(verdicts.with_sample(sample)), sample=sample)
        for i, (sample, verdicts) in enumerate(pairs)
    )
    write_results(path, found)


def _results_parquet(path: Path, pairs: Pairs) -> None:
    lines = path.with_suffix(".jsonl")
    _results(lines, pairs)
    import pyarrow.json  # not here, where the core is tested without it
    import pyarrow.parquet as pq

    pq.write_table(pyarrow.json.read_json(lines), path)


def _csv(path: Path, lines: list[dict[str, Any]], written: Callable[[Any], str]) -> None:
    delimiter = "\t" if path.suffix == ".tsv" else ","
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), delimiter=delimiter)
        writer.writeheader()
        for line in lines:
            cells = {k: v if isinstance(v, str) else written(v) for k, v in line.items()}
            writer.writerow(cells)


def _parquet(path: Path, pairs: Pairs) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows(pairs)), path)


def _document(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data), encoding="utf-8")


WRITERS: dict[str, tuple[str, Callable[[Path, Pairs], object]]] = {
    "recording": ("recording.jsonl", write_recording),
    "results": ("results.jsonl", _results),
    "results, Parquet": ("results.parquet", _results_parquet),
    "JSON lines": ("rows.jsonl", lambda path, pairs: write_jsonl(path, rows(pairs))),
    "JSON lines, ragas 0.1": (
        "old.jsonl",
        lambda path, pairs: write_jsonl(path, rows(pairs, _OLD)),
    ),
    "JSON, DeepEval": ("rows.json", lambda path, pairs: _document(path, rows(pairs, _DEEPEVAL))),
    "CSV": ("rows.csv", lambda path, pairs: _csv(path, rows(pairs), json.dumps)),
    "CSV, as pandas writes lists": ("p.csv", lambda path, pairs: _csv(path, rows(pairs), repr)),
    "TSV": ("rows.tsv", lambda path, pairs: _csv(path, rows(pairs), json.dumps)),
    "Parquet": ("rows.parquet", _parquet),
}
"""By kind: the name of the file or folder, and what writes it."""
