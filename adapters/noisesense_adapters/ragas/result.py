"""The number that ragas gets, with the score it comes from, and the figures of a run."""

from __future__ import annotations

import logging
import math
import weakref
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from noisesense.errors import InputError
from noisesense.judging.protocol import Judgement
from noisesense.scoring.definitions import Mode
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import Score, Status
from noisesense.stats.summarize import summarize as summarize_results
from noisesense.stats.summary import Summary
from noisesense_adapters.ragas.sample import row_trace

_log = logging.getLogger("noisesense")


class ScoredFloat(float):
    """A float to ragas and to numpy; NaN where the score is undefined or undetermined.

    It is `Score.value`, but for one case in which ragas' own metric has no number (definition
    "ragas", ``undetermined="none"``): a response with claims, a reference without any, and a chunk
    without a label.

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
        status = self.score.status(self.mode)
        if status == "determined" and math.isnan(self):
            # A list of the reference's claims that could not be read is among what is unanswered.
            return "undetermined" if self.judgement.unanswered else "undefined"
        return status

    @property
    def reason(self) -> str:
        """The value and what it comes from, in words."""
        reason = self.score.reason(self.mode)
        if self.status == self.score.status(self.mode):
            return reason
        why = "the reference makes no claims, so which chunks are relevant is not known"
        return f"{reason} But {self.status} in ragas: {why}."

    @property
    def report(self) -> dict[str, Any]:
        """Everything as plain JSON-ready data: the score, and what judging the sample has cost.

        Where ``shared``, the other mode's metric paid it; ``judgement.usage`` counts it once.
        """
        judgement = self.judgement
        return {
            "mode": self.mode,
            "value": None if math.isnan(self) else float(self),
            "reason": self.reason,
            **self.score.to_dict(),
            "usage": asdict(judgement.usage + judgement.paid),
            "unanswered": judgement.unanswered,
            "shared": judgement.shared,
        }


def _no_number_in_ragas(score: Score) -> bool:
    """Does the relevance of a chunk depend on a reference that makes no claims?"""
    verdicts, as_ragas = (
        score.verdicts,
        (score.definition, score.undetermined) == ("ragas", "none"),
    )
    depends = not verdicts.reference_claims and None in score.chunk_relevance
    return as_ragas and bool(verdicts.response_claims) and depends


class _Run:
    """The numbers of one ``evaluate()``, by column. It goes with ragas' groups of the rows, and
    then logs what ragas' own mean hides."""

    def __init__(self, a_row: Any) -> None:
        self.columns: dict[str, list[ScoredFloat]] = {}
        weakref.finalize(self, _log_open, self.columns, a_row).atexit = False


_runs: weakref.WeakValueDictionary[Any, _Run] = weakref.WeakValueDictionary()
_run_of_row: weakref.WeakKeyDictionary[Any, _Run] = weakref.WeakKeyDictionary()


def count_row(value: ScoredFloat, column: str, group: Any) -> None:
    """Count a number for the log line at the end of its run."""
    if (trace := row_trace(group)) is not None:
        run = _run_of_row[group] = _runs.setdefault(trace.parent_run_id, _Run(trace))
        run.columns.setdefault(column, []).append(value)


def _log_open(columns: Mapping[str, list[ScoredFloat]], a_row: Any) -> None:
    lines: list[str] = []
    for column, values in columns.items():
        for status in ("undetermined", "undefined"):
            rows = [value for value in values if value.status == status]
            if rows:
                count = f"{len(rows)} of {len(values)} rows"
                lines.append(f"{column}: {count} {status}; the first: {rows[0].reason}")
            if rows and status == "undetermined":
                mode = summarize_results(value.score for value in values).mode(rows[0].mode)
                low, high = (mode and mode.bounds) or (0.0, 1.0)
                lines.append(f"The mean lies between {low:.4g} and {high:.4g}.")
    if lines and a_row.outputs:  # a run that has raised says enough
        hint = (
            "ragas' own mean leaves such rows out; noisesense_adapters.ragas.summarize does not."
        )
        _log.warning(" ".join([*lines, hint]))


def summarize(result: Any, *, name: str | None = None, **options: Any) -> Summary:
    """The figures of an evaluation: what to report of it in place of ragas' own mean.

    ragas' mean is over the rows with a number, and so over those that were easy to judge. Here
    the headline is the range ``[mean of the lows, mean of the highs]`` over all rows with claims,
    from 0 to 1, lower is better; see `noisesense.summarize`. A row that failed is counted as
    failed. What was judged once for two metrics is paid for once.

    Args:
        result: what ``evaluate()`` gave, or its ``scores``.
        name: which of our metrics, where the run had several: their name, or that of a column.
        options: further arguments of `noisesense.summarize`.

    Raises:
        InputError: numbers without a score attached (as pandas and files hold them), no column of
            ours, or several metrics among which ``name`` does not choose.
    """
    rows = getattr(result, "scores", result)
    rows = cast("list[dict[str, Any]]", rows if isinstance(rows, list) else [])
    cells = [(column, value) for row in rows for column, value in row.items()]
    found = {column for column, value in cells if isinstance(value, ScoredFloat)}
    columns = sorted(each for each in found if name in (None, each, _metric(each)))
    if len({*map(_metric, columns)}) != 1:
        got = ", ".join(sorted(found)) or "no score of ours"
        hint = "choose with name=…" if found else "a pandas column or a file keeps numbers alone"
        expected = "the result of evaluate(), with one metric of ours"
        raise InputError(expected, got, where="result", hint=hint)
    of_ours = columns[-1]  # "relevant", if it is there; its scores have both modes
    return summarize_results((_result(i, row[of_ours]) for i, row in enumerate(rows)), **options)


def _metric(column: str) -> str:
    return column.partition("(mode=")[0]


def _result(row: int, value: Any) -> Result:
    if not isinstance(value, ScoredFloat):
        return Result(str(row), error="the row failed; ragas has logged why")
    judgement = value.judgement
    usage = judgement.usage + judgement.paid
    return Result(str(row), value.score, unanswered=judgement.unanswered, usage=usage)
