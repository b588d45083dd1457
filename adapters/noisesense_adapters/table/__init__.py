"""Scores of whole tables, the same as row by row.

Needs the extra ``table``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from typing import Any, TypeVar, cast

from noisesense import Result, Tally
from noisesense.errors import InputError
from noisesense.scoring.definitions import MODES, DefinitionName
from noisesense.scoring.outcomes import Partition
from noisesense.scoring.results import Choices
from noisesense.scoring.scoring import Empty, Undetermined
from noisesense_adapters.datasets.documents import check_names
from noisesense_adapters.datasets.read import light_row, result_of
from noisesense_adapters.evaluate.evaluator import choices
from noisesense_adapters.extras import needs_extra
from noisesense_adapters.reading.values import without_nulls

__all__ = ["score_schema", "score_table", "tally_table"]

with needs_extra("table", "pyarrow", "narwhals"):
    pa: Any = import_module("pyarrow")
    nw: Any = import_module("narwhals")

T = TypeVar("T")

_LINES = ("value", "line", "text")
"""The names of the one column that Spark, Ray and others make of a text file."""

_KINDS = tuple(f"{kind}_claims" for kind in Partition._fields)


def score_schema() -> Any:
    """Return the Arrow schema of the table that `score_table` returns."""
    columns: dict[str, Any] = dict.fromkeys(("id", "cluster", "definition"), pa.string())
    for mode in MODES:
        columns |= dict.fromkeys((mode, f"{mode}_low", f"{mode}_high"), pa.float64())
        columns[f"{mode}_status"] = pa.string()
    columns |= dict.fromkeys(("claims", *_KINDS), pa.int64())
    columns["unanswered"] = pa.int64()
    columns["error"] = pa.string()
    return pa.schema(columns)


def score_table(
    data: T,
    *,
    definition: DefinitionName = "ragas",
    empty: Empty = "undefined",
    undetermined: Undetermined = "none",
) -> T:
    """Score each row of a table as `noisesense.score` does.

    Args:
        data: an Arrow table or record batch, a pandas or polars dataframe, or any other that
            narwhals supports, in memory. It has either the columns of a Parquet file of results
            (``verdicts``; ``sample``, ``id``, ``cluster`` and ``unanswered`` are optional), or one
            column of text, ``value``, ``line`` or ``text``, with lines of a recording or of
            results, as Spark and Ray read files.
        definition: for all rows, whatever their lines say.
        empty: likewise; see `noisesense.score`.
        undetermined: likewise.

    Returns:
        A table of the same kind with a row for each row, by `score_schema`; pandas' has the
        index of ``data``. ``relevant`` and ``irrelevant`` are the values, 0 to 1, lower is better;
        beside them ``_low`` and ``_high`` (the bounds) and ``_status``. ``claims`` counts the
        response claims, followed by their counts by kind. A row that cannot be scored has an
        ``error``, and no counts.

    Raises:
        InputError: no such columns, one of them twice, or an unknown argument. Narwhals and Arrow
            raise errors of their own for what is no dataframe or does not fit into Arrow.
    """
    table, back = _as_table(data)
    schema = score_schema()
    rows = map(_scored, _results(table, choices(definition, empty, undetermined)))
    batches: list[Any] = []
    while batch := list(islice(rows, _AT_ONCE)):
        batches.append(pa.RecordBatch.from_pylist(batch, schema=schema))
    return cast("T", back(pa.Table.from_batches(batches, schema).combine_chunks()))


_AT_ONCE = 5_000
_PARTS = ("sample", "verdicts", "id", "cluster", "unanswered", "error")


def _results(table: Any, chosen: Choices) -> Iterator[Result]:
    """Yield the results of the rows of an Arrow table."""
    columns = _columns(table.column_names)
    check_names([name for name in table.column_names if name in columns], "data")
    number = 0
    for batch in table.select(columns).to_batches(max_chunksize=_AT_ONCE):
        for row in batch.to_pylist():
            data: Any = without_nulls(row)
            if "verdicts" not in columns:
                (line,) = row.values()
                data = str(line or "").encode("utf-8", "surrogatepass")
            yield result_of(light_row(f"row {number}", data), **chosen)
            number += 1


def _columns(names: list[str]) -> list[str]:
    """Return the columns to read: the fields of results, or the one with a file's lines.

    Raises `InputError`.
    """
    if "verdicts" in names:
        return [name for name in _PARTS if name in names]
    for name in _LINES:
        if name in names:
            return [name]
    expected = f"a column 'verdicts', or one of lines ({', '.join(_LINES)})"
    raise InputError(expected, f"only {', '.join(names) or 'none'}", where="data")


def _scored(result: Result) -> dict[str, Any]:
    """Return the output row of a result."""
    row: dict[str, Any] = {"id": result.id, "cluster": result.cluster, "error": result.error}
    score = result.score
    if score is None:
        return row  # the schema makes the other columns null
    row["unanswered"] = result.unanswered
    row["definition"] = score.definition
    row["claims"] = score.partition.total
    row |= zip(_KINDS, score.partition, strict=True)
    for mode in MODES:
        row[mode] = score.value(mode)
        row[f"{mode}_status"] = score.status(mode)
        low, high = score.bounds(mode) or (None, None)
        row[f"{mode}_low"] = low
        row[f"{mode}_high"] = high
    return row


def _as_table(data: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the data as an Arrow table, and the function that converts a table back."""
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data]), _as_batch
    if isinstance(data, pa.Table):
        return data, lambda table: table
    frame = nw.from_native(data, eager_only=True)
    backend = frame.implementation
    index = nw.maybe_get_index(frame)

    def back(result: Any) -> Any:
        native = nw.from_arrow(result, backend=backend).to_native()
        if index is not None:
            native.index = index.copy()  # pandas puts rows together by it
        return native

    return frame.to_arrow(), back


def _as_batch(table: Any) -> Any:
    columns = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def tally_table(
    data: Any,
    *,
    definition: DefinitionName = "ragas",
    empty: Empty = "undefined",
) -> Tally:
    """Return the tally of a table. Tallies of parts can be pickled and added with ``+``.

    ``tally_table(data).summary()`` equals the summary of the rows one by one, to the last bit.

    Args:
        data: see `score_table`; a part of it, too.
        definition: see `score_table`.
        empty: see `score_table`.

    Raises:
        InputError: as `score_table`.
    """
    tally = Tally()
    for result in _results(_as_table(data)[0], choices(definition, empty)):
        tally.add(result)
    return tally
