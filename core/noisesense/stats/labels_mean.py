"""The mean people would find, from many judged samples and few that people labeled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from numbers import Real
from statistics import covariance, fmean, variance
from typing import NamedTuple

from noisesense.errors import InputError, PairingError, describe
from noisesense.scoring.definitions import Mode
from noisesense.scoring.outcomes import Range, Record
from noisesense.scoring.results import Result, check_scored_alike, result_in
from noisesense.stats.interval import Interval, Resampling, few_units_interval
from noisesense.stats.pairing import PairedBy, pair, same_texts
from noisesense.stats.resampling import Unit

_NAMES = ("judge_unlabelled", "judge_labelled", "human_labelled")


@dataclass(frozen=True)
class PoweredMean(Record):
    """A mean estimated from a judge's scores and people's labels.

    Attributes:
        mean: the estimate, or its range where people left labels open; may lie slightly outside 0
            to 1.
        interval: of the estimate, cut to 0 to 1; covers its range.
        judge_mean: the naive one: the judge's over all samples, as biased as the judge is.
        human_mean: over the labeled samples alone: unbiased, and as uncertain as they are few.
        weight: of the judge's scores, 0 (they do not help) to 1.
        labelled: how many samples have labels.
        unlabelled: how many have only the judge's scores.
        warnings: what a reader must know, in words.
    """

    mean: Range
    interval: Interval
    judge_mean: Range
    human_mean: Range
    weight: float
    labelled: int
    unlabelled: int
    warnings: tuple[str, ...]


def prediction_powered_mean(
    judge_unlabelled: Sequence[float],
    judge_labelled: Sequence[float],
    human_labelled: Sequence[float],
    *,
    confidence: float = 0.95,
) -> PoweredMean:
    """Correct the judge's mean by its measured error.

    With judge scores ``f`` and human scores ``Y`` of ``n`` labeled samples and judge scores
    ``f'`` of ``N`` others,

    ``mean = λ · mean(f') + mean(Y − λ f)``, ``variance = λ² var(f') / N + var(Y − λ f) / n``,

    which is unbiased whatever the judge does if the labeled samples were chosen at random.
    ``λ`` is the one of least variance, ``cov(Y, f) / ((1 + n/N) var(f))`` within 0 to 1,
    ``var(f)`` over all samples: a useless judge then costs nothing. For the interval the errors
    ``Y − λ f`` get random Dirichlet weights and, for each end, half an error at that limit, ``−λ``
    or 1 (see `noisesense.stats.interval`): where most samples are clean, the normal
    approximation covers 83% instead of 95%.

    Args:
        judge_unlabelled: ``[N]`` the judge's scores of samples without labels.
        judge_labelled: ``[n]`` the judge's scores of the labeled samples.
        human_labelled: ``[n]`` people's scores of the same samples, in the same order.
        confidence: of the interval.

    Raises:
        InputError: fewer than two scores in either set, sets of different length, or a number out
            of range.

    Sources: Angelopoulos et al. (2023), Prediction-powered inference, Science 382; Angelopoulos,
    Duchi and Zrnic (2023), PPI++, arXiv:2311.01453.
    """
    if len(judge_labelled) != len(human_labelled):
        expected, got = f"{len(human_labelled)} scores", str(len(judge_labelled))
        raise InputError(expected, got, where="judge_labelled")
    others, judged, labels = (
        [Range(each, each) for each in scores]
        for scores in (judge_unlabelled, judge_labelled, human_labelled)
    )
    return _powered(others, judged, labels, Resampling(confidence))


class Labeled(NamedTuple):
    """A judge's results beside people's."""

    judged: list[Result]
    pairs: list[tuple[Result, Result]]
    """The judge's and people's on the same texts, answer included."""
    warnings: list[str]


def labeled_pairs(
    judge: Iterable[Result], human: Iterable[Result], by: PairedBy | None
) -> Labeled:
    """The samples that both have; see `prediction_powered`. Raises as it does."""
    judged, labels = ([*map(result_in, side)] for side in (judge, human))
    check_scored_alike((*judged, *labels), "results, labels")
    paired = pair(judged, labels, by, runs=("judge", "human"), same_first=True)
    same = [(x, y) for x, y in paired.pairs if same_texts(x, y)]
    others = len(paired.pairs) - len(same)
    if not same:
        raise PairingError(
            "labels on judged samples",
            f"{others} that differ in their answer or another text",
            where=f"human, paired by {paired.by}",
            hint="labels belong to one answer: label what the judge has judged",
        )
    warnings = list(paired.warnings)
    if others:
        warnings.append(
            f"{others} of {len(paired.pairs)} labels are on samples with another answer, or "
            "another text, than the judge's: they are not the same and are in no figure."
        )
    if unknown := len(paired.only_b):
        warnings.append(f"{unknown} labels are on samples that the judge did not score.")
    return Labeled(judged, same, warnings)


def prediction_powered(
    judge: Iterable[Result],
    human: Iterable[Result],
    *,
    mode: Mode,
    pair_by: PairedBy | None = None,
    confidence: float = 0.95,
) -> PoweredMean:
    """As `prediction_powered_mean`, from results: those of the judge over all samples, those of
    people over some of them.

    Samples are paired as in `noisesense.compare`, and their texts must be the same: a label
    belongs to one answer. What the judge left open is no sample left out, which would leave the
    hard ones out: the judge's score is then the middle of its bounds, and since the correction
    holds for whatever the judge's scores are, the estimate stays unbiased. Open labels make it a
    range, which the interval covers. Failed samples and those with nothing to measure
    are left out and counted.

    Args:
        judge: the judge's results.
        human: people's, of some of the same samples.
        mode: ``"relevant"`` or ``"irrelevant"``.
        pair_by: ``"id"`` or ``"question"``; by default by the ids that were supplied, else by
            question and reference.
        confidence: of the interval.

    Raises:
        PairingError: no sample is in both.
        InputError: as there; also an id twice.
    """
    labeled = labeled_pairs(judge, human, pair_by)
    powered = corrected_mean(labeled, mode, Resampling(confidence))
    return replace(powered, warnings=(*labeled.warnings, *powered.warnings))


def corrected_mean(labeled: Labeled, mode: Mode, resampling: Resampling) -> PoweredMean:
    """Of one mode; see `prediction_powered`."""
    taken = {id(x) for x, _ in labeled.pairs}
    bounds = (_bounds(each, mode) for each in labeled.judged if id(each) not in taken)
    others = [each for each in bounds if each]
    pairs = [(_bounds(x, mode), _bounds(y, mode)) for x, y in labeled.pairs]
    known = [(x, y) for x, y in pairs if x and y]
    powered = _powered(others, [x for x, _ in known], [y for _, y in known], resampling)
    if left_out := len(labeled.judged) - len(others) - len(known):
        warning = f"{left_out} samples failed or have nothing to measure; they are in no figure."
        powered = replace(powered, warnings=(*powered.warnings, warning))
    return powered


def _bounds(result: Result, mode: Mode) -> Range | None:
    return None if result.score is None else result.score.bounds(mode)


def _powered(
    others: list[Range], judged: list[Range], labels: list[Range], resampling: Resampling
) -> PoweredMean:
    """The estimate for the lowest and for the highest labels."""
    for name, ranges in zip(_NAMES, (others, judged, labels), strict=True):
        _check(name, ranges)
    middles, scores, middle_labels = (
        [low if low == high else (low + high) / 2 for low, high in ranges]
        for ranges in (others, judged, labels)
    )
    share = _best_weight(middles, scores, middle_labels)
    # The judge's mean of the many others scatters little, and nearly normally.
    beside = share * fmean(middles), share * sqrt(variance(middles) / len(middles))
    means: list[float] = []
    intervals: list[Interval] = []
    for end in (0, 1):
        errors = [label[end] - share * f for label, f in zip(labels, scores, strict=True)]
        units = Counter[Unit]((round(error, 12), 1.0) for error in errors)
        means.append(beside[0] + fmean(errors))
        intervals.append(few_units_interval(units, resampling, (-share, 1.0), beside))
    below, above = (min(max(end, 0.0), 1.0) for end in (intervals[0].low, intervals[1].high))
    agreement = (
        "The judge agrees with every label: the interval cannot see errors that are rarer than "
        "the labels show."
    )
    return PoweredMean(
        mean=Range(*means),
        interval=intervals[0]._replace(low=below, high=above),
        judge_mean=Range(*map(fmean, zip(*others, *judged, strict=True))),
        human_mean=Range(*map(fmean, zip(*labels, strict=True))),
        weight=share,
        labelled=len(labels),
        unlabelled=len(others),
        warnings=(agreement,) if judged == labels and means[0] == means[1] else (),
    )


def _check(name: str, scores: Sequence[Range]) -> None:
    if len(scores) < 2:
        raise InputError("at least two scores", str(len(scores)), where=name)
    for i, (value, _) in enumerate(scores):
        # What is undefined (None, NaN) has no place in a mean.
        if not isinstance(value, Real) or not 0 <= value <= 1:
            raise InputError("numbers from 0 to 1", describe(value), where=f"{name}, score {i}")


def _best_weight(
    others: Sequence[float], judged: Sequence[float], labels: Sequence[float]
) -> float:
    spread = variance([*judged, *others])
    if not spread:
        return 0.0
    count = len(labels)
    shared = covariance(labels, judged) * (count - 1) / count
    return min(max(shared / ((1 + count / len(others)) * spread), 0.0), 1.0)
