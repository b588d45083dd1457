"""Every kind of file gives the same samples and the same figures."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from noisesense import Sample, score
from noisesense.errors import InputError
from noisesense.fixtures import reference_examples
from noisesense.scoring.definitions import DefinitionName
from noisesense_adapters.datasets.files import count_rows
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.results import results_of
from noisesense_adapters.datasets.rows import BadRow, Row
from support.datasets import WRITERS, rows, write_jsonl
from support.tables import random_pairs

EXAMPLES = reference_examples()
PAIRS = [(example.sample, example.verdicts) for example in EXAMPLES]
DEFINITIONS: tuple[DefinitionName, ...] = ("ragas", "paper", "promptfoo", "validmind")


def write(kind: str, folder: Path, pairs: Any = PAIRS) -> Path:
    name, writer = WRITERS[kind]
    writer(folder / name, pairs)
    return folder / name


@pytest.mark.parametrize("kind", WRITERS)
def test_reference_examples_give_the_documented_figures(kind: str, tmp_path: Path) -> None:
    path = write(kind, tmp_path)
    for definition in DEFINITIONS:
        found = list(results_of(path, definition=definition))
        assert [result.error for result in found] == [None] * len(EXAMPLES)
        for result, example in zip(found, EXAMPLES, strict=True):
            assert result.score is not None
            assert (result.score.relevant, result.score.irrelevant) == pytest.approx(
                example.expected[definition], abs=1e-12
            )


@pytest.mark.parametrize("kind", WRITERS)
def test_texts_are_the_same(kind: str, tmp_path: Path) -> None:
    found = list(read_rows(write(kind, tmp_path)))
    assert not any(isinstance(row, BadRow) for row in found)
    keys = [row.sample.key for row in found if isinstance(row, Row) and row.sample]
    assert keys == [sample.key for sample, _ in PAIRS]


@pytest.mark.parametrize("kind", [kind for kind in WRITERS if kind != "RAGChecker"])
def test_verdicts_are_the_same(kind: str, tmp_path: Path) -> None:
    """With undetermined cells and labels; nulls a table fills in mean nothing."""
    pairs = list(random_pairs(40, seed=3_000))
    for row, (sample, verdicts) in zip(
        read_rows(write(kind, tmp_path, pairs)), pairs, strict=True
    ):
        assert isinstance(row, Row)
        assert row.verdicts == verdicts.beside(sample)


@pytest.mark.parametrize("kind", WRITERS)
def test_rows_are_counted_where_that_is_cheap(kind: str, tmp_path: Path) -> None:
    known = {"JSON, DeepEval", "RAGChecker"}
    assert count_rows(write(kind, tmp_path)) == (None if kind in known else len(EXAMPLES))


@pytest.mark.parametrize(
    "kind",
    [
        "JSON lines",
        *(pytest.param(kind, marks=pytest.mark.broad) for kind in ("CSV", "Parquet")),
    ],
)
def test_memory_does_not_grow_with_the_file(kind: str, tmp_path: Path) -> None:
    sample, verdicts = PAIRS[0]
    # 12 MB of texts; tables are read by so many rows at once.
    rows = 1_200 if kind == "JSON lines" else 6_000
    long = Sample.model_validate(
        {**sample.model_dump(), "user_input": "why? " * (2_400_000 // rows)}
    )
    path = write(kind, tmp_path, [(long, verdicts)] * rows)
    next(read_rows(path))  # what is imported only now is not counted
    tracemalloc.start()
    try:
        assert sum(isinstance(row, Row) for row in read_rows(path)) == rows
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_refused_as_it_can_be_read_only_once(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe.jsonl")
    with pytest.raises(InputError, match="a readable file, got something else"):
        read_rows(pipe)


def test_ids_and_clusters_of_known_columns(tmp_path: Path) -> None:
    (row,) = rows(PAIRS[:1])
    path = write_jsonl(tmp_path / "d.jsonl", [{**row, "id": 17, "cluster": "doc-4"}])
    (found,) = read_rows(path)
    assert isinstance(found, Row)
    assert (found.id, found.cluster) == ("17", "doc-4")


def test_without_a_name_the_content_is_the_name(tmp_path: Path) -> None:
    """Two versions of a dataset in another order are then not paired by their row numbers."""
    (found,) = read_rows(write_jsonl(tmp_path / "d.jsonl", rows(PAIRS[:1])))
    assert found.id == PAIRS[0][0].key


CHUNKS: dict[str, tuple[Any, dict[str, Any]]] = {
    "text": ("a", {"text": "a"}),
    "ours": (
        {"text": "a", "relevant": False, "id": "d"},
        {"text": "a", "relevant": False, "id": "d"},
    ),
    "RAGChecker": ({"doc_id": 7, "text": "a"}, {"text": "a", "id": "7"}),
    "DeepEval": ({"context": "a", "source": "s.md"}, {"text": "a", "id": "s.md"}),
    "DeepEval's marker": (
        "deepeval_source=s.md,deepeval_context=a",
        {"text": "a", "id": "s.md"},
    ),
    "LangChain": ({"page_content": "a", "metadata": {"k": 1}, "id": None}, {"text": "a"}),
    "a score beside it": ({"text": "a", "score": 0.7}, {"text": "a"}),
}


@pytest.mark.parametrize("form", CHUNKS)
def test_chunks_in_the_forms_of_frameworks(form: str, tmp_path: Path) -> None:
    given, expected = CHUNKS[form]
    (row,) = rows(PAIRS[:1])
    line = {**row, "retrieved_contexts": [given], "verdicts": None}
    (found,) = read_rows(write_jsonl(tmp_path / "d.jsonl", [line]))
    assert isinstance(found, Row), found
    assert found.sample is not None
    (chunk,) = found.sample.retrieved_contexts
    assert chunk.model_dump(exclude_none=True) == expected


@pytest.mark.parametrize(
    "wrap",
    [
        lambda lines: {"testCases": lines},
        lambda lines: {"testRunData": {"testCases": lines}},
        lambda lines: {"results": {"results": lines}},
        lambda lines: {"data": lines},
        lambda lines: [lines],
    ],
)
def test_documents_that_wrap_their_rows(wrap: Any, tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps(wrap(rows(PAIRS))), encoding="utf-8")
    assert len(list(read_rows(path))) == len(PAIRS)


def test_labels_and_score_survive_a_round_trip_through_both_kinds_of_results(
    tmp_path: Path,
) -> None:
    first = write("results", tmp_path, list(random_pairs(40, seed=5_000)))
    second = write("results, Parquet", tmp_path, list(random_pairs(40, seed=5_000)))
    for left, right in zip(results_of(first), results_of(second), strict=True):
        assert left == right
        assert left.score is not None
        assert score(left.score.verdicts) == left.score
