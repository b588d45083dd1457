"""Scores of whole tables, each as exact as one by one.

Needs the extra ``table``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple, TypeVar, cast

from noisesense import Tally
from noisesense.errors import InputError, describe
from noisesense.scoring.definitions import MODES, DefinitionName, modes_of
from noisesense.scoring.outcomes import Counts, Partition
from noisesense.scoring.results import Choices
from noisesense.scoring.scoring import Empty, Undetermined
from noisesense.stats.tally import cells_of
from noisesense_adapters.datasets.files import Raw
from noisesense_adapters.datasets.read import light_row
from noisesense_adapters.datasets.results import choices, result_of
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
_DEFINITION = b"noisesense_definition"


def score_schema(definition: DefinitionName | None = None) -> Any:
    """The Arrow schema of what `score_table` gives; its metadata name the definition."""
    text, whole, real = pa.string(), pa.int64(), pa.float64()
    columns: dict[str, Any] = {"id": text, "cluster": text, "definition": text}
    for mode in MODES:
        columns |= {mode: real, f"{mode}_low": real, f"{mode}_high": real, f"{mode}_status": text}
    schema = pa.schema({**columns, **dict.fromkeys(_COUNTS, whole), "error": text})
    return schema if definition is None else schema.with_metadata({_DEFINITION: definition})


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
        A table of the same kind with a row for each row, by `score_schema`, whose metadata names
        the definition, too: not every kind of dataframe keeps those. ``relevant`` and
        ``irrelevant`` are the values, 0 to 1, lower is better; beside them ``_low`` and ``_high``
        (the bounds), ``_status``, ``_noisy`` and ``_determined`` (claims). ``claims`` are those of
        the response, followed by how many are of each kind, and by the verdicts that were needed
        and are open. A row that cannot be scored has an ``error``, and no counts.

    Raises:
        InputError: no dataframe, no such columns, or an argument.
    """
    chosen = choices(definition, empty, undetermined)
    table, back = _as_table(data)
    names = table.column_names
    if lines is None and "verdicts" not in names:
        lines = next((name for name in _LINES if name in names), None)
    if (lines or "verdicts") not in names:
        got = f"only {', '.join(map(describe, names)) or 'none'}"
        expected = f"a column {lines!r}" if lines else "a column 'verdicts', or one of lines"
        raise InputError(expected, got, where="score_table")
    schema = score_schema(definition)
    parts = [schema.empty_table()]
    rows = _lines(table, lines) if lines else _structs(table)
    for batch in _batches(_scored(raw, chosen) for raw in rows):
        parts.append(pa.Table.from_pylist(batch, schema=schema))
    return cast("T", back(pa.concat_tables(parts).combine_chunks()))


_AT_ONCE = 5_000
_PARTS = ("sample", "verdicts", "id", "cluster", "unanswered", "error")


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _AT_ONCE:
            yield batch
            batch = []
    yield batch


def _lines(table: Any, name: str) -> Iterator[Raw]:
    """A column of text, a line of a recording or of results in each row."""
    number = 0
    for batch in table.select([name]).to_batches(max_chunksize=_AT_ONCE):
        for text in batch.column(0).to_pylist():
            yield Raw(f"row {number}", (text or "").encode("utf-8", "surrogatepass"))
            number += 1


def _structs(table: Any) -> Iterator[Raw]:
    """Columns as a Parquet file of results has them."""
    number = 0
    names = [name for name in _PARTS if name in table.column_names]
    for batch in table.select(names).to_batches(max_chunksize=_AT_ONCE):
        for row in batch.to_pylist():
            yield Raw(f"row {number}", without_nulls(row))
            number += 1


def _scored(raw: Raw, chosen: Choices) -> dict[str, Any]:
    """A row's scores."""
    found = result_of(light_row(*raw), **chosen)
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


def tally_table(scores: Any, *, definition: DefinitionName | None = None) -> Tally:
    """What a summary keeps of a table of scores; tallies of parts add up with ``+``.

    ``tally_table(score_table(data)).summary()`` is the summary of the rows, to the last bit, but
    for what judging them cost.

    Args:
        scores: as `score_table` gives them, or any part of them.
        definition: under which they were scored; by default as the table says.

    Raises:
        InputError: no dataframe, not such a table, or scores of several definitions or of another
            than ``definition``.
    """
    choices(definition)
    table, _ = _as_table(scores)
    missing = [name for name in score_schema().names if name not in table.column_names]
    if missing:
        hint = "score_table(data) makes them"
        got = f"none called {missing[0]!r}"
        raise InputError("the columns of scores", got, where="tally_table", hint=hint)
    named = {name for name in table["definition"].unique().to_pylist() if name}
    metadata: dict[bytes, bytes] = table.schema.metadata or {}
    named |= {said.decode() for said in [metadata.get(_DEFINITION)] if said}
    wanted = ({definition} if definition else named) or {"ragas"}
    if len(named | wanted) != 1:
        got = " and ".join(sorted(map(repr, named | wanted)))
        raise InputError("scores of one definition", got, where="tally_table")
    (name,) = wanted
    whole = {"samples": len(table), "failed": 0, "empty": 0, "in_clusters": 0}
    whole |= dict.fromkeys(("needed_cells", "open_cells", "unanswered"), 0)
    partition = [0] * len(_KINDS)
    modes = {mode: _Mode(Counter(), {}, []) for mode in modes_of(cast(DefinitionName, name))}
    for batch in table.to_batches(max_chunksize=_AT_ONCE):
        for row in batch.to_pylist():
            whole["unanswered"] += _whole(row["unanswered"])
            claims = _whole(row["claims"])
            if not row["definition"]:
                whole["failed"] += 1
                continue
            whole["empty"] += not claims
            whole["in_clusters"] += row["cluster"] is not None
            for each in ("needed_cells", "open_cells"):
                whole[each] += int(row[each])
            partition = [n + int(row[kind]) for n, kind in zip(partition, _KINDS, strict=True)]
            for mode, tally in modes.items():
                if row[f"{mode}_status"] == "undefined":
                    tally.undefined.append(1)
                    continue
                counts = Counts(int(row[f"{mode}_noisy"]), int(row[f"{mode}_determined"]), claims)
                tally.times[counts] += 1
                if row["cluster"] is not None:
                    tally.clusters.setdefault(row["cluster"], Counter())[counts] += 1
    scored = whole["samples"] - whole["failed"]
    data: dict[str, Any] = {"noisesense_tally": 1, **whole, "scored": scored}
    if scored:  # a part without a score has no definition, as a tally of failures has none
        data |= {
            "definition": name,
            "partition": tuple(partition),
            "modes": {mode: tally.to_dict() for mode, tally in modes.items()},
        }
    return Tally.from_dict(data)


def _whole(count: float | None) -> int:
    """pandas has no whole numbers beside missing ones."""
    return int(count) if count is not None and count == count else 0


class _Mode(NamedTuple):
    times: Counter[Counts]
    clusters: dict[str, Counter[Counts]]
    undefined: list[int]

    def to_dict(self) -> dict[str, Any]:
        """As a tally's JSON has it."""
        return {
            "undefined": len(self.undefined),
            "times": tuple((*counts, n) for counts, n in self.times.items()),
            "clusters": {
                name: tuple((*counts, n) for counts, n in times.items())
                for name, times in self.clusters.items()
            },
        }
