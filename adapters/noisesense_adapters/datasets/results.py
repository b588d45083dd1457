"""From rows to results by recorded verdicts, without a judge."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TypedDict

from noisesense import RecordedJudge, score
from noisesense.errors import InputError, NoiseSenseError
from noisesense.scoring.definitions import DefinitionName, check_definition
from noisesense.scoring.results import Result, ResultLine
from noisesense.scoring.scoring import Empty, Score, Undetermined, check_empty, check_undetermined
from noisesense.verdicts.form import VerdictsForm
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.toolbox.given import Column

_FIRST_ROWS = 20


class Choices(TypedDict):
    """How verdicts are scored. None: as the row's line names it, else the default."""

    definition: DefinitionName | None
    empty: Empty | None
    undetermined: Undetermined | None


def choices(
    definition: str | None = None, empty: str | None = None, undetermined: str | None = None
) -> Choices:
    """The three choices. Raises `InputError` for a value that no sample could be scored by."""
    return {
        "definition": None if definition is None else check_definition(definition).name,
        "empty": None if empty is None else check_empty(empty),
        "undetermined": None if undetermined is None else check_undetermined(undetermined),
    }


def results_of(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, Column] | None = None,
    definition: DefinitionName | None = None,
    empty: Empty | None = None,
    undetermined: Undetermined | None = None,
    on_error: Callable[[InputError], None] | None = None,
) -> Iterator[Result]:
    """The results in a file, one by one, from the verdicts that are in it.

    Reads all that `noisesense_adapters.datasets.read_rows` reads: results (also as
    Parquet), recordings, RAGChecker's and Promptfoo's files, and tables with a column of verdicts.
    A row that cannot be read or scored is a result with an error.

    Args:
        path: the file.
        columns: as `read_rows` takes them.
        definition: the definition to score under; by default the one that each result's line
            names, or else ``"ragas"``.
        empty: likewise, for samples without response claims.
        undetermined: likewise, for verdicts that the judge left open.
        on_error: called with the error of each row that cannot be read.

    Raises:
        InputError: as `read_rows`, an argument, or no verdicts in the file.
    """
    chosen = choices(definition, empty, undetermined)

    def reported() -> Iterator[Row | BadRow]:
        for row in read_rows(path, columns):
            if isinstance(row, BadRow) and on_error is not None:
                on_error(row.error)
            yield row

    return recorded_results(reported(), chosen)


def recorded_results(
    rows: Iterator[Row | BadRow], chosen: Choices, recording: RecordedJudge | None = None
) -> Iterator[Result]:
    """The rows' results, by their own verdicts or by those of a recording.

    Raises:
        InputError: no recording, and none of the first rows has verdicts.
    """
    if recording is None:
        first = list(islice(rows, _FIRST_ROWS))
        _check_verdicts(first)
        rows = chain(first, rows)
    return (result_of(row, chosen, recording) for row in rows)


def _check_verdicts(rows: Iterable[Row | BadRow]) -> None:
    readable = [row for row in rows if isinstance(row, Row)]
    if readable and not any(row.verdicts or (row.line and row.line.error) for row in readable):
        raise InputError(
            "verdicts in the file, a recording of them, or a judge",
            "only texts",
            where=readable[0].place,
            hint="--verdicts RECORDING or --judge PROVIDER:MODEL, in Python verdicts= or judge=",
        )


_NO_LINE = ResultLine()


def result_of(
    row: Row | BadRow, chosen: Choices, recording: RecordedJudge | None = None
) -> Result:
    """The row's result: a score, or an error that says why there is none."""
    if isinstance(row, BadRow):
        return unscored(row, row.error)
    line = _NO_LINE if row.line is None or recording is not None else row.line
    scored = None
    if line.error is None:  # else it had failed already
        try:
            scored = scored_by(chosen, _verdicts(row, recording), line)
        except InputError as error:
            return unscored(row, error.within(row.place))
        except NoiseSenseError as error:
            return unscored(row, error)
    return Result(
        id=row.id,
        score=scored,
        error=line.error,
        sample=row.sample,
        cluster=row.cluster,
        unanswered=line.unanswered,
        usage=line.usage,
        judge=line.judge,
    )


def scored_by(chosen: Choices, verdicts: VerdictsForm, line: ResultLine | None = None) -> Score:
    """The score by the choices, or else as the line says. Raises as `noisesense.score`."""
    line = line or _NO_LINE
    return score(
        verdicts,
        definition=chosen["definition"] or line.definition,
        empty=chosen["empty"] or line.empty,
        undetermined=chosen["undetermined"] or line.undetermined,
    )


def _verdicts(row: Row, recording: RecordedJudge | None) -> VerdictsForm:
    if recording is not None:
        if row.sample is None:
            raise InputError("texts to find in the recording", "only verdicts")
        return recording.lookup(row.sample)
    if row.verdicts is None:
        raise InputError("verdicts", "none")
    return row.verdicts


def unscored(row: Row | BadRow, error: NoiseSenseError) -> Result:
    """The result of a row that has no score; the error begins with the row's place."""
    message = str(error)
    if not message.startswith(row.place):
        message = f"{row.place}: {message}"
    sample, cluster = (row.sample, row.cluster) if isinstance(row, Row) else (None, None)
    return Result(row.id, error=message, sample=sample, cluster=cluster)
