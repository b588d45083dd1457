"""RAGChecker's files read as verdicts, and its figures reproduced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noisesense import InputError, Result, Sample, Verdicts, read_recording, score, write_recording
from noisesense_adapters.ragchecker import (
    CheckedResult,
    ragchecker_aggregates,
    read_checking_outputs,
    read_result,
)
from support.published import ragchecker_examples
from support.ragchecker_formula import as_labels, noise_sensitivity_of_labels
from support.tables import random_pairs

RESULT: dict[str, Any] = {
    "query_id": "7",
    "query": "Where does the Nile end?",
    "gt_answer": "In the Mediterranean.",
    "response": "It ends in the Red Sea. It is long.",
    "retrieved_context": [
        {"doc_id": "a", "text": "The Nile ends in the Red Sea and is long."},
        {"doc_id": "b", "text": "The Nile ends in the Mediterranean."},
    ],
    "response_claims": [["The Nile", "ends in", "the Red Sea"], "The Nile is long"],
    "gt_answer_claims": [["The Nile", "ends in", "the Mediterranean"]],
    "answer2response": ["Contradiction", "Neutral"],
    "response2answer": ["Neutral"],
    "retrieved2response": [["Entailment", "Contradiction"], ["Entailment", "Neutral"]],
    "retrieved2answer": [["Contradiction", "Entailment"]],
    "metrics": {"noise_sensitivity_in_irrelevant": 1.0},
}


NONE: dict[str, Any] = {"answer2response": [], "retrieved2response": []}
SENSITIVITY = ("noise_sensitivity_in_relevant", "noise_sensitivity_in_irrelevant")
AGGREGATES = ("precision", "hallucination", *SENSITIVITY)


def _read(data: Any, folder: Path) -> list[CheckedResult]:
    path = folder / "outputs.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return read_checking_outputs(path)


def _of(sample: Sample, verdicts: Verdicts) -> dict[str, Any]:
    return {
        **{"query_id": None, "query": sample.user_input, "response": sample.response},
        "gt_answer": sample.reference,
        "retrieved_context": [{"text": chunk.text} for chunk in sample.retrieved_contexts],
        "response_claims": [claim.text for claim in verdicts.response_claims],
        "gt_answer_claims": [claim.text for claim in verdicts.reference_claims],
        **as_labels(verdicts.to_matrices())._asdict(),
    }


def test_texts_claims_and_labels(tmp_path: Path) -> None:
    (result,) = _read({"results": [RESULT]}, tmp_path)
    sample = result.sample
    verdicts = result.verdicts
    assert result.query_id == "7"
    assert sample.user_input == "Where does the Nile end?"
    assert sample.reference == "In the Mediterranean."
    assert [chunk.id for chunk in sample.retrieved_contexts] == ["a", "b"]
    assert verdicts.chunks == sample.retrieved_contexts
    claims = [claim.text for claim in verdicts.response_claims]
    assert claims == ["The Nile ends in the Red Sea", "The Nile is long"]
    # Only "Entailment" is a yes: both claims are wrong, both come from the first chunk, and
    # only the second chunk holds the answer.
    assert verdicts.to_matrices() == {
        "reference_to_response": [False, False],
        "chunks_to_response": [[True, False], [True, False]],
        "chunks_to_reference": [[False, True]],
        "relevant": [None, None],
    }
    assert score(verdicts).irrelevant == result.metrics["noise_sensitivity_in_irrelevant"]


def test_published_figures() -> None:
    for example in ragchecker_examples():
        chunks: Any = [f"chunk {j}" for j in range(example.verdicts.chunk_count)]
        sample = Sample(user_input="", response="r", reference="a", retrieved_contexts=chunks)
        data = _of(sample, example.verdicts)
        result = read_result({**data, "metrics": example.expected})
        assert result.verdicts.to_matrices() == example.verdicts.to_matrices()
        found = ragchecker_aggregates([score(result.verdicts)])
        assert found == {name: round(result.metrics[name] * 100, 1) for name in AGGREGATES}


def test_empty_zero_is_its_convention_on_random_tables(tmp_path: Path) -> None:
    pairs = list(random_pairs(300, seed=40_000))
    results = _read({"results": [_of(*pair) for pair in pairs]}, tmp_path)
    # They make a recording, too.
    written = [(each.sample, each.verdicts) for each in results if each.sample]
    write_recording(tmp_path / "recording.jsonl", written)
    recorded = read_recording(tmp_path / "recording.jsonl")
    assert [(each.sample, each.verdicts) for each in recorded] == pairs
    for (sample, verdicts), result in zip(pairs, results, strict=True):
        assert result.sample == sample
        assert result.verdicts == verdicts
        ours = score(result.verdicts, empty="zero")
        theirs = noise_sensitivity_of_labels(as_labels(verdicts.to_matrices()))
        assert (ours.relevant, ours.irrelevant) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda rows: {"results": rows, "metrics": {}},
        lambda rows: {"results": {"results": rows}},
        lambda rows: {"results": [rows]},
        lambda rows: rows,
    ],
)
def test_forms_in_the_wild(wrap: Any, tmp_path: Path) -> None:
    results = _read(wrap([RESULT, {**RESULT, "query_id": None}]), tmp_path)
    assert [result.query_id for result in results] == ["7", "1"]
    assert _read(wrap([]), tmp_path) == []


@pytest.mark.parametrize(
    "rows", [None, [], [[], []], [None, []], [[None, ""], [[], None]]], ids=str
)
def test_a_missing_label_is_undetermined_not_neutral(rows: Any) -> None:
    result = score(read_result({**RESULT, "retrieved2response": rows}).verdicts)
    assert result.irrelevant is None
    assert result.bounds("irrelevant") == (0.0, 1.0)


def test_a_judge_that_failed_throughout_gets_no_score() -> None:
    fields = ("answer2response", "retrieved2response", "retrieved2answer")
    result = score(read_result({**RESULT, **dict.fromkeys(fields)}).verdicts)
    # RAGChecker pads with Neutral and calls the same generator perfect.
    assert result.relevant is None
    assert result.irrelevant is None
    assert result.partition.undetermined == 2


def test_a_short_row_leaves_only_its_end_open() -> None:
    # Claim 0: entailed by the irrelevant chunk, open whether by the relevant one too.
    # Claim 1: has all its labels. So the irrelevant mode counts one claim or both.
    rows = [["Entailment"], ["Entailment", "Neutral"]]
    result = score(read_result({**RESULT, "retrieved2response": rows}).verdicts)
    assert result.irrelevant is None
    assert result.bounds("irrelevant") == (0.5, 1.0)
    assert result.bounds("relevant") == (0.0, 0.5)


def test_labels_of_segments_are_merged() -> None:
    rows = [[["Neutral", "Entailment"], []], [["Neutral", None], ["Neutral", "Contradiction"]]]
    result = read_result({**RESULT, "retrieved2response": rows})
    assert result.verdicts.to_matrices()["chunks_to_response"] == [[True, None], [None, False]]


@pytest.mark.parametrize("rows", [[], [[]], [[], []], None])
def test_no_claims(rows: Any) -> None:
    none = {**RESULT, "answer2response": [], "retrieved2response": rows}
    for empty in ([], [[]]):
        result = read_result({**none, "response_claims": empty})
        assert score(result.verdicts).relevant is None
        assert score(result.verdicts, empty="zero").relevant == 0.0


def test_aggregates_are_as_ragchecker_prints_them() -> None:
    """A sample without claims counts as 0, one that failed not at all."""
    wrong = read_result(RESULT)
    empty = read_result({**RESULT, "response_claims": [[]]} | NONE)
    results = [score(each.verdicts) for each in (wrong, wrong, empty)]
    found = ragchecker_aggregates([*results, Result("failed", error="no reply")])
    assert found == dict(zip(AGGREGATES, (0.0, 0.0, 0.0, 66.7), strict=True))
    with pytest.raises(InputError, match="definition='ragas'"):
        ragchecker_aggregates([score(wrong.verdicts, definition="paper")])
    with pytest.raises(InputError, match="at least one scored sample"):
        ragchecker_aggregates([])


@pytest.mark.parametrize("field", ["retrieved_context", "response", "gt_answer"])
def test_what_makes_no_sample_still_has_verdicts(field: str, tmp_path: Path) -> None:
    labels = {"retrieved2response": [[], []], "retrieved2answer": [[]]}
    changes = {field: [], **labels} if field == "retrieved_context" else {field: ""}
    _, result = _read([RESULT, {**RESULT, **changes}], tmp_path)
    assert result.sample is None
    assert score(result.verdicts).irrelevant == (None if "d_c" in field else 1.0)


BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"retrieved2response": [["Entailment", "Entailed"], []]},
        "retrieved2response, row 0, label 1: expected 'Entailment', 'Neutral' or "
        "'Contradiction', got 'Entailed'",
    ),
    ({"answer2response": ["Neutral"] * 3}, "answer2response: expected 2 labels"),
    ({"retrieved2answer": [["Neutral"] * 3]}, "retrieved2answer, row 0: expected 2 labels"),
    ({"response_claims": None}, "expected the field 'response_claims'"),
    ({"response_claims": [["a", 1]]}, "response_claims, claim 0: expected a text or a list"),
    (
        {"retrieved_context": [{"doc_id": 1}]},
        "retrieved_context, chunk 0: expected a chunk's text",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_bad_results(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        _read({"results": [RESULT, {**RESULT, **changes}]}, tmp_path)
    place, _, rest = str(caught.value).partition("outputs.json, result 1")
    assert place == f"{tmp_path}/"
    assert rest[2:].startswith(message)
    assert "\n" not in rest


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "expected a readable file, got No such file"),
        (b'{"results": [', "expected a JSON document, got Expecting value: line 1"),
        (b"[" * 200_000, "expected a JSON document"),
    ],
)
def test_bad_files(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "outputs.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_checking_outputs(path)
    assert f"{path}: {message}" in str(caught.value)


def test_where_nothing_was_retrieved_an_aggregate_counts_as_zero() -> None:
    """RAGChecker's convention. Of the other sample both claims are wrong, and one is invented."""
    invented = Verdicts.from_matrices([False, False], [[True], [False]], relevant=[True])
    nothing = Verdicts.from_matrices([False], [[]], relevant=[])
    found = ragchecker_aggregates([score(invented), score(nothing)])
    assert found == {
        "precision": 0.0,
        "hallucination": 25.0,
        "noise_sensitivity_in_relevant": 25.0,
        "noise_sensitivity_in_irrelevant": 0.0,
    }
