"""Scores of whole tables, each as exact as one by one.

Needs the extra ``table``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from typing import Any, TypeVar, cast

from noisesense import Result, Tally
from noisesense.errors import InputError, describe
from noisesense.scoring.definitions import MODES, DefinitionName
from noisesense.scoring.outcomes import Counts, Partition
from noisesense.scoring.results import Choices
from noisesense.scoring.scoring import Empty, Undetermined
from noisesense.stats.summarize import cells_of
from noisesense_adapters.datasets.read import light_row, result_of
from noisesense_adapters.toolbox.evaluate import choices
from noisesense_adapters.toolbox.extras import needs_extra
from noisesense_adapters.toolbox.given import without_nulls

__all__ = ["score_schema", "score_table", "tally_table"]

with needs_extra("table", "pyarrow", "narwhals"):
    pa: Any = import_module("pyarrow")
    nw: Any = import_module("narwhals")

T = TypeVar("T")

_LINES = ("value", "line", "text")
"""What readers of text files call the one column that they give."""

_KINDS = tuple(f"{kind}_claims" for kind in Partition._fields)
_COUNTS = (
    *("claims", *_KINDS),
    *(f"{mode}_{counted}" for mode in MODES for counted in ("noisy", "determined")),
    *("needed_cells", "open_cells", "unanswered"),
)


def score_schema() -> Any:
    """The Arrow schema of what `score_table` gives."""
    text, whole, real = pa.string(), pa.int64(), pa.float64()
    columns: dict[str, Any] = {"id": text, "cluster": text, "definition": text}
    for mode in MODES:
        columns |= {mode: real, f"{mode}_low": real, f"{mode}_high": real, f"{mode}_status": text}
    return pa.schema({**columns, **dict.fromkeys(_COUNTS, whole), "error": text})


def score_table(
    data: T,
    *,
    definition: DefinitionName = "ragas",
    empty: Empty = "undefined",
    undetermined: Undetermined = "none",
    lines: str | None = None,
) -> T:
    """The scores of a whole table, each as `noisesense.score` gives it.

    Args:
        data: an Arrow table or record batch; or a pandas or polars dataframe, or any other in
            memory that narwhals knows. Its verdicts come in one of two forms: columns as a Parquet
            file of results has them (``verdicts``, and if there are any ``sample``, ``id``,
            ``cluster`` and ``unanswered``); or one column of text, each a line of a recording or
            of results, as Spark and Ray read text files.
        definition: of all rows, whatever their lines say; ``empty`` and ``undetermined`` likewise.
        empty: see `noisesense.score`.
        undetermined: likewise.
        lines: the column of text; by default ``value``, ``line`` or ``text``, where there is no
            column ``verdicts``.

    Returns:
        A table of the same kind with a row for each row, by `score_schema`. ``relevant`` and
        ``irrelevant`` are the values, 0 to 1, lower is better; beside them ``_low`` and ``_high``
        (the bounds), ``_status``, ``_noisy`` and ``_determined`` (claims). ``claims`` are those of
        the response, followed by how many are of each kind, and by the verdicts that were needed
        and are open. A row that cannot be scored has an ``error``, and no counts.

    Raises:
        InputError: no dataframe, no such columns, or an argument.
    """
    table, back = _as_table(data)
    schema = score_schema()
    rows = map(_scored, _results(table, choices(definition, empty, undetermined), lines))
    parts = [schema.empty_table()]
    while batch := list(islice(rows, _AT_ONCE)):
        parts.append(pa.Table.from_pylist(batch, schema=schema))
    return cast("T", back(pa.concat_tables(parts).combine_chunks()))


_AT_ONCE = 5_000
_PARTS = ("sample", "verdicts", "id", "cluster", "unanswered", "error")


def _results(table: Any, chosen: Choices, lines: str | None) -> Iterator[Result]:
    """Of rows in one of the two forms."""
    names = table.column_names
    if lines is None and "verdicts" not in names:
        lines = next((name for name in _LINES if name in names), None)
    if (lines or "verdicts") not in names:
        got = f"only {', '.join(map(describe, names)) or 'none'}"
        expected = f"a column {lines!r}" if lines else "a column 'verdicts', or one of lines"
        raise InputError(expected, got, where="data")
    columns = [lines] if lines else [name for name in _PARTS if name in names]
    number = 0
    for batch in table.select(columns).to_batches(max_chunksize=_AT_ONCE):
        for row in batch.to_pylist():
            data: Any = without_nulls(row)
            if lines:
                data = (row[lines] or "").encode("utf-8", "surrogatepass")
            yield result_of(light_row(f"row {number}", data), **chosen)
            number += 1


def _scored(found: Result) -> dict[str, Any]:
    """A row's scores."""
    row: dict[str, Any] = {"id": found.id, "cluster": found.cluster, "error": found.error}
    if (scored := found.score) is None:
        return row
    row["unanswered"] = found.unanswered
    needed, missing = cells_of(scored)
    row |= {"definition": scored.definition, "needed_cells": needed, "open_cells": missing}
    row |= {"claims": scored.partition.total, **dict(zip(_KINDS, scored.partition, strict=True))}
    for mode in MODES:
        low, high = scored.bounds(mode) or (None, None)
        counts = scored.counts(mode) or Counts(0, 0, 0)
        row |= {
            mode: scored.value(mode),
            f"{mode}_low": low,
            f"{mode}_high": high,
            f"{mode}_status": scored.status(mode),
            f"{mode}_noisy": counts.noisy,
            f"{mode}_determined": counts.determined,
        }
    return row


def _as_table(data: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The data as an Arrow table, and what makes its own kind of one."""
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data]), _as_batch
    if isinstance(data, pa.Table):
        return data, lambda table: table
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        hint = "collect a lazy dataframe first"
        raise InputError(
            "a dataframe in memory", describe(data), where="data", hint=hint
        ) from None
    backend = frame.implementation
    return frame.to_arrow(), lambda table: nw.from_arrow(table, backend=backend).to_native()


def _as_batch(table: Any) -> Any:
    columns = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def tally_table(
    data: Any,
    *,
    definition: DefinitionName = "ragas",
    empty: Empty = "undefined",
    lines: str | None = None,
) -> Tally:
    """What a summary keeps of a table; tallies of parts add up with ``+``, and pickle.

    ``tally_table(data).summary()`` is the summary of the rows one by one, to the last bit.

    Args:
        data: as `score_table` takes it, or any part of it.
        definition: likewise.
        empty: likewise.
        lines: likewise.

    Raises:
        InputError: as `score_table`.
    """
    tally = Tally()
    for result in _results(_as_table(data)[0], choices(definition, empty), lines):
        tally.add(result)
    return tally
