"""RAGChecker's results: their texts, labels and metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from noisesense import Cell, Sample, Verdicts
from noisesense.errors import InputError, describe, error_context
from noisesense.scoring.definitions import any_of
from noisesense_adapters.evaluate.chunks import chunks_of
from noisesense_adapters.evaluate.inputs import as_list, as_object, named

T = TypeVar("T")

_TEXTS = {"user_input": "query", "response": "response", "reference": "gt_answer"}

_LABELS = {"Entailment": True, "Neutral": False, "Contradiction": False}


@dataclass(frozen=True)
class CheckedResult:
    """One sample with RAGChecker's labels.

    Attributes:
        query_id: as in the file; the result's position if the file has none.
        sample: its texts; None if the response, the answer or the retrieved context is empty.
        verdicts: only "Entailment" is a yes; a missing label is undetermined.
        metrics: RAGChecker's metrics as fractions; empty if it has not computed them.
    """

    query_id: str
    sample: Sample | None
    verdicts: Verdicts
    metrics: dict[str, float]


def read_result(data: Any, *, number: int = 0) -> CheckedResult:
    """Read one result of a file of checking outputs.

    Raises:
        InputError: names the field, the row and the label.
    """
    result = as_object(data)
    if result.get("response_claims") is None:
        got = f"only {named(result)}" if result else describe(data)
        hint = "a file of checking outputs is needed, not of checking inputs"
        raise InputError("the field 'response_claims'", got, hint=hint)
    with error_context("retrieved_context"):
        chunks = chunks_of(result.get("retrieved_context"))
    texts = {field: result.get(name) or "" for field, name in _TEXTS.items()}
    sample = None
    if chunks and all(str(texts[field]).strip() for field in ("response", "reference")):
        sample = Sample.model_validate({**texts, "retrieved_contexts": chunks})
    verdicts = _verdicts(result, chunks)
    query_id = result.get("query_id")
    metrics = as_object(result.get("metrics")).items()
    return CheckedResult(
        query_id=str(number if query_id is None else query_id),
        sample=sample,
        verdicts=verdicts.with_sample(sample) if sample else verdicts,
        metrics={name: value for name, value in metrics if isinstance(value, (int, float))},
    )


def _verdicts(result: dict[str, Any], chunks: list[Any]) -> Verdicts:
    def claims(field: str) -> list[str]:
        given = result.get(field)
        return _padded(given, 0 if given == [[]] else len(as_list(given)), field, "claim", _claim)

    def column(value: object, count: int, where: str) -> list[Cell]:
        return _padded(value, count, where, "label", _cell)

    def table(field: str, rows: int) -> list[list[Cell]]:
        def row(value: object, where: str) -> list[Cell]:
            return column(value, len(chunks), where)

        return _padded(result.get(field), rows, field, "row", row)

    response = claims("response_claims")
    reference = claims("gt_answer_claims")
    return Verdicts.from_matrices(
        column(result.get("answer2response"), len(response), "answer2response"),
        table("retrieved2response", len(response)),
        table("retrieved2answer", len(reference)),
        response_claims=response,
        reference_claims=reference,
        chunks=[as_object(chunk).get("text", chunk) for chunk in chunks],
    )


def _padded(
    value: object, count: int, where: str, what: str, read: Callable[[object, str], T]
) -> list[T]:
    """Read that many items of a list; missing ones are read as null."""
    items = as_list(value)
    if value is not None and not isinstance(value, list):
        raise InputError("a list", describe(value), where=where)
    while len(items) > count and items[-1] == []:  # no claims are written as [] or as [[]]
        items = items[:-1]
    if len(items) > count:
        raise InputError(f"{count} {what}s at most", str(len(items)), where=where)
    items = items + [None] * (count - len(items))
    return [read(item, f"{where}, {what} {i}") for i, item in enumerate(items)]


def _claim(value: object, where: str) -> str:
    """A text, or a triple of subject, predicate and object."""
    parts = [value] if isinstance(value, str) else as_list(value)
    if not parts or not all(isinstance(part, str) for part in parts):
        raise InputError("a text or a list of texts", describe(value), where=where)
    return " ".join(parts)


def _cell(label: object, where: str) -> Cell:
    """A label; of a list of labels, one for each segment of the text, one "Entailment" decides."""
    if segments := as_list(label):
        return any_of([_cell(segment, where) for segment in segments])
    if label in (None, "", []):
        return None
    if not isinstance(label, str) or label not in _LABELS:
        expected = "'Entailment', 'Neutral' or 'Contradiction'"
        hint = "write null for a verdict that is missing"
        raise InputError(expected, describe(label), where=where, hint=hint)
    return _LABELS[label]
