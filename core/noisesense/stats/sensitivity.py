"""Where the score would move if the judge were wrong in some of the cells."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import get_args

from noisesense.errors import InputError, describe
from noisesense.scoring.definitions import MODES, DefinitionName, Mode, Truth
from noisesense.scoring.gate import check_limit
from noisesense.scoring.records import BothModes, Record
from noisesense.scoring.results import Result, score_in
from noisesense.scoring.scoring import Score, score
from noisesense.stats.cells import CellKind, cell_of
from noisesense.stats.interval import Bounds, mean_bounds
from noisesense.stats.quantiles import quantile_of_sorted
from noisesense.stats.tally import ModeTally
from noisesense.verdicts.verdicts import ReferenceClaim, ResponseClaim, Verdicts, as_model

_CORRECT = -1
"""In place of a chunk: the cell that says whether the reference entails the claim."""


class Cells:
    """The determined cells of one table, by what they say."""

    def __init__(self, verdicts: Verdicts, kinds: Collection[CellKind]) -> None:
        self._verdicts = verdicts
        self._claims: list[ResponseClaim | ReferenceClaim] = [
            *verdicts.response_claims,
            *verdicts.reference_claims,
        ]
        cells: dict[Truth, list[tuple[int, int]]] = {True: [], False: [], None: []}
        for row, claim in enumerate(self._claims):
            response = isinstance(claim, ResponseClaim)
            if isinstance(claim, ResponseClaim) and "correct" in kinds:
                cells[claim.correct].append((row, _CORRECT))
            if ("response" if response else "reference") in kinds:
                for j in range(verdicts.chunk_count):
                    cells[cell_of(claim, j)].append((row, j))
        self._yes, self._no = cells[True], cells[False]
        self.open = len(cells[None])
        """Cells of these kinds that hold no verdict."""

    def perturbed(self, random: Random, *, false_yes: float, false_no: float) -> Verdicts:
        """The verdicts with each "no" and each "yes" flipped at these rates."""
        flipped: dict[int, set[int]] = {}
        for cells, rate in ((self._no, false_yes), (self._yes, false_no)):
            for hit in _hits(random, len(cells), rate):
                row, column = cells[hit]
                flipped.setdefault(row, set()).add(column)
        if not flipped:
            return self._verdicts
        claims = list(self._claims)
        for row, columns in flipped.items():
            claims[row] = _flipped(claims[row], columns)
        responses = len(self._verdicts.response_claims)
        # Already valid: checking every simulated table would take most of the time.
        return Verdicts.model_construct(
            response_claims=tuple(claims[:responses]),
            reference_claims=tuple(claims[responses:]),
            chunks=self._verdicts.chunks,
        )


def _flipped(
    claim: ResponseClaim | ReferenceClaim, columns: set[int]
) -> ResponseClaim | ReferenceClaim:
    update: dict[str, object] = {
        "entailed_by": tuple(sorted(set(claim.entailed_by) ^ (columns - {_CORRECT})))
    }
    if isinstance(claim, ResponseClaim) and _CORRECT in columns:
        update["correct"] = not claim.correct
    return claim.model_copy(update=update)


def _hits(random: Random, count: int, rate: float) -> Iterator[int]:
    """Each of ``count`` positions with probability ``rate``, by the gaps between hits."""
    if rate >= 1:
        yield from range(count)
    elif rate > 0:
        scale = math.log1p(-rate)
        position = int(math.log(1 - random.random()) / scale)
        while position < count:
            yield position
            position += 1 + int(math.log(1 - random.random()) / scale)


CELLS: tuple[CellKind, ...] = get_args(CellKind)


@dataclass(frozen=True)
class Band(Record):
    """Where one mode's mean goes, over all samples with claims.

    Attributes:
        mode: ``"relevant"`` or ``"irrelevant"``.
        undetermined: samples of which the verdicts as they are leave the value open.
        undefined: samples with nothing to measure; they are in no figure.
        mean: of the verdicts as they are; None where its bounds differ.
        bounds: the mean of the lowest values and that of the highest.
        moved: the mean over the simulations; None where its bounds differ.
        moved_bounds: the same of the lowest values and of the highest.
        low: between this one
        high: and this one lies the share ``confidence`` of the simulated means: ``low`` is a
            quantile of the means of the lowest values, ``high`` of those of the highest.
    """

    mode: Mode
    undetermined: int
    undefined: int
    mean: float | None
    bounds: Bounds | None
    moved: float | None
    moved_bounds: Bounds | None
    low: float | None
    high: float | None

    @property
    def shift(self) -> float | None:
        """``moved − mean``."""
        return None if self.mean is None or self.moved is None else self.moved - self.mean


@dataclass(frozen=True)
class SensitivityBand(Record, BothModes[Band]):
    """Both modes under one assumption about the judge.

    Attributes:
        samples: how many were simulated.
        failed: results without verdicts; they are in no figure.
        false_yes: the assumed share of "no" cells that the judge turns into "yes".
        false_no: the assumed share of "yes" cells that it turns into "no".
        cells: in which kinds of cells.
        simulations: how often.
        open_cells: verdicts that were never given (a lazy plan, a judge that failed). Errors in
            them cannot be simulated: judge with ``plan="full"`` where they are many.
        relevant: the relevant mode.
        irrelevant: the irrelevant mode; None if the definition has none.
    """

    samples: int
    failed: int
    false_yes: float
    false_no: float
    cells: tuple[CellKind, ...]
    simulations: int
    open_cells: int
    relevant: Band | None
    irrelevant: Band | None


def sensitivity_band(
    verdicts: Iterable[Verdicts | Score | Result],
    *,
    false_yes: float = 0.0,
    false_no: float = 0.0,
    cells: Collection[CellKind] = CELLS,
    definition: DefinitionName = "ragas",
    simulations: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
) -> SensitivityBand:
    """Add errors to the actual verdicts, score again, and see how far the mean moves.

    In every simulation each determined "no" becomes a "yes" with probability ``false_yes`` and
    each "yes" a "no" with probability ``false_no``, independently; labels of chunks stay. One
    wrong "yes" in a reference claim's row makes a chunk relevant, and with it all that it
    entails: where there are many chunks, few of them move the relevant mode far. Where verdicts
    are open, every figure is a range over all samples with claims, as in `noisesense.summarize`.

    Args:
        verdicts: of each sample; failed results are counted and left out. Read once.
        false_yes: 0 to 1, e.g. ``false_yes_rate`` of an `Agreement`.
        false_no: 0 to 1, e.g. ``missed_rate``.
        cells: in which kinds of cells: ``"correct"``, ``"response"``, ``"reference"``.
        definition: for the scores.
        simulations: how many. Time grows with it times the number of samples; memory only with
            it.
        confidence: the share of simulated means within the band.
        seed: the same seed gives the same band.

    Raises:
        InputError: a rate outside 0 to 1, an unknown kind, or no verdicts.
    """
    rates = {"false_yes": false_yes, "false_no": false_no}
    for name, rate in (rates | {"confidence": confidence}).items():
        check_limit(rate, name)
    for kind in cells:
        if kind not in CELLS:
            raise InputError(f"some of {CELLS}", describe(kind), where="cells")
    if simulations < 1:
        raise InputError("1 or more", describe(simulations), where="simulations")
    random = Random(seed)
    tallies: list[dict[Mode, ModeTally]] = [{} for _ in range(simulations + 1)]

    def count(tally: dict[Mode, ModeTally], scored: Score) -> None:
        for mode in MODES:
            if scored.counts(mode):
                tally.setdefault(mode, ModeTally(mode, "none")).add(scored, None)

    samples = failed = open_cells = 0
    for item in verdicts:
        scored = None if isinstance(item, Verdicts) else score_in(item)
        if isinstance(item, Verdicts):
            table = item
        elif scored is not None:
            table = as_model(scored.verdicts)
        else:
            failed += 1
            continue
        samples += 1
        count(tallies[0], score(table, definition=definition))
        perturbable = Cells(table, cells)
        open_cells += perturbable.open
        for tally in tallies[1:]:
            wrong = perturbable.perturbed(random, **rates)
            count(tally, score(wrong, definition=definition))
    if not samples:
        raise InputError("verdicts on at least one sample", "none", where="verdicts")
    bands = {
        mode: _band(mode, actual, [each[mode] for each in tallies[1:]], confidence)
        for mode, actual in tallies[0].items()
    }
    return SensitivityBand(
        samples=samples,
        failed=failed,
        **rates,
        cells=tuple(kind for kind in CELLS if kind in cells),
        simulations=simulations,
        open_cells=open_cells,
        relevant=bands.get("relevant"),
        irrelevant=bands.get("irrelevant"),
    )


def _band(mode: Mode, actual: ModeTally, simulated: list[ModeTally], confidence: float) -> Band:
    bounds = actual.mean_bounds()
    # Errors make no claims: where there is a mean, every simulation has one.
    moved = [each for tally in simulated if (each := tally.mean_bounds())]
    if bounds is None:
        return Band(mode, 0, actual.undefined, None, None, None, None, None, None)
    tail = (1 - confidence) / 2
    lows, highs = (sorted(each[end] for each in moved) for end in (0, 1))
    moved_bounds = mean_bounds(moved)
    return Band(
        mode=mode,
        undetermined=actual.open,
        undefined=actual.undefined,
        mean=None if actual.open else bounds[0],
        bounds=bounds,
        moved=None if any(tally.open for tally in simulated) else moved_bounds[0],
        moved_bounds=moved_bounds,
        low=quantile_of_sorted(lows, tail),
        high=quantile_of_sorted(highs, 1 - tail),
    )
