"""The number that ragas gets, with the score it comes from, and the figures of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from noisesense.errors import InputError, describe, error_context
from noisesense.judging.protocol import Judgement
from noisesense.scoring.definitions import Mode
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import Score, Status
from noisesense.scoring.scoring import score as make_score
from noisesense.stats.clusters import question_cluster
from noisesense.stats.summarize import Summary
from noisesense.stats.tally import summarize as summarize_results
from noisesense.verdicts.form import LightVerdicts
from noisesense_adapters.evaluate.evaluator import Settings
from noisesense_adapters.ragas.sample import read_row
from noisesense_adapters.reading.chunks import IDS


class ScoredFloat(float):
    """A float to ragas and to numpy; NaN where the score is undefined or undetermined.

    It is `Score.value`, but for one case in which ragas' own metric has no number (definition
    "ragas", ``undetermined="none"``): a reference without claims, and a chunk without a label.

    ``result.scores`` and a `MetricResult` keep it; a pandas column holds plain floats.

    Attributes:
        score: the whole score: both modes, bounds, partition, every claim.
        mode: the mode whose value this is.
        judgement: the verdicts and what they cost.
    """

    score: Score
    mode: Mode
    judgement: Judgement
    judge: str

    @classmethod
    def of(cls, score: Score, mode: Mode, judgement: Judgement, judge: str) -> ScoredFloat:
        """Return the value of one mode."""
        value = None if _no_number_in_ragas(score) else score.value(mode)
        number = cls(math.nan if value is None else value)
        number.score = score
        number.mode = mode
        number.judgement = judgement
        number.judge = judge
        return number

    @property
    def status(self) -> Status:
        """ "determined", "undetermined" (the judge left verdicts open) or "undefined" (there is
        nothing to measure)."""
        if _no_number_in_ragas(self.score):
            # A list of the reference's claims that could not be read is among what is unanswered.
            return "undetermined" if self.judgement.unanswered else "undefined"
        return self.score.status(self.mode)

    @property
    def reason(self) -> str:
        """The value and what it comes from, in words."""
        reason = self.score.reason(self.mode)
        if self.status == self.score.status(self.mode):
            return reason
        why = "the judge found no claims in the reference, which say what chunks are relevant"
        return f"{reason} But {self.status} in ragas: {why}."


_NOTHING = make_score(LightVerdicts(()))


def _is_bare(value: ScoredFloat) -> bool:
    """Tell whether the row is undefined in ragas alone."""
    return _no_number_in_ragas(value.score) and value.status == "undefined"


def _no_number_in_ragas(score: Score) -> bool:
    """Tell whether the relevance of a chunk depends on a reference that makes no claims."""
    if score.definition != "ragas" or score.undetermined != "none":
        return False
    if not score.verdicts.response_claims or score.verdicts.reference_claims:
        return False
    return None in score.chunk_relevance


def summarize(result: Any, *, name: str = "", **options: Any) -> Summary:
    """Return the figures of an evaluation: what to report of it in place of ragas' own mean.

    ragas' mean is over the rows with a number, and so over those that were easy to judge. Here
    the headline is the range ``[mean of the lows, mean of the highs]`` over all rows with claims,
    from 0 to 1, lower is better; see `noisesense.summarize`. A row that failed is counted as
    failed, and one that is undefined in ragas alone as one with nothing to measure. What was
    judged once for two metrics is paid for once.

    Args:
        result: what ``evaluate()`` gave, or its ``scores``.
        name: which of our columns, where the run had several metrics: their name, or its start.
        options: further arguments of `noisesense.summarize`.

    Raises:
        InputError: numbers without a score attached (as pandas and files hold them), no column of
            ours, or several metrics among which ``name`` does not choose.
    """
    scores = getattr(result, "scores", result)
    rows = cast("list[dict[str, Any]]", scores if isinstance(scores, list) else [])
    column = _our_column(rows, name)
    values = [row[column] for row in rows]
    clusters: dict[int, str] = {}
    for number, row in enumerate(getattr(result, "dataset", None) or ()):
        if isinstance(values[number], ScoredFloat):
            cluster = question_cluster(read_row(row.model_dump()).sample)
            if cluster is not None:
                clusters[number] = cluster
    return _summary(values, clusters, **options)


def results_of(result: Any, *, name: str = "") -> list[Result]:
    """Return the results of an evaluation with their texts, in the dataset's order.

    ``write_results("results.jsonl", results_of(result))`` makes a file that the commands
    ``offenders``, ``ablation`` and ``compare`` and the report read. No model is asked. A
    document's name is its entry of ``retrieved_context_ids`` in the row; without that list a
    document is its text.

    Args:
        result: what ``evaluate()`` gave.
        name: as in `summarize`.

    Raises:
        InputError: no dataset beside the scores (as pandas and files hold them), another number of
            ids than of contexts, or as `summarize`.
    """
    dataset = getattr(result, "dataset", None)
    if dataset is None:
        raise InputError("what evaluate() gave", describe(result), where="result")
    column = _our_column(result.scores, name)
    results: list[Result] = []
    for number, (row, scores) in enumerate(zip(dataset, result.scores, strict=True)):
        with error_context(f"row {number}"):
            results.append(_whole_result(number, row.model_dump(), scores[column]))
    return results


def _whole_result(number: int, row: Mapping[str, Any], value: Any) -> Result:
    scored = _result(number, value)
    if not isinstance(value, ScoredFloat):
        return scored
    sample = read_row(row, row.get(IDS)).sample
    textless = value.score
    settings = Settings(textless.definition, textless.empty, textless.undetermined)
    score = settings.score(value.judgement.verdicts.with_sample(sample))
    return Result(
        sample.key,
        score,
        sample=sample,
        unanswered=scored.unanswered,
        usage=scored.usage,
        judge=value.judge,
    )


def _our_column(rows: Sequence[Mapping[str, Any]], name: str) -> str:
    """The column of one metric of ours, of the relevant mode if it is there: its scores have both.

    Raises `InputError`.
    """
    ours: set[str] = set()
    for row in rows:
        ours.update(column for column, value in row.items() if isinstance(value, ScoredFloat))
    columns = sorted(column for column in ours if column.startswith(name))
    metrics = {column.partition("(mode=")[0] for column in columns}
    if len(metrics) != 1:
        got = ", ".join(sorted(ours)) or "no score of ours"
        hint = "choose with name=…" if ours else "a pandas column or a file keeps numbers alone"
        raise InputError("a result with one metric of ours", got, where="result", hint=hint)
    return columns[-1]


def _summary(values: Sequence[Any], clusters: Mapping[int, str], **options: Any) -> Summary:
    """Return the figures; of rows with texts, by the clusters of `noisesense.summarize`."""
    results = (_result(row, value, clusters.get(row)) for row, value in enumerate(values))
    run = summarize_results(results, **options)
    # The response of a row that is undefined in ragas alone does make claims.
    bare = 0
    for value in values:
        bare += isinstance(value, ScoredFloat) and _is_bare(value)
    return replace(run, nothing_claimed=run.nothing_claimed - bare)


def _result(row: int, value: Any, cluster: str | None = None) -> Result:
    if not isinstance(value, ScoredFloat):
        return Result(str(row), error="the row failed; ragas has logged why")
    score = _NOTHING if _is_bare(value) else value.score
    judgement = value.judgement
    usage = judgement.usage + judgement.paid
    return Result(str(row), score, cluster=cluster, unanswered=judgement.unanswered, usage=usage)
