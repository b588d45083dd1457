"""The number that ragas gets, with the report it comes from, and a run's numbers in figures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, cast

from noisesense.definitions import MODES, DefinitionName, Mode, check_definition
from noisesense.errors import InputError, describe
from noisesense.judge import Judgement, Usage
from noisesense.results import Result
from noisesense.scoring import Score, Status
from noisesense.stats.summarize import summarize as summarize_results
from noisesense.stats.summary import Summary

__all__ = ["ScoredFloat", "summarize"]

_NO_REFERENCE_CLAIMS = (
    "the reference makes no claims, so which chunks are relevant is not known; ragas' own metric "
    "gives NaN, too"
)
_NOT_TOLD = (
    "the judge did not say whether the reference makes claims, and ragas' own metric gives NaN "
    "for one without any"
)


class ScoredFloat(float):
    """A float to ragas and to numpy; NaN where the score is undefined or undetermined.

    It is `Score.value`, but for one case in which ragas' own metric has no number (definition
    "ragas", ``undetermined="none"``): a response with claims, a reference without any, and a chunk
    without a label. There this is NaN even where every completion of the verdicts gives the same
    number; ``score`` has it.

    It stays itself in ``result.scores`` and in a `MetricResult`; a pandas column holds plain
    floats.

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
        value = _value(score, mode)
        number = cls(math.nan if value is None else value)
        number.score, number.mode, number.judgement = score, mode, judgement
        return number

    @property
    def status(self) -> Status:
        """Is there a number, and if not, why?

        "determined", "undetermined" (the judge left verdicts open) or "undefined" (there is
        nothing to measure).
        """
        return _status(self.score, self.mode, self.judgement)

    @property
    def reason(self) -> str:
        """The value and what it comes from, in words."""
        return _reason(self.score, self.mode, self.judgement)

    @property
    def report(self) -> dict[str, Any]:
        """Everything as plain JSON-ready data: the score, and what judging the sample has cost.

        Where ``shared``, the other mode's metric paid it; ``judgement.usage`` counts it once.
        """
        return {
            "mode": self.mode,
            "value": _value(self.score, self.mode),
            "reason": self.reason,
            **self.score.to_dict(),
            **{mode: _value(self.score, mode) for mode in MODES},
            "status": {mode: _status(self.score, mode, self.judgement) for mode in MODES},
            "reasons": {mode: _reason(self.score, mode, self.judgement) for mode in MODES},
            "usage": asdict(self.judgement.usage + self.judgement.paid),
            "unanswered": self.judgement.unanswered,
            "shared": self.judgement.shared,
        }


def _no_number_in_ragas(score: Score) -> bool:
    """Are the chunks to be told relevant by a reference that makes no claims?"""
    verdicts = score.verdicts
    return (
        score.definition == "ragas"
        and score.undetermined == "none"
        and bool(verdicts.response_claims)
        and not verdicts.reference_claims
        and None in score.chunk_relevance
    )


def _value(score: Score, mode: Mode) -> float | None:
    return None if _no_number_in_ragas(score) else score.value(mode)


def _status(score: Score, mode: Mode, judgement: Judgement) -> Status:
    status = score.status(mode)
    if status == "determined" and _no_number_in_ragas(score):
        # A list of the reference's claims that could not be read is among what is unanswered.
        return "undetermined" if judgement.unanswered else "undefined"
    return status


def _reason(score: Score, mode: Mode, judgement: Judgement) -> str:
    reason = score.reason(mode)
    if not _no_number_in_ragas(score):
        return reason
    why = _NOT_TOLD if judgement.unanswered else _NO_REFERENCE_CLAIMS
    if score.status(mode) == "determined":
        title = f"Noise sensitivity ({mode}, definition {score.definition})"
        status = _status(score, mode, judgement)
        return f"{title} is {status}: {why}. Whichever they are: {reason}"
    return f"{reason} ({why[0].upper()}{why[1:]}.)"


def summarize(
    result: Any,
    *,
    name: str | None = None,
    definition: DefinitionName | None = None,
    **options: Any,
) -> Summary:
    """The figures of an evaluation: what to report of it in place of ragas' own mean.

    ragas' mean is over the rows with a number, and so over those that were easy to judge. Here
    the headline is the range ``[mean of the lows, mean of the highs]`` over all rows with claims,
    from 0 to 1, lower is better; see `noisesense.summarize`. A row that failed is counted as
    failed. What was judged once for two metrics is paid for once.

    Args:
        result: what ``evaluate()`` gave, or its ``scores``.
        name: which of our metrics, where several were in the run: their ``name=``, or the name of
            a column; both modes are taken from the one column then.
        definition: likewise.
        options: further arguments of `noisesense.summarize`.

    Raises:
        InputError: numbers without a score attached (as pandas and files hold them), no column of
            ours, or several among which ``name`` and ``definition`` do not choose.
    """
    if definition is not None:
        check_definition(definition)
    rows = _rows(result)
    columns = _columns(rows, name, definition)
    if not columns:
        return summarize_results(_failed(result, rows, name), **options)
    usages = list(_usages([_values(row, columns) for row in rows]))
    found = [
        summarize_results(_results(rows, order, usages), **options)
        for order in (columns, columns[::-1])[: len(columns)]
    ]
    # Two columns differ where a sample was judged for each: then each mode is its own column's.
    first = found[0]
    if len(found) == 1 or found[1].irrelevant == first.irrelevant:
        return first
    warnings = dict.fromkeys(first.warnings + found[1].warnings)
    return replace(first, irrelevant=found[1].irrelevant, warnings=tuple(warnings))


def _rows(result: Any) -> list[Mapping[str, Any]]:
    rows = getattr(result, "scores", result)
    if isinstance(rows, (list, tuple)):
        rows = list(cast("Sequence[object]", rows))
        if all(isinstance(row, Mapping) for row in rows):
            return cast("list[Mapping[str, Any]]", rows)
    raise InputError(
        "the result of evaluate() or its scores",
        type(result).__name__,
        where="result",
        hint="a table of numbers, as pandas holds them, has no scores attached",
    )


def _columns(
    rows: Iterable[Mapping[str, Any]], name: str | None, definition: DefinitionName | None
) -> list[str]:
    """Our column, or the two of one metric, the relevant mode's first."""
    ours: dict[str, ScoredFloat] = {}
    for row in rows:
        for column, value in row.items():
            if isinstance(value, ScoredFloat):
                ours.setdefault(column, value)
    chosen = {
        column: value
        for column, value in ours.items()
        if name in (None, column, _base(column)) and definition in (None, value.score.definition)
    }
    if ours and not chosen:
        asked = {"name": name, "definition": definition}
        raise InputError(
            f"one of our columns, {_listed(ours)}",
            ", ".join(f"{key}={value!r}" for key, value in asked.items() if value is not None),
        )
    kinds = {
        (_base(column), value.score.definition, value.score.empty, value.score.undetermined)
        for column, value in chosen.items()
    }
    if len(kinds) > 1:
        raise InputError(
            "the columns of one metric",
            _listed(chosen),
            where="result",
            hint="choose with summarize(result, name=…) or definition=…",
        )
    return sorted(chosen, key=lambda column: MODES.index(chosen[column].mode))


def _base(column: str) -> str:
    return re.sub(r"\(mode=\w+\)$", "", column)


def _listed(columns: Mapping[str, ScoredFloat]) -> str:
    return ", ".join(f"{each!r} ({value.score.definition})" for each, value in columns.items())


def _failed(result: Any, rows: list[Mapping[str, Any]], name: str | None) -> list[Result]:
    """A run of which every row failed: all that tells our columns then is their name."""
    ours = [
        column
        for column in (rows[0] if rows else ())
        if _base(column) != column and name in (None, column, _base(column))
    ]
    failed = [all(_is_nan(row.get(column)) for row in rows) for column in ours]
    if hasattr(result, "scores") and failed and all(failed):
        return [_result(i, None, Usage()) for i in range(len(rows))]
    raise InputError(
        "scores with our report attached (ScoredFloat)",
        "plain numbers" if ours else "none of our columns",
        where="result",
        hint="give the result of evaluate() itself: a pandas column or a file keeps the numbers "
        "alone",
    )


def _values(row: Mapping[str, Any], columns: Iterable[str]) -> list[ScoredFloat]:
    found = [row.get(column) for column in columns]
    return [value for value in found if isinstance(value, ScoredFloat)]


def _results(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], usages: Sequence[Usage]
) -> Iterable[Result]:
    """Each row by the first of these columns that has a score for it."""
    for i, row in enumerate(rows):
        for column in columns:
            value = row.get(column)
            if not isinstance(value, (ScoredFloat, type(None))) and not _is_nan(value):
                raise InputError(
                    "a score with our report attached (ScoredFloat)",
                    describe(value),
                    where=f"result, row {i}, {column}",
                )
        values = _values(row, columns)
        yield _result(i, values[0] if values else None, usages[i])


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _result(i: int, value: ScoredFloat | None, usage: Usage) -> Result:
    if value is None:
        return Result(str(i), error="the row failed; ragas has logged why", usage=usage)
    unanswered = value.judgement.unanswered
    return Result(str(i), value.score, unanswered=unanswered, usage=usage)


def _usages(rows: Sequence[Sequence[ScoredFloat]]) -> Iterable[Usage]:
    """What each row cost. A judging is known by its verdicts, whoever has paid for it."""
    judgements = [value.judgement for row in rows for value in row]
    counted = {id(each.verdicts) for each in judgements if not each.shared}
    for row in rows:
        usage = Usage()
        for judgement in (value.judgement for value in row):
            usage += judgement.usage
            if judgement.shared and id(judgement.verdicts) not in counted:
                counted.add(id(judgement.verdicts))
                usage += judgement.paid
        yield usage
