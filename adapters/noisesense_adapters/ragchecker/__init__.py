"""RAGChecker's checking outputs as verdicts. Reads its files; does not need RAGChecker.

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
    """One sample as RAGChecker checked it.

    Attributes:
        query_id: as in the file, or the result's position where the file has none.
        sample: its texts. None if they do not make a sample: RAGChecker takes an empty
            response, an empty answer and no retrieved context, a `Sample` does not.
        verdicts: only "Entailment" is a yes; a label that is not there is undetermined.
        metrics: RAGChecker's own figures, as fractions; empty before it has computed them.
    """

    query_id: str
    sample: Sample | None
    verdicts: Verdicts
    metrics: dict[str, float]


def read_checking_outputs(path: str | os.PathLike[str]) -> list[CheckedResult]:
    """The verdicts and figures of a file of checking outputs, in its order.

    Labels are compared as RAGChecker does: only "Entailment" is a yes. But a label that is
    missing (null, a short or absent row, no table at all) is undetermined here, where
    RAGChecker pads with "Neutral" and so gives a judge that failed a perfect 0.
    ``score(…, empty="zero")`` gives its convention for a response without claims.

    Raises:
        InputError: names the file, the result, the field, the row and the label.
    """
    results: list[CheckedResult] = []
    for number, raw in enumerate(document_rows(Path(path))):
        with located(f"{path}, result {number}"):
            results.append(read_result(raw.data, number=number))
    return results


def read_result(data: Any, *, number: int = 0) -> CheckedResult:
    """One result as a dict, as it stands in a file of checking outputs.

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
        query_id=str(number) if query_id is None else str(query_id),
        sample=sample,
        verdicts=verdicts.beside(sample) if sample else verdicts,
        metrics={name: each for name, each in metrics if isinstance(each, (int, float))},
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

    response, reference = claims("response_claims"), claims("gt_answer_claims")
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
    """So many items of a list as they are read; those that are missing are read as null."""
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
    """A text; a triple of subject, predicate and object is read as one sentence."""
    parts = [value] if isinstance(value, str) else as_list(value)
    if not parts or not all(isinstance(part, str) for part in parts):
        raise InputError("a text or a list of texts", describe(value), where=where)
    return " ".join(parts)


def _cell(label: object, where: str) -> Cell:
    """One label, or those of a text's segments, of which one Entailment is enough."""
    segments = [_cell(each, where) for each in as_list(label)]
    if True in segments:
        return True
    if segments:
        return None if None in segments else False
    if label in (None, "", []):
        return None
    if not isinstance(label, str) or label not in _LABELS:
        expected = "'Entailment', 'Neutral' or 'Contradiction'"
        hint = "write null for a verdict that is missing"
        raise InputError(expected, describe(label), where=where, hint=hint)
    return _LABELS[label]


def ragchecker_aggregates(results: Iterable[Result | Score]) -> dict[str, float | None]:
    """The four aggregates that follow from these verdicts, as RAGChecker prints them.

    ``round(mean × 100, 1)`` over the samples, a sample without response claims counting as 0.
    ``hallucination`` and ``precision`` are the shares of the partition; both noise sensitivities
    are those of the default definition, under which the results must have been scored.

    RAGChecker knows no undetermined verdicts and reads a missing one as a "no", which makes a
    judge that fails look like a system without noise. Here an aggregate is None where open
    verdicts leave it open in some sample: `noisesense.summarize` gives its bounds. Results scored
    with ``undetermined="low"`` or ``"high"`` give the noise sensitivities of that choice. Failed
    samples are left out.

    Args:
        results: scored with ``definition="ragas"``; read once, in constant memory.

    Raises:
        InputError: another definition, or no scored sample.

    Source: RAGChecker 0.1.9, ``RAGChecker.evaluate``.
    """
    sums, count = [0.0] * len(_AGGREGATES), 0
    for score in map(score_in, results):
        if score is None:
            continue
        if score.definition != "ragas":
            raise InputError("results scored with definition='ragas'", repr(score.definition))
        count += 1
        sums = [before + figure for before, figure in zip(sums, _figures(score), strict=True)]
    if not count:
        raise InputError("at least one scored sample", "none", where="results")
    means = (None if math.isnan(each) else round(each / count * 100, 1) for each in sums)
    return dict(zip(_AGGREGATES, means, strict=True))


_AGGREGATES = (
    "precision",
    "hallucination",
    "noise_sensitivity_in_relevant",
    "noise_sensitivity_in_irrelevant",
)


def _figures(score: Score) -> list[float]:
    """One sample's, in the order of the aggregates; NaN where open verdicts decide."""
    claims = score.verdicts.response_claims
    if not claims:
        return [0.0] * 4
    precision = hallucination = None
    if all(claim.correct is not None for claim in claims):
        precision = score.partition.share("correct")
    # A claim that some chunk is known to entail is none, whatever else is open.
    if all(
        each.category != "undetermined" or score.verdicts.response_claims[each.index].entailed_by
        for each in score.claims
    ):
        hallucination = score.partition.share("hallucination")
    figures = (precision, hallucination, score.relevant, score.irrelevant)
    return [math.nan if figure is None else figure for figure in figures]
