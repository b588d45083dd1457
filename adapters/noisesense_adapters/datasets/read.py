"""The rows of a dataset, and the results of the verdicts in it.

The format is known by the file's ending, the kind by its first rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace
from typing_extensions import Unpack

from noisesense.errors import InputError, NoiseSenseError, check_choice, error_context
from noisesense.jsonl import as_path
from noisesense.scoring.results import Choices, LastLine, Result, ResultLine
from noisesense.stats.clusters import question_cluster
from noisesense.verdicts.form import as_name, light_line
from noisesense_adapters.datasets import files
from noisesense_adapters.datasets.files import Raw, decoded
from noisesense_adapters.datasets.promptfoo import (
    is_result,
    of_one_system,
    result_name,
    result_reader,
)
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.datasets.tables import MAPPED, Table, UnsettledError, object_of
from noisesense_adapters.evaluate.evaluator import choices
from noisesense_adapters.reading.paths import Column, picked
from noisesense_adapters.reading.places import FIELDS, ROW_NAMES
from noisesense_adapters.reading.values import as_object, is_empty, normal, without_nulls, words

if TYPE_CHECKING:
    from noisesense import Sample

_FIRST_ROWS = 20
_LINE = frozenset(ResultLine.model_fields)
_CALLED = {name: field for field in FIELDS for name in words(ROW_NAMES[field])}
"""What tools call the fields: a user may, too."""

Read = Callable[[Mapping[str, Any], str], Row]
"""Reads a row from its data and its place. Raises `InputError`."""


def read_rows(
    path: str | os.PathLike[str],
    columns: Mapping[str, Column] | None = None,
    *,
    verdicts: bool = True,
    texts: bool = True,
    split_contexts: str | None = None,
    provider: str | None = None,
    guess: bool = False,
    on_note: Callable[[str], object] = lambda _: None,
) -> Iterator[Row | BadRow]:
    """Read the samples of a dataset one by one.

    JSON lines, CSV, Parquet and workbooks are streamed; JSON documents are read as a whole (lists
    of rows, Promptfoo's results, DeepEval's test runs). The columns of known tools are recognized
    by their names, as are lines of recordings and of results. A row that cannot be read, or
    whose id an earlier row has, becomes a `BadRow`.

    Args:
        path: the file.
        columns: columns with other names: for ``response``, ``reference``,
            ``retrieved_contexts``, ``retrieved_context_ids``, ``user_input``, ``verdicts``,
            ``id`` or ``cluster`` the name of a column, a path (see
            `noisesense_adapters.reading.paths`), or a function of the row. A field may be called
            as other tools do: ``answer``, ``contexts``, ``question``.
            ``retrieved_context_ids`` names the contexts' documents.
        verdicts: whether to read the verdicts in the file.
        texts: whether samples are needed. Without them, recordings are read faster, and a line
            without an id is named by a hash of its texts.
        split_contexts: the separator of chunks in a cell that is not a list.
        provider: of Promptfoo's results, whose; see `noisesense_adapters.datasets.promptfoo`.
        guess: take the likeliest columns where names do not settle them.
        on_note: called with hints about the first rows.

    Raises:
        UnsettledError: names do not settle which columns are meant.
        InputError: no such file, an empty file, an unknown kind, another encoding, unknown
            columns, a separator that is in none of the first rows, a provider that is unknown, or
            several in Promptfoo's results and none chosen. Later, while rows are read: a damaged
            file, or a results file that was cut off.
        MissingExtraError: the package that reads this kind of file is not installed.
    """
    path = as_path(path)
    chosen = _checked_columns(columns, split_contexts)
    raws: Iterable[Raw] = files.raw_rows(path)
    first = list(islice(raws, _FIRST_ROWS))
    row = _first_object(first, path)
    raws = chain(first, raws)
    is_plain = chosen.keys() <= {"id", "cluster"} and split_contexts is None
    if is_plain and is_result(row):
        with error_context(str(path)):
            raws = of_one_system(map(_parsed, raws), provider)
        lines = _read_each(raws, result_reader(path.parent, verdicts=verdicts), chosen)
        return _each_once(lines)
    if provider is not None:
        raise InputError("Promptfoo's results", "others", where=f"{path}, provider")
    if not is_plain or not _is_line(row):
        table = Table(chosen, split_contexts, verdicts=verdicts)
        rows = table.rows(map(_parsed, raws), path, on_note, guess=guess)
        return _each_once(_noted(rows, on_note))
    if verdicts and not texts and not chosen:
        lines = (light_row(raw.place, raw.data, keyed=False) for raw in raws)
    else:
        lines = _read_each(raws, read_line if verdicts else _read_texts, chosen)
    return _each_once(_all_there(lines, path))


def _parsed(raw: Raw) -> Raw:
    """Return the row with its data, if it is a line of JSON."""
    return Raw(raw.place, decoded(raw))


def _first_object(first: list[Raw], path: Path) -> dict[str, Any]:
    """Return the first row that is an object. Raises the first row's `InputError` if none is."""
    if not first:
        raise InputError("at least one row", "none", where=str(path))
    objects = [as_object(decoded(raw)) for raw in first]
    if not any(objects):
        with error_context(str(path.parent / first[0].place)):
            return object_of(_parsed(first[0]))
    return next(filter(None, objects))


def _noted(
    rows: Iterator[Row | BadRow], on_note: Callable[[str], object]
) -> Iterator[Row | BadRow]:
    """Return the rows of a table, after a hint if the first ones have no question."""
    first = list(islice(rows, _FIRST_ROWS))
    samples = [each.sample for each in first if isinstance(each, Row) and each.sample]
    if samples and not any(sample.user_input.strip() for sample in samples):
        on_note("note: no question was read; --map user_input=COLUMN names its column")
    return chain(first, rows)


def _all_there(rows: Iterable[Row | BadRow], path: Path) -> Iterator[Row | BadRow]:
    """Yield the rows of a results file. Raises `InputError` if its end is missing."""
    last = LastLine()
    if files.ending_of(path) != ".jsonl":
        yield from rows
        return
    for row in rows:
        with error_context(str(path)):
            last.count(row.line if isinstance(row, Row) else None)
        yield row
    last.check(str(path))


_CONTENT_KEY = re.compile("[0-9a-f]{64}")


def _each_once(rows: Iterator[Row | BadRow]) -> Iterator[Row | BadRow]:
    """Yield the rows. An id again is an error in its row's place; keys of content may repeat."""
    seen: set[int] = set()
    for row in rows:
        is_key = len(row.id) == 64 and _CONTENT_KEY.fullmatch(row.id)
        if isinstance(row, Row) and not is_key:
            mark = hash(row.id)
            if mark in seen:
                hint = "give every sample its own id, leave ids out, or --map id=COLUMN"
                error = InputError("each id once", f"{row.id!r} again", hint=hint)
                row = BadRow(row.place, row.place, error.within(row.place))
            seen.add(mark)
        yield row


def _checked_columns(
    columns: Mapping[str, Column] | None, separator: str | None
) -> dict[str, Column]:
    """Return the user's columns by their fields.

    Raises:
        InputError: an unknown field, one that is given twice, or an empty separator.
    """
    if separator == "":
        raise InputError("a text between chunks", "an empty one", where="split_contexts")
    checked: dict[str, Column] = {}
    for field, column in (columns or {}).items():
        name = _CALLED.get(normal(field), field)
        if name not in MAPPED and column in MAPPED:
            hint = f"the other way round: {column}={field}"
            raise InputError("FIELD=COLUMN", f"{field}={column}", where="columns", hint=hint)
        check_choice(name, MAPPED, "columns")
        if name in checked:
            raise InputError("each field once", f"{field!r} beside another name", where="columns")
        checked[name] = column
    return checked


def _is_line(row: Mapping[str, Any]) -> bool:
    """Tell whether it is a line of results or of a recording."""
    has_content = "sample" in row or "verdicts" in row or {"id", "error"} <= row.keys()
    return has_content and row.keys() <= _LINE


def _read_each(
    raws: Iterable[Raw], read: Read, columns: Mapping[str, Column]
) -> Iterator[Row | BadRow]:
    for raw in raws:
        yield _row(raw, read, columns)


def _row(raw: Raw, read: Read, columns: Mapping[str, Column]) -> Row | BadRow:
    """Read a row of a known kind; a `BadRow` if it cannot be read."""
    names: dict[str, str] = {}
    try:
        raw = _parsed(raw)
        fields = object_of(raw)
        if is_result(fields):
            names["id"] = result_name(fields)
        for field, column in columns.items():
            name = picked(fields, column, field)
            if not is_empty(name):
                names[field] = str(as_name(name))
        return replace(read(fields, raw.place), **names)
    except InputError as error:
        return BadRow.of(raw, error, names.get("id"))
    except RecursionError:
        return BadRow.of(raw, InputError("a sample", "one that is nested too deep"))


def read_line(row: Mapping[str, Any], place: str) -> Row:
    """Read a line of results or of a recording. Raises `InputError`."""
    line = ResultLine.model_validate(without_nulls(row))
    sample = line.sample
    verdicts = line.verdicts
    if sample is not None and verdicts is not None:
        verdicts = verdicts.with_sample(sample)
    return Row(place, line.name, line.cluster, sample, verdicts, line)


def _read_texts(row: Mapping[str, Any], place: str) -> Row:
    """Same as `read_line`, without the verdicts."""
    return read_line({**row, "verdicts": None}, place)


def light_row(place: str, content: Any, *, keyed: bool = True) -> Row | BadRow:
    """Read a line of a recording or of results; a `BadRow` if it cannot be read.

    A plain one is read faster, in the light form of `noisesense.verdicts.form`; if it names no
    cluster, its question is the cluster. A line without an id is named by the key of its texts; a
    plain one, unless ``keyed``, by its place.
    """
    line = light_line(content) if type(content) in (bytes, dict) else None
    if line is None:
        return _row(Raw(place, content), read_line, {})
    name = line.id or place
    if line.id is None and line.sample is not None and keyed:
        name = line.sample.key
    cluster = line.cluster or question_cluster(line.sample)
    sample = cast("Sample | None", line.sample)  # the light form has all that is read of it
    return Row(place, name, cluster, sample, line.verdicts)


def results_of(
    path: str | os.PathLike[str],
    *,
    on_error: Callable[[InputError], object] = lambda _: None,
    **chosen: Unpack[Choices],
) -> Iterator[Result]:
    """Score the verdicts in a file, row by row.

    Reads the formats of `noisesense_adapters.datasets.read_rows`: results, recordings, files of
    Promptfoo, and tables with a column of verdicts. A row that cannot be read or
    scored is a result with an error.

    Args:
        path: the file.
        on_error: called with the error of each row that cannot be read.
        chosen: ``definition``, ``empty`` and ``undetermined``; by default as each line says, or
            the defaults of `noisesense.score`.

    Raises:
        InputError: as `read_rows`, an argument, or a file without verdicts (among its first rows).
    """
    chosen = choices(**chosen)

    def result(row: Row | BadRow) -> Result:
        if isinstance(row, BadRow):
            on_error(row.error)
        return result_of(row, **chosen)

    hint = f"noisesense score {Path(path).name} --judge PROVIDER:MODEL --out RESULTS.jsonl"
    hint += " makes such a file"
    try:
        rows = read_rows(path)
    except UnsettledError as error:
        raise InputError(_VERDICTS, "a table", where=str(path), hint=hint) from error
    return map(result, with_verdicts(rows, hint=hint))


_VERDICTS = "verdicts in the file, or a judge"
_JUDGED_BY = "--judge PROVIDER:MODEL, in Python judge="


def with_verdicts(
    rows: Iterator[Row | BadRow], *, hint: str = _JUDGED_BY
) -> Iterator[Row | BadRow]:
    """Return the rows as they are.

    Raises `InputError` at once if some of the first can be read, and none of these has verdicts or
    an earlier run's error.
    """
    first = list(islice(rows, _FIRST_ROWS))
    readable = [row for row in first if isinstance(row, Row)]
    if readable and not any(row.verdicts or row.line.error for row in readable):
        raise InputError(_VERDICTS, "only texts", where=readable[0].place, hint=hint)
    return chain(first, rows)


def result_of(row: Row | BadRow, **chosen: Unpack[Choices]) -> Result:
    """Return the result of a row: a score, or an error that says why there is none.

    A row that failed in an earlier run keeps its error.
    """
    if isinstance(row, BadRow):
        return unscored(row, row.error)
    line = row.line
    scored = None
    if line.error is None:  # or else the sample failed in an earlier run
        try:
            if row.verdicts is None:
                raise InputError("verdicts", "none")
            scored = line.scored(row.verdicts, **chosen)
        except NoiseSenseError as error:
            return unscored(row, error.within(row.place))
    return line.with_score(scored, row.id, row.sample, row.cluster)


def unscored(row: Row | BadRow, error: NoiseSenseError) -> Result:
    """Return the result of a row that has no score, with the error's message."""
    if isinstance(row, BadRow):
        return Result(row.id, error=str(error))
    return Result(row.id, error=str(error), sample=row.sample, cluster=row.cluster)
