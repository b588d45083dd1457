"""RAGChecker's aggregates, with its conventions."""

from __future__ import annotations

import math
from collections.abc import Iterable

from noisesense.errors import InputError
from noisesense.scoring.outcomes import ClaimOutcome
from noisesense.scoring.results import Result, score_in
from noisesense.scoring.scoring import Score


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
