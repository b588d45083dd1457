"""What a judge's errors would make of a mean: cells are flipped at random and scored again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from random import Random
from typing import get_args

from noisesense.errors import InputError, describe
from noisesense.scoring.definitions import DefinitionName, Mode, check_definition, modes_of
from noisesense.scoring.outcomes import BothModes, Range, Record, check_limit
from noisesense.scoring.results import Result, score_in
from noisesense.scoring.scoring import Score, score
from noisesense.stats.interval import mean_range
from noisesense.stats.labels_cells import CellKind
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
        undetermined: samples of which the verdicts as they are leave the value open.
        undefined: samples with nothing to measure; they are in no figure.
        mean: of the verdicts as they are.
        moved: the mean over the simulations.
        band: between its ends lies the share ``confidence`` of the simulated means.
    """

    mode: Mode
    undetermined: int
    undefined: int
    mean: Range | None
    moved: Range | None
    band: Range | None


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
        confidence: of the bands.
        relevant: the relevant mode.
        irrelevant: the irrelevant mode; None if the definition has none.
    """

    samples: int
    failed: int
    false_yes: float
    false_no: float
    cells: tuple[CellKind, ...]
    simulations: int
    confidence: float
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
    confidence: float = 0.95,
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
        confidence: the share of simulated means within the band.
        seed: the same seed gives the same band.

    Raises:
        InputError: a rate outside 0 to 1, an unknown kind, no verdicts.
    """
    check_definition(definition)
    for rate, name in ((false_yes, "false_yes"), (false_no, "false_no")):
        check_limit(rate, name)
    check_limit(confidence, "confidence")
    kinds = tuple(cells)
    for kind in kinds:
        if kind not in CELLS:
            raise InputError(f"some of {CELLS}", describe(kind), where="cells")
    if simulations < 1:
        raise InputError("1 or more", describe(simulations), where="simulations")
    known = list(map(_verdicts, verdicts))
    judged = [each for each in known if each is not None]
    if not judged:
        raise InputError("verdicts on at least one sample", "none", where="verdicts")
    random, rates = Random(seed), (false_no, false_yes)
    actual = [score(each, definition=definition) for each in judged]
    runs: dict[Mode, list[Range]] = {mode: [] for mode in modes_of(definition)}
    for _ in range(simulations):
        wrong = [
            score(_flipped(each, kinds, rates, random), definition=definition) for each in judged
        ]
        for mode, means in runs.items():
            if mean := mean_range(_ranges(wrong, mode)):
                means.append(mean)
    bands = {mode: _band(mode, actual, means, confidence) for mode, means in runs.items()}
    return SensitivityBand(
        samples=len(judged),
        failed=len(known) - len(judged),
        false_yes=false_yes,
        false_no=false_no,
        cells=kinds,
        simulations=simulations,
        confidence=confidence,
        relevant=bands["relevant"],
        irrelevant=bands.get("irrelevant"),
    )


def _verdicts(item: Verdicts | Score | Result) -> VerdictsForm | None:
    if isinstance(item, Verdicts):
        return item
    found = score_in(item)
    return None if found is None else found.verdicts


def _ranges(scores: Sequence[Score], mode: Mode) -> list[Range]:
    return [bounds for each in scores if (bounds := each.bounds(mode))]


def _band(mode: Mode, actual: Sequence[Score], means: list[Range], confidence: float) -> Band:
    ranges, tail = _ranges(actual, mode), (1 - confidence) / 2
    band = moved = None
    if means:
        moved = Range(*(fsum(each[end] for each in means) / len(means) for end in (0, 1)))
        lows, highs = (sorted(each[end] for each in means) for end in (0, 1))
        band = Range(quantile_of_sorted(lows, tail), quantile_of_sorted(highs, 1 - tail))
    undetermined = sum(each.value is None for each in ranges)
    return Band(mode, undetermined, len(actual) - len(ranges), mean_range(ranges), moved, band)


def _flipped(
    verdicts: VerdictsForm,
    kinds: Sequence[CellKind],
    rates: tuple[float, float],
    random: Random,
) -> LightVerdicts:
    """With errors; ``rates`` are those of "yes" and of "no"."""
    chunks, draw = range(verdicts.chunk_count), random.random

    def flip(cell: bool) -> bool:
        return cell != (draw() < rates[not cell])

    def entailing(claim: ClaimForm, kind: CellKind) -> tuple[int, ...]:
        yes, maybe = claim.entailed_by, claim.undetermined
        if kind not in kinds:
            return yes
        return tuple(j for j in chunks if j not in maybe and flip(j in yes))

    def correct_of(correct: bool | None) -> bool | None:
        return correct if correct is None or "correct" not in kinds else flip(correct)

    own = verdicts.chunks
    if own is None:
        texts = [LightChunk("")] * len(chunks)
    else:
        texts = [LightChunk(each.text, each.relevant, each.id) for each in own]
    return LightVerdicts(
        tuple(
            LightResponseClaim(
                c.text, entailing(c, "response"), c.undetermined, correct=correct_of(c.correct)
            )
            for c in verdicts.response_claims
        ),
        tuple(
            LightClaim(c.text, entailing(c, "reference"), c.undetermined)
            for c in verdicts.reference_claims
        ),
        tuple(texts),
    )
