"""The number that ragas gets, with the score it comes from, and the figures of a run."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackHandler

from noisesense.errors import InputError
from noisesense.judging.protocol import Judgement
from noisesense.scoring.definitions import Mode
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import Score, Status
from noisesense.scoring.scoring import score as make_score
from noisesense.stats.summarize import Summary
from noisesense.stats.tally import summarize as summarize_results
from noisesense.verdicts.form import LightVerdicts
from noisesense_adapters.ragas.sample import row_trace
from noisesense_adapters.toolbox.evaluate import mean_of

_log = logging.getLogger("noisesense")


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

    @classmethod
    def of(cls, score: Score, mode: Mode, judgement: Judgement) -> ScoredFloat:
        """The value of one mode."""
        value = None if _no_number_in_ragas(score) else score.value(mode)
        number = cls(math.nan if value is None else value)
        number.score, number.mode, number.judgement = score, mode, judgement
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


def _counted(value: ScoredFloat) -> Score:
    """What a mean counts of a row: nothing to measure, where only ragas has no number for it."""
    return _NOTHING if _is_bare(value) else value.score


def _is_bare(value: ScoredFloat) -> bool:
    """Is the row undefined in ragas alone?"""
    return _no_number_in_ragas(value.score) and value.status == "undefined"


def _no_number_in_ragas(score: Score) -> bool:
    """Does the relevance of a chunk depend on a reference that makes no claims?"""
    verdicts, choices = score.verdicts, (score.definition, score.undetermined)
    depends = not verdicts.reference_claims and None in score.chunk_relevance
    return choices == ("ragas", "none") and bool(verdicts.response_claims) and depends


class _OpenRows(BaseCallbackHandler):
    """Logs what ragas' own mean hides. It hears of the end of rows, which ragas ends once all of a
    run are scored."""

    def __init__(self) -> None:
        self.columns: dict[str, list[float]] = {}

    def on_chain_end(self, outputs: Any, **_: Any) -> None:
        columns, self.columns = self.columns, {}
        lines: list[str] = []
        for column, values in columns.items():
            if missing := sum(map(math.isnan, values)):
                one = next((each for each in values if isinstance(each, ScoredFloat)), None)
                run = _summary(values)
                told = "All of them failed." if one is None else mean_of(run, one.mode).reason
                lines.append(f"{column}: {missing} of {len(values)} rows have no number. {told}")
        if lines:
            _log.warning("%s ragas' own mean hides that: use summarize(result).", " ".join(lines))


def count_row(value: float, column: str, group: Any) -> None:
    """Count a row for the log line of the run that ragas' group of it belongs to: its number, or
    NaN if it failed."""
    if row_trace(group) is not None:
        handlers: list[Any] = group.parent_run_manager.handlers  # of all rows of the run
        rows = next((each for each in handlers if isinstance(each, _OpenRows)), None)
        if rows is None:
            handlers.append(rows := _OpenRows())
        rows.columns.setdefault(column, []).append(value)


def summarize(result: Any, *, name: str = "", **options: Any) -> Summary:
    """The figures of an evaluation: what to report of it in place of ragas' own mean.

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
    rows = getattr(result, "scores", result)
    rows = cast("list[dict[str, Any]]", rows if isinstance(rows, list) else [])
    cells = [(column, value) for row in rows for column, value in row.items()]
    found = {column for column, value in cells if isinstance(value, ScoredFloat)}
    columns = sorted(each for each in found if each.startswith(name))
    if len({each.partition("(mode=")[0] for each in columns}) != 1:
        got = ", ".join(sorted(found)) or "no score of ours"
        hint = "choose with name=…" if found else "a pandas column or a file keeps numbers alone"
        raise InputError("a result with one metric of ours", got, where="result", hint=hint)
    # The column of the relevant mode, if it is there; its scores have both modes.
    return _summary([row[columns[-1]] for row in rows], **options)


def _summary(values: Sequence[Any], **options: Any) -> Summary:
    run = summarize_results((_result(*each) for each in enumerate(values)), **options)
    # The response of a row that is undefined in ragas alone does make claims.
    bare = sum(isinstance(each, ScoredFloat) and _is_bare(each) for each in values)
    return replace(run, nothing_claimed=run.nothing_claimed - bare)


def _result(row: int, value: Any) -> Result:
    if not isinstance(value, ScoredFloat):
        return Result(str(row), error="the row failed; ragas has logged why")
    of = value.judgement
    return Result(str(row), _counted(value), unanswered=of.unanswered, usage=of.usage + of.paid)
