"""Rows of a dataset, and the columns of the frameworks' tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct

from noisesense import Sample, Verdicts
from noisesense.errors import InputError, error_context
from noisesense.scoring.results import ResultLine
from noisesense.verdicts.form import LightVerdicts
from noisesense_adapters.evaluate.chunks import chunks_of, labeled_by
from noisesense_adapters.evaluate.inputs import (
    Column,
    as_object,
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
    """With their chunks; None if the dataset has none."""
    line: ResultLine = NO_LINE
    """The whole line of a results file or recording."""


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

_NAME_COLUMNS = ("id", "query_id", "name")


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
        *("Phoenix", "attributes.output.value", "reference", "attributes.retrieval.documents"),
        "attributes.input.value",
    ),
    Schema("LlamaIndex", "response", "reference_answer", "source_nodes", "query"),
)
"""The known columns, whatever their case. A table may have columns of several frameworks.

A further name is a line here. What stands only in `_INSIDE` is in no error's list of names.
"""

_REFERENCES = {normal(schema.reference) for schema in SCHEMAS}


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
"""Where else each field may stand, as a rule in a column of objects: the likeliest first."""

_NUMBERED = re.compile(
    r"(?:retrieved|retrieval)?(?:contexts?|chunks?|documents?|docs?|passages?)(\d+)"
)


_BEGINS_LIST = re.compile(r"""\s*\[\s*(["'{\[\]]|\w+\(|$)""")
"""Of texts, objects or documents. A chunk may begin with ``[1]`` or ``[Page 3]``."""


def _side_by_side(names: Sequence[str], row: Mapping[str, Any]) -> list[Any]:
    """The chunks in columns of one each; an empty cell is none."""
    return [row[name] for name in names if row.get(name) not in (None, "")]


class ColumnReader(Struct, frozen=True):
    """Reads rows by their columns.

    Attributes:
        columns: the column of each field; an optional field without one is read by its own name.
        separator: between chunks in a cell that is not a list.
    """

    columns: Mapping[str, Column]
    separator: str = ""

    def __call__(self, row: Mapping[str, Any], place: str) -> Row:
        """Read one row. Raises `InputError`."""
        fields = self._picked(row)
        with error_context("retrieved_contexts"):
            fields["retrieved_contexts"] = self._chunks(fields["retrieved_contexts"])
        fields["retrieved_contexts"] = self._named(fields["retrieved_contexts"], row)
        if _EXPECTED in self.columns:
            with error_context(_EXPECTED):
                expected = chunks_of(pick(row, self.columns[_EXPECTED], _EXPECTED))
            fields["retrieved_contexts"] = labeled_by(expected, fields["retrieved_contexts"])
        with error_context("response"):
            fields["response"] = answer_of(fields["response"])
        fields["reference"] = reference_of(fields["reference"])
        fields["user_input"] = question_of(self._optional(row, "user_input"))
        sample = Sample.model_validate(fields)
        return Row(
            place,
            id=name_of(row, _NAME_COLUMNS) or sample.key,
            cluster=name_of(row, ("cluster",)),
            sample=sample,
            verdicts=verdicts_of(self._optional(row, "verdicts"), sample),
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
        return row.get(field) if column == field else pick(row, column, field)

    def _chunks(self, cell: Any) -> list[Any]:
        """The contexts in a cell. An empty one means that nothing was retrieved."""
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            return []
        if self.separator and isinstance(cell, str) and not _BEGINS_LIST.match(cell):
            return chunks_of([part for part in cell.split(self.separator) if part.strip()])
        try:
            return chunks_of(cell)
        except InputError as error:
            if error.hint or not isinstance(cell, str):
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
    """The first value in the columns, as text."""
    for column in columns:
        value = row.get(column)
        if value not in (None, ""):
            return str(value)
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
    closest = min(SCHEMAS, key=lambda schema: len(_missing(schema, fields, present)))
    fits = set(_missing(closest, fields, present)) <= {"user_input"}
    columns = dict(overrides)
    missing: list[str] = []
    for name in fields:
        column = _column(name, (closest,), present) if fits else None
        column = column or _column(name, SCHEMAS, present) or present.inside(name)
        if column is not None:
            columns[name] = column
        else:
            missing.append(name)
    ids = present.ids_beside(str(columns.get("retrieved_contexts", "")))
    if ids is not None:
        columns.setdefault(IDS, partial(value_at, ids))  # None where a row has none
    if missing not in ([], ["user_input"]):
        raise _not_found(missing, _not_there(overrides, rows), present.top)
    # DeepEval writes a bar between the chunks in a cell.
    is_deepeval = normal(str(columns["retrieved_contexts"])) == "retrievalcontext"
    return ColumnReader(columns, "|" if is_deepeval else "")


def _not_there(
    overrides: Mapping[str, Column], rows: Sequence[Mapping[str, Any]]
) -> dict[str, Column]:
    """The user's columns that no row has."""
    wrong = dict(overrides)
    for name, column in overrides.items():
        if _has_any(rows, column):
            del wrong[name]
    return wrong


def _has_any(rows: Iterable[Mapping[str, Any]], column: Column) -> bool:
    """Is the column in one of the rows?"""
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
        missing: those of which no known column is there; of the question only the hint speaks, as
            a table may have none.
        wrong: those with a column of the user's that is not there.
        present: the columns that are.
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
        self.top = list(dict.fromkeys(name for row in rows for name in row))
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
        """The same of a column, or of what stands at the path in columns of objects."""
        return self.find(path) or self._inside.get(normal(path))

    def ids_beside(self, contexts: str) -> str | None:
        """Where the contexts' documents are named: beside them, or in a column of its own."""
        return self.at(beside(contexts)) or self.find(IDS)

    def inside(self, field: str) -> Column | None:
        """The likeliest place of a field that has no column of its own."""
        for path in _INSIDE[field]:
            found = self.at(path)
            if found is not None:
                return found
        numbered = [name for name in self.top if _NUMBERED.fullmatch(normal(name))]
        if field == "retrieved_contexts" and numbered:
            return partial(_side_by_side, sorted(numbered, key=_number))
        return None


def _number(name: str) -> int:
    digits = _NUMBERED.fullmatch(normal(name))
    return int(digits[1]) if digits else 0


def _paths_in(name: str, cell: Any) -> Iterator[str]:
    """The paths of what an object holds, to a depth of two."""
    for field, value in as_object(opened(cell)).items():
        yield f"{name}.{field}"
        for inner in as_object(opened(value)):
            yield f"{name}.{field}.{inner}"


def _missing(schema: Schema, fields: list[str], present: _Names) -> list[str]:
    return [name for name in fields if present.find(getattr(schema, name)) is None]


def _column(field: str, schemas: Iterable[Schema], present: _Names) -> Column | None:
    """The column of the field, if the table has one. Raises `InputError`."""
    known = [present.find(getattr(schema, field)) for schema in schemas]
    columns = [*dict.fromkeys(name for name in known if name is not None)]
    if len(columns) > 1:
        expected = f"one column with the {field}"
        hint = f"name the column: --map {field}=COLUMN, in Python columns={{{field!r}: …}}"
        raise InputError(expected, named(columns), where=field, hint=hint)
    return columns[0] if columns else None
