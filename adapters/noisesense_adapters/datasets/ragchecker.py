"""RAGChecker's results: their texts, labels and metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from noisesense import Cell, Sample, Verdicts
from noisesense.errors import InputError, describe, error_context
from noisesense.scoring.definitions import any_of
from noisesense_adapters.reading.chunks import chunks_of
from noisesense_adapters.reading.paths import named
from noisesense_adapters.reading.values import as_list, as_object, texts_of

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
        InputError: the result holds no claims, or something in it cannot be read. It names the
            field, the row and the label.
    """
    result = as_object(data)
    if result.get("response_claims") is None:
        got = f"only {named(result)}" if result else describe(data)
        hint = "a file of checking outputs is needed, not of checking inputs"
        raise InputError("the field 'response_claims'", got, hint=hint)
    with error_context("retrieved_context"):
        chunks = chunks_of(result.get("retrieved_context"))
    sample = _sample(result, chunks)
    verdicts = _verdicts(result, chunks)
    if sample is not None:
        verdicts = verdicts.with_sample(sample)
    query_id = result.get("query_id")
    if query_id is None:
        query_id = number
    metrics: dict[str, float] = {}
    for name, value in as_object(result.get("metrics")).items():
        if isinstance(value, (int, float)):
            metrics[name] = value
    return CheckedResult(str(query_id), sample, verdicts, metrics)


def _sample(result: dict[str, Any], chunks: list[Any]) -> Sample | None:
    """The texts of a result; None if one that a score needs is empty."""
    fields: dict[str, Any] = {"retrieved_contexts": chunks}
    for field, name in _TEXTS.items():
        fields[field] = result.get(name) or ""
    is_blank = not str(fields["response"]).strip() or not str(fields["reference"]).strip()
    if is_blank or not chunks:
        return None
    return Sample.model_validate(fields)


def _verdicts(result: dict[str, Any], chunks: list[Any]) -> Verdicts:
    response = _claims(result, "response_claims")
    reference = _claims(result, "gt_answer_claims")
    return Verdicts.from_matrices(
        _cells(result.get("answer2response"), len(response), "answer2response"),
        _table(result, "retrieved2response", len(response), len(chunks)),
        _table(result, "retrieved2answer", len(reference), len(chunks)),
        response_claims=response,
        reference_claims=reference,
        chunks=[as_object(chunk).get("text", chunk) for chunk in chunks],
    )


def _claims(result: dict[str, Any], field: str) -> list[str]:
    value = result.get(field)
    count = 0 if value == [[]] else len(as_list(value))
    return [_claim(item, where) for where, item in _padded(value, count, field, "claim")]


def _table(result: dict[str, Any], field: str, rows: int, columns: int) -> list[list[Cell]]:
    padded_rows = _padded(result.get(field), rows, field, "row")
    return [_cells(row, columns, where) for where, row in padded_rows]


def _cells(labels: object, count: int, field: str) -> list[Cell]:
    return [_cell(label, where) for where, label in _padded(labels, count, field, "label")]


def _padded(value: object, count: int, field: str, noun: str) -> Iterator[tuple[str, Any]]:
    """That many items of a list, each with its place; None for those that are missing.

    Raises:
        InputError: no list, or one with more items.
    """
    items = as_list(value)
    if value is not None and not isinstance(value, list):
        raise InputError("a list", describe(value), where=field)
    while len(items) > count and items[-1] == []:  # no claims are written as [] or as [[]]
        items = items[:-1]
    if len(items) > count:
        raise InputError(f"{count} {noun}s at most", str(len(items)), where=field)
    items = items + [None] * (count - len(items))
    for number, item in enumerate(items):
        yield f"{field}, {noun} {number}", item


def _claim(value: object, where: str) -> str:
    """A text, or a triple of subject, predicate and object."""
    parts = [value] if isinstance(value, str) else texts_of(value)
    if not parts:
        raise InputError("a text or a list of texts", describe(value), where=where)
    return " ".join(parts)


def _cell(label: object, where: str) -> Cell:
    """The verdict of a label, or of a list of labels, one for each segment of the text.

    One "Entailment" in the list is enough.
    """
    if segments := as_list(label):
        return any_of([_cell(segment, where) for segment in segments])
    if label in (None, "", []):
        return None
    if not isinstance(label, str) or label not in _LABELS:
        expected = "'Entailment', 'Neutral' or 'Contradiction'"
        hint = "write null for a verdict that is missing"
        raise InputError(expected, describe(label), where=where, hint=hint)
    return _LABELS[label]
