"""What is proposed where names do not settle it: the only place of which the words speak."""

from __future__ import annotations

from typing import Any

import pytest

from noisesense_adapters.reading.propose import propose

ROW = {"question": "Who built it?", "answer": "Ada did.", "gold": "It was Ada."}
CHUNKS = ["Ada built it.", "It burned."]
WHOLE = {"reference": "gold", "user_input": "question", "response": "answer"}
# What stands in a row beside a question, an answer and a gold answer; and the columns.
BESIDE: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "a count of tokens": (
        {"output_tokens": 31, "contexts": CHUNKS},
        {**WHOLE, "retrieved_contexts": "contexts"},
    ),
    "a prediction: which of the two is judged?": (
        {"prediction": "Bob did.", "contexts": CHUNKS},
        {"reference": "gold", "user_input": "question", "retrieved_contexts": "contexts"},
    ),
    "a list under any name": ({"found": CHUNKS}, {**WHOLE, "retrieved_contexts": "found"}),
    "tags": ({"tags": ["mill", "history"]}, WHOLE),
    "two lists": ({"bm25": CHUNKS, "dense": CHUNKS[1:]}, WHOLE),
    "a list in one of several objects": (
        {"spans": [{"name": "rag"}, {"x.y": CHUNKS}]},
        {**WHOLE, "retrieved_contexts": 'spans.1."x.y"'},
    ),
    "the contexts of the gold answer": (
        {"reference_contexts": ["An old mill."], "contexts": CHUNKS},
        {**WHOLE, "retrieved_contexts": "contexts"},
    ),
}


@pytest.mark.parametrize("name", BESIDE)
def test_columns(name: str) -> None:
    beside, columns = BESIDE[name]
    proposal = propose([{**ROW, **beside}], {}, {})
    assert proposal.columns == columns
    assert proposal.is_whole is (len(columns) == 4)


def test_an_answer_beside_a_prediction_is_the_gold_one() -> None:
    row = {"question": "Who built it?", "answer": "Ada.", "prediction": "Bob did."}
    columns = propose([{**row, "contexts": CHUNKS}], {}, {}).columns
    assert (columns["reference"], columns["response"]) == ("answer", "prediction")


def test_a_list_that_is_empty_in_the_first_row() -> None:
    row = {"question": "Who built it?", "response": "Ada did.", "gold": "Ada."}
    rows = [{**row, "found": []}, {**row, "found": CHUNKS}]
    assert propose(rows, {}, {}).columns["retrieved_contexts"] == "found"


@pytest.mark.parametrize(
    ("cell", "separator"),
    [("a b | c d", " | "), ("a b ||| c d", " ||| "), ("a b|c d", "|"), ("a | b || c d", None)],
)
def test_bars_between_chunks(cell: str, separator: str | None) -> None:
    """Two kinds of bars do not tell which of them stand between chunks."""
    proposal = propose([{**ROW, "contexts": cell}], {}, {})
    assert proposal.is_whole is (separator is not None)
    assert not separator or proposal.separator == separator
