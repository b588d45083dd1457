"""RAGChecker's checking outputs as verdicts. RAGChecker need not be installed.

>>> from noisesense import score
>>> from noisesense_adapters.ragchecker import read_checking_outputs
>>> for result in read_checking_outputs("checking_outputs.json"):  # doctest: +SKIP
...     ours = score(result.verdicts, empty="zero").relevant
...     theirs = result.metrics["noise_sensitivity_in_relevant"]
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from noisesense import Cell, Sample, Verdicts
from noisesense.errors import InputError, describe, located
from noisesense.scoring.definitions import any_of
from noisesense.scoring.results import Result, score_in
from noisesense.scoring.scoring import Score
from noisesense_adapters.datasets.files import document_rows
from noisesense_adapters.toolbox.given import as_list, as_object, chunks_of, named

__all__ = ["CheckedResult", "ragchecker_aggregates", "read_checking_outputs", "read_result"]

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


def read_checking_outputs(path: str | os.PathLike[str]) -> list[CheckedResult]:
    """Read a file of checking outputs.

    As in RAGChecker, only "Entailment" is a yes. But a missing label (null, a short or missing
    row, no table at all) is undetermined here; RAGChecker fills in "Neutral", which gives a judge
    that failed a perfect 0. ``score(…, empty="zero")`` follows its convention for a response
    without claims.

    Raises:
        InputError: names the file, the result, the field, the row and the label.
    """
    results: list[CheckedResult] = []
    for number, raw in enumerate(document_rows(Path(path))):
        with located(f"{path}, result {number}"):
            results.append(read_result(raw.data, number=number))
    return results


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
    with located("retrieved_context"):
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
        verdicts=verdicts.beside(sample) if sample else verdicts,
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


def ragchecker_aggregates(results: Iterable[Result | Score]) -> dict[str, float | None]:
    """The four aggregates of RAGChecker that follow from these verdicts.

    ``round(mean × 100, 1)`` over the samples; a sample without response claims counts as 0.
    ``hallucination`` and ``precision`` are shares of the partition; the noise sensitivities are
    those of the default definition. Failed samples are left out.

    RAGChecker reads a missing verdict as a "no", which makes a judge that fails look like a system
    without noise. Here an aggregate is None if it is undetermined for a sample;
    `noisesense.summarize` gives its bounds. Results scored with ``undetermined="low"`` or
    ``"high"`` give the noise sensitivities of that choice.

    Args:
        results: scored with ``definition="ragas"``; read once, in constant memory.

    Raises:
        InputError: another definition, or no scored sample.

    Source: RAGChecker 0.1.9, ``RAGChecker.evaluate``.
    """
    sums = dict.fromkeys(_AGGREGATES, 0.0)
    count = 0
    for score in map(score_in, results):
        if score is None:
            continue
        if score.definition != "ragas":
            raise InputError("results scored with definition='ragas'", repr(score.definition))
        count += 1
        for name, value in zip(_AGGREGATES, _values(score), strict=True):
            sums[name] += math.nan if value is None else value
    if not count:
        raise InputError("at least one scored sample", "none", where="results")
    return {
        name: None if math.isnan(total) else round(total / count * 100, 1)
        for name, total in sums.items()
    }


_AGGREGATES = (
    "precision",
    "hallucination",
    "noise_sensitivity_in_relevant",
    "noise_sensitivity_in_irrelevant",
)


def _values(score: Score) -> tuple[float | None, ...]:
    """The values of one sample, in the order of the aggregates; None is undetermined."""
    claims = score.verdicts.response_claims
    if not claims:
        return (0.0,) * len(_AGGREGATES)
    precision = hallucination = None
    if all(claim.correct is not None for claim in claims):
        precision = score.partition.share("correct")
    # A claim that some chunk entails is no hallucination, whatever else is undetermined.
    undetermined = zip(claims, score.outcomes, strict=True)
    if all(
        claim.entailed_by or outcome.category != "undetermined" for claim, outcome in undetermined
    ):
        hallucination = score.partition.share("hallucination")
    return (precision, hallucination, score.relevant, score.irrelevant)
