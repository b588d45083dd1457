"""RAGChecker's files read as verdicts, and its figures reproduced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noisesense import InputError, RecordedJudge, Sample, Verdicts, score, write_recording
from noisesense_adapters.ragchecker import CheckedResult, read_checking_outputs, read_result
from support.published import ragchecker_examples
from support.ragchecker_formula import as_labels, noise_sensitivity_of_labels
from support.tables import Shape, random_pairs

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


def _read(data: Any, folder: Path) -> tuple[CheckedResult, ...]:
    path = folder / "outputs.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return read_checking_outputs(path).results


def _of(sample: Sample, verdicts: Verdicts) -> dict[str, Any]:
    labels = as_labels(verdicts.to_matrices())
    return {
        "query_id": None,
        "query": sample.user_input,
        "gt_answer": sample.reference,
        "response": sample.response,
        "retrieved_context": [
            {"doc_id": None, "text": chunk.text} for chunk in sample.retrieved_contexts
        ],
        "response_claims": [claim.text for claim in verdicts.response_claims],
        "gt_answer_claims": [claim.text for claim in verdicts.reference_claims],
        **labels._asdict(),
    }


def test_texts_claims_and_labels(tmp_path: Path) -> None:
    (result,) = _read({"results": [RESULT]}, tmp_path)

    assert result.query_id == "7"
    assert result.sample is not None
    assert result.sample.user_input == "Where does the Nile end?"
    assert result.sample.reference == "In the Mediterranean."
    assert [chunk.id for chunk in result.sample.retrieved_contexts] == ["a", "b"]
    assert result.verdicts.chunks == result.sample.retrieved_contexts
    assert [claim.text for claim in result.verdicts.response_claims] == [
        "The Nile ends in the Red Sea",
        "The Nile is long",
    ]
    # Only "Entailment" is a yes: both claims are wrong, both come from the first chunk, and
    # only the second chunk holds the answer.
    assert result.verdicts.to_matrices() == {
        "reference_to_response": [False, False],
        "chunks_to_response": [[True, False], [True, False]],
        "chunks_to_reference": [[False, True]],
        "relevant": [None, None],
    }
    assert score(result.verdicts).irrelevant == result.metrics["noise_sensitivity_in_irrelevant"]


def test_published_figures() -> None:
    for example in ragchecker_examples():
        table = example.verdicts.to_matrices()
        labels = as_labels(table)
        result = read_result(
            {
                **RESULT,
                **labels._asdict(),
                "retrieved_context": [f"chunk {j}" for j in range(example.verdicts.chunk_count)],
                "response_claims": [f"claim {i}" for i in range(len(labels.answer2response))],
                "gt_answer_claims": [f"claim {g}" for g in range(len(labels.retrieved2answer))],
                "metrics": example.expected,
            }
        )
        ours, theirs = score(result.verdicts), result.metrics
        assert result.verdicts.to_matrices() == table
        assert ours.relevant == pytest.approx(theirs["noise_sensitivity_in_relevant"], abs=1e-12)
        assert ours.irrelevant == pytest.approx(
            theirs["noise_sensitivity_in_irrelevant"], abs=1e-12
        )
        assert ours.partition.share("hallucination") == pytest.approx(
            theirs["hallucination"], abs=1e-12
        )
        assert ours.partition.share("correct") == pytest.approx(theirs["precision"], abs=1e-12)


def test_empty_zero_is_its_convention_on_random_tables(tmp_path: Path) -> None:
    pairs = list(random_pairs(300, seed=40_000))
    results = _read({"results": [_of(*pair) for pair in pairs]}, tmp_path)
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
        lambda rows: [rows],
    ],
    ids=["results", "results twice", "results in a list", "a list", "a list in a list"],
)
def test_forms_in_the_wild(wrap: Any, tmp_path: Path) -> None:
    results = _read(wrap([RESULT, {**RESULT, "query_id": None}]), tmp_path)
    assert [result.query_id for result in results] == ["7", "1"]
    assert _read(wrap([]), tmp_path) == ()


@pytest.mark.parametrize(
    "missing",
    [
        {"retrieved2response": None},
        {"retrieved2response": []},
        {"retrieved2response": [[], []]},
        {"retrieved2response": [None, []]},
        {"retrieved2response": [[None, ""], [[], None]]},
    ],
)
def test_a_missing_label_is_undetermined_not_neutral(missing: dict[str, Any]) -> None:
    result = score(read_result({**RESULT, **missing}).verdicts)
    assert result.irrelevant is None
    assert result.bounds("irrelevant") == (0.0, 1.0)


def test_a_judge_that_failed_throughout_gets_no_score() -> None:
    fields = ("answer2response", "retrieved2response", "retrieved2answer")
    result = score(read_result({**RESULT, **dict.fromkeys(fields)}).verdicts)
    assert (result.relevant, result.irrelevant) == (None, None)
    assert result.partition.undetermined == 2
    # RAGChecker pads with Neutral and calls the same generator perfect.
    padded = as_labels(result.verdicts.to_matrices())
    assert noise_sensitivity_of_labels(padded) == (0.0, 0.0)


def test_a_short_row_leaves_only_its_end_open() -> None:
    # Claim 0: entailed by the irrelevant chunk, open whether by the relevant one too.
    # Claim 1: has all its labels. So the irrelevant mode counts one claim or both.
    result = score(
        read_result(
            {**RESULT, "retrieved2response": [["Entailment"], ["Entailment", "Neutral"]]}
        ).verdicts
    )
    assert (result.irrelevant, result.status("irrelevant")) == (None, "undetermined")
    assert result.counts("irrelevant") == (1, 1, 2)
    assert result.bounds("irrelevant") == (0.5, 1.0)
    assert result.bounds("relevant") == (0.0, 0.5)


def test_labels_of_segments_are_merged() -> None:
    rows = [[["Neutral", "Entailment"], []], [["Neutral", None], ["Neutral", "Contradiction"]]]
    result = read_result({**RESULT, "retrieved2response": rows})
    assert result.verdicts.to_matrices()["chunks_to_response"] == [[True, None], [None, False]]


@pytest.mark.parametrize("empty", [[], [[]]])
@pytest.mark.parametrize("rows", [[], [[]], [[], []], None])
def test_no_claims(empty: list[Any], rows: Any) -> None:
    result = read_result(
        {**RESULT, "response_claims": empty, "answer2response": [], "retrieved2response": rows}
    )
    assert score(result.verdicts).relevant is None
    assert score(result.verdicts, empty="zero").relevant == 0.0


@pytest.mark.parametrize("field", ["retrieved_context", "response", "gt_answer"])
def test_what_makes_no_sample_still_has_verdicts(field: str, tmp_path: Path) -> None:
    labels = {"retrieved2response": [[], []], "retrieved2answer": [[]]}
    changes = {field: [], **labels} if field == "retrieved_context" else {field: ""}
    path = tmp_path / "outputs.json"
    path.write_text(json.dumps([RESULT, {**RESULT, **changes}]), encoding="utf-8")
    outputs = read_checking_outputs(path)
    assert outputs.results[1].sample is None
    assert score(outputs.results[1].verdicts).irrelevant == (None if "d_c" in field else 1.0)
    with pytest.raises(ValueError, match=r"result 1 \(query_id 7\): expected a response"):
        list(outputs.pairs())


def test_round_trip_through_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "outputs.json"
    pairs = list(random_pairs(20, seed=41_000, shape=Shape(response_claims=(1, 5))))
    path.write_text(json.dumps({"results": [_of(*pair) for pair in pairs]}), encoding="utf-8")
    write_recording(tmp_path / "recording.jsonl", read_checking_outputs(path).pairs())
    judge = RecordedJudge(tmp_path / "recording.jsonl")
    assert [(sample, judge.lookup(sample)) for sample in judge.samples] == pairs


BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"retrieved2response": [["Entailment", "Entailed"], []]},
        "retrieved2response, row 0, label 1: expected 'Entailment', 'Neutral' or "
        "'Contradiction', got 'Entailed'",
    ),
    ({"answer2response": ["entailment"]}, "answer2response, label 0: expected 'Entailment'"),
    ({"answer2response": [True]}, "answer2response, label 0: expected 'Entailment'"),
    ({"answer2response": [{}]}, "answer2response, label 0: expected 'Entailment'"),
    ({"answer2response": ["Neutral"] * 3}, "answer2response: expected 2 labels"),
    ({"answer2response": "Neutral"}, "answer2response: expected a list, got 'Neutral'"),
    ({"retrieved2answer": [["Neutral"] * 2] * 2}, "retrieved2answer: expected 1 rows"),
    ({"retrieved2answer": [["Neutral"] * 3]}, "retrieved2answer, row 0: expected 2 labels"),
    ({"retrieved2response": ["Neutral"]}, "retrieved2response, row 0: expected a list"),
    ({"response_claims": None}, "expected the field 'response_claims'"),
    ({"response_claims": [["a", 1]]}, "response_claims, claim 0: expected a text or a list"),
    ({"response_claims": "a b"}, "response_claims: expected a list"),
    ({"retrieved_context": None}, "retrieved_context: expected a list"),
    (
        {"retrieved_context": [{"doc_id": 1}]},
        "retrieved_context, chunk 0: expected a chunk's text",
    ),
    ({"query": ["a"]}, "user_input: expected a string"),
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
        (b'{"results": "\xe9"}', "expected a JSON document, got 'utf-8' codec"),
        (b'{"results": 3}', "expected an object with 'results', got 3"),
        (b"17", "expected an object with 'results', got 17"),
        (b"[" * 200_000, "expected a JSON document"),
        (b"[" + b"7" * 5_000 + b"]", "expected a JSON document"),
    ],
)
def test_bad_files(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "outputs.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_checking_outputs(path)
    assert f"{path}: {message}" in str(caught.value)
