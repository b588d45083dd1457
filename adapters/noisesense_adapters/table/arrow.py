"""`score_table`: verdicts in a table, scores in another. `tally_table`: what a summary keeps."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar, cast

from noisesense import Score, Tally
from noisesense.errors import InputError, describe
from noisesense.scoring.definitions import MODES, DefinitionName, modes_of
from noisesense.scoring.outcomes import Partition
from noisesense.scoring.scoring import Empty, Undetermined
from noisesense.stats.tally import cells_of, undetermined_cells
from noisesense_adapters.datasets.read import read_result_line, row_of
from noisesense_adapters.datasets.results import choices, result_of
from noisesense_adapters.datasets.rows import Raw
from noisesense_adapters.table.kernel import (
    FALSE,
    OPEN,
    TRUE,
    Array,
    Cells,
    Columns,
    ScoreColumns,
    faulty,
    score_columns,
    tally_of,
)
from noisesense_adapters.table.lines import Lines
from noisesense_adapters.toolbox.extras import needs_extra

with needs_extra("table", "numpy", "pyarrow", "narwhals"):
    np: Any = import_module("numpy")
    pa: Any = import_module("pyarrow")
    pc: Any = import_module("pyarrow.compute")
    nw: Any = import_module("narwhals")

T = TypeVar("T")

_LINES = ("value", "line", "text")
"""What readers of text files call the one column that they give."""

_KINDS = tuple(f"{kind}_claims" for kind in Partition._fields)
_CELLS = ("undetermined_cells", "needed_cells", "open_cells")
_COUNTS = (
    *("claims", *_KINDS),
    *(f"{mode}_{counted}" for mode in MODES for counted in ("noisy", "determined")),
    *(*_CELLS, "unanswered"),
)


def score_schema() -> Any:
    """The Arrow schema of what `score_table` gives."""
    text, whole, real = pa.string(), pa.int64(), pa.float64()
    columns: dict[str, Any] = {"id": text, "cluster": text}
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
    choices(definition, empty, undetermined)
    table, back = _as_table(data)
    names = table.column_names
    if lines is None and "verdicts" not in names:
        lines = next((name for name in _LINES if name in names), None)
    if (lines or "verdicts") not in names:
        got = f"only {', '.join(map(describe, names)) or 'none'}"
        expected = f"a column {lines!r}" if lines else "a column 'verdicts', or one of lines"
        raise InputError(expected, got, where="score_table")
    parts = [score_schema().empty_table()]
    number = 0
    for batch in table.to_batches(max_chunksize=_AT_ONCE):
        source = _Structs(batch, number) if lines is None else Lines(batch.column(lines), number)
        parts.append(_scored(source, definition, empty, undetermined))
        number += len(batch)
    return cast("T", back(pa.concat_tables(parts).combine_chunks()))


_AT_ONCE = 5_000


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


def _scored(
    source: _Structs | Lines, definition: DefinitionName, empty: Empty, undetermined: Undetermined
) -> Any:
    """One batch's scores. What is not plainly valid is scored, or refused, by the models."""
    size = source.size
    which, columns = source.columns(np.arange(size))
    bad = faulty(columns) | ((columns.responses == 0) & (empty == "error"))
    if bad.any():
        which, columns = source.columns(which[~bad])
    counts = {name: np.zeros(size, np.int64) for name in _COUNTS}
    names, clusters, unanswered = source.named()
    counts["unanswered"][:] = unanswered
    for name, values in _counted(score_columns(columns, definition)).items():
        counts[name][which] = values
    known = np.zeros(size, bool)
    known[which] = True
    errors: list[str | None] = [None] * size
    for i in np.flatnonzero(~known).tolist():
        chosen = choices(definition, empty, undetermined)
        result = result_of(source.row(i), chosen)
        names[i], clusters[i], errors[i] = result.id, result.cluster, result.error
        counts["unanswered"][i] = result.unanswered
        if result.score is not None:
            known[i] = True
            for name, value in _counts_of(result.score).items():
                counts[name][i] = value
    columns_out: dict[str, Any] = {"id": names, "cluster": clusters}
    total = counts["claims"]
    for mode in MODES:
        noisy, determined = counts[f"{mode}_noisy"], counts[f"{mode}_determined"]
        defined = known & ((total > 0) | (empty == "zero")) & (mode in modes_of(definition))
        claims = np.maximum(total, 1)
        low, high = noisy / claims, (noisy + total - determined) / claims
        same = low == high
        value = high if undetermined == "high" else low
        has_value = defined & (same | (undetermined != "none"))
        status = np.where(defined, np.where(same, "determined", "undetermined"), "undefined")
        columns_out |= {
            mode: pa.array(value, mask=~has_value),
            f"{mode}_low": pa.array(low, mask=~defined),
            f"{mode}_high": pa.array(high, mask=~defined),
            f"{mode}_status": pa.array(status.astype(object), pa.string(), mask=~known),
        }
    columns_out |= {name: pa.array(values, mask=~known) for name, values in counts.items()}
    return pa.table({**columns_out, "error": errors}, schema=score_schema())


def _counted(scores: ScoreColumns) -> dict[str, Any]:
    """By the names of `_COUNTS`; a mode that the definition has not is not among them."""
    counted = {name: getattr(scores, name) for name in _CELLS}
    for mode, noisy, determined in zip(MODES, scores.noisy, scores.determined, strict=True):
        if noisy is not None:
            counted |= {f"{mode}_noisy": noisy, f"{mode}_determined": determined}
    kinds = dict(zip(_KINDS, scores.partition.T, strict=True))
    return {"claims": scores.total, **kinds, **counted}


def _counts_of(score: Score) -> dict[str, int]:
    """The same of one score."""
    needed, missing = cells_of(score)
    partition = score.partition
    behind = undetermined_cells(score) if partition.undetermined else 0
    counted: dict[str, int] = dict(zip(_CELLS, (behind, needed, missing), strict=True))
    for mode in MODES:
        if (counts := score.counts(mode)) is not None:
            counted |= {f"{mode}_noisy": counts.noisy, f"{mode}_determined": counts.determined}
    return {"claims": partition.total, **dict(zip(_KINDS, partition, strict=True)), **counted}


_PARTS = ("sample", "verdicts", "id", "cluster", "unanswered", "error")
_CHUNK = {"text", "relevant", "id"}
_CLAIM = {"text", "entailed_by", "undetermined"}
_SAMPLE = {"user_input", "response", "reference", "retrieved_contexts"}


class _Structs:
    """Columns as a Parquet file of results has them."""

    def __init__(self, batch: Any, first: int) -> None:
        self.size, self._first = len(batch), first
        self._batch = batch.select([name for name in _PARTS if name in batch.schema.names])

    def _column(self, name: str, rows: Any = None) -> Any:
        known = name in self._batch.schema.names
        column = self._batch.column(name) if known else pa.nulls(self.size)
        return column if rows is None else column.take(rows)

    def named(self) -> tuple[list[Any], list[Any], list[int]]:
        """See `Lines`."""
        ids, clusters, unanswered = (
            self._column(name).to_pylist() for name in ("id", "cluster", "unanswered")
        )
        return ids, clusters, [each or 0 for each in unanswered]

    def row(self, i: int) -> Any:
        (data,) = self._batch.slice(i, 1).to_pylist()
        return row_of(Raw(f"row {self._first + i}", data), read_result_line, {}, verdicts=True)

    def columns(self, which: Array) -> tuple[Array, Columns]:
        which = which[_plain(self._batch, which)]
        rows = pa.array(which)
        verdicts, sample = self._column("verdicts", rows), self._column("sample", rows)
        bad = np.zeros(len(which), bool)
        response = _Claims(_child(verdicts, "response_claims"), bad)
        reference = _Claims(_child(verdicts, "reference_claims"), bad)
        own, contexts = _child(verdicts, "chunks"), _child(sample, "retrieved_contexts")
        bad |= _nulls(_child(verdicts, "response_claims"))
        bad |= ~_nulls(own) & ~_nulls(sample)  # the models compare the two
        bad |= ~_nulls(sample) & (_lengths(contexts) == 0)
        for name in ("response", "reference"):
            text = _child(sample, name)
            if pa.types.is_string(text.type) or pa.types.is_large_string(text.type):
                blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(text), ""), True)
                bad |= ~_nulls(sample) & blank.to_numpy(zero_copy_only=False)
        labels_of = [_Chunks(each, bad) for each in (own, contexts)]
        if bad.any():
            return self.columns(which[~bad])
        listed = np.where(~_nulls(own), _lengths(own), _lengths(contexts))
        unlisted = _nulls(own) & _nulls(contexts)
        places = np.concatenate([each.of for each in labels_of])
        labels = np.concatenate([each.labels for each in labels_of])
        return which, Columns(
            responses=_lengths(_child(verdicts, "response_claims")),
            correct=response.correct,
            entailed=response.entailed,
            undetermined=response.undetermined,
            references=_lengths(_child(verdicts, "reference_claims")),
            reference_entailed=reference.entailed,
            reference_undetermined=reference.undetermined,
            chunks=np.where(unlisted, -1, listed),
            labels=labels[np.argsort(places, kind="stable")],
        )


class _Claims:
    """A column of lists of claims; rows that the models must read are marked."""

    def __init__(self, listed: Any, bad: Array) -> None:
        of = np.repeat(np.arange(len(listed)), _lengths(listed))
        claims = _items(listed)
        for name in (None, "text", "entailed_by"):
            each = claims if name is None else _child(claims, name)
            bad[of[_nulls(each)]] = True
        correct = _child(claims, "correct")
        self.correct = _codes(correct)
        self.entailed = _cells(_child(claims, "entailed_by"), of, bad)
        self.undetermined = _cells(_child(claims, "undetermined"), of, bad)


class _Chunks:
    """A column of lists of chunks: the row of each chunk, and its label."""

    def __init__(self, listed: Any, bad: Array) -> None:
        self.of = np.repeat(np.arange(len(listed)), _lengths(listed))
        chunks = _items(listed)
        is_struct = pa.types.is_struct(chunks.type)
        bad[self.of[_nulls(chunks)]] = True
        if is_struct:
            bad[self.of[_nulls(_child(chunks, "text"))]] = True
        self.labels = _codes(_child(chunks, "relevant"))


def _child(array: Any, name: str) -> Any:
    """A field of structs, null where the struct is; all null where there is no such field."""
    at = array.type.get_field_index(name) if pa.types.is_struct(array.type) else -1
    return array.flatten()[at] if at >= 0 else pa.nulls(len(array))


def _nulls(array: Any) -> Array:
    return array.is_null().to_numpy(zero_copy_only=False)


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _lengths(listed: Any) -> Array:
    if not _is_list(listed.type):
        return np.zeros(len(listed), np.int64)
    return pc.fill_null(pc.list_value_length(listed), 0).to_numpy().astype(np.int64)


def _items(listed: Any) -> Any:
    return listed.flatten() if _is_list(listed.type) else pa.nulls(0)


def _codes(verdicts: Any) -> Array:
    if not pa.types.is_boolean(verdicts.type):
        return np.full(len(verdicts), OPEN, np.int8)
    true = pc.fill_null(verdicts, False).to_numpy(zero_copy_only=False)
    return np.where(_nulls(verdicts), OPEN, np.where(true, TRUE, FALSE)).astype(np.int8)


def _cells(positions: Any, of: Array, bad: Array) -> Cells:
    claim = np.repeat(np.arange(len(positions)), _lengths(positions))
    chunk = _items(positions)
    bad[of[claim[_nulls(chunk)]]] = True
    if not len(chunk):
        return Cells(np.zeros(0, np.int64), np.zeros(0, np.int64))
    return Cells(claim, pc.fill_null(chunk, 0).to_numpy(zero_copy_only=False).astype(np.int64))


def _plain(batch: Any, which: Array) -> Array:
    """Which of the rows may be read here: of a form that is known, and not failed."""
    types = {name: batch.schema.field(name).type for name in batch.schema.names}
    if not all(_is_known(name, kind) for name, kind in types.items()):
        return np.zeros(len(which), bool)
    null = pa.nulls(len(batch))
    nulls = {name: _nulls(batch.column(name) if name in types else null)[which] for name in _PARTS}
    counted = np.ones(len(which), bool)
    if "unanswered" in types:
        counted = (
            pc.fill_null(batch.column("unanswered"), 0).to_numpy(zero_copy_only=False)[which] >= 0
        )
    named = ~nulls["sample"] | ~nulls["id"]
    return ~nulls["verdicts"] & nulls["error"] & named & counted


def _is_known(name: str, kind: Any) -> bool:
    types = pa.types
    if types.is_null(kind):
        return True
    if name in ("retrieved_contexts", "chunks"):
        item = kind.value_type if _is_list(kind) else None
        return item is not None and (_is_text(item) or _has_only(item, _CHUNK))
    if name in ("response_claims", "reference_claims"):
        known = _CLAIM | {"correct"} if name == "response_claims" else _CLAIM
        return _is_list(kind) and _has_only(kind.value_type, known)
    if name in ("sample", "verdicts"):
        known = {"response_claims", "reference_claims", "chunks"}
        return _has_only(kind, _SAMPLE if name == "sample" else known)
    if name in ("entailed_by", "undetermined"):
        return _is_list(kind) and bool(types.is_integer(kind.value_type))
    if name in ("correct", "relevant"):
        return bool(types.is_boolean(kind))
    return bool(types.is_integer(kind)) if name == "unanswered" else _is_text(kind)


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _has_only(kind: Any, names: set[str]) -> bool:
    """A struct with none but these fields, each of them of a form that is known."""
    if not pa.types.is_struct(kind):
        return False
    every = [kind.field(i) for i in range(kind.num_fields)]
    return all(each.name in names and _is_known(each.name, each.type) for each in every)


def tally_table(
    scores: Any,
    *,
    definition: DefinitionName = "ragas",
    empty: Empty = "undefined",
    undetermined: Undetermined = "none",
) -> Tally:
    """What a summary keeps of a table of scores; tallies of parts add up with ``+``.

    ``tally_table(score_table(data)).summary()`` is the summary of the rows, to the last bit, but
    for what judging them cost.

    Args:
        scores: as `score_table` gives them, or any part of them.
        definition: as they were scored; ``empty`` and ``undetermined`` likewise.
        empty: likewise.
        undetermined: likewise.

    Raises:
        InputError: no dataframe, or not such a table.
    """
    choices(definition, empty, undetermined)
    table, _ = _as_table(scores)
    missing = [name for name in score_schema().names if name not in table.column_names]
    if missing:
        hint = "score_table(data) makes them"
        got = f"none called {missing[0]!r}"
        raise InputError("the columns of scores", got, where="tally_table", hint=hint)
    # By `claims`, not by `error`: dataframes have several kinds of nothing.
    known = table.filter(pc.is_valid(table["claims"]))
    arrays = {name: pc.fill_null(known[name], 0).to_numpy().astype(np.int64) for name in _COUNTS}
    has = [mode in modes_of(definition) for mode in MODES]
    noisy, determined = (
        tuple(
            arrays[f"{mode}_{counted}"] if there else None
            for mode, there in zip(MODES, has, strict=True)
        )
        for counted in ("noisy", "determined")
    )
    counted = tally_of(
        ScoreColumns(
            noisy=cast("Any", noisy),
            determined=cast("Any", determined),
            total=arrays["claims"],
            partition=np.stack([arrays[name] for name in _KINDS], axis=1),
            **{name: arrays[name] for name in _CELLS},
        ),
        definition,
        undetermined,
        zero=[empty == "zero"] * len(known),
        clusters=known["cluster"].to_pylist(),
        samples=len(table),
        failed=len(table) - len(known),
        unanswered=int(arrays["unanswered"].sum()),
    )
    # A part without a score has no definition, as a tally of failures alone has none.
    return (
        counted
        if len(known)
        else Tally.from_dict({"noisesense_tally": 1, "samples": len(table), "failed": len(table)})
    )
