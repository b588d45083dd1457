"""Scores of many samples at once, over flat arrays: the core's rules, looked up by numpy.

What a claim's facts are is computed here as `noisesense.scoring.definitions` computes them one by
one; what they count for is that module's own table. A property test holds the two equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, cast

from noisesense import Tally
from noisesense.scoring.definitions import (
    MODES,
    Category,
    DefinitionName,
    facts_category,
    modes_of,
    outcomes,
)
from noisesense.scoring.outcomes import Counts, Partition
from noisesense.scoring.scoring import Undetermined
from noisesense_adapters.toolbox.extras import needs_extra

with needs_extra("table", "numpy"):
    np: Any = import_module("numpy")

Array = Any  # of numpy, whose types say less than these names

TRUE, FALSE, OPEN = 0, 1, 2
"""A verdict in an array: the order in which `outcomes` lists what is true, false and open."""


class Cells(NamedTuple):
    """Some verdicts of claims on chunks: the claim's number in its array, and the position."""

    claim: Array
    chunk: Array


@dataclass
class Columns:
    """The verdicts on n samples: ``[n]`` counts, and under them flat arrays.

    Attributes:
        responses: ``[n]`` response claims of each sample.
        correct: ``[R]`` of each response claim, in the samples' order.
        entailed: the chunks that entail a response claim; positions of a claim ascend.
        undetermined: those of which that is not known.
        references: ``[n]`` reference claims of each sample.
        reference_entailed: likewise of reference claims.
        reference_undetermined: likewise.
        chunks: ``[n]`` chunks of each sample; -1: as many as positions name.
        labels: ``[C]`` of each chunk; OPEN: no label.
    """

    responses: Array
    correct: Array
    entailed: Cells
    undetermined: Cells
    references: Array
    reference_entailed: Cells
    reference_undetermined: Cells
    chunks: Array
    labels: Array


@dataclass
class ScoreColumns:
    """``[n]`` arrays: what `noisesense.Score` and a `Tally` know of each sample.

    Attributes:
        noisy: by mode, the claims that count; None where the definition has no such mode.
        determined: by mode, the claims of which that is known.
        total: response claims.
        partition: ``[n, 5]`` claims by kind.
        undetermined_cells: as `noisesense.Summary` explains them; ``needed_cells`` and
            ``open_cells``, too.
    """

    noisy: tuple[Array, Array | None]
    determined: tuple[Array, Array | None]
    total: Array
    partition: Array
    undetermined_cells: Array
    needed_cells: Array
    open_cells: Array


@cache
def _tables(name: DefinitionName) -> tuple[Array, Array, Array]:
    """By a claim's facts as a number: does each mode count it, and its kind."""
    code = {True: TRUE, False: FALSE, None: OPEN}
    kinds = cast("tuple[Category, ...]", Partition._fields)
    counted = outcomes(name)
    relevant, irrelevant = (
        np.array([code[truths[mode]] for truths in counted.values()], np.int8) for mode in (0, 1)
    )
    kind = np.array([kinds.index(facts_category(facts)) for facts in counted], np.int8)
    return relevant, irrelevant, kind


def faulty(columns: Columns) -> Array:
    """``[n]``: which samples the models must read, to say what is wrong or to put it in order.

    Positions beyond the chunks, listed twice, in both lists, or not ascending.
    """
    count = len(columns.responses)
    bad = np.zeros(count, bool)
    sides = (
        (columns.responses, columns.entailed, columns.undetermined),
        (columns.references, columns.reference_entailed, columns.reference_undetermined),
    )
    for claims, *both in sides:
        sample = np.repeat(np.arange(count), claims)
        for cells in both:
            most = columns.chunks[sample[cells.claim]]
            beyond = (cells.chunk >= np.where(most < 0, _MOST_UNLISTED, most)) | (cells.chunk < 0)
            again = (cells.claim[1:] == cells.claim[:-1]) & (cells.chunk[1:] <= cells.chunk[:-1])
            bad[sample[cells.claim[beyond]]] = True
            bad[sample[cells.claim[1:][again]]] = True
        sure, maybe = both
        if len(maybe.claim):
            common = np.isin(_key(maybe), _key(sure))
            bad[sample[maybe.claim[common]]] = True
    return bad


_MOST_UNLISTED = 100_000


def _key(cells: Cells) -> Array:
    return cells.claim.astype(np.int64) * (1 << 32) + cells.chunk


def score_columns(columns: Columns, definition: DefinitionName) -> ScoreColumns:
    """Both modes of every sample. None of them is `faulty`."""
    total = columns.responses
    samples, claims = len(total), len(columns.correct)
    of_response = np.repeat(np.arange(samples), total)
    of_reference = np.repeat(np.arange(samples), columns.references)
    chunks = _chunk_counts(columns, of_response, of_reference)
    start = np.cumsum(chunks) - chunks

    def places(cells: Cells, of: Array) -> Array:
        """Each cell's chunk among all samples' chunks."""
        return start[of[cells.claim]] + cells.chunk

    labels = columns.labels
    if (columns.chunks < 0).any():  # those have no labels
        labels = np.full(int(chunks.sum()), OPEN, np.int8)
        labels[np.repeat(columns.chunks >= 0, chunks)] = columns.labels
    labeled = labels != OPEN
    yes, unknown = np.zeros(len(labels), bool), np.zeros(len(labels), bool)
    open_reference = places(columns.reference_undetermined, of_reference)
    yes[places(columns.reference_entailed, of_reference)] = True
    unknown[open_reference] = True
    unknown |= np.repeat(columns.references == 0, chunks)
    yes = np.where(labeled, labels == TRUE, yes)
    perhaps = yes | (unknown & ~labeled)

    sure, maybe = columns.entailed, columns.undetermined
    at_sure, at_maybe = places(sure, of_response), places(maybe, of_response)

    def some(*parts: tuple[Cells, Array]) -> Array:
        """Of which claims any of these cells has that."""
        found = np.zeros(claims, bool)
        for cells, holds in parts:
            found[cells.claim[holds]] = True
        return found

    rel_true = some((sure, yes[at_sure]))
    rel_false = ~some((sure, perhaps[at_sure]), (maybe, perhaps[at_maybe]))
    all_relevant = ~some((sure, ~yes[at_sure]), (maybe, ~yes[at_maybe]))
    irr_true = some((sure, ~perhaps[at_sure]))
    first = np.full(claims, _MOST_UNLISTED, np.int64)
    np.minimum.at(first, sure.claim, sure.chunk)
    has_source = first < _MOST_UNLISTED
    is_first = sure.chunk == first[sure.claim]
    before = maybe.chunk < first[maybe.claim]
    sources_relevant = ~some((sure, is_first & ~yes[at_sure]), (maybe, before & ~yes[at_maybe]))
    sources_irrelevant = ~some(
        (sure, is_first & perhaps[at_sure]), (maybe, before & perhaps[at_maybe])
    )
    correct = columns.correct
    truths = (
        np.where(correct == FALSE, TRUE, OPEN),
        np.where(rel_true, TRUE, np.where(rel_false, FALSE, OPEN)),
        np.where(all_relevant, FALSE, np.where(irr_true, TRUE, OPEN)),
        np.where(
            all_relevant | sources_relevant,
            FALSE,
            np.where(has_source & sources_irrelevant, TRUE, OPEN),
        ),
    )
    facts = ((truths[0] * 3 + truths[1]) * 3 + truths[2]) * 3 + truths[3]
    facts = np.where(correct == TRUE, ((FALSE * 3 + OPEN) * 3 + OPEN) * 3 + OPEN, facts)

    def per_sample(holds: Array) -> Array:
        return np.bincount(of_response[holds], minlength=samples)

    relevant, irrelevant, kind_of = _tables(definition)
    kinds = kind_of[facts]
    partition = np.bincount(of_response * 5 + kinds, minlength=samples * 5).reshape(samples, 5)
    counted = [relevant[facts], irrelevant[facts] if len(modes_of(definition)) > 1 else None]
    noisy = tuple(None if each is None else per_sample(each == TRUE) for each in counted)
    determined = tuple(None if each is None else per_sample(each != OPEN) for each in counted)

    suspect = correct != TRUE
    suspects = per_sample(suspect)
    gaps = per_sample(correct == OPEN) + np.bincount(
        of_response[maybe.claim[suspect[maybe.claim]]], minlength=samples
    )
    unlabeled = chunks - np.bincount(
        np.repeat(np.arange(samples), chunks)[labeled], minlength=samples
    )
    without = columns.references == 0
    open_cells = gaps + np.where(
        without,
        unlabeled,
        np.bincount(
            of_reference[columns.reference_undetermined.claim[~labeled[open_reference]]],
            minlength=samples,
        ),
    )
    needed = total + chunks * suspects + unlabeled * np.where(without, 1, columns.references)

    # Behind claims of undetermined kind: their own cells, and those that leave open the relevance
    # of a chunk that they may come from.
    unclear = kinds == _UNCLEAR
    matters = np.zeros(len(labels), bool)
    for cells, at in ((sure, at_sure), (maybe, at_maybe)):
        matters[at[unclear[cells.claim]]] = True
    matters &= perhaps & ~yes
    behind = (
        per_sample(unclear & (correct == OPEN))
        + np.bincount(of_response[maybe.claim[unclear[maybe.claim]]], minlength=samples)
        + np.bincount(
            of_reference[columns.reference_undetermined.claim[matters[open_reference]]],
            minlength=samples,
        )
    )
    return ScoreColumns(
        noisy=cast("Any", noisy),
        determined=cast("Any", determined),
        total=total,
        partition=partition,
        undetermined_cells=behind,
        needed_cells=np.where(suspects > 0, needed, total),
        open_cells=np.where(suspects > 0, open_cells, 0),
    )


_UNCLEAR = Partition._fields.index("undetermined")


def _chunk_counts(columns: Columns, of_response: Array, of_reference: Array) -> Array:
    """The number of chunks. Where they are left out, one more than the last position named."""
    if (columns.chunks >= 0).all():
        return columns.chunks
    named = np.zeros(len(columns.chunks), np.int64)
    for cells, of in (
        (columns.entailed, of_response),
        (columns.undetermined, of_response),
        (columns.reference_entailed, of_reference),
        (columns.reference_undetermined, of_reference),
    ):
        np.maximum.at(named, of[cells.claim], cells.chunk + 1)
    return np.where(columns.chunks < 0, named, columns.chunks)


def tally_of(
    scores: ScoreColumns,
    definition: DefinitionName,
    undetermined: Undetermined,
    *,
    zero: Sequence[bool],
    clusters: Sequence[str | None] | None = None,
    **counted: Any,
) -> Tally:
    """The tally of those samples.

    Args:
        scores: of samples that could be scored.
        definition: of them all; ``undetermined`` likewise.
        undetermined: see `noisesense.score`.
        zero: ``[n]`` does a sample without claims count as 0?
        clusters: of each sample; None: none has one.
        counted: other numbers of `Tally.to_dict`: ``unanswered``, ``usage``, ``cost``.
    """
    count = len(scores.total)
    defined = (scores.total > 0) | np.asarray(zero, bool)
    modes: dict[str, Any] = {}
    for mode, noisy, determined in zip(MODES, scores.noisy, scores.determined, strict=True):
        if noisy is None:
            continue
        rows = np.stack([noisy, determined, scores.total], axis=1)
        by_cluster: dict[str, Counter[Counts]] = {}
        for i, cluster in enumerate(clusters or ()):
            if cluster is not None and defined[i]:
                by_cluster.setdefault(cluster, Counter())[Counts(*rows[i].tolist())] += 1
        modes[mode] = {
            "undefined": int(count - defined.sum()),
            "times": _distinct(rows[defined]),
            "clusters": {
                name: [(*row, times) for row, times in found.items()]
                for name, found in by_cluster.items()
            },
        }
    whole = ("undetermined_cells", "needed_cells", "open_cells")
    named = 0 if clusters is None else sum(cluster is not None for cluster in clusters)
    return Tally.from_dict(
        {
            "noisesense_tally": 1,
            "definition": definition,
            "undetermined": undetermined,
            "samples": count,
            "scored": count,
            "empty": int((scores.total == 0).sum()),
            "in_clusters": named,
            "partition": scores.partition.sum(axis=0).tolist(),
            **{name: int(getattr(scores, name).sum()) for name in whole},
            "modes": modes,
            **counted,
        }
    )


def _distinct(rows: Array) -> list[tuple[int, ...]]:
    """Distinct rows, each with how often it occurs."""
    if not len(rows):
        return []
    size = int(rows.max()) + 1
    keys = (rows[:, 0].astype(np.int64) * size + rows[:, 1]) * size + rows[:, 2]
    _, at, times = np.unique(keys, return_index=True, return_counts=True)
    return [(*row, n) for row, n in zip(rows[at].tolist(), times.tolist(), strict=True)]
