"""Rows of a dataset, and the columns of the frameworks' tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from noisesense import Sample, Verdicts
from noisesense.errors import InputError, located
from noisesense.scoring.results import ResultLine
from noisesense.verdicts.form import LightVerdicts
from noisesense_adapters.evaluate.inputs import Column, chunks_of, named, parsed, pick, verdicts_of

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
FIELDS = (*_NEEDED, "user_input", "verdicts", "id", "cluster")
"""The fields that columns can be mapped to."""

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
    Schema("DeepEval's files", "actualOutput", "expectedOutput", "retrievalContext", "input"),
    Schema("RAGChecker", "response", "gt_answer", "retrieved_context", "query"),
    Schema("Promptfoo", "response", "reference", "contextChunks", "query"),
    Schema("MLflow", "response", "expected_response", "retrieved_context", "request"),
    Schema("Langfuse, LangSmith", "output", "expected_output", "context", "input"),
    Schema("pydantic-evals", "output", "expected_output", "documents", "inputs"),
)
"""The known columns. A table may have columns of several frameworks."""


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
        fields = {name: pick(row, self.columns[name], name) for name in _NEEDED}
        with located("retrieved_contexts"):
            fields["retrieved_contexts"] = chunks_of(self._listed(fields["retrieved_contexts"]))
        fields["user_input"] = self._optional(row, "user_input") or ""
        sample = Sample.model_validate(fields)
        return Row(
            place,
            id=name_of(row, _NAME_COLUMNS) or sample.key,
            cluster=name_of(row, ("cluster",)),
            sample=sample,
            verdicts=verdicts_of(self._optional(row, "verdicts"), sample),
        )

    def _optional(self, row: Mapping[str, Any], field: str) -> Any:
        column = self.columns.get(field, field)
        return row.get(field) if column == field else pick(row, column, field)

    def _listed(self, cell: Any) -> Any:
        """The contexts in a cell. An empty one means that nothing was retrieved."""
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            return []
        if not isinstance(cell, str):
            return cell
        if self.separator and not cell.lstrip().startswith("["):
            return cell.split(self.separator)
        try:
            return parsed(cell)
        except InputError as error:
            hint = error.hint or "if something stands between the chunks: --split-contexts SEP"
            raise InputError(error.expected, error.got, hint=hint) from None


def name_of(row: Mapping[str, Any], columns: Iterable[str]) -> str | None:
    """The first value in the columns, as text."""
    for column in columns:
        value = row.get(column)
        if value not in (None, ""):
            return str(value)
    return None


def recognize(names: Iterable[str], overrides: Mapping[str, Column]) -> ColumnReader:
    """A reader for a table with these columns.

    It takes the columns of one framework if all necessary ones are present; if not, each field
    from any known column.

    Raises:
        InputError: a field has no known column, or several, and is not overridden.
    """
    present = dict.fromkeys(names)
    fields = [name for name in (*_NEEDED, "user_input") if name not in overrides]
    closest = min(SCHEMAS, key=lambda schema: len(_missing(schema, fields, present)))
    fits = set(_missing(closest, fields, present)) <= {"user_input"}
    columns = dict(overrides)
    for name in fields:
        column = _column(name, (closest,), present) if fits else None
        column = column or _column(name, SCHEMAS, present)
        if column is not None:
            columns[name] = column
    # DeepEval writes a bar between the chunks in a cell.
    is_deepeval = columns["retrieved_contexts"] == "retrieval_context"
    return ColumnReader(columns, "|" if is_deepeval else "")


def _missing(schema: Schema, fields: list[str], present: Collection[str]) -> list[str]:
    return [name for name in fields if getattr(schema, name) not in present]


def _column(field: str, schemas: Iterable[Schema], present: Collection[str]) -> str | None:
    """The column of the field, if the table has one. Raises `InputError`."""
    known: dict[str, None] = dict.fromkeys(getattr(schema, field) for schema in schemas)
    columns = [column for column in known if column in present]
    if len(columns) == 1:
        return columns[0]
    if columns:
        expected = f"one column with the {field}"
        got = named(columns)
    elif field == "user_input":
        return None
    else:
        expected = f"one of {named(known)}"
        got = f"only {named(present)}" if present else "no columns"
    hint = f"name the column: --map {field}=COLUMN, in Python columns={{{field!r}: …}}"
    raise InputError(expected, got, where=field, hint=hint)
