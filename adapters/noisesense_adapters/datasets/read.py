"""The rows of a dataset, and the results of the verdicts in it.

The format is known by the file's ending, the schema by its first rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice, tee
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from typing_extensions import Unpack

from noisesense.errors import InputError, NoiseSenseError, error_context
from noisesense.jsonl import as_path
from noisesense.scoring.results import Choices, Result, ResultLine
from noisesense.stats.clusters import question_cluster
from noisesense.verdicts.form import light_line
from noisesense_adapters.datasets import files
from noisesense_adapters.datasets.files import Raw
from noisesense_adapters.datasets.groups import CONTEXTS, GROUP, Merged, object_of
from noisesense_adapters.datasets.promptfoo import (
    PromptfooReader,
    is_result,
    of_one_system,
    result_name,
)
from noisesense_adapters.datasets.rows import (
    FIELDS,
    BadRow,
    ColumnReader,
    Read,
    Row,
    name_of,
    recognize,
)
from noisesense_adapters.evaluate.evaluator import choices
from noisesense_adapters.evaluate.inputs import Column, as_object, normal, pick, without_nulls
from noisesense_adapters.evaluate.names import IDS

_FIRST_ROWS = 20
_MOST_WITHOUT = 10_000
_LINE = frozenset(ResultLine.model_fields)
_NAMES = ("id", "cluster")


def read_rows(
    path: str | os.PathLike[str],
    columns: Mapping[str, Column] | None = None,
    *,
    verdicts: bool = True,
    texts: bool = True,
    split_contexts: str | None = None,
    provider: str | None = None,
) -> Iterator[Row | BadRow]:
    """Read the samples of a dataset one by one.

    JSON lines, CSV and Parquet are streamed; JSON documents are read as a whole (lists of rows,
    Promptfoo's results, DeepEval's test runs). The columns of
    known frameworks are recognized by their names, as are lines of recordings and of results. A
    row that cannot be read becomes a `BadRow`.

    Chunks are texts or objects with a text (``page_content``, ``pageContent``, ``text``,
    ``content`` or ``context``), and optionally an id (``id``, ``doc_id``, ``source``, …) and a
    label ``relevant``.

    Args:
        path: the file.
        columns: columns with other names: for ``response``, ``reference``,
            ``retrieved_contexts``, ``retrieved_context_ids``, ``user_input``, ``verdicts``,
            ``id`` or ``cluster`` the name of a column, a path into a column of objects
            (``nodes[].text`` for each item of a list), or a function of the row.
            ``retrieved_context_ids`` names the contexts' documents, ``relevant_contexts`` is a
            column of what should have been retrieved, which labels the chunks, and ``group`` what
            rows with one chunk each share.
        verdicts: whether to read the verdicts in the file.
        texts: whether samples are needed. Without them, recordings are read faster, and a line
            without an id is named by a hash of its texts.
        split_contexts: the separator of chunks in a cell that is not a list.
        provider: of Promptfoo's results, whose; see `noisesense_adapters.datasets.promptfoo`.

    Raises:
        InputError: no such file, an empty file, an unknown kind, another encoding, unknown
            columns, or Promptfoo's results of several providers and none chosen; while reading,
            an id twice.
    """
    path = as_path(path)
    columns = _checked_columns(columns, split_contexts, verdicts=verdicts)
    first, rows = _raw_rows(path, provider)
    read = _reader(path, first, columns, verdicts=verdicts)
    if not isinstance(read, ColumnReader):
        _check_options(path, columns, split_contexts)
    elif GROUP in columns:
        merge = Merged(columns[GROUP], {**read.columns, **columns}, verdicts=verdicts)
        rows = merge(rows)
        first = list(merge(first))
        read = _of_merged(read)
    elif split_contexts is not None:
        read = replace(read, separator=split_contexts)
        rows = _with_separator(rows, read, path)
    if columns:
        _check_not_all_bad(_rows(first, read, columns, verdicts=verdicts))
    is_light = verdicts and not texts and not columns
    if is_light and read is read_line and files.is_jsonl(path):
        lines = files.jsonl_lines(path)
        return _each_once(light_row(place, line, keyed=False) for place, line in lines)
    return _each_once(_rows(rows, read, columns, verdicts=verdicts))


def _of_merged(read: ColumnReader) -> ColumnReader:
    """A reader of merged rows, which have their chunks and the chunks' ids under our names."""
    columns = dict(read.columns)
    for name in (CONTEXTS, IDS):
        if name in columns:
            columns[name] = name
    return replace(read, columns=columns)


def _check_options(path: Path, columns: Mapping[str, Column], split_contexts: str | None) -> None:
    """Raise `InputError` if chunks are to be grouped or split: only those of a table can be."""
    if GROUP in columns or split_contexts is not None:
        option = GROUP if split_contexts is None else "split_contexts"
        got = "a recording, or results of another tool"
        raise InputError("a table with a column of contexts", got, where=f"{path}, {option}")


_EXPECTED_CONTEXTS = ("referencecontexts", "relevantcontexts", "expectedcontexts")


def label_note(path: Path, columns: Mapping[str, Column]) -> str:
    """A note that a column of what should have been retrieved could label the chunks, if any."""
    if "relevant_contexts" in columns:
        return ""
    first = Raw("", None)
    with suppress(InputError):  # reported when the file is read
        first = next(files.raw_rows(path), first)
    for name in as_object(first.data):
        if normal(name) in _EXPECTED_CONTEXTS:
            option = f"--map relevant_contexts={name}"
            return f"note: {name} labels no chunks; with {option} what is in it is relevant"
    return ""


def question_note(path: Path, **reading: Any) -> str:
    """A note that no question was read, without which a judge can hardly read a short answer.

    Args:
        path: the file; the note is empty if one of its first samples has a question.
        reading: further arguments of `read_rows`.
    """
    rows: list[Row | BadRow] = []
    with suppress(InputError):  # reported when the file is read
        rows += islice(read_rows(path, verdicts=False, **reading), _FIRST_ROWS)
    samples = [row.sample for row in rows if isinstance(row, Row) and row.sample is not None]
    if not samples or any(sample.user_input.strip() for sample in samples):
        return ""
    return "note: no question was read; --map user_input=COLUMN names its column"


_CONTENT_KEY = re.compile("[0-9a-f]{64}")


def _each_once(rows: Iterator[Row | BadRow]) -> Iterator[Row | BadRow]:
    """The rows. Raises `InputError` at an id that came before; keys of content may repeat."""
    seen: set[int] = set()
    for row in rows:
        is_key = len(row.id) == 64 and _CONTENT_KEY.fullmatch(row.id)
        if isinstance(row, Row) and not is_key:
            mark = hash(row.id)
            if mark in seen:
                hint = "give every sample its own id, or leave ids out"
                if row.id_column is not None:
                    hint = f"the ids are from {row.id_column!r}; --map id=COLUMN takes another"
                raise InputError("each id once", f"{row.id!r} again", where=row.place, hint=hint)
            seen.add(mark)
        yield row


def _raw_rows(path: Path, provider: str | None) -> tuple[list[Raw], Iterator[Raw]]:
    """The first rows, and all rows including these. Raises as `read_rows`."""
    rows = files.raw_rows(path)
    first = list(islice(rows, _FIRST_ROWS))
    if not first:
        raise InputError("at least one row", _without_rows(path), where=str(path))
    if any(is_result(raw.data) for raw in first):
        with error_context(str(path)):
            rows = iter(of_one_system(chain(first, rows), provider))
        first = list(islice(rows, _FIRST_ROWS))
    elif provider is not None:
        raise InputError("Promptfoo's results", "others", where=f"{path}, provider")
    return first, chain(first, rows)


def _without_rows(path: Path) -> str:
    """What a file without rows is called in an error."""
    if path.is_file() and not path.stat().st_size:
        return "an empty file"
    return "only a header" if path.suffix.lower() in (".csv", ".tsv") else "none"


def _checked_columns(
    columns: Mapping[str, Column] | None, separator: str | None, *, verdicts: bool
) -> dict[str, Column]:
    """The user's columns of the fields to read.

    Raises:
        InputError: an unknown field, an empty separator, or a separator beside a group.
    """
    if separator == "":
        raise InputError("a text between chunks", "an empty one", where="split_contexts")
    checked = dict(columns or {})
    if separator is not None and GROUP in checked:
        hint = "a group's rows have one chunk each"
        raise InputError("split_contexts or a group", "both", where="split_contexts", hint=hint)
    for field in checked:
        if field not in FIELDS:
            raise InputError(f"one of {', '.join(FIELDS)}", repr(field), where="columns")
    if not verdicts:
        checked.pop("verdicts", None)
    return checked


def _check_not_all_bad(rows: Iterable[Row | BadRow]) -> None:
    """Raise the first row's error if all rows are bad: the user's columns are wrong."""
    error: InputError | None = None
    for row in rows:
        if isinstance(row, Row):
            return
        error = error or row.error
    if error is not None:
        raise error


def _with_separator(rows: Iterator[Raw], read: ColumnReader, path: Path) -> Iterator[Raw]:
    """The rows.

    Raises:
        InputError: in the first rows no cell of contexts, or of their names, has the separator.
    """
    ahead, rows = tee(rows)
    fields = [name for name in (CONTEXTS, IDS) if name in read.columns]
    for raw in islice(ahead, _MOST_WITHOUT):
        for field in fields:
            with suppress(InputError):
                cell = pick(object_of(raw), read.columns[field], field)
                if read.separator in str(cell):
                    return rows
    raise InputError(
        f"{read.separator!r} in some cell of contexts",
        "none in the first rows",
        where=f"{path}, split_contexts",
        hint="what is between two contexts?",
    )


def _reader(
    path: Path, first: list[Raw], columns: Mapping[str, Column], *, verdicts: bool
) -> Read:
    """The reader for rows like the first ones. Raises `InputError`."""
    objects = [object_of(raw) for raw in first if isinstance(raw.data, dict)]
    if not objects:
        with error_context(str(path.parent / first[0].place)):
            object_of(first[0])
    mapped = dict(columns)
    for name in (*_NAMES, GROUP):
        mapped.pop(name, None)
    reader = None if mapped else _known_reader(path, objects, verdicts=verdicts)
    if reader is not None:
        return reader
    with error_context(str(path)):
        return recognize(objects, mapped)


def _known_reader(path: Path, rows: list[dict[str, Any]], *, verdicts: bool) -> Read | None:
    """The reader of a known format; None for a table."""
    for row in rows:
        if _is_line(row):
            return read_line
        if is_result(row):
            return PromptfooReader(path.parent, verdicts=verdicts)
    return None


def _rows(
    rows: Iterable[Raw], read: Read, columns: Mapping[str, Column], *, verdicts: bool
) -> Iterator[Row | BadRow]:
    for raw in rows:
        yield _row(raw, read, columns, verdicts=verdicts)


def _row(raw: Raw, read: Read, columns: Mapping[str, Column], *, verdicts: bool) -> Row | BadRow:
    """Read a row; a `BadRow` if it cannot be read."""
    place = raw.place
    row_id = place
    try:
        fields = object_of(raw)
        mapped: dict[str, Any] = {}
        for name in _NAMES:
            if name in columns:
                mapped[name] = pick(fields, columns[name], name)
        mapped_id = name_of(mapped, ("id",))
        row_id = mapped_id or _own_id(fields) or place
        if not verdicts:
            fields = {**fields}
            fields.pop("verdicts", None)
        row = read(fields, place)
        cluster = name_of(mapped, ("cluster",)) or row.cluster
        if mapped_id is not None:
            row = replace(row, id=mapped_id, id_column=None)
        return replace(row, cluster=cluster)
    except InputError as error:
        return BadRow(place, row_id, error.within(place))
    except RecursionError:
        got = "one that is nested too deep"
        return BadRow(place, row_id, InputError("a sample", got, where=place))


def _own_id(fields: Mapping[str, Any]) -> str | None:
    """The id in a row that may turn out to be bad."""
    return result_name(fields) if is_result(fields) else name_of(fields, ("id",))


def _is_line(row: Mapping[str, Any]) -> bool:
    """Is it a line of results or of a recording?"""
    has_content = "sample" in row or "verdicts" in row or {"id", "error"} <= row.keys()
    return has_content and row.keys() <= _LINE


def read_line(row: Mapping[str, Any], place: str) -> Row:
    """A line of results or of a recording. Raises `InputError`."""
    line = ResultLine.model_validate(without_nulls(row))
    sample = line.sample
    verdicts = line.verdicts
    if sample is not None and verdicts is not None:
        verdicts = verdicts.with_sample(sample)
    return Row(place, line.name, line.cluster, sample, verdicts, line)


def light_row(place: str, content: Any, *, keyed: bool = True) -> Row | BadRow:
    """Read a line of a recording or of results, a plain one faster and without its texts.

    A line without an id is named by the key of its texts or, unless ``keyed``, by its place.
    """
    line = light_line(content) if type(content) in (bytes, dict) else None
    if line is not None:
        name = line.id or place
        if line.id is None and line.sample is not None and keyed:
            name = line.sample.key
        cluster = line.cluster or question_cluster(line.sample)
        return Row(place, name, cluster, None, line.verdicts)
    raw = Raw(place, files.json_value(content) if type(content) is bytes else content)
    return _row(raw, read_line, {}, verdicts=True)


def results_of(
    path: str | os.PathLike[str],
    *,
    on_error: Callable[[InputError], object] = lambda _: None,
    **chosen: Unpack[Choices],
) -> Iterator[Result]:
    """Score the verdicts in a file, row by row.

    Reads the formats of `noisesense_adapters.datasets.read_rows`: results, recordings, files of
    Promptfoo, and tables with a column of verdicts. A row that cannot be read or scored is a
    result with an error.

    Args:
        path: the file.
        on_error: called with the error of each row that cannot be read.
        chosen: ``definition``, ``empty`` and ``undetermined``; by default as each line says, or
            the defaults of `noisesense.score`.

    Raises:
        InputError: as `read_rows`, an argument, or a file without verdicts.
    """
    chosen = choices(**chosen)

    def result(row: Row | BadRow) -> Result:
        if isinstance(row, BadRow):
            on_error(row.error)
        return result_of(row, **chosen)

    hint = f"noisesense score {Path(path).name} --judge PROVIDER:MODEL --out RESULTS.jsonl"
    return map(result, with_verdicts(read_rows(path), hint=f"{hint} makes such a file"))


_JUDGED_BY = "--judge PROVIDER:MODEL, in Python verdicts= or judge="


def with_verdicts(
    rows: Iterator[Row | BadRow], *, hint: str = _JUDGED_BY
) -> Iterator[Row | BadRow]:
    """The rows. Raises `InputError` if of the first none has verdicts or an error."""
    first = list(islice(rows, _FIRST_ROWS))
    readable = [row for row in first if isinstance(row, Row)]
    if readable and not any(row.verdicts or row.line.error for row in readable):
        expected = "verdicts in the file, a recording of them, or a judge"
        raise InputError(expected, "only texts", where=readable[0].place, hint=hint)
    return chain(first, rows)


def result_of(row: Row | BadRow, **chosen: Unpack[Choices]) -> Result:
    """The result of a row: a score, or an error that says why there is none."""
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
    """The result of a row without a score."""
    if isinstance(row, BadRow):
        return Result(row.id, error=str(error))
    return Result(row.id, error=str(error), sample=row.sample, cluster=row.cluster)
