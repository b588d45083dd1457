"""What a judge's errors would make of a mean: cells are flipped at random and scored again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import get_args

from noisesense.errors import InputError, check_choice, check_whole
from noisesense.scoring.definitions import DefinitionName, Mode, Truth, modes_of
from noisesense.scoring.outcomes import BothModes, Range, Record, check_limit
from noisesense.scoring.results import Result, score_in
from noisesense.scoring.scoring import Score, score
from noisesense.stats.interval import mean_range
from noisesense.stats.labels_cells import CellKind, cell_of
from noisesense.stats.resampling import quantile_of_sorted
from noisesense.verdicts.form import (
    ClaimForm,
    LightChunk,
    LightClaim,
    LightResponseClaim,
    LightVerdicts,
    VerdictsForm,
)
from noisesense.verdicts.verdicts import Verdicts

CELLS: tuple[CellKind, ...] = get_args(CellKind)


@dataclass(frozen=True)
class Band(Record):
    """Where one mode's mean goes, over all samples with something to measure.

    Attributes:
        mode: ``"relevant"`` or ``"irrelevant"``.
        mean: of the verdicts as they are.
        moved: the mean over the simulations.
        band: between its ends lie 95% of the simulated means.
    """

    mode: Mode
    mean: Range | None
    moved: Range | None
    band: Range | None


@dataclass(frozen=True)
class SensitivityBand(Record, BothModes[Band]):
    """Both modes under one assumption about the judge.

    Attributes:
        samples: how many were simulated.
        failed: results without verdicts; they are in no figure.
        relevant: the relevant mode.
        irrelevant: the irrelevant mode; None if the definition has none.
    """

    samples: int
    failed: int
    relevant: Band | None
    irrelevant: Band | None


def sensitivity_band(
    verdicts: Iterable[Verdicts | Score | Result],
    *,
    false_yes: float = 0.0,
    false_no: float = 0.0,
    cells: Iterable[CellKind] = CELLS,
    definition: DefinitionName = "ragas",
    simulations: int = 200,
    seed: int = 0,
) -> SensitivityBand:
    """How far a judge with these error rates would move the means, if the verdicts are the truth.

    Every "no" becomes a "yes" with probability ``false_yes``, every "yes" a "no" with
    ``false_no``, each cell on its own; open cells stay open. The samples are scored again, as
    often as there are simulations. What a judge's errors did to your own results is another
    question, which labels answer: `noisesense.trust_results`.

    Args:
        verdicts: of all samples: verdicts, scores or results.
        false_yes: a rate, 0 to 1, e.g. of `noisesense.trust`.
        false_no: likewise.
        cells: which kinds of cells have errors: ``"correct"``, ``"response"``, ``"reference"``.
        definition: for the scores.
        simulations: how many. Time grows with it times the number of cells.
        seed: the same seed gives the same band.

    Raises:
        InputError: a rate outside 0 to 1, an unknown kind, no verdicts.
    """
    for rate, name in ((false_yes, "false_yes"), (false_no, "false_no")):
        check_limit(rate, name)
    kinds = tuple(check_choice(kind, CELLS, "cells") for kind in cells)
    check_whole(simulations, 1, "simulations")
    scored = [v if isinstance(v, Verdicts) else score_in(v) for v in verdicts]
    judged = [v.verdicts if isinstance(v, Score) else v for v in scored if v is not None]
    if not judged:
        raise InputError("verdicts on at least one sample", "none", where="verdicts")
    random = Random(seed)

    def flip(kind: CellKind, cell: Truth) -> Truth:
        if cell is None or kind not in kinds:
            return cell
        return cell != (random.random() < (false_no if cell else false_yes))

    def mean(samples: Iterable[VerdictsForm]) -> dict[Mode, Range | None]:
        scores = [score(each, definition=definition) for each in samples]
        return {
            mode: mean_range([bounds for each in scores if (bounds := each.bounds(mode))])
            for mode in modes_of(definition)
        }

    actual = mean(judged)
    runs = [mean(_flipped(each, flip) for each in judged) for _ in range(simulations)]
    bands = {
        mode: _band(mode, actual[mode], [each for run in runs if (each := run[mode])])
        for mode in actual
    }
    return SensitivityBand(
        samples=len(judged),
        failed=len(scored) - len(judged),
        relevant=bands["relevant"],
        irrelevant=bands.get("irrelevant"),
    )


def _band(mode: Mode, mean: Range | None, means: list[Range]) -> Band:
    if not means:
        return Band(mode, mean, None, None)
    lows, highs = map(sorted, zip(*means, strict=True))
    ends = quantile_of_sorted(lows, 0.025), quantile_of_sorted(highs, 0.975)
    return Band(mode, mean, mean_range(means), Range(*ends))


def _flipped(verdicts: VerdictsForm, flip: Callable[[CellKind, Truth], Truth]) -> LightVerdicts:
    count = verdicts.chunk_count

    def entailing(kind: CellKind, claim: ClaimForm) -> tuple[int, ...]:
        return tuple(j for j in range(count) if flip(kind, cell_of(claim, j)))

    response = (
        LightResponseClaim(
            each.text,
            entailing("response", each),
            each.undetermined,
            correct=flip("correct", each.correct),
        )
        for each in verdicts.response_claims
    )
    reference = (
        LightClaim(each.text, entailing("reference", each), each.undetermined)
        for each in verdicts.reference_claims
    )
    chunks = [LightChunk(each.text, each.relevant, each.id) for each in verdicts.chunks or ()]
    return LightVerdicts(
        tuple(response), tuple(reference), tuple(chunks) or (LightChunk(""),) * count
    )
