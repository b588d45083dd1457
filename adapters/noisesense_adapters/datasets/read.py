"""`read_rows`: from a path to rows. The name gives the file's kind, the first rows its schema."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

from noisesense import RecordedJudge, Sample, Verdicts
from noisesense.errors import InputError, describe, located
from noisesense.jsonl import as_path
from noisesense.scoring.results import ResultLine
from noisesense.verdicts.form import light_line
from noisesense_adapters.datasets import files
from noisesense_adapters.datasets.rows import (
    FIELDS,
    BadRow,
    ColumnReader,
    Raw,
    Read,
    Row,
    name_of,
    recognize,
)
from noisesense_adapters.promptfoo.sample import Inputs
from noisesense_adapters.ragchecker import read_result
from noisesense_adapters.toolbox.given import (
    Column,
    as_object,
    pick,
    read_verdicts,
    without_nulls,
)

_FIELDS = frozenset(ResultLine.model_fields)


def is_result(row: Mapping[str, Any]) -> bool:
    known = "sample" in row or "verdicts" in row or {"id", "error"} <= row.keys()
    return known and row.keys() <= _FIELDS


def read_result_line(row: Mapping[str, Any], place: str) -> Row:
    line = ResultLine.model_validate(without_nulls(row))
    sample, verdicts = line.sample, line.verdicts
    name = line.id if sample is None or line.id is not None else sample.key
    if name is None:
        raise InputError("the field 'id'", "neither an id nor a sample")
    if sample is not None and verdicts is not None:
        verdicts = verdicts.beside(sample)
    return Row(place, name, line.cluster, sample, verdicts, line)


def light_row(
    place: str, content: Any, *, first: bool = False, keyed: bool = True
) -> Row | BadRow:
    """A line of results, or what it holds, but for the texts: many times as fast, if plain.

    Where it has no id, it is called by the key of its texts or, unless ``keyed``, by its place.
    """
    line = light_line(content) if type(content) in (bytes, dict) else None
    if line is not None:
        name = line.name if keyed else line.id or place
        return Row(place, name, line.cluster, None, line.verdicts)
    data = files.json_value(content, first=first) if isinstance(content, bytes) else content
    return row_of(Raw(place, data), read_result_line, {}, verdicts=True)


def is_checked(row: Mapping[str, Any]) -> bool:
    return {"response_claims", "gt_answer"} <= row.keys()


def read_checked(row: Mapping[str, Any], place: str) -> Row:
    number = int(place.rpartition(" ")[2])
    result = read_result(row, number=number)
    return Row(place, result.query_id, sample=result.sample, verdicts=result.verdicts)


_Json = dict[str, Any]


def is_promptfoo(row: Mapping[str, Any]) -> bool:
    return {"testCase", "testIdx", "promptIdx", "vars"} <= row.keys()


def promptfoo_reader(folder: Path, *, verdicts: bool) -> Read:
    """A reader of results, with texts, labels and verdicts where our assertion looks for them.

    The verdicts are those given to the test, or else those that the assertion's judge gave; the
    assertion leaves these in its metadata.

    Args:
        folder: the results' folder; paths of recordings may be relative to it.
        verdicts: whether to read the verdicts as well.
    """

    @cache
    def recording(path: str) -> RecordedJudge:
        beside = folder / path
        return RecordedJudge(beside if beside.exists() else path)

    def verdicts_of(result: _Json, inputs: Inputs, sample: Sample) -> Verdicts | None:
        if inputs.verdicts is None:
            judged = [metadata["verdicts"] for metadata in _ours(result) if "verdicts" in metadata]
            return Verdicts.model_validate(judged[0]).beside(sample) if judged else None
        where, value = inputs.verdicts
        if isinstance(value, str):
            return recording(value.removeprefix("file://")).lookup(sample)
        return read_verdicts(value, sample, where)

    def read(row: Mapping[str, Any], place: str) -> Row:
        result = dict(row)
        response = as_object(result.get("response"))
        if response.get("output") is None:
            hint = "the provider failed; see the result's error"
            raise InputError("the provider's output", "none", hint=hint)
        context = {"vars": result.get("vars"), "providerResponse": response}
        inputs = Inputs(response["output"], context, _config(result))
        sample = inputs.sample
        known = verdicts_of(result, inputs, sample) if verdicts else None
        return Row(place, _id(result), None, sample, known)

    return read


def _id(result: _Json) -> str:
    """The same for the same test, prompt and provider in every run."""
    provider = as_object(result.get("provider"))
    name = provider.get("label") or provider.get("id") or "provider"
    return f"test {result['testIdx']}, prompt {result['promptIdx']}, {name}"


def _components(result: _Json) -> Iterator[_Json]:
    return _objects(as_object(result.get("gradingResult")).get("componentResults"))


def _objects(value: Any) -> Iterator[_Json]:
    return map(as_object, cast("list[object]", value) if isinstance(value, list) else ())


def _ours(result: _Json) -> Iterator[_Json]:
    """The metadata of our assertions."""
    every = (as_object(component.get("metadata")) for component in _components(result))
    return (metadata for metadata in every if "noiseSensitivity" in metadata)


def _config(result: _Json) -> _Json:
    """The config of our assertion; if it gave no score, of the first Python one with a config."""
    scored = (c for c in _components(result) if "noiseSensitivity" in as_object(c.get("metadata")))
    asserted = _objects(as_object(result.get("testCase")).get("assert"))
    python = (each for each in asserted if each.get("type") == "python")
    candidates = [*(as_object(c.get("assertion")) for c in scored), *python]
    configs = [as_object(candidate.get("config")) for candidate in candidates]
    return next((config for config in configs if config), as_object(None))


_FIRST_ROWS, _MOST_WITHOUT = 20, 10_000
_NAMES = ("id", "cluster")
_KINDS: dict[str, Callable[[Path], Iterator[Raw]]] = {
    ".jsonl": files.jsonl_rows,
    ".ndjson": files.jsonl_rows,
    ".csv": files.csv_rows,
    ".tsv": files.csv_rows,
    ".parquet": files.parquet_rows,
    ".json": files.document_rows,
}


def read_rows(
    path: str | os.PathLike[str],
    columns: Mapping[str, Column] | None = None,
    *,
    verdicts: bool = True,
    texts: bool = True,
    split_contexts: str | None = None,
) -> Iterator[Row | BadRow]:
    """The samples of a dataset, one by one.

    JSON lines, CSV, Parquet and folders of Parquet files are read in a stream, JSON documents
    whole (lists of rows, Promptfoo's results, DeepEval's test runs, RAGChecker's
    inputs and outputs). The columns of ragas, DeepEval and RAGChecker are known by their names,
    and so are lines of recordings and of results. A row that cannot be read becomes a `BadRow`
    and does not affect the others.

    Chunks are texts or objects. Of an object, the text (``text``, ``context``, ``page_content``
    or ``content``), the id (``id``, ``doc_id`` or ``source``) and the label ``relevant`` are read.

    Args:
        path: a file or folder.
        columns: the columns with other names: for ``response``, ``reference``,
            ``retrieved_contexts``, ``user_input``, ``verdicts``, ``id`` or ``cluster`` a column's
            name, a dotted path into a column of objects, or a function of the row.
        verdicts: whether to read the verdicts in the file; if not, broken ones do no harm.
        texts: whether a row's sample is needed; lines of recordings are read faster without it,
            and one that has no id is called by its place.
        split_contexts: what stands between the chunks in a cell that holds no list.

    Raises:
        InputError: no such file, an empty file, an unknown kind, another encoding, or unknown
            columns.
    """
    path, columns = as_path(path), dict(columns or {})
    for field in columns:
        if field not in FIELDS:
            raise InputError(f"one of {', '.join(FIELDS)}", repr(field), where="columns")
    rows = _raw_rows(path)
    first = list(islice(rows, _FIRST_ROWS))
    if not first:
        raise InputError("at least one row", "an empty file", where=str(path))
    if not verdicts:
        columns.pop("verdicts", None)
    if split_contexts == "":
        raise InputError("a text between chunks", "an empty one", where="split_contexts")
    read, rows = _reader(path, first, columns, verdicts=verdicts), chain(first, rows)
    plain = read is read_result_line and verdicts and not (texts or columns)
    if plain and _KINDS.get(path.suffix.lower()) is files.jsonl_rows:
        lines = files.jsonl_lines(path)
        name = path.name
        return (
            light_row(f"{name}, line {n}", line, first=n == 1, keyed=False) for n, line in lines
        )
    if split_contexts is not None and isinstance(read, ColumnReader):
        read = replace(read, separator=split_contexts)
        rows = _with_separator(rows, read, path)
    return (row_of(raw, read, columns, verdicts=verdicts) for raw in rows)


def _with_separator(rows: Iterator[Raw], read: ColumnReader, path: Path) -> Iterator[Raw]:
    """The rows, if a cell of contexts holds the separator. Raises `InputError`."""
    column, before = read.columns["retrieved_contexts"], list[Raw]()
    for raw in islice(rows, _MOST_WITHOUT):
        before.append(raw)
        with suppress(InputError):
            if (row := _object(raw)) is not None and read.separator in str(pick(row, column)):
                return chain(before, rows)
    raise InputError(
        f"{read.separator!r} in some cell of contexts",
        f"none in {len(before):,} rows",
        where=f"{path}, split_contexts",
        hint="what stands between two contexts?",
    )


def count_rows(path: str | os.PathLike[str]) -> int | None:
    """The approximate number of rows; None if the whole file would have to be read."""
    path = as_path(path)
    files.refuse_arrow(path)
    if path.is_dir():
        return sum(map(files.count_parquet, files.folder_files(path)))
    if not path.is_file():
        return None
    kind = _KINDS.get(path.suffix.lower())
    if kind is files.jsonl_rows:
        return _count_lines(path)
    if kind is files.csv_rows:
        return sum(1 for _ in files.csv_rows(path))
    return files.count_parquet(path) if kind is files.parquet_rows else None


def _count_lines(path: Path) -> int:
    count, last = 0, b"\n"
    with files.opened(path) as file:
        while block := file.read(1 << 20):
            count += block.count(b"\n")
            last = block
    return count + (not last.endswith(b"\n"))


def _raw_rows(path: Path) -> Iterator[Raw]:
    files.refuse_arrow(path)
    if path.is_dir():
        return chain.from_iterable(map(files.parquet_rows, files.folder_files(path)))
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"a file ending in {', '.join(_KINDS)}", repr(path.name), where="input")
    if not path.is_file():
        got = "something else, such as a pipe" if path.exists() else "no such file"
        raise InputError("a readable file", got, where=str(path))
    return kind(path)


def _reader(
    path: Path, first: list[Raw], columns: Mapping[str, Column], *, verdicts: bool
) -> Read:
    objects = [row for row in map(_object, first) if row is not None]
    if not objects:
        place, data = first[0]
        error = data if isinstance(data, InputError) else None
        raise (error or InputError("an object", describe(data))).within(f"{path.parent / place}")
    mapped = {name: column for name, column in columns.items() if name not in _NAMES}
    for column in columns.values():
        _check_column(path, objects, column)
    if not mapped:
        special = _special(path, objects, verdicts=verdicts)
        if special is not None:
            return special
    names = dict.fromkeys(name for row in objects for name in row)
    with located(str(path)):
        return recognize(names, mapped)


def _object(raw: Raw) -> Mapping[str, Any] | None:
    data = raw.data
    return cast("Mapping[str, Any]", data) if isinstance(data, Mapping) else None


def _special(path: Path, objects: Iterable[Mapping[str, Any]], *, verdicts: bool) -> Read | None:
    """The reader of rows that hold more than columns."""
    readers: list[tuple[Callable[[Mapping[str, Any]], bool], Read]] = [
        (is_result, read_result_line),
        (is_checked, read_checked),
        (is_promptfoo, promptfoo_reader(path.parent, verdicts=verdicts)),
    ]
    return next((read for fits, read in readers if any(map(fits, objects))), None)


def _check_column(path: Path, objects: list[Mapping[str, Any]], column: Column) -> None:
    """One error is enough for a column that no row has."""
    problem: InputError | None = None
    for row in objects:
        try:
            pick(row, column)
        except InputError as error:
            problem = problem or error
        else:
            return
    if problem is not None:
        raise problem.within(str(path))


def row_of(raw: Raw, read: Read, columns: Mapping[str, Column], *, verdicts: bool) -> Row | BadRow:
    """What a reader makes of a row: itself, or why it cannot be read."""
    place, data = raw
    name = place
    try:
        if isinstance(data, InputError):
            raise data
        if not isinstance(data, Mapping):
            raise InputError("an object", describe(data))
        fields = cast("Mapping[str, Any]", data)
        mapped = {field: _name(fields, columns[field]) for field in _NAMES if field in columns}
        name = mapped.get("id") or name_of(fields, ("id",)) or place
        if not verdicts:
            fields = {field: value for field, value in fields.items() if field != "verdicts"}
        row = read(fields, place)
    except InputError as error:
        return BadRow(place, name, error.within(place))
    except RecursionError:
        got = "one that is nested too deep"
        return BadRow(place, name, InputError("a sample", got, where=place))
    if not mapped:
        return row
    return row._replace(
        id=mapped.get("id") or row.id, cluster=mapped.get("cluster") or row.cluster
    )


def _name(row: Mapping[str, Any], column: Column) -> str:
    """The value as text; empty where the row has none."""
    value = pick(row, column)
    return "" if value is None else str(value)
