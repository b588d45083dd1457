"""Rows of a dataset: which column holds what, and values as tables hold them."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, NamedTuple, cast

from noisesense import Sample, Verdicts
from noisesense.errors import InputError, describe, located
from noisesense.scoring.results import ResultLine
from noisesense_adapters.toolbox.judges import read_verdicts


class Row(NamedTuple):
    """A row that could be read."""

    place: str
    """File and line or row number."""
    id: str
    """Identifies the sample in results: the id in the file, or else a key of the content."""
    cluster: str | None = None
    sample: Sample | None = None
    """None where there are only verdicts: the texts are unknown or do not make a sample."""
    verdicts: Verdicts | None = None
    """With their chunks filled in; None if the dataset has none."""
    line: ResultLine | None = None
    """The whole line of a results file or of a recording."""


class BadRow(NamedTuple):
    """A row that could not be read. It does not affect the others."""

    place: str
    id: str
    """The id in the file if it could be read, else the place."""
    error: InputError


class Raw(NamedTuple):
    """A row as it is in the file, or the error in its place."""

    place: str
    data: Any


Read = Callable[[Mapping[str, Any], str], Row]
"""From a row's data and its place to the row. Raises `InputError`."""


_TEXTS = ("text", "context", "page_content", "content")
_IDS = ("id", "doc_id", "source")
_MARKED = re.compile(r"deepeval_source=(?P<id>.*?),deepeval_context=(?P<text>.*)", re.DOTALL)
_NULLABLE = "correct"
"""The one required field of verdicts that may be null."""


_LONGEST_LITERAL, _MOST_CHUNKS = 1_000_000, 10_000
# Python's parser takes some hundred times a text's size.


def parsed(text: str) -> Any:
    """The value that a cell's text represents: JSON, or Python's notation (pandas' CSV files).

    Raises:
        InputError: it is neither.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if len(text) > _LONGEST_LITERAL:
        expected = f"JSON, in a cell of more than {_LONGEST_LITERAL:,} characters"
        raise InputError(expected, describe(text))
    try:
        if _joins_texts(text):
            hint = "numpy prints arrays without them; write lists, or JSON"
            raise InputError("commas between the texts of a list", describe(text), hint=hint)
        return ast.literal_eval(text)
    except InputError:
        raise
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, tokenize.TokenError):
        raise InputError("JSON", describe(text)) from None


def _joins_texts(text: str) -> bool:
    """Are two texts side by side with nothing between them? Python would join them."""
    spaces = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    kinds = (token.type for token in tokens if token.type not in spaces)
    return (tokenize.STRING, tokenize.STRING) in pairwise(kinds)


def chunks_of(value: Any, separator: str = "") -> list[Any]:
    """Retrieved contexts as a sample takes them.

    Args:
        value: a list (of texts or objects), or the text of one.
        separator: between chunks in a text that is not a list; if empty, such a text is an error.

    Raises:
        InputError: not a list.
    """
    if isinstance(value, str):
        if separator and not value.lstrip().startswith("["):
            value = value.split(separator)
        else:
            value = _listed(value)
    elif hasattr(value, "tolist"):  # an array of numpy's
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise InputError("a list of chunks", describe(value))
    items = cast("list[object]", value)
    if len(items) > _MOST_CHUNKS:
        raise InputError(f"at most {_MOST_CHUNKS:,} chunks", f"{len(items):,}")
    return [_chunk(item) for item in items]


def _listed(text: str) -> Any:
    try:
        return parsed(text)
    except InputError as error:
        hint = error.hint or "if something stands between the chunks: --split-contexts SEP"
        raise InputError(error.expected, error.got, where=error.where, hint=hint) from None


def _chunk(item: Any) -> Any:
    """A chunk's text, id and label. Other fields of an object (a rank, say) are left out."""
    if isinstance(item, str):
        marked = _MARKED.fullmatch(item)
        return marked.groupdict() if marked else item
    if not isinstance(item, Mapping):
        return item
    chunk = cast("Mapping[str, Any]", item)
    text = next((name for name in _TEXTS if chunk.get(name) is not None), None)
    if text is None:
        known = ", ".join(map(repr, _TEXTS))
        raise InputError(
            f"a chunk's text as one of {known}", f"only {', '.join(islice(chunk, _MOST_NAMES))}"
        )
    name = next((chunk[name] for name in _IDS if chunk.get(name) is not None), None)
    return {
        "text": chunk[text],
        "id": None if name is None else str(name),
        "relevant": chunk.get("relevant"),
    }


def without_nulls(value: Any) -> Any:
    """Data in the published form, without the nulls with which a table fills absent fields."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value).items()
        return {k: without_nulls(v) for k, v in fields if v is not None or k == _NULLABLE}
    if isinstance(value, list):
        return [without_nulls(item) for item in cast("list[object]", value)]
    return value


Column = str | Callable[[Mapping[str, Any]], Any]
"""A column's name, a dotted path into a column that holds an object, or a function of the row."""

_NEEDED = ("response", "reference", "retrieved_contexts")
FIELDS = (*_NEEDED, "user_input", "verdicts", "id", "cluster")
"""What a column can be mapped to."""

_NAME_COLUMNS = ("id", "query_id", "name")


class Schema(NamedTuple):
    """How a framework names the columns."""

    framework: str
    response: str
    reference: str
    retrieved_contexts: str
    user_input: str


SCHEMAS = (
    Schema("ragas", "response", "reference", "retrieved_contexts", "user_input"),
    Schema("ragas before 0.2", "answer", "ground_truth", "contexts", "question"),
    Schema("DeepEval", "actual_output", "expected_output", "retrieval_context", "input"),
    Schema("DeepEval's files", "actualOutput", "expectedOutput", "retrievalContext", "input"),
    Schema("RAGChecker", "response", "gt_answer", "retrieved_context", "query"),
    Schema("Promptfoo", "response", "reference", "contextChunks", "query"),
    Schema("MLflow", "response", "expected_response", "retrieved_context", "request"),
    Schema("Langfuse, LangSmith", "output", "expected_output", "context", "input"),
    Schema("pydantic-evals", "output", "expected_output", "documents", "inputs"),
)
"""The columns known by name. A table may take each field from another row."""

_SEPARATORS = {"retrieval_context": "|"}
"""Between the chunks in one cell, as DeepEval writes it."""


@dataclass(frozen=True)
class ColumnReader:
    """Reads rows by their columns.

    Attributes:
        columns: of each field; a field that may be absent is looked up by its own name.
        separator: between chunks in a cell that holds no list.
    """

    columns: Mapping[str, Column]
    separator: str = ""

    def __call__(self, row: Mapping[str, Any], place: str) -> Row:
        """One row. Raises `InputError`."""
        texts = {name: pick(row, self.columns[name]) for name in _NEEDED}
        with located("retrieved_contexts"):
            contexts = chunks_of(texts["retrieved_contexts"], self.separator)
        user_input = self._optional(row, "user_input")
        sample = Sample.model_validate(
            {**texts, "retrieved_contexts": contexts, "user_input": user_input or ""}
        )
        return Row(
            place,
            name_of(row, _NAME_COLUMNS) or sample.key,
            name_of(row, ("cluster",)),
            sample,
            _verdicts(self._optional(row, "verdicts"), sample),
        )

    def _optional(self, row: Mapping[str, Any], field: str) -> Any:
        column = self.columns.get(field, field)
        return (
            row.get(column) if isinstance(column, str) and column in FIELDS else pick(row, column)
        )


def _verdicts(value: Any, sample: Sample) -> Verdicts | None:
    if value is None or value == "":
        return None
    with located("verdicts"):
        data = parsed(value) if isinstance(value, str) else value
    return read_verdicts(without_nulls(data), sample, "verdicts")


_MOST_NAMES = 30


def named(names: Iterable[str]) -> str:
    """The names as an error lists them."""
    listed = list(names)
    more = f" and {len(listed) - _MOST_NAMES:,} more" if len(listed) > _MOST_NAMES else ""
    return ", ".join(map(describe, listed[:_MOST_NAMES])) + more


def name_of(row: Mapping[str, Any], columns: Iterable[str]) -> str | None:
    """The first of the columns with a value, as text."""
    values = (row.get(column) for column in columns)
    return next((str(value) for value in values if value not in (None, "")), None)


def recognize(names: Iterable[str], overrides: Mapping[str, Column]) -> ColumnReader:
    """A reader for columns of these names.

    The columns of one framework, if all that are needed are there; else each field from whichever
    known column there is.

    Raises:
        InputError: a field has no known column and is not overridden, or it has several.
    """
    present = list(dict.fromkeys(names))
    columns = dict(overrides)
    fields = [name for name in (*_NEEDED, "user_input") if name not in overrides]

    def missing(schema: Schema) -> list[str]:
        return [name for name in fields if getattr(schema, name) not in present]

    whole = min(SCHEMAS, key=lambda schema: len(missing(schema)))
    if set(missing(whole)) <= {"user_input"}:
        columns |= {name: getattr(whole, name) for name in fields if name not in missing(whole)}
    for name in fields:
        known = dict.fromkeys(getattr(schema, name) for schema in SCHEMAS)
        found = [column for column in known if column in present]
        if name in columns or (name == "user_input" and not found):
            continue
        if len(found) != 1:
            expected = f"one column with the {name}" if found else f"one of {named(known)}"
            got = named(found) if found else f"only {named(present)}" if present else "no columns"
            hint = f"name the column: --map {name}=COLUMN, in Python columns={{{name!r}: …}}"
            raise InputError(expected, got, where=name, hint=hint)
        columns[name] = found[0]
    contexts = columns["retrieved_contexts"]
    return ColumnReader(
        columns, _SEPARATORS.get(contexts, "") if isinstance(contexts, str) else ""
    )


def pick(row: Mapping[str, Any], column: Column) -> Any:
    """The value of a column in a row.

    Raises:
        InputError: the row has no such column, or the path leads nowhere.
    """
    if callable(column):
        return _computed(row, column)
    if column in row:
        return row[column]
    value: Any = row
    walked: list[str] = []
    for part in column.split("."):
        inner = _step(value, part)
        if inner is None:
            raise InputError(f"a column {column!r}", _contents(value, ".".join(walked)))
        (value,) = inner
        walked.append(part)
    return value


def _contents(value: Any, column: str) -> str:
    """What is at the end of the path, as far as it can be followed."""
    contents = describe(value)
    if isinstance(value, Mapping):
        names = cast("Mapping[str, Any]", value)
        contents = f"only {named(names)}" if names else "nothing"
    return f"{contents} in {column!r}" if column else contents


def _computed(row: Mapping[str, Any], column: Callable[[Mapping[str, Any]], Any]) -> Any:
    try:
        return column(row)
    except Exception as error:  # whatever it is, only this row is lost
        got = f"{type(error).__name__}: {error}"
        raise InputError("a row that the given function can read", got) from error


def _step(value: Any, part: str) -> tuple[Any] | None:
    """One step of a dotted path: into an object (or the text of one), or to a list's item."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        value = parsed(value)
    if isinstance(value, Mapping):
        inner = cast("Mapping[str, Any]", value)
        return (inner[part],) if part in inner else None
    if isinstance(value, list) and part.isdecimal() and len(part) < 10:
        items = cast("list[object]", value)
        return (items[int(part)],) if int(part) < len(items) else None
    return None
