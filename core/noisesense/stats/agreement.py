"""How far a judge agrees with people who judged the same samples, by cell and by score."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

from noisesense.scoring.definitions import MODES, DefinitionName, Mode
from noisesense.scoring.records import Record
from noisesense.scoring.scoring import score
from noisesense.stats.cells import CellAgreement, CellKind, cell_agreement, compare_cells
from noisesense.stats.interval import (
    Bounds,
    Interval,
    Resampling,
    absolute_bounds,
    bootstrap_interval,
    covering,
    difference_bounds,
    mean_bounds,
    ratio,
)
from noisesense.stats.pairing import (
    JudgedSample,
    PairedBy,
    VerdictPair,
    pair_verdicts,
)
from noisesense.stats.resampling import Unit


class SampleError(NamedTuple):
    """One sample's score by the judge and by people; None where its bounds differ."""

    name: str
    judge: float | None
    human: float | None
    judge_bounds: Bounds
    human_bounds: Bounds

    @property
    def error(self) -> float | None:
        """Judge minus human; None where one of them is undetermined."""
        return None if self.judge is None or self.human is None else self.judge - self.human

    @property
    def error_bounds(self) -> Bounds:
        """Between what it lies, whichever way the open verdicts of both fall."""
        return difference_bounds(self.human_bounds, self.judge_bounds)

    @property
    def absolute_bounds(self) -> Bounds:
        """Between what the absolute error lies."""
        return absolute_bounds(self.error_bounds)


@dataclass(frozen=True)
class ScoreError(Record):
    """How far one mode's scores are off, over the samples with claims on both sides.

    Single figures are None where open verdicts leave them open; their bounds are over all of
    these samples.

    Attributes:
        samples: every one, the largest certain error first.
        undetermined: of these, those in which the judge or people left the score open.
        undefined: samples in which one side or both have nothing to measure.
        bias: mean of ``judge − human``; positive: the judge sees too much noise.
        bias_bounds: between what the bias lies.
        bias_interval: of the bias; covers the bounds.
        mean_absolute: mean of ``|judge − human|``.
        mean_absolute_bounds: between what it lies.
        root_mean_square: ``√ mean (judge − human)²``.
        root_mean_square_bounds: between what it lies.
    """

    samples: tuple[SampleError, ...]
    undetermined: int
    undefined: int
    bias: float | None
    bias_bounds: Bounds | None
    bias_interval: Interval | None
    mean_absolute: float | None
    mean_absolute_bounds: Bounds | None
    root_mean_square: float | None
    root_mean_square_bounds: Bounds | None


def score_errors(
    pairs: Sequence[VerdictPair], definition: DefinitionName, resampling: Resampling
) -> dict[Mode, ScoreError]:
    """The errors of each mode the definition has."""
    scored = [
        (name, score(judge, definition=definition), score(human, definition=definition))
        for name, judge, human in pairs
    ]
    errors: dict[Mode, ScoreError] = {}
    for mode in MODES:
        if not scored[0][1].counts(mode):
            continue
        samples = [
            SampleError(name, judge.value(mode), human.value(mode), ours, theirs)
            for name, judge, human in scored
            if (ours := judge.bounds(mode)) and (theirs := human.bounds(mode))
        ]
        errors[mode] = _errors(samples, len(scored) - len(samples), resampling)
    return errors


def _errors(samples: list[SampleError], undefined: int, resampling: Resampling) -> ScoreError:
    if not samples:
        return ScoreError((), 0, undefined, None, None, None, None, None, None, None)
    samples.sort(key=lambda each: (-each.absolute_bounds[0], each.name))
    undetermined = sum(each.error is None for each in samples)
    errors = [each.error_bounds for each in samples]
    absolute = [each.absolute_bounds for each in samples]
    bias, mean = mean_bounds(errors), mean_bounds(absolute)
    least, most = mean_bounds([(low * low, high * high) for low, high in absolute])
    root = math.sqrt(least), math.sqrt(most)
    units = (Counter[Unit]((round(each[end], 12), 1.0) for each in errors) for end in (0, 1))
    low, high = (bootstrap_interval(each, ratio, resampling, limits=(-1.0, 1.0)) for each in units)
    return ScoreError(
        samples=tuple(samples),
        undetermined=undetermined,
        undefined=undefined,
        bias=None if undetermined else bias[0],
        bias_bounds=bias,
        bias_interval=covering(low, high, "bca-range") if undetermined else low,
        mean_absolute=None if undetermined else mean[0],
        mean_absolute_bounds=mean,
        root_mean_square=None if undetermined else root[0],
        root_mean_square_bounds=root,
    )


@dataclass(frozen=True)
class Agreement(Record):
    """A judge against people.

    Attributes:
        samples: judged by both.
        only_judge: judged by the judge alone.
        only_human: judged by people alone.
        other_texts: of these, pairs that have the same id or question and differ in the answer or
            another text: each side is counted as alone, since it is not the same sample.
        paired_by: ``"id"``, or ``"question"``: user input and reference.
        unmatched_claims: claims only one side has; their cells cannot be compared.
        cells: by kind: ``"correct"`` (does the reference entail a response claim?),
            ``"response"`` (does a chunk?), ``"reference"`` (does a chunk entail a reference
            claim?).
        errors: of the scores, by mode.
        warnings: what a reader of the figures must know, in words.
    """

    samples: int
    only_judge: int
    only_human: int
    other_texts: int
    paired_by: PairedBy
    unmatched_claims: int
    cells: dict[CellKind, CellAgreement]
    errors: dict[Mode, ScoreError]
    warnings: tuple[str, ...]


def agreement(
    judge: Iterable[JudgedSample],
    human: Iterable[JudgedSample],
    *,
    definition: DefinitionName = "ragas",
    pair_by: PairedBy | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = 2000,
) -> Agreement:
    """Compare a judge's verdicts with people's, cell by cell and score by score.

    Samples are paired as in `noisesense.compare`, and their texts must be the same: labels belong
    to one answer. Claims are matched by their text; case and white space do not matter. The rates
    it finds are those `noisesense.sensitivity_band` takes.

    Args:
        judge: results, lines of a recording or ``(sample, verdicts)`` pairs.
        human: the same samples, labeled by people; on the judge's claims, if cells are to be
            compared.
        definition: for the scores.
        pair_by: ``"id"`` or ``"question"``; by default by the ids that were supplied, else by
            question and reference.
        confidence: of the intervals.
        seed: the same seed gives the same intervals.
        resamples: how many bootstrap resamples.

    Raises:
        PairingError: no sample on both sides.
        InputError: an id twice on one side, or another number of chunks.
    """
    resampling = Resampling(confidence, resamples, seed).check()
    paired = pair_verdicts(judge, human, pair_by)
    units: dict[CellKind, Counter[Unit]] = {kind: Counter() for kind in get_args(CellKind)}
    unmatched = 0
    for pair in paired.samples:
        confusions, alone = compare_cells(pair)
        unmatched += alone
        for kind, confusion in confusions.items():
            units[kind][tuple(map(float, confusion))] += 1
    return Agreement(
        samples=len(paired.samples),
        only_judge=paired.only_judge,
        only_human=paired.only_human,
        other_texts=paired.other_texts,
        paired_by=paired.paired_by,
        unmatched_claims=unmatched,
        cells={kind: cell_agreement(each, resampling) for kind, each in units.items()},
        errors=score_errors(paired.samples, definition, resampling),
        warnings=paired.warnings,
    )
