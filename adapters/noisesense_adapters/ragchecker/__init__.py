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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from noisesense import Cell, Sample, Verdicts
from noisesense.errors import InputError, describe, located
from noisesense.scoring.outcomes import ClaimOutcome
from noisesense.scoring.results import Result, score_in
from noisesense.scoring.scoring import Score
from noisesense_adapters.toolbox.given import read_json

__all__ = [
    "CheckedResult",
    "CheckingOutputs",
    "ragchecker_aggregates",
    "read_checking_outputs",
    "read_result",
]

_LABELS = {"Entailment": True, "Neutral": False, "Contradiction": False}


def column(value: object, claims: int, field: str) -> list[Cell]:
    """One label for each claim. What is missing is undetermined, not Neutral.

    Raises:
        InputError: an unknown label, or more labels than claims.
    """
    return _cells(value, claims, "claim", field)


def table(value: object, claims: int, chunks: int, field: str) -> list[list[Cell]]:
    """One row of labels for each claim; as `column` for what is missing.

    Raises:
        InputError: as `column`; also for more rows than claims or more labels than chunks.
    """
    found = _labels(value, field)
    # A sample without claims is written as [] or as [[]].
    while len(found) > claims and found[-1] == []:
        found = found[:-1]
    if len(found) > claims:
        raise InputError(f"{claims} rows, one for each claim", str(len(found)), where=field)
    found = found + [None] * (claims - len(found))
    return [_cells(row, chunks, "chunk", f"{field}, row {i}") for i, row in enumerate(found)]


def as_list(value: object, field: str) -> list[object]:
    """The value, if it is a list. Raises `InputError`."""
    if not isinstance(value, list):
        raise InputError("a list", describe(value), where=field)
    return cast(list[object], value)


def _labels(value: object, field: str) -> list[object]:
    return [] if value is None else as_list(value, field)


def _cells(value: object, count: int, what: str, where: str) -> list[Cell]:
    cells = [_cell(label, f"{where}, label {i}") for i, label in enumerate(_labels(value, where))]
    if len(cells) > count:
        raise InputError(f"{count} labels, one for each {what}", str(len(cells)), where=where)
    return cells + [None] * (count - len(cells))


def _cell(label: object, where: str) -> Cell:
    """One label, or those of a text's segments, of which one Entailment is enough."""
    if label is None or label == "":
        return None
    if isinstance(label, list):
        segments = [_cell(each, where) for each in cast(list[object], label)]
        if True in segments:
            return True
        return None if None in segments or not segments else False
    if not isinstance(label, str) or label not in _LABELS:
        expected = "'Entailment', 'Neutral' or 'Contradiction'"
        hint = "write null for a verdict that is missing"
        raise InputError(expected, describe(label), where=where, hint=hint)
    return _LABELS[label]


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


def read_result(data: Any, *, number: int = 0) -> CheckedResult:
    """One result as a dict, as it stands in a file of checking outputs.

    Raises:
        InputError: names the field, the row and the label.
    """
    if not isinstance(data, Mapping):
        raise InputError("an object", describe(data))
    result = cast(Mapping[str, Any], data)
    if result.get("response_claims") is None:
        raise InputError(
            "the field 'response_claims'",
            f"only {', '.join(map(repr, result))}",
            hint="a file of checking outputs is needed, not of checking inputs",
        )
    chunks = [
        _chunk(doc, f"retrieved_context, document {j}")
        for j, doc in enumerate(as_list(result.get("retrieved_context"), "retrieved_context"))
    ]
    query_id = result.get("query_id")
    sample, verdicts = _sample(result, chunks), _verdicts(result, chunks)
    return CheckedResult(
        query_id=str(number) if query_id is None else str(query_id),
        sample=sample,
        verdicts=verdicts.beside(sample) if sample else verdicts,
        metrics=_metrics(result.get("metrics")),
    )


def _verdicts(result: Mapping[str, Any], chunks: list[dict[str, Any]]) -> Verdicts:
    response = _claims(result["response_claims"], "response_claims")
    reference = _claims(result.get("gt_answer_claims"), "gt_answer_claims")
    count = len(chunks)
    return Verdicts.from_matrices(
        column(result.get("answer2response"), len(response), "answer2response"),
        table(result.get("retrieved2response"), len(response), count, "retrieved2response"),
        table(result.get("retrieved2answer"), len(reference), count, "retrieved2answer"),
        relevant=[None] * count,
        response_claims=response,
        reference_claims=reference,
        chunks=[chunk["text"] for chunk in chunks],
    )


def _claims(value: object, field: str) -> list[str]:
    """Claims as text: a triple of subject, predicate and object is read as one sentence."""
    if value is None or value == [[]]:
        return []
    return [_claim(claim, f"{field}, claim {i}") for i, claim in enumerate(as_list(value, field))]


def _claim(value: object, where: str) -> str:
    if isinstance(value, str):
        return value
    parts = [part for part in as_list(value, where) if isinstance(part, str)]
    if not parts or parts != value:
        raise InputError("a text or a list of texts", describe(value), where=where)
    return " ".join(parts)


def _chunk(value: object, where: str) -> dict[str, Any]:
    if isinstance(value, str):
        return {"text": value}
    if not isinstance(value, Mapping):
        raise InputError("an object or a text", describe(value), where=where)
    doc = cast(Mapping[str, Any], value)
    text, name = doc.get("text"), doc.get("doc_id")
    if not isinstance(text, str):
        raise InputError("a text", describe(text), where=f"{where}, text")
    return {"text": text, "id": None if name is None else str(name)}


def _sample(result: Mapping[str, Any], chunks: list[dict[str, Any]]) -> Sample | None:
    texts = {name: _text(result, name) for name in ("query", "response", "gt_answer")}
    if not chunks or not texts["response"].strip() or not texts["gt_answer"].strip():
        return None
    return Sample.model_validate(
        {
            "user_input": texts["query"],
            "response": texts["response"],
            "reference": texts["gt_answer"],
            "retrieved_contexts": chunks,
        }
    )


def _text(result: Mapping[str, Any], name: str) -> str:
    value = result.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError("a text", describe(value), where=name)
    return value


def _metrics(value: object) -> dict[str, float]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError("an object", describe(value), where="metrics")
    figures = cast(Mapping[str, Any], value)
    for name, figure in figures.items():
        if isinstance(figure, bool) or not isinstance(figure, (int, float)):
            raise InputError("a number", describe(figure), where=f"metrics, {name}")
    return dict(figures)


@dataclass(frozen=True)
class CheckingOutputs:
    """The results of a file, in its order.

    Attributes:
        results: one for each sample.
        metrics: RAGChecker's aggregates by group (``overall``, ``retriever``, ``generator``):
            percentages rounded to one digit, in which undefined samples count as 0.
    """

    results: tuple[CheckedResult, ...]
    metrics: dict[str, dict[str, float]]

    def __iter__(self) -> Iterator[CheckedResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def pairs(self) -> Iterator[tuple[Sample, Verdicts]]:
        """What `noisesense.write_recording` takes.

        Raises:
            InputError: a result whose texts do not make a sample.
        """
        for number, result in enumerate(self.results):
            if result.sample is None:
                raise InputError(
                    "a response, an answer and at least one retrieved context",
                    "an empty one",
                    where=f"result {number} (query_id {result.query_id})",
                    hint="leave it out: a recording holds samples to be judged",
                )
            yield result.sample, result.verdicts


def read_checking_outputs(path: str | os.PathLike[str]) -> CheckingOutputs:
    """The verdicts and figures of a file of checking outputs.

    Labels are compared as RAGChecker does: only "Entailment" is a yes. But a label that is
    missing (null, a short or absent row, no table at all) is undetermined here, where
    RAGChecker pads with "Neutral" and so gives a judge that failed a perfect 0.
    ``score(…, empty="zero")`` gives its convention for a response without claims.

    Raises:
        InputError: names the file, the result, the field, the row and the label.
    """
    data = read_json(Path(path))
    results: list[CheckedResult] = []
    for number, raw in enumerate(_results(data, str(path))):
        with located(f"{path}, result {number}"):
            results.append(read_result(raw, number=number))
    return CheckingOutputs(tuple(results), _groups(data))


def _results(data: Any, path: str) -> Iterator[Any]:
    """Results stand in a list, perhaps nested, perhaps under ``results``, perhaps twice."""
    if isinstance(data, list):
        for item in cast(list[object], data):
            yield from _results(item, path)
    elif isinstance(data, Mapping) and "results" in data:
        yield from _results(cast(Mapping[str, Any], data)["results"], path)
    elif isinstance(data, Mapping):
        yield cast(object, data)
    else:
        raise InputError("an object with 'results'", describe(data), where=path)


def _groups(data: Any) -> dict[str, dict[str, float]]:
    """The aggregates under one name: ``overall_metrics`` and ``overall`` are the same group."""
    if not isinstance(data, Mapping):
        return {}
    document = cast(Mapping[str, Any], data)
    groups = document.get("metrics")
    if not isinstance(groups, Mapping):
        return _groups(document.get("results"))
    found = cast(Mapping[str, Any], groups)
    return {
        name.removesuffix("_metrics"): dict(cast(Mapping[str, float], figures))
        for name, figures in found.items()
        if isinstance(figures, Mapping)
    }


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
    names = (
        "precision",
        "hallucination",
        "noise_sensitivity_in_relevant",
        "noise_sensitivity_in_irrelevant",
    )
    sums, count = [0.0] * len(names), 0
    for score in map(score_in, results):
        if score is None:
            continue
        if score.definition != "ragas":
            raise InputError("results scored with definition='ragas'", repr(score.definition))
        count += 1
        figures = (math.nan if figure is None else figure for figure in _figures(score))
        sums = [before + figure for before, figure in zip(sums, figures, strict=True)]
    if not count:
        raise InputError("at least one scored sample", "none", where="results")
    means = (None if math.isnan(each) else round(each / count * 100, 1) for each in sums)
    return dict(zip(names, means, strict=True))


def _figures(score: Score) -> tuple[float | None, ...]:
    """One sample's, in the order of the aggregates; None where open verdicts decide."""
    claims = score.verdicts.response_claims
    if not claims:
        return (0.0,) * 4
    shares = score.partition
    precision = shares.share("correct")
    hallucination = shares.share("hallucination")
    if shares.undetermined:
        if any(claim.correct is None for claim in claims):
            precision = None
        # A claim that some chunk is known to entail is none, whatever else is open.
        if any(each.category == "undetermined" and not _entailed(each) for each in score.claims):
            hallucination = None
    return precision, hallucination, score.relevant, score.irrelevant


def _entailed(claim: ClaimOutcome) -> bool:
    return bool(claim.relevant_chunks or claim.irrelevant_chunks or claim.unlabelled_chunks)
