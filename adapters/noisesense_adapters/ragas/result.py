"""The number that ragas gets, with the score it comes from, and the figures of a run."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackHandler

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
        unread = "the reference's claims could not be read"
        why = unread if self.status == "undetermined" else "the reference makes no claims"
        why = f"{why}, so it is not known which chunks are relevant"
        return f"{reason} But {self.status} in ragas: {why}."

    @property
    def report(self) -> dict[str, Any]:
        """Everything as plain JSON-ready data: the score, and what judging the sample has cost.

        Where ``shared``, the other mode's metric paid it; ``judgement.usage`` counts it once.
        """
        return {
            "mode": self.mode,
            "value": None if math.isnan(self) else float(self),
            "reason": self.reason,
            **self.score.to_dict(),
            "usage": asdict(self.judgement.usage + self.judgement.paid),
            "unanswered": self.judgement.unanswered,
            "shared": self.judgement.shared,
        }


def _no_number_in_ragas(score: Score) -> bool:
    """Does the relevance of a chunk depend on a reference that makes no claims?"""
    verdicts, choices = score.verdicts, (score.definition, score.undetermined)
    depends = not verdicts.reference_claims and None in score.chunk_relevance
    return choices == ("ragas", "none") and bool(verdicts.response_claims) and depends


class _OpenRows(BaseCallbackHandler):
    """Logs what ragas' own mean hides. It hears of the end of rows, which ragas ends once all of a
    run are scored."""

    def __init__(self) -> None:
        self.columns: dict[str, list[ScoredFloat]] = {}

    def on_chain_end(self, outputs: Any, **_: Any) -> None:
        columns, self.columns = self.columns, {}
        lines = [line for each in columns.items() for line in _open_rows(*each)]
        if lines:
            _log.warning("%s ragas' own mean hides that: use summarize(result).", " ".join(lines))


def count_row(value: ScoredFloat, column: str, group: Any) -> None:
    """Count a number for the log line of the run that ragas' group of a row belongs to."""
    if row_trace(group) is not None:
        handlers: list[Any] = group.parent_run_manager.handlers  # of all rows of the run
        rows = next((each for each in handlers if isinstance(each, _OpenRows)), None)
        if rows is None:
            handlers.append(rows := _OpenRows())
        rows.columns.setdefault(column, []).append(value)


def _open_rows(column: str, values: list[ScoredFloat]) -> Iterator[str]:
    for status in ("undetermined", "undefined"):
        rows = [value for value in values if value.status == status]
        if rows:
            yield f"{column}: {len(rows)} of {len(values)} rows {status}: {rows[0].reason}"
        if rows and status == "undetermined":
            mode = summarize_results(value.score for value in values).mode(rows[0].mode)
            low, high = (mode and mode.mean) or (0.0, 1.0)
            yield f"The mean lies between {low:.4g} and {high:.4g}."


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
        raise InputError("a result with one metric of ours", got, where="result", hint=hint)
    # The column of the relevant mode, if it is there; its scores have both modes.
    values = (row[columns[-1]] for row in rows)
    return summarize_results((_result(*each) for each in enumerate(values)), **options)


def _metric(column: str) -> str:
    return column.partition("(mode=")[0]


def _result(row: int, value: Any) -> Result:
    if not isinstance(value, ScoredFloat):
        return Result(str(row), error="the row failed; ragas has logged why")
    of = value.judgement
    return Result(str(row), value.score, unanswered=of.unanswered, usage=of.usage + of.paid)
