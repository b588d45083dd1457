"""Which column of a dataset holds which field of a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from noisesense import Sample, Verdicts
from noisesense.errors import InputError, describe
from noisesense_adapters.io._cells import chunks_of, parsed, without_nulls
from noisesense_adapters.io._rows import Row

__all__ = ["FIELDS", "Column", "ColumnReader", "name_of", "pick", "recognize"]

Column = str | Callable[[Mapping[str, Any]], Any]
"""A column's name, a dotted path into a column that holds an object, or a function of the row."""

_NEEDED = ("response", "reference", "retrieved_contexts")
FIELDS = (*_NEEDED, "user_input", "verdicts", "id", "cluster")
"""What a column can be mapped to."""

_IDS = ("id", "query_id", "name")


class Schema(NamedTuple):
    """How a framework names the columns."""

    framework: str
    response: str
    reference: str
    retrieved_contexts: str
    user_input: str
    separator: str = ""
    """Between the chunks in one cell."""


_SCHEMAS = (
    Schema("ragas", "response", "reference", "retrieved_contexts", "user_input"),
    Schema("ragas before 0.2", "answer", "ground_truth", "contexts", "question"),
    Schema("DeepEval", "actual_output", "expected_output", "retrieval_context", "input", "|"),
    Schema("DeepEval", "actualOutput", "expectedOutput", "retrievalContext", "input"),
    Schema("RAGChecker", "response", "gt_answer", "retrieved_context", "query"),
)


@dataclass(frozen=True)
class ColumnReader:
    """Reads rows of one schema.

    Attributes:
        schema: where what is not overridden stands.
        overrides: where the user says it stands.
    """

    schema: Schema
    overrides: Mapping[str, Column]

    def __call__(self, row: Mapping[str, Any], place: str) -> Row:
        """One row. Raises `InputError`."""
        texts = {name: self._needed(row, name) for name in _NEEDED}
        try:
            contexts = chunks_of(texts["retrieved_contexts"], self.schema.separator)
        except InputError as error:
            raise error.within("retrieved_contexts") from None
        user_input = self._optional(row, "user_input", self.schema.user_input)
        sample = Sample.model_validate(
            {**texts, "retrieved_contexts": contexts, "user_input": user_input or ""}
        )
        return Row(
            place,
            name_of(row, _IDS) or sample.key,
            name_of(row, ("cluster",)),
            sample,
            _verdicts(self._optional(row, "verdicts", "verdicts"), sample),
        )

    def _needed(self, row: Mapping[str, Any], field: str) -> Any:
        return pick(row, self.overrides.get(field, getattr(self.schema, field)))

    def _optional(self, row: Mapping[str, Any], field: str, name: str) -> Any:
        column = self.overrides.get(field)
        return row.get(name) if column is None else pick(row, column)


def _verdicts(value: Any, sample: Sample) -> Verdicts | None:
    if value is None or value == "":
        return None
    try:
        data = parsed(value) if isinstance(value, str) else value
        return Verdicts.model_validate(without_nulls(data)).beside(sample)
    except InputError as error:
        raise error.within("verdicts") from None


def name_of(row: Mapping[str, Any], columns: Iterable[str]) -> str | None:
    """The first of the columns that holds something, as text."""
    found = (row.get(column) for column in columns)
    return next((str(value) for value in found if value not in (None, "")), None)


def recognize(names: Iterable[str], overrides: Mapping[str, Column]) -> ColumnReader:
    """A reader for columns of these names.

    Raises:
        InputError: the columns of no known schema are all there or overridden.
    """
    present = list(names)

    def missing(schema: Schema) -> list[str]:
        return [
            field
            for field in _NEEDED
            if field not in overrides and getattr(schema, field) not in present
        ]

    # Where several fit, the one whose question is there, too.
    best = min(_SCHEMAS, key=lambda s: (len(missing(s)), s.user_input not in present))
    lacking = missing(best)
    if not lacking:
        return ColumnReader(best, overrides)
    if len(lacking) == len(_NEEDED):
        expected = "the columns of ragas, DeepEval, Promptfoo or RAGChecker, or of a recording"
    else:
        columns = " and ".join(repr(getattr(best, field)) for field in lacking)
        expected = f"{columns} beside the other columns of {best.framework}"
    field = lacking[0]
    raise InputError(
        expected,
        f"only {', '.join(map(repr, present))}" if present else "no columns",
        hint=f"say where to find it: --map {field}=COLUMN, in Python columns={{{field!r}: …}}",
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
            raise InputError(f"a column {column!r}", _found(value, ".".join(walked)))
        (value,) = inner
        walked.append(part)
    return value


def _found(value: Any, column: str) -> str:
    """What is there instead, as far as the path leads."""
    found = describe(value)
    if isinstance(value, Mapping):
        names = cast("Mapping[str, Any]", value)
        found = f"only {', '.join(map(repr, names))}" if names else "nothing"
    return f"{found} in {column!r}" if column else found


def _computed(row: Mapping[str, Any], column: Callable[[Mapping[str, Any]], Any]) -> Any:
    try:
        return column(row)
    except Exception as error:  # whatever it is, it costs this row only
        got = f"{type(error).__name__}: {error}"
        raise InputError("a row that the given function can read", got) from error


def _step(value: Any, part: str) -> tuple[Any] | None:
    """One step of a dotted path: into an object (or the text of one), or to a list's item."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        value = parsed(value)
    if isinstance(value, Mapping):
        inner = cast("Mapping[str, Any]", value)
        return (inner[part],) if part in inner else None
    if isinstance(value, list) and part.isdecimal():
        items = cast("list[object]", value)
        return (items[int(part)],) if int(part) < len(items) else None
    return None
