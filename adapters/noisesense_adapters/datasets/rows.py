"""Rows of a dataset, and the columns of the frameworks' tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from msgspec import Struct

from noisesense import Sample, Verdicts
from noisesense.errors import InputError, error_context
from noisesense.scoring.results import ResultLine
from noisesense.verdicts.form import LightVerdicts, as_name
from noisesense_adapters.datasets.numbered import Numbered, recognized
from noisesense_adapters.evaluate.chunks import chunks_of, labeled_by
from noisesense_adapters.evaluate.inputs import (
    Column,
    as_object,
    is_empty,
    is_null,
    named,
    normal,
    opened,
    pick,
    value_at,
    verdicts_of,
)
from noisesense_adapters.evaluate.names import IDS, beside, named_by
from noisesense_adapters.evaluate.places import ANSWERS, CONTEXTS, paths
from noisesense_adapters.evaluate.texts import answer_of, question_of, reference_of

NO_LINE = ResultLine()


class Row(Struct, frozen=True):
    """A row that could be read."""

    place: str
    """File and line or row number."""
    id: str
    """Identifies the sample in results: the id in the file, or a key of the content."""
    cluster: str | None = None
    sample: Sample | None = None
    """None if there are only verdicts: the texts are unknown or incomplete."""
    verdicts: Verdicts | LightVerdicts | None = None
    """The verdicts with their chunks; None if the dataset has none."""
    line: ResultLine = NO_LINE
    """The whole line of a results file or recording."""
    id_column: str | None = None
    """The column of the id if it is another one than ``id``."""


class BadRow(Struct, frozen=True):
    """A row that could not be read. It does not affect the others."""

    place: str
    id: str
    """The id in the file, or the place if the id could not be read."""
    error: InputError


Read = Callable[[Mapping[str, Any], str], Row]
"""Reads a row from its data and its place. Raises `InputError`."""


_NEEDED = ("response", "reference", "retrieved_contexts")
_EXPECTED = "relevant_contexts"
FIELDS = (*_NEEDED, IDS, "user_input", _EXPECTED, "verdicts", "id", "cluster", "group")
"""The fields that columns can be mapped to.

``retrieved_context_ids`` are the names of the contexts' documents.
``relevant_contexts`` are the contexts that should be retrieved: a chunk is labeled relevant if it
is one of them, holds one or stands in one, and irrelevant if not. ``group`` is what rows with one
chunk each have in common: they become one.
"""

_NAME_COLUMNS = ("query_id", "name")
"""Whose values are ids in a table without a column ``id``, unless they repeat."""


class Schema(NamedTuple):
    """A framework's names of the columns."""

    framework: str
    response: str
    reference: str
    retrieved_contexts: str
    user_input: str


SCHEMAS = (
    Schema("ragas", "response", "reference", "retrieved_contexts", "user_input"),
    Schema("ragas before 0.2", "answer", "ground_truth", "contexts", "question"),
    Schema("DeepEval", "actual_output", "expected_output", "retrieval_context", "input"),
    Schema("RAGChecker", "response", "gt_answer", "retrieved_context", "query"),
    Schema("Promptfoo", "response", "reference", "contextChunks", "query"),
    Schema("MLflow", "response", "expected_response", "retrieved_context", "request"),
    Schema("Langfuse, LangSmith", "output", "expected_output", "context", "input"),
    Schema("pydantic-evals", "output", "expected_output", "documents", "inputs"),
    Schema(
        "Phoenix",
        "attributes.output.value",
        "reference",
        "attributes.retrieval.documents",
        "attributes.input.value",
    ),
    Schema("LlamaIndex", "response", "reference_answer", "source_nodes", "query"),
)
"""The known columns, whatever their case. A table may have columns of several frameworks.

A further name is a line here. What stands only in `_INSIDE` is in no error's list of names.
"""

_REFERENCES = {normal(schema.reference) for schema in SCHEMAS}
_QUESTIONS = {normal(schema.user_input) for schema in SCHEMAS}


def is_reference(name: str) -> bool:
    """Is it the name of a column of references?"""
    return normal(name) in _REFERENCES


_EXPECTATIONS = (
    "reference reference_outputs reference_output expected_output expectations expected"
)
_INSIDE = {
    "response": ("outputs", "result", *paths("outputs output", ANSWERS)),
    "reference": (
        *("reference_outputs", "ground_truths"),
        *paths(_EXPECTATIONS, "answer output response reference expected_response"),
        *paths("metadata", "reference ground_truth expected_output"),
    ),
    "retrieved_contexts": (
        *("source_documents", "source_nodes"),
        *paths("outputs output outputs.output output.output response answer result", CONTEXTS),
        *paths("metadata inputs input attributes", CONTEXTS),
    ),
    "user_input": paths("inputs input", "question query input user_input"),
}
"""Where else each field may stand, mostly in a column of objects: the likeliest place first."""

_BEGINS_LIST = re.compile(r"""\s*\[\s*(["'{\[\]]|\w+\(|$)""")
"""Of texts, objects or documents. A chunk may begin with ``[1]`` or ``[Page 3]``."""


class ColumnReader(Struct, frozen=True):
    """Reads rows by their columns.

    Attributes:
        columns: the column of each field; an optional field without one is read by its own name.
        separator: between chunks in a cell that is not a list.
        name_columns: the columns of ids beside ``id``.
    """

    columns: Mapping[str, Column]
    separator: str = ""
    name_columns: Sequence[str] = _NAME_COLUMNS

    def __call__(self, row: Mapping[str, Any], place: str) -> Row:
        """Read one row. Raises `InputError`."""
        fields = self._picked(row)
        with error_context("retrieved_contexts"):
            chunks = self._chunks(fields["retrieved_contexts"])
        chunks = self._named(chunks, row)
        if _EXPECTED in self.columns:
            with error_context(_EXPECTED):
                expected = chunks_of(pick(row, self.columns[_EXPECTED], _EXPECTED))
            chunks = labeled_by(expected, chunks)
        fields["retrieved_contexts"] = chunks
        with error_context("response"):
            fields["response"] = answer_of(fields["response"])
        fields["reference"] = reference_of(fields["reference"])
        fields["user_input"] = question_of(self._optional(row, "user_input"))
        sample = Sample.model_validate(fields)
        filled = [name for name in ("id", *self.name_columns) if not is_empty(row.get(name))]
        return Row(
            place,
            id=name_of(row, filled) or sample.key,
            cluster=name_of(row, ("cluster",)),
            sample=sample,
            verdicts=verdicts_of(self._optional(row, "verdicts"), sample),
            id_column=filled[0] if filled and filled[0] != "id" else None,
        )

    def _picked(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the fields that a sample needs. One error names all that are missing."""
        fields: dict[str, Any] = {}
        errors: list[InputError] = []
        for name in _NEEDED:
            try:
                fields[name] = pick(row, self.columns[name], name)
            except InputError as error:
                errors.append(error)
        if len(errors) > 1:
            where = ", ".join(error.where for error in errors)
            expected = " and ".join(error.expected for error in errors)
            raise InputError(expected, errors[0].got, where=where)
        if errors:
            raise errors[0]
        return fields

    def _optional(self, row: Mapping[str, Any], field: str) -> Any:
        column = self.columns.get(field, field)
        cell = row.get(field) if column == field else pick(row, column, field)
        return None if is_null(cell) else cell

    def _chunks(self, cell: Any) -> list[Any]:
        """The contexts in a cell. An empty one means that nothing was retrieved."""
        if is_null(cell):
            return []
        return self._chunks_in(cell) if isinstance(cell, str) else chunks_of(cell)

    def _chunks_in(self, text: str) -> list[Any]:
        """The contexts in a text: a list that it holds, or what the separator parts."""
        if not text.strip():
            return []
        if self.separator and not _BEGINS_LIST.match(text):
            parts = text.split(self.separator)
            return chunks_of([part for part in parts if part.strip()])
        try:
            return chunks_of(text)
        except InputError as error:
            if error.hint:
                raise
            hint = (
                "if something stands between the chunks: --split-contexts SEP;"
                " if each row has one chunk: --map group=COLUMN, which its rows share"
            )
            raise InputError(error.expected, error.got, where=error.where, hint=hint) from None

    def _named(self, chunks: list[Any], row: Mapping[str, Any]) -> list[Any]:
        """The chunks with their documents' names, which may be joined as the contexts are."""
        ids = self._optional(row, IDS)
        try:
            return named_by(ids, chunks, separator=self.separator)
        except InputError as error:
            if not isinstance(ids, str):
                raise
            hint = "write them as a JSON list, or joined as the contexts are, or by ; | or a comma"
            raise InputError(error.expected, error.got, where=error.where, hint=hint) from None


def name_of(row: Mapping[str, Any], columns: Iterable[str]) -> str | None:
    """The first value in the columns, as text; None if all are empty."""
    for column in columns:
        value = row.get(column)
        if not is_empty(value):
            return str(as_name(value))
    return None


def recognize(rows: Sequence[Mapping[str, Any]], overrides: Mapping[str, Column]) -> ColumnReader:
    """A reader for a table with these first rows.

    It takes the columns of one framework if all necessary ones are present; if not, each field
    from any known column, or from inside a column of objects.

    Raises:
        InputError: a field has no known column, or several, and is not overridden.
    """
    present = _Names(rows)
    fields = [name for name in (*_NEEDED, "user_input") if name not in overrides]
    framework = _framework(fields, present)
    columns = dict(overrides)
    missing: list[str] = []
    for name in fields:
        column = _column(name, framework, present)
        if column is None:
            missing.append(name)
        else:
            columns[name] = column
    ids = _ids_of(columns.get("retrieved_contexts", ""), present)
    if ids is not None:
        columns.setdefault(IDS, ids)
    if missing not in ([], ["user_input"]):
        raise _not_found(missing, _not_there(overrides, rows), present.top)
    if "user_input" in fields:  # which some rows may lack, even all the first ones
        columns["user_input"] = partial(_question_in, columns.get("user_input"), framework)
    # DeepEval writes a bar between the chunks in a cell.
    is_deepeval = normal(str(columns["retrieved_contexts"])) == "retrievalcontext"
    name_columns = [name for name in _NAME_COLUMNS if not _repeats(rows, name)]
    return ColumnReader(columns, "|" if is_deepeval else "", name_columns)


def _ids_of(contexts: Column, present: _Names) -> Column | None:
    """Where the contexts' documents are named; it gives None for a row without names."""
    ids = present.ids_beside(str(contexts))
    if ids is not None:
        return partial(value_at, ids)
    return contexts.ids if isinstance(contexts, Numbered) and contexts.names else None


def _repeats(rows: Iterable[Mapping[str, Any]], column: str) -> bool:
    """Does a value in the column repeat, as that of a topic does?"""
    values = [name for row in rows if (name := name_of(row, (column,))) is not None]
    return len(set(values)) < len(values)


def _question_in(usual: Column | None, framework: Schema | None, row: Mapping[str, Any]) -> Any:
    """The question of a row, in the first rows' column or in another known one; None if none."""
    if usual in row:
        return row[str(usual)]
    if _QUESTIONS.isdisjoint(map(normal, row)):
        return None
    column = _column("user_input", framework, _Names([row]))
    return None if column is None else pick(row, column, "user_input")


def _not_there(
    overrides: Mapping[str, Column], rows: Sequence[Mapping[str, Any]]
) -> dict[str, Column]:
    """The user's columns that no row has."""
    wrong: dict[str, Column] = {}
    for name, column in overrides.items():
        if not _is_in_any(rows, column):
            wrong[name] = column
    return wrong


def _is_in_any(rows: Iterable[Mapping[str, Any]], column: Column) -> bool:
    for row in rows:
        with suppress(InputError):
            pick(row, column, "")
            return True
    return False


_MOST_EXPECTED = 3
"""How many of a field's known columns an error lists, so that its hint is seen."""


def _not_found(
    missing: Sequence[str], wrong: Mapping[str, Column], present: Sequence[str]
) -> InputError:
    """One error that names all fields without a column.

    Args:
        missing: the fields of which the table has no known column. Only the hint names the
            question, as a table may have none.
        wrong: the fields with a column of the user's that the table does not have.
        present: the table's columns.
    """
    expected = [f"a column {column!r}" for column in wrong.values()]
    needed = [name for name in missing if name != "user_input"]
    for name in needed:
        known = dict.fromkeys(getattr(schema, name) for schema in SCHEMAS)
        expected.append(f"one of {named(known, _MOST_EXPECTED)}")
    fields = [*wrong, *needed]
    options = " ".join(f"--map {name}=COLUMN" for name in [*wrong, *missing])
    return InputError(
        " and ".join(expected),
        f"only {named(present)}" if present else "no columns",
        where=", ".join(fields),
        hint=f"name the column: {options}, in Python columns=",
    )


class _Names:
    """The names in a table's first rows, and in the objects in them."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows
        names = chain.from_iterable(rows)
        self.top = list(dict.fromkeys(names))
        self._by_name = {normal(name): name for name in reversed(self.top)}
        self._inside: dict[str, str] = {}
        for row in rows:
            for name, cell in row.items():
                for path in _paths_in(name, cell):
                    self._inside.setdefault(normal(path), path)

    def find(self, name: str) -> str | None:
        """The column of this name, whatever its case."""
        return name if name in self.top else self._by_name.get(normal(name))

    def at(self, path: str) -> str | None:
        """The column of this name, or the path to a field in a column of objects."""
        return self.find(path) or self._inside.get(normal(path))

    def ids_beside(self, contexts: str) -> str | None:
        """Where the contexts' documents are named: beside them, or in a column of its own."""
        return self.at(beside(contexts)) or self.find(IDS)

    def inside(self, field: str) -> Column | None:
        """The likeliest place of a field that has no column of its own."""
        for path in _INSIDE[field]:
            place = self.at(path)
            if place is not None:
                return place
        return recognized(self._rows) if field == "retrieved_contexts" else None


def _paths_in(name: str, cell: Any) -> Iterator[str]:
    """The paths of what an object holds, to a depth of two."""
    for field, value in as_object(opened(cell)).items():
        yield f"{name}.{field}"
        for inner in as_object(opened(value)):
            yield f"{name}.{field}.{inner}"


def _framework(fields: list[str], present: _Names) -> Schema | None:
    """The framework whose columns a table has; a table may have no question."""

    def missing(schema: Schema) -> list[str]:
        return [name for name in fields if present.find(getattr(schema, name)) is None]

    closest = min(SCHEMAS, key=lambda schema: len(missing(schema)))
    return closest if missing(closest) in ([], ["user_input"]) else None


def _column(field: str, framework: Schema | None, present: _Names) -> Column | None:
    """The column of a field: the framework's, or any known one, or inside a column of objects."""
    column = None
    if framework is not None:
        column = present.find(getattr(framework, field))
    if column is None:
        column = _known_column(field, present)
    return present.inside(field) if column is None else column


def _known_column(field: str, present: _Names) -> str | None:
    """The column of a field by any framework's name. Raises `InputError` if there are several."""
    columns: list[str] = []
    for schema in SCHEMAS:
        column = present.find(getattr(schema, field))
        if column is not None and column not in columns:
            columns.append(column)
    if len(columns) > 1:
        expected = f"one column with the {field}"
        hint = f"name the column: --map {field}=COLUMN, in Python columns={{{field!r}: …}}"
        raise InputError(expected, named(columns), where=field, hint=hint)
    return columns[0] if columns else None
