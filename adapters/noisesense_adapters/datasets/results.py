"""From rows to results by recorded verdicts, without a judge."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import chain, islice

from typing_extensions import Unpack

from noisesense.errors import InputError, NoiseSenseError
from noisesense.scoring.definitions import check_definition
from noisesense.scoring.results import Choices, Result
from noisesense.scoring.scoring import check_empty, check_undetermined
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import BadRow, Row

_FIRST_ROWS = 20


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
    on_error: Callable[[InputError], object] = lambda _: None,
    **chosen: Unpack[Choices],
) -> Iterator[Result]:
    """The results in a file, one by one, from the verdicts that are in it.

    Reads all that `noisesense_adapters.datasets.read_rows` reads: results, recordings,
    RAGChecker's and Promptfoo's files, and tables with a column of verdicts. A row that cannot be
    read or scored is a result with an error.

    Args:
        path: the file.
        on_error: called with the error of each row that cannot be read.
        chosen: ``definition``, ``empty`` and ``undetermined``; by default as each result's line
            names them, or else as `noisesense.score` has them.

    Raises:
        InputError: as `read_rows`, an argument, or no verdicts in the file.
    """
    chosen = choices(**chosen)

    def result(row: Row | BadRow) -> Result:
        if isinstance(row, BadRow):
            on_error(row.error)
        return result_of(row, **chosen)

    return map(result, with_verdicts(read_rows(path)))


def with_verdicts(rows: Iterator[Row | BadRow]) -> Iterator[Row | BadRow]:
    """The rows, if one of the first has verdicts, or says why not. Raises `InputError`."""
    first = list(islice(rows, _FIRST_ROWS))
    readable = [row for row in first if isinstance(row, Row)]
    if readable and not any(row.verdicts or row.line.error for row in readable):
        expected = "verdicts in the file, a recording of them, or a judge"
        hint = "--verdicts RECORDING or --judge PROVIDER:MODEL, in Python verdicts= or judge="
        raise InputError(expected, "only texts", where=readable[0].place, hint=hint)
    return chain(first, rows)


def result_of(row: Row | BadRow, **chosen: Unpack[Choices]) -> Result:
    """The row's result: a score, or an error that says why there is none."""
    if isinstance(row, BadRow):
        return unscored(row, row.error)
    line, scored = row.line, None
    if line.error is None:  # else it had failed already
        try:
            if row.verdicts is None:
                raise InputError("verdicts", "none")
            scored = line.scored(row.verdicts, **chosen)
        except NoiseSenseError as error:
            return unscored(row, error.within(row.place))
    rest = (row.sample, row.cluster, line.unanswered, line.usage, line.judge)
    return Result(row.id, scored, line.error, *rest)


def unscored(row: Row | BadRow, error: NoiseSenseError) -> Result:
    """The result of a row that has no score."""
    sample, cluster = (row.sample, row.cluster) if isinstance(row, Row) else (None, None)
    return Result(row.id, error=str(error), sample=sample, cluster=cluster)
