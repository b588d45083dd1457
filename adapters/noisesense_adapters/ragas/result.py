"""The number that ragas gets, with the score it comes from, and the figures of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from noisesense.errors import InputError, describe, error_context
from noisesense.judging.protocol import Judgement
from noisesense.scoring.definitions import Mode
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import Score, Status
from noisesense.stats.summarize import Summary
from noisesense.stats.tally import summarize as summarize_results
from noisesense_adapters.evaluate.evaluator import Evaluated, Settings
from noisesense_adapters.ragas.sample import read_row
from noisesense_adapters.reading.values import as_list, is_list


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
    def of(cls, evaluated: Evaluated, mode: Mode) -> ScoredFloat:
        """Return the value of one mode; NaN where there is none."""
        score = evaluated.score
        value = None if _no_number_in_ragas(score) else score.value(mode)
        number = cls(math.nan if value is None else value)
        number.score = score
        number.mode = mode
        number.judgement = evaluated.judgement
        number.judge = evaluated.judge
        return number

    @property
    def status(self) -> Status:
        """ "determined", "undetermined" (the judge left verdicts open) or "undefined" (there is
        nothing to measure)."""
        if not self._is_only_elsewhere:
            return self.score.status(self.mode)
        # A list of the reference's claims that could not be read is among what is unanswered.
        return "undetermined" if self.judgement.unanswered else "undefined"

    @property
    def reason(self) -> str:
        """The value and what it comes from, in words."""
        reason = self.score.reason(self.mode)
        if not self._is_only_elsewhere:
            return reason
        why = "the judge gave no claims of the reference, which say what chunks are relevant"
        return f"{reason} But {self.status} in ragas: {why}."

    @property
    def _is_only_elsewhere(self) -> bool:
        """Is there no number here, but one in every other host?"""
        return math.isnan(self) and self.score.value(self.mode) is not None


def _no_number_in_ragas(score: Score) -> bool:
    """Tell whether the relevance of a chunk depends on a reference that makes no claims."""
    if score.definition != "ragas" or score.undetermined != "none":
        return False
    verdicts = score.verdicts
    if not verdicts.response_claims or verdicts.reference_claims:
        return False
    return None in score.chunk_relevance


def summarize(result: Any, *, name: str = "", **options: Any) -> Summary:
    """Return the figures of an evaluation: what to report of it in place of ragas' own mean.

    ragas' mean is over the rows with a number, and so over those that were easy to judge. Here
    the headline is the range ``[mean of the lows, mean of the highs]`` over all rows with claims,
    from 0 to 1, lower is better; see `noisesense.summarize`. A row that failed is counted as
    failed. What was judged once for two metrics is paid for once. It has both modes, also
    where the metrics asked for one.

    Args:
        result: what ``evaluate()`` gave, or a list of what ``ascore`` did.
        name: which of our columns, where the run had several metrics: their name, or its start.
        options: further arguments of `noisesense.summarize`.

    Raises:
        InputError: numbers without a score attached (as pandas and files hold them), no column of
            ours, or several metrics among which ``name`` does not choose.
    """
    return summarize_results(results_of(result, name=name), **options)


def results_of(result: Any, *, name: str = "") -> list[Result]:
    """Return the results of an evaluation with their texts, in the dataset's order.

    ``write_results("results.jsonl", results_of(result))`` makes a file that the commands
    ``offenders``, ``ablation`` and ``compare`` and the report read. No model is asked. A
    document's name is its entry of ``retrieved_context_ids`` in the row; without that list a
    document is its text.

    Args:
        result: what ``evaluate()`` gave, or a list of what ``ascore`` did. Of a sample in both
            modes the first one counts, which has both figures.
        name: as in `summarize`.

    Raises:
        InputError: as `summarize`.
    """
    if is_list(result):
        return _results_of_list(as_list(result))
    dataset = getattr(result, "dataset", None)
    if dataset is None:
        hint = "a pandas column or a file keeps numbers alone"
        raise InputError("what evaluate() gave", describe(result), where="result", hint=hint)
    columns = _our_columns(result.scores, name)
    results: list[Result] = []
    for number, (row, scores) in enumerate(zip(dataset, result.scores, strict=True)):
        with error_context(f"row {number}"):
            values = [scores[column] for column in columns]
            scored = [each for each in values if isinstance(each, ScoredFloat)]
            results.append(_result(number, row.model_dump(), (scored or values)[-1]))
    return results


def _results_of_list(found: Sequence[Any]) -> list[Result]:
    """Return the results of samples that ``ascore`` scored, each in one mode."""
    results: list[Result] = []
    modes: dict[str, Mode] = {}
    for number, each in enumerate(found):
        result = _result_of(number, each)
        mode = each.value.mode
        if modes.setdefault(result.id, mode) == mode:
            results.append(result)
    return results


def _result_of(number: int, found: Any) -> Result:
    """Return the result of a sample that ``ascore`` scored. Raises `InputError`."""
    value = getattr(found, "value", None)
    if not isinstance(value, ScoredFloat):
        raise InputError("what ascore() gave", describe(found), where=f"result {number}")
    return _result(number, found.traces["input"], value)


def _result(number: int, row: Mapping[str, Any], value: Any) -> Result:
    """Return a row's result; with an error if the row cannot be read or has no score."""
    try:
        sample = read_row(row).sample
    except InputError as error:
        return Result(str(number), error=str(error))
    if not isinstance(value, ScoredFloat):
        problem = f"row {number} has no score; ragas has logged why"
        return Result(sample.key, error=problem, sample=sample)
    judgement = value.judgement
    settings = Settings(value.score.definition, value.score.empty, value.score.undetermined)
    return Result(
        sample.key,
        settings.score(judgement.verdicts.with_sample(sample)),
        sample=sample,
        unanswered=judgement.unanswered,
        usage=judgement.usage + judgement.paid,  # by whichever metric
        changes=judgement.changes,
        placebos=judgement.placebos,
        judge=value.judge,
    )


def _our_columns(rows: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """Return the columns of one metric of ours, that of the relevant mode last. Any score in them
    has both modes. In a run without any score they are those that have the name.

    Raises `InputError`.
    """
    ours: set[str] = set()
    failed: set[str] = set()
    for row in rows:
        for column, value in row.items():
            if isinstance(value, ScoredFloat) and column.startswith(name):
                ours.add(column)
            elif column.startswith(name or "noise_sensitivity") and math.isnan(value):
                failed.add(column)
    columns = sorted(ours or failed)
    if len({column.partition("(mode=")[0] for column in columns}) != 1:
        got = ", ".join(columns) or "no score of ours"
        hint = "choose with name=…; another metric of one name overwrites ours: give it its own"
        raise InputError("a result with one metric of ours", got, where="result", hint=hint)
    return columns
