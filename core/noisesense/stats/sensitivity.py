"""What a judge's errors would make of a mean: cells are flipped at random and scored again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from noisesense.errors import InputError, check_whole
from noisesense.scoring.definitions import DefinitionName, Mode, Truth, modes_of
from noisesense.scoring.outcomes import BothModes, Range, Record, check_limit
from noisesense.scoring.results import Result, check_scores_alike, score_in
from noisesense.scoring.scoring import Empty, Score, score
from noisesense.stats.interval import mean_range
from noisesense.stats.labels_cells import cell_of
from noisesense.stats.resampling import quantile_of_sorted
from noisesense.verdicts.form import (
    ClaimForm,
    LightChunk,
    LightClaim,
    LightResponseClaim,
    LightVerdicts,
    VerdictsForm,
)


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
    results: Iterable[Result | Score],
    *,
    false_yes: float = 0.0,
    false_no: float = 0.0,
    definition: DefinitionName | None = None,
    simulations: int = 200,
    seed: int = 0,
) -> SensitivityBand:
    """How far a judge with these error rates would move the means, if the verdicts are the truth.

    Every "no" becomes a "yes" with probability ``false_yes``, every "yes" a "no" with
    ``false_no``, each cell on its own; open cells stay open. The samples are scored again, as
    often as there are simulations. What a judge's errors did to your own results is another
    question, which labels answer: `noisesense.trust_results`.

    Args:
        results: of all samples, or bare scores. Their verdicts are scored anew.
        false_yes: a rate, 0 to 1, e.g. of `noisesense.trust`.
        false_no: likewise.
        definition: for the scores; by default that of the results.
        simulations: how many. Time grows with it times the number of cells.
        seed: the same seed gives the same band.

    Raises:
        InputError: a rate outside 0 to 1, no verdicts, or results that were not scored alike.
        UndefinedScoreError: results of ``empty="error"``, and one has nothing to measure under
            ``definition``.
    """
    for rate, name in ((false_yes, "false_yes"), (false_no, "false_no")):
        check_limit(rate, name)
    check_whole(simulations, 1, "simulations")
    scores = list(map(score_in, results))
    scored = [each for each in scores if each is not None]
    if not scored:
        raise InputError("verdicts on at least one sample", "none", where="results")
    check_scores_alike(scored, "results")
    definition = definition or scored[0].definition
    empty = scored[0].empty
    errors = _Errors(false_yes, false_no, Random(seed))
    actual = _means([each.verdicts for each in scored], definition, empty)
    runs: list[dict[Mode, Range | None]] = []
    for _ in range(simulations):
        flipped = [_flipped(each, errors) for each in scored]
        runs.append(_means(flipped, definition, empty))
    bands: dict[Mode, Band] = {}
    for mode, mean in actual.items():
        bands[mode] = _band(mode, mean, [run[mode] for run in runs])
    return SensitivityBand(
        samples=len(scored),
        failed=len(scores) - len(scored),
        relevant=bands["relevant"],
        irrelevant=bands.get("irrelevant"),
    )


class _Errors(NamedTuple):
    """How often a cell is turned into its opposite."""

    false_yes: float
    false_no: float
    random: Random

    def flip(self, cell: Truth) -> Truth:
        """The cell, or by chance its opposite; what is open stays open."""
        if cell is None:
            return None
        rate = self.false_no if cell else self.false_yes
        return cell != (self.random.random() < rate)

    def entailing(self, claim: ClaimForm, chunks: int) -> tuple[int, ...]:
        """The chunks that entail the claim once its cells are flipped."""
        return tuple(j for j in range(chunks) if self.flip(cell_of(claim, j)))


def _means(
    samples: Iterable[VerdictsForm], definition: DefinitionName, empty: Empty
) -> dict[Mode, Range | None]:
    """Each mode's mean over the samples with something to measure."""
    scores = [score(each, definition=definition, empty=empty) for each in samples]
    means: dict[Mode, Range | None] = {}
    for mode in modes_of(definition):
        bounds = [each.bounds(mode) for each in scores]
        means[mode] = mean_range([each for each in bounds if each is not None])
    return means


def _band(mode: Mode, mean: Range | None, runs: Iterable[Range | None]) -> Band:
    means = [each for each in runs if each is not None]
    if not means:
        return Band(mode, mean, None, None)
    lows = sorted(each.low for each in means)
    highs = sorted(each.high for each in means)
    band = Range(quantile_of_sorted(lows, 0.025), quantile_of_sorted(highs, 0.975))
    return Band(mode, mean, mean_range(means), band)


def _flipped(scored: Score, errors: _Errors) -> LightVerdicts:
    """The verdicts with the errors of one simulation."""
    verdicts = scored.verdicts
    count = verdicts.chunk_count
    if scored.lack == "nothing_retrieved":
        count = 0  # no judge is asked about blank chunks, so no error of one makes them noise
    response: list[LightResponseClaim] = []
    for claim in verdicts.response_claims:
        positions = errors.entailing(claim, count)
        correct = errors.flip(claim.correct)
        response.append(
            LightResponseClaim(claim.text, positions, claim.undetermined, correct=correct)
        )
    reference: list[LightClaim] = []
    for stated in verdicts.reference_claims:
        positions = errors.entailing(stated, count)
        reference.append(LightClaim(stated.text, positions, stated.undetermined))
    # A chunk that a verdict named is there, though its text may not be known. With blank texts
    # the score would be that of a sample for which nothing was retrieved.
    claims = (*verdicts.response_claims, *verdicts.reference_claims)
    unknown = "-" if any(claim.entailed_by for claim in claims) else ""
    chunks: list[LightChunk] = []
    for chunk in verdicts.chunks or (LightChunk(""),) * count:
        chunks.append(LightChunk(chunk.text.strip() or unknown, chunk.relevant))
    return LightVerdicts(tuple(response), tuple(reference), tuple(chunks))
