"""From a path to rows, and to results by the verdicts that are in it.

The name gives the file's kind, the first rows its schema.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import chain, islice, tee
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace
from typing_extensions import Unpack

from noisesense import RecordedJudge, Sample, Verdicts
from noisesense.errors import InputError, NoiseSenseError, describe, located
from noisesense.jsonl import as_path
from noisesense.scoring.results import Choices, Result, ResultLine
from noisesense.verdicts.form import light_line
from noisesense_adapters.datasets import files
from noisesense_adapters.datasets.files import Raw
from noisesense_adapters.datasets.rows import (
    FIELDS,
    BadRow,
    ColumnReader,
    Read,
    Row,
    name_of,
    recognize,
)
from noisesense_adapters.promptfoo.sample import Inputs
from noisesense_adapters.ragchecker import read_result
from noisesense_adapters.toolbox.evaluate import choices
from noisesense_adapters.toolbox.given import (
    Column,
    as_list,
    as_object,
    pick,
    read_verdicts,
    without_nulls,
)

_FIRST_ROWS, _MOST_WITHOUT = 20, 10_000
_LINE = frozenset(ResultLine.model_fields)
_NAMES, _CONTEXTS = ("id", "cluster"), "retrieved_contexts"


def read_rows(
    path: str | os.PathLike[str],
    columns: Mapping[str, Column] | None = None,
    *,
    verdicts: bool = True,
    texts: bool = True,
    split_contexts: str | None = None,
) -> Iterator[Row | BadRow]:
    """The samples of a dataset, one by one.

    JSON lines, CSV and Parquet are read in a stream, JSON documents whole (lists of rows,
    Promptfoo's results, DeepEval's test runs, RAGChecker's inputs and outputs). The columns of
    ragas, DeepEval and RAGChecker are known by their names, and so are lines of recordings and of
    results. A row that cannot be read becomes a `BadRow` and does not affect the others.

    Chunks are texts or objects. Of an object, the text (``page_content``, ``pageContent``,
    ``text``, ``content`` or ``context``), the id (``id``, ``doc_id``, ``source``, …) and the label
    ``relevant`` are read.

    Args:
        path: the file.
        columns: the columns with other names: for ``response``, ``reference``,
            ``retrieved_contexts``, ``user_input``, ``verdicts``, ``id`` or ``cluster`` a column's
            name, a dotted path into a column of objects, or a function of the row.
        verdicts: whether to read the verdicts in the file; if not, broken ones do no harm.
        texts: whether a row's sample is needed; lines of recordings are read faster without it,
            and one that has no id is called by its place.
        split_contexts: what stands between the chunks in a cell that holds no list.

    Raises:
        InputError: no such file, an empty file, an unknown kind, another encoding, or unknown
            columns; while reading, an id twice.
    """
    path, columns = as_path(path), dict(columns or {})
    for field in columns:
        if field not in FIELDS:
            raise InputError(f"one of {', '.join(FIELDS)}", repr(field), where="columns")
    if split_contexts == "":
        raise InputError("a text between chunks", "an empty one", where="split_contexts")
    if not verdicts:
        columns.pop("verdicts", None)
    rows = files.raw_rows(path)
    first = list(islice(rows, _FIRST_ROWS))
    if not first:
        raise InputError("at least one row", "an empty file", where=str(path))
    read, rows = _reader(path, first, columns, verdicts=verdicts), chain(first, rows)
    if columns:  # one error is enough for a column that no row has
        tried = [_row(raw, read, columns, verdicts=verdicts) for raw in first]
        if isinstance(tried[0], BadRow) and all(isinstance(row, BadRow) for row in tried):
            raise tried[0].error
    plain = read is read_line and path.suffix.lower() in files.LINES
    if plain and verdicts and not (texts or columns):
        return _each_once(light_row(*line, keyed=False) for line in files.jsonl_lines(path))
    if split_contexts is not None and isinstance(read, ColumnReader):
        read = replace(read, separator=split_contexts)
        rows = _with_separator(rows, read, path)
    found = (_row(raw, read, columns, verdicts=verdicts) for raw in rows)
    # Promptfoo's are named by their test, which it may repeat.
    return found if any(map(_is_promptfoo_row, first)) else _each_once(found)


def _is_promptfoo_row(raw: Raw) -> bool:
    data: object = raw.data
    return isinstance(data, dict) and _is_promptfoo(cast("dict[str, Any]", data))


_CONTENT_KEY = re.compile("[0-9a-f]{64}")


def _each_once(rows: Iterator[Row | BadRow]) -> Iterator[Row | BadRow]:
    """The rows. Raises `InputError` at an id that was given twice; keys of content may repeat."""
    seen: set[int] = set()
    for row in rows:
        if isinstance(row, Row) and not _CONTENT_KEY.fullmatch(row.id):
            mark = hash(row.id)
            if mark in seen:
                hint = "give every sample its own id, or leave ids out"
                raise InputError("each id once", f"{row.id!r} again", where=row.place, hint=hint)
            seen.add(mark)
        yield row


def _with_separator(rows: Iterator[Raw], read: ColumnReader, path: Path) -> Iterator[Raw]:
    """The rows, if a cell of contexts holds the separator. Raises `InputError`."""
    ahead, rows = tee(rows)
    for raw in islice(ahead, _MOST_WITHOUT):
        with suppress(InputError):
            cell = pick(_object(raw), read.columns[_CONTEXTS], _CONTEXTS)
            if read.separator in str(cell):
                return rows
    expected, got = f"{read.separator!r} in some cell of contexts", "none in the first rows"
    hint = "what is between two contexts?"
    raise InputError(expected, got, where=f"{path}, split_contexts", hint=hint)


def _reader(
    path: Path, first: list[Raw], columns: Mapping[str, Column], *, verdicts: bool
) -> Read:
    objects = [_object(raw) for raw in first if isinstance(raw.data, dict)]
    if not objects:
        with located(str(path.parent / first[0].place)):
            _object(first[0])
    mapped = {name: column for name, column in columns.items() if name not in _NAMES}
    if not mapped:
        if any(map(_is_line, objects)):
            return read_line
        if any({"response_claims", "gt_answer"} <= row.keys() for row in objects):
            return _read_checked
        if any(map(_is_promptfoo, objects)):
            return _promptfoo_reader(path.parent, verdicts=verdicts)
    names = dict.fromkeys(name for row in objects for name in row)
    with located(str(path)):
        return recognize(names, mapped)


def _object(raw: Raw) -> dict[str, Any]:
    data: object = raw.data
    if isinstance(data, InputError):
        raise data
    if not isinstance(data, dict):
        raise InputError("an object", describe(data))
    return cast("dict[str, Any]", data)


def _row(raw: Raw, read: Read, columns: Mapping[str, Column], *, verdicts: bool) -> Row | BadRow:
    """What a reader makes of a row: itself, or why it cannot be read."""
    place, name = raw.place, raw.place
    try:
        fields = _object(raw)
        mapped = {name: pick(fields, columns[name], name) for name in _NAMES if name in columns}
        named = name_of(mapped, ("id",))
        name = named or name_of(fields, ("id",)) or place
        if not verdicts:
            fields = {field: value for field, value in fields.items() if field != "verdicts"}
        row = read(fields, place)
        cluster = name_of(mapped, ("cluster",)) or row.cluster
        return replace(row, id=named or row.id, cluster=cluster)
    except InputError as error:
        return BadRow(place, name, error.within(place))
    except RecursionError:
        got = "one that is nested too deep"
        return BadRow(place, name, InputError("a sample", got, where=place))


def _is_line(row: Mapping[str, Any]) -> bool:
    known = "sample" in row or "verdicts" in row or {"id", "error"} <= row.keys()
    return known and row.keys() <= _LINE


def read_line(row: Mapping[str, Any], place: str) -> Row:
    """A line of results or of a recording. Raises `InputError`."""
    line = ResultLine.model_validate(without_nulls(row))
    sample, verdicts = line.sample, line.verdicts
    if sample is not None and verdicts is not None:
        verdicts = verdicts.beside(sample)
    return Row(place, line.name, line.cluster, sample, verdicts, line)


def light_row(place: str, content: Any, *, keyed: bool = True) -> Row | BadRow:
    """A line of a recording or of results; of a plain recording without its texts, many times as
    fast.

    Where it has no id, it is called by the key of its texts or, unless ``keyed``, by its place.
    """
    line = light_line(content) if type(content) in (bytes, dict) else None
    if line is not None:
        name = line.id
        if name is None:
            name = line.sample.key if keyed and line.sample else place
        return Row(place, name, line.cluster, None, line.verdicts)
    raw = Raw(place, files.json_value(content) if type(content) is bytes else content)
    return _row(raw, read_line, {}, verdicts=True)


def _read_checked(row: Mapping[str, Any], place: str) -> Row:
    result = read_result(row, number=int(place.rpartition(" ")[2]))
    return Row(place, result.query_id, sample=result.sample, verdicts=result.verdicts)


def _is_promptfoo(row: Mapping[str, Any]) -> bool:
    """Is it one of Promptfoo's results?"""
    return {"testCase", "testIdx", "promptIdx", "vars"} <= row.keys()


def _promptfoo_reader(folder: Path, *, verdicts: bool) -> Read:
    """A reader of Promptfoo's results, with texts, labels and verdicts where our assertion looks.

    The verdicts are those given to the test, or else those that the assertion's judge gave; the
    assertion leaves these in its metadata. They are scored as the first of our assertions says.

    Args:
        folder: the results' folder; paths of recordings may be relative to it.
        verdicts: whether to read the verdicts as well.
    """

    @cache
    def recording(path: str) -> RecordedJudge:
        beside = folder / path
        return RecordedJudge(beside if beside.exists() else path)

    def given(inputs: Inputs, sample: Sample, ours: list[dict[str, Any]]) -> Verdicts | None:
        judged = (each["metadata"].get("verdicts") for each in ours)
        first_judged = next((verdicts for verdicts in judged if verdicts is not None), None)
        where, value = inputs.first("verdicts") or ("metadata.verdicts", first_judged)
        if isinstance(value, str):
            return recording(value.removeprefix("file://")).lookup(sample)
        return None if value is None else read_verdicts(value, sample, where)

    def read(row: Mapping[str, Any], place: str) -> Row:
        response = as_object(row.get("response"))
        if response.get("output") is None:
            hint = "the provider failed; see the result's error"
            raise InputError("the provider's output", "none", hint=hint)
        graded = map(as_object, as_list(as_object(row.get("gradingResult")).get(_COMPONENTS)))
        ours = [each for each in graded if "noiseSensitivity" in as_object(each.get("metadata"))]
        context = {"vars": row.get("vars"), "providerResponse": response}
        inputs = Inputs(response["output"], context, _config(row, ours))
        sample = inputs.sample
        provider = as_object(row.get("provider"))
        by = provider.get("label") or provider.get("id") or "provider"
        # The same for the same test, prompt and provider in every run.
        name = f"test {row['testIdx']}, prompt {row['promptIdx']}, {by}"
        known = given(inputs, sample, ours) if verdicts else None
        first: dict[str, Any] = ours[0] if ours else {}
        config = as_object(as_object(first.get("assertion")).get("config"))
        how = {**as_object(first.get("metadata")), **config}
        scored = {key: how[key] for key in Choices.__annotations__ if how.get(key) is not None}
        return Row(place, name, None, sample, known, ResultLine.model_validate(scored))

    return read


_COMPONENTS = "componentResults"


def _config(row: Mapping[str, Any], ours: list[dict[str, Any]]) -> dict[str, Any]:
    """The config of our assertion; if it gave no score, of the first Python one with a config."""
    asserted = map(as_object, as_list(as_object(row.get("testCase")).get("assert")))
    python = (each for each in asserted if each.get("type") == "python")
    candidates = [*(as_object(each.get("assertion")) for each in ours), *python]
    configs = [as_object(each.get("config")) for each in candidates]
    return next((config for config in configs if config), as_object(None))


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
