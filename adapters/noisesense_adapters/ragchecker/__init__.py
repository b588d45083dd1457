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
from collections.abc import Iterable
from pathlib import Path

from noisesense.errors import InputError, error_context
from noisesense.scoring.results import Result, score_in
from noisesense.scoring.scoring import Score
from noisesense_adapters.datasets.files import document_rows
from noisesense_adapters.datasets.ragchecker import CheckedResult, read_result

__all__ = ["CheckedResult", "ragchecker_aggregates", "read_checking_outputs", "read_result"]


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
        with error_context(f"{path}, result {number}"):
            results.append(read_result(raw.data, number=number))
    return results


def ragchecker_aggregates(results: Iterable[Result | Score]) -> dict[str, float | None]:
    """The four aggregates of RAGChecker that follow from these verdicts.

    ``round(mean × 100, 1)`` over the samples; a sample without response claims counts as 0, and
    one for which nothing was retrieved has no hallucination and no noise, as in RAGChecker.
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
    aggregates: dict[str, float | None] = {}
    for name, total in sums.items():
        aggregates[name] = None if math.isnan(total) else round(total / count * 100, 1)
    return aggregates


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
    precision = None
    if all(claim.correct is not None for claim in claims):
        precision = score.partition.share("correct")
    if score.verdicts.chunks == ():
        return (precision, 0.0, 0.0, 0.0)
    return (precision, _hallucination(score), score.relevant, score.irrelevant)


def _hallucination(score: Score) -> float | None:
    """The share of claims that nothing entails; None where that is undetermined."""
    for claim, outcome in zip(score.verdicts.response_claims, score.outcomes, strict=True):
        # A claim that some chunk entails is no hallucination, whatever else is undetermined.
        if outcome.category == "undetermined" and not claim.entailed_by:
            return None
    return score.partition.share("hallucination")
