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
    "names of files": ({"docs": ["an old plan.pdf", "a new plan.pdf"]}, WHOLE),
    "a name for each": (
        {"Passage 1": CHUNKS[0], "Passage 2": CHUNKS[1], "Source 1": "a b.pdf", "Source 2": "c"},
        {
            **WHOLE,
            "retrieved_contexts": "Passage 1,Passage 2",
            "retrieved_context_ids": "Source 1,Source 2",
        },
    ),
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
def test_a_column_is_proposed_only_where_no_other_could_be_meant(name: str) -> None:
    beside, columns = BESIDE[name]
    proposal = propose([{**ROW, **beside}], {})
    assert proposal.columns == columns
    assert proposal.is_whole is (len(columns) >= 4)


def test_an_answer_beside_a_prediction_is_the_gold_one() -> None:
    row = {"question": "Who built it?", "answer": "Ada.", "prediction": "Bob did."}
    columns = propose([{**row, "contexts": CHUNKS}], {}).columns
    assert (columns["reference"], columns["response"]) == ("answer", "prediction")


def test_a_list_that_is_empty_in_the_first_row() -> None:
    row = {"question": "Who built it?", "response": "Ada did.", "gold": "Ada."}
    rows = [{**row, "found": []}, {**row, "found": CHUNKS}]
    assert propose(rows, {}).columns["retrieved_contexts"] == "found"


@pytest.mark.parametrize(
    ("cell", "separator"),
    [
        ("a b\n---\nc d", "\n---\n"),
        ("a b | c d", "|"),
        ("a b ||| c d", "|||"),
        ("a b|c d", "|"),
        ("a b | b c || c d", "||"),
    ],
)
def test_the_longest_bars_in_a_cell_are_proposed_as_separator(cell: str, separator: str) -> None:
    assert propose([{**ROW, "contexts": cell}], {}).separator == separator


@pytest.mark.parametrize("cell", ["a b<br>c d", "a b\n\nc d", "1. a b; 2. c d", "a b\tc d"])
def test_marks_that_may_stand_in_chunks_propose_nothing(cell: str) -> None:
    assert not propose([{**ROW, "contexts": cell}], {}).is_whole


def test_bars_in_few_cells_stand_in_chunks() -> None:
    cells = ["a b | c d", "one", "two", "three"]
    proposal = propose([{**ROW, "question": cell, "context": cell} for cell in cells], {})
    assert proposal.separator is None
    assert proposal.columns["retrieved_contexts"] == "context,"


def test_no_part_of_a_response_is_the_gold_answer() -> None:
    row = {"outputs": {"response": "Ada did.", "draft": {"answer": "Bob."}, "contexts": CHUNKS}}
    assert "reference" not in propose([row], {}).columns


@pytest.mark.parametrize("name", ["messages", "history", "expected_contexts", "search_queries"])
def test_lists_whose_names_speak_of_something_else_hold_no_chunks(name: str) -> None:
    assert propose([{**ROW, name: CHUNKS}], {}).columns == WHOLE


def test_rows_of_one_question_may_hold_a_chunk_each() -> None:
    rows = [{**ROW, "chunk": chunk} for chunk in CHUNKS]
    assert not propose(rows, {}).is_whole
    assert propose([rows[0], {**rows[1], "question": "When?"}], {}).is_whole


def test_what_names_settle_is_shown_beside_what_is_proposed() -> None:
    row = {"answer": "Ada did.", "raw_answer": "Ada", "gold": "Ada.", "contexts": CHUNKS}
    proposal = propose([row], {})
    assert proposal.is_whole
    assert "response" not in proposal.columns
    assert "  response = answer: 'Ada did.'" in proposal.values


def test_what_is_missing_is_a_gap_beside_what_was_found() -> None:
    proposal = propose([{"Ticket": 7, "wording": "Ada did.", "found": CHUNKS}], {})
    *values, lead, options = proposal.lines(["score", "my.csv"])
    found, asked = values
    assert found == "  retrieved_contexts = found: 2 chunks, the first 'Ada built it.'"
    assert "--map user_input=COLUMN" in asked
    assert lead.startswith("Name each COLUMN")
    gaps = "  --map response=COLUMN --map reference=COLUMN"
    assert options == f"{gaps} --map retrieved_contexts=found"
