"""Rows of a dataset: which column holds what, and values as tables hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from noisesense import Sample, Verdicts
from noisesense.errors import InputError, located
from noisesense.scoring.results import ResultLine
from noisesense.verdicts.form import LightVerdicts
from noisesense_adapters.toolbox.given import Column, chunks_of, named, parsed, pick, verdicts_of

NO_LINE = ResultLine()


class Row(Struct, frozen=True):
    """A row that could be read."""

    place: str
    """File and line or row number."""
    id: str
    """Identifies the sample in results: the id in the file, or else a key of the content."""
    cluster: str | None = None
    sample: Sample | None = None
    """None where there are only verdicts: the texts are unknown or do not make a sample."""
    verdicts: Verdicts | LightVerdicts | None = None
    """With their chunks filled in; None if the dataset has none."""
    line: ResultLine = NO_LINE
    """The whole line of a results file or of a recording."""


class BadRow(Struct, frozen=True):
    """A row that could not be read. It does not affect the others."""

    place: str
    id: str
    """The id in the file if it could be read, else the place."""
    error: InputError


Read = Callable[[Mapping[str, Any], str], Row]
"""From a row's data and its place to the row. Raises `InputError`."""


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


class ColumnReader(Struct, frozen=True):
    """Reads rows by their columns.

    Attributes:
        columns: of each field; a field that may be absent is looked up by its own name.
        separator: between chunks in a cell that holds no list.
    """

    columns: Mapping[str, Column]
    separator: str = ""

    def __call__(self, row: Mapping[str, Any], place: str) -> Row:
        """One row. Raises `InputError`."""
        texts = {name: pick(row, self.columns[name], name) for name in _NEEDED}
        with located("retrieved_contexts"):
            contexts = chunks_of(self._list_in(texts["retrieved_contexts"]))
        user_input = self._optional(row, "user_input")
        sample = Sample.model_validate(
            {**texts, "retrieved_contexts": contexts, "user_input": user_input or ""}
        )
        return Row(
            place,
            name_of(row, _NAME_COLUMNS) or sample.key,
            name_of(row, ("cluster",)),
            sample,
            verdicts_of(self._optional(row, "verdicts"), sample),
        )

    def _optional(self, row: Mapping[str, Any], field: str) -> Any:
        column = self.columns.get(field, field)
        return row.get(field) if column == field else pick(row, column, field)

    def _list_in(self, cell: Any) -> Any:
        """The contexts in a cell. A table has an empty one where nothing was retrieved."""
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
    fits = set(missing(whole)) <= {"user_input"}
    for name in fields:
        known = dict.fromkeys(getattr(schema, name) for schema in SCHEMAS)
        found = [column for column in known if column in present]
        if fits and getattr(whole, name) in found:
            found = [getattr(whole, name)]
        if len(found) == 1:
            columns[name] = found[0]
        elif found or name != "user_input":
            expected = f"one column with the {name}" if found else f"one of {named(known)}"
            got = named(found) if found else f"only {named(present)}" if present else "no columns"
            hint = f"name the column: --map {name}=COLUMN, in Python columns={{{name!r}: …}}"
            raise InputError(expected, got, where=name, hint=hint)
    # DeepEval writes this between the chunks in one cell.
    return ColumnReader(
        columns, "|" if columns["retrieved_contexts"] == "retrieval_context" else ""
    )
