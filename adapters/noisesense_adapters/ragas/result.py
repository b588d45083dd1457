"""The number that ragas gets, with the report it comes from, and the figures of a run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple, cast

from noisesense.errors import InputError, describe
from noisesense.judging.protocol import Judgement, Usage
from noisesense.scoring.definitions import MODES, DefinitionName, Mode, check_definition
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import Empty, Score, Status, Undetermined
from noisesense.stats.summarize import summarize as summarize_results
from noisesense.stats.summary import Summary

_NO_REFERENCE_CLAIMS = (
    "the reference makes no claims, so which chunks are relevant is not known; ragas' own metric "
    "gives NaN, too"
)
_NOT_KNOWN = (
    "the judge did not say whether the reference makes claims, and ragas' own metric gives NaN "
    "for one without any"
)


class Choices(NamedTuple):
    """All in which two metrics over the same verdicts may differ."""

    mode: Mode
    definition: DefinitionName
    empty: Empty
    undetermined: Undetermined


class ScoredFloat(float):
    """A float to ragas and to numpy; NaN where the score is undefined or undetermined.

    It is `Score.value`, but for one case in which ragas' own metric has no number (definition
    "ragas", ``undetermined="none"``): a response with claims, a reference without any, and a chunk
    without a label. There this is NaN even where every completion of the verdicts gives the same
    number; ``score`` has it.

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
        """Is there a number, and if not, why?

        "determined", "undetermined" (the judge left verdicts open) or "undefined" (there is
        nothing to measure).
        """
        status = self.score.status(self.mode)
        if status == "determined" and _no_number_in_ragas(self.score):
            # A list of the reference's claims that could not be read is among what is unanswered.
            return "undetermined" if self.judgement.unanswered else "undefined"
        return status

    @property
    def reason(self) -> str:
        """The value and what it comes from, in words."""
        score, reason = self.score, self.score.reason(self.mode)
        if not _no_number_in_ragas(score):
            return reason
        why = _NOT_KNOWN if self.judgement.unanswered else _NO_REFERENCE_CLAIMS
        if score.status(self.mode) != "determined":
            return f"{reason} ({why[0].upper()}{why[1:]}.)"
        title = f"Noise sensitivity ({self.mode}, definition {score.definition})"
        return f"{title} is {self.status}: {why}. Whichever they are: {reason}"

    @property
    def report(self) -> dict[str, Any]:
        """Everything as plain JSON-ready data: the score, and what judging the sample has cost.

        Where ``shared``, the other mode's metric paid it; ``judgement.usage`` counts it once.
        """
        both = {mode: ScoredFloat.of(self.score, mode, self.judgement) for mode in MODES}
        values: dict[str, float | None] = {
            mode: None if math.isnan(each) else float(each) for mode, each in both.items()
        }
        return {
            "mode": self.mode,
            "value": values[self.mode],
            "reason": self.reason,
            **self.score.to_dict(),
            **values,
            "status": {mode: each.status for mode, each in both.items()},
            "reasons": {mode: each.reason for mode, each in both.items()},
            "usage": asdict(self.judgement.usage + self.judgement.paid),
            "unanswered": self.judgement.unanswered,
            "shared": self.judgement.shared,
        }


def _no_number_in_ragas(score: Score) -> bool:
    """Does the relevance of a chunk depend on a reference that makes no claims?"""
    verdicts = score.verdicts
    return (
        score.definition == "ragas"
        and score.undetermined == "none"
        and bool(verdicts.response_claims)
        and not verdicts.reference_claims
        and None in score.chunk_relevance
    )


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
        name: which of our metrics, where the run had several: their ``name=``, or the name of a
            column, which then gives both modes.
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
    results = list(_results(rows, columns))
    relevant = summarize_results((row[0] for row in results), **options)
    if len(columns) == 1:
        return relevant
    # Two columns differ where a sample was judged for each: then each mode is its own column's.
    irrelevant = summarize_results((row[1] for row in results), **options)
    if irrelevant.irrelevant == relevant.irrelevant:
        return relevant
    warnings = dict.fromkeys(relevant.warnings + irrelevant.warnings)
    return replace(relevant, irrelevant=irrelevant.irrelevant, warnings=tuple(warnings))


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
        wanted = {"name": name, "definition": definition}
        raise InputError(
            f"one of our columns, {_listed(ours)}",
            ", ".join(f"{key}={value!r}" for key, value in wanted.items() if value is not None),
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
    """A run in which every row failed: only their names then tell which columns are ours."""
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


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _results(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str]
) -> Iterator[tuple[Result, Result]]:
    """Each row by the first and by the last of these columns that has a score for it."""
    scores = [[_scored(row.get(name), i, name) for name in columns] for i, row in enumerate(rows)]
    values = [[value for value in row if value is not None] for row in scores]
    # What a row cost. A judging is known by its verdicts, whoever has paid for it.
    paid = {id(v.judgement.verdicts) for row in values for v in row if not v.judgement.shared}
    for i, row in enumerate(values):
        usage = Usage()
        for judgement in (value.judgement for value in row):
            usage += judgement.usage
            if id(judgement.verdicts) not in paid:
                paid.add(id(judgement.verdicts))
                usage += judgement.paid
        first, last = (row[0], row[-1]) if row else (None, None)
        yield _result(i, first, usage), _result(i, last, usage)


def _scored(value: Any, i: int, column: str) -> ScoredFloat | None:
    """The column's value in row ``i``; None if the row failed."""
    if isinstance(value, ScoredFloat):
        return value
    if value is None or _is_nan(value):
        return None
    raise InputError(
        "a score with our report attached (ScoredFloat)",
        describe(value),
        where=f"result, row {i}, {column}",
    )


def _result(i: int, value: ScoredFloat | None, usage: Usage) -> Result:
    if value is None:
        return Result(str(i), error="the row failed; ragas has logged why", usage=usage)
    unanswered = value.judgement.unanswered
    return Result(str(i), value.score, unanswered=unanswered, usage=usage)
