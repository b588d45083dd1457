"""Chunks as people really have them, after public reports: their texts, names and labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noisesense import Result
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.score import score_rows
from support.mill import MillJudge

ADA = "Ada built the mill in 1902."
FIRE = "The old mill burned in 1931."
ROW: dict[str, Any] = {
    "question": "Who built the mill?",
    "answer": "Ada built the mill. It burned in 1931.",
    "ground_truth": ADA,
    "contexts": [ADA, FIRE],
}


def results(path: Path, content: Any, **options: Any) -> list[Result]:
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return score_rows(list(read_rows(path, **options)), MillJudge())


def row(**changes: Any) -> dict[str, Any]:
    return {**ROW, **changes}


HEAD = "question,answer,ground_truth,contexts\n"
CELLS = "Who built the mill?,Ada built the mill. It burned in 1931.,Ada built the mill in 1902."


def test_a_row_with_more_texts_does_not_spoil_the_others(tmp_path: Path) -> None:
    """Three rows of one text, and then one of two, as numpy prints them."""
    ones = "".join(f"Q{n}?,{ADA},{ADA},['{ADA}']\n" for n in range(3))
    found = results(tmp_path / "d.csv", f"{HEAD}{ones}{CELLS},['{ADA}' '{FIRE}']\n")
    assert [len(result.sample.retrieved_contexts) for result in found if result.sample] == [
        *(1, 1, 1, 2)
    ]


@pytest.mark.parametrize(
    ("chunk", "name"),
    [
        ({"document_id": "mill.pdf", "text": ADA}, "mill.pdf"),
        ({"title": "Mill", "text": ADA}, "Mill"),
        ({"metadata": {"file_name": "mill.pdf"}, "text": ADA}, "mill.pdf"),
        ({"node": {"id_": "n1", "text": ADA, "metadata": {"file_name": "mill.pdf"}}}, "mill.pdf"),
        ({"content": {"text": ADA}, "location": {"s3Location": {"uri": "s3://b/m"}}}, "s3://b/m"),
        (
            {"id": ["x"], "kwargs": {"page_content": ADA, "metadata": {"source": "m"}}},
            "m",
        ),
        (["Mill", [ADA]], "Mill"),
    ],
)
def test_the_name_of_a_chunks_document_is_found_as_tools_store_it(
    chunk: Any, name: str, tmp_path: Path
) -> None:
    (result,) = results(tmp_path / "d.json", [row(contexts=[chunk])])
    assert result.sample is not None
    assert [(each.text, each.id) for each in result.sample.retrieved_contexts] == [(ADA, name)]


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({"Relevant": True}, True),
        ({"is_relevant": "no"}, False),
        ({"isRelevant": 1}, True),
        ({"metadata": {"relevant": "TRUE"}}, True),
        ({"is_supporting": False}, False),  # MuSiQue
        ({"relevance": True}, True),
        ({"relevance": 0.83}, None),  # a score
        ({"relevance_score": 1}, None),
        ({"relevant": ""}, None),
    ],
)
def test_labels_are_read_under_other_names_and_scores_are_none(
    fields: dict[str, Any], label: Any, tmp_path: Path
) -> None:
    (result,) = results(tmp_path / "d.json", [row(contexts=[{"text": ADA, **fields}])])
    assert result.sample is not None
    assert result.sample.retrieved_contexts[0].relevant is label
