"""The mean people would find, from many judged samples and few that people labeled."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from statistics import fmean
from typing import NamedTuple

from noisesense.errors import InputError, describe
from noisesense.scoring.definitions import Mode
from noisesense.scoring.outcomes import Range, Record, check_limit
from noisesense.scoring.results import Result, result_in
from noisesense.stats.interval import (
    Interval,
    Resampling,
    covering,
    few_units_interval,
    mean_range,
)
from noisesense.stats.pairing import Named, PairedBy, name_of, pair, same_sample_pairs
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
        left_out: samples that are in no figure: they failed, or have nothing to measure.
        other_texts: labels that are in no figure: the judge's sample has the same id or question
            and another answer, or another text.
        warnings: what a reader must know, in words.
    """

    mean: Range
    interval: Interval
    judge_mean: Range
    human_mean: Range
    weight: float
    labelled: int
    unlabelled: int
    left_out: int
    other_texts: int
    warnings: tuple[str, ...]


class _Scored(NamedTuple):
    """What is needed of a result."""

    name: Named
    bounds: Range | None


class _Data(NamedTuple):
    """Three sets of scores, each by its bounds."""

    others: list[Range]
    judged: list[Range]
    labels: list[Range]


def prediction_powered_mean(
    judge_unlabelled: Sequence[float],
    judge_labelled: Sequence[float],
    human_labelled: Sequence[float],
    *,
    confidence: float = 0.95,
    weight: float | None = None,
    seed: int = 0,
) -> PoweredMean:
    """Correct the judge's mean by its measured error.

    With judge scores ``f`` and human scores ``Y`` of ``n`` labeled samples and judge scores
    ``f'`` of ``N`` others,

    ``mean = λ · mean(f') + mean(Y − λ f)``, ``variance = λ² var(f') / N + var(Y − λ f) / n``,

    which is unbiased whatever the judge does if the labeled samples were chosen at random. By
    default ``λ`` is the one of least variance, ``cov(Y, f) / ((1 + n/N) var(f))`` within 0 to 1,
    ``var(f)`` over all samples: a useless judge then costs nothing. For the interval the errors
    ``Y − λ f`` get random Dirichlet weights and, for each end, half an error at that limit, ``−λ``
    or 1 (see `noisesense.stats.interval`): where most samples are clean, the normal
    approximation covers 83% instead of 95%.

    Args:
        judge_unlabelled: ``[N]`` the judge's scores of samples without labels.
        judge_labelled: ``[n]`` the judge's scores of the labeled samples.
        human_labelled: ``[n]`` people's scores of the same samples, in the same order.
        confidence: of the interval.
        weight: ``λ``, to fix it: 1 is the estimate of the first paper.
        seed: the same seed gives the same interval.

    Raises:
        InputError: fewer than two scores in either set, sets of different length, or a number out
            of range.

    Sources: Angelopoulos et al. (2023), Prediction-powered inference, Science 382; Angelopoulos,
    Duchi and Zrnic (2023), PPI++, arXiv:2311.01453.
    """
    sets = judge_unlabelled, judge_labelled, human_labelled
    if len(judge_labelled) != len(human_labelled):
        expected, got = f"{len(human_labelled)} scores", str(len(judge_labelled))
        raise InputError(expected, got, where="judge_labelled")
    for name, scores in zip(_NAMES[::-1], sets[::-1], strict=True):
        _check(name, scores)
    data = _Data(*([Range(each, each) for each in scores] for scores in sets))
    return _powered(data, Resampling(confidence, seed=seed), weight)


def prediction_powered(
    judge: Iterable[Result],
    human: Iterable[Result],
    *,
    mode: Mode,
    pair_by: PairedBy | None = None,
    confidence: float = 0.95,
    weight: float | None = None,
    seed: int = 0,
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
        weight: as there.
        seed: as there.

    Raises:
        PairingError: no sample is in both.
        InputError: as there; also a human result on a sample that the judge did not score, or
            an id twice.
    """
    judged, labeled = ([_scored(result, mode) for result in run] for run in (judge, human))
    paired = pair(judged, labeled, pair_by, runs=("judge", "human"), same_first=True)
    if paired.only_b:
        raise InputError(
            "labels on judged samples",
            f"{paired.only_b[0]!r}, which the judge did not score",
            where="human",
            hint="give the samples of both the same ids",
        )
    same, other_texts = same_sample_pairs(paired, "labels on judged samples", "human, ")
    taken = {id(x) for x, _ in same}
    others = [each.bounds for each in judged if id(each) not in taken and each.bounds]
    known = [(x.bounds, y.bounds) for x, y in same if x.bounds and y.bounds]
    data = _Data(others, [first for first, _ in known], [second for _, second in known])
    for name, scores in zip(_NAMES, data, strict=True):
        _check(name, [low for low, _ in scores])
    left_out = len(judged) - len(others) - len(known)
    powered = _powered(
        data, Resampling(confidence, seed=seed), weight, left_out=left_out, other_texts=other_texts
    )
    return replace(powered, warnings=(*paired.warnings, *powered.warnings))


def _scored(result: Result, mode: Mode) -> _Scored:
    score = result_in(result).score
    return _Scored(name_of(result), None if score is None else score.bounds(mode))


def _powered(
    data: _Data,
    resampling: Resampling,
    weight: float | None,
    *,
    left_out: int = 0,
    other_texts: int = 0,
) -> PoweredMean:
    """The estimate for the lowest and for the highest labels."""
    resampling.check()
    if weight is not None:
        check_limit(weight, "weight")
    others, judged, middles = (
        [low if low == high else (low + high) / 2 for low, high in scores] for scores in data
    )
    share = _best_weight(others, judged, middles) if weight is None else weight
    (low, interval), (high, above) = (
        _estimate(others, judged, [each[end] for each in data.labels], share, resampling)
        for end in (0, 1)
    )
    if any(each.value is None for each in data.labels):
        interval = covering(interval, above) or interval
    judge, human = mean_range([*data.others, *data.judged]), mean_range(data.labels)
    assert judge is not None, "there are two scores at least"
    assert human is not None, "there are two labels at least"
    return PoweredMean(
        mean=Range(low, high),
        interval=interval,
        judge_mean=judge,
        human_mean=human,
        weight=share,
        labelled=len(data.labels),
        unlabelled=len(others),
        left_out=left_out,
        other_texts=other_texts,
        warnings=tuple(_warnings(data, left_out, other_texts)),
    )


def _estimate(
    others: list[float],
    judged: list[float],
    labels: list[float],
    share: float,
    resampling: Resampling,
) -> tuple[float, Interval]:
    errors = Counter[Unit](
        (round(y - share * f, 12), 1.0) for y, f in zip(labels, judged, strict=True)
    )
    # The judge's mean of the many others scatters little, and nearly normally.
    middle, spread = share * fmean(others), share * math.sqrt(_variance(others) / len(others))
    found = few_units_interval(errors, resampling, (-share, 1.0), (middle, spread))
    mean = middle + fmean(y - share * f for y, f in zip(labels, judged, strict=True))
    low, high = (min(max(end, 0.0), 1.0) for end in found[:2])
    return mean, found._replace(low=low, high=high)


def _check(name: str, values: Sequence[float]) -> None:
    if len(values) < 2:
        raise InputError("at least two scores", str(len(values)), where=name)
    for i, value in enumerate(values):
        # What is undefined (None, NaN) has no place in a mean.
        if not isinstance(value, Real) or not 0 <= value <= 1:
            raise InputError("numbers from 0 to 1", describe(value), where=f"{name}, score {i}")


def _best_weight(
    others: Sequence[float], judged: Sequence[float], labels: Sequence[float]
) -> float:
    spread = _variance([*judged, *others])
    if not spread:
        return 0.0
    mean_label, mean_judged = fmean(labels), fmean(judged)
    both = zip(labels, judged, strict=True)
    products = math.fsum((y - mean_label) * (f - mean_judged) for y, f in both)
    shared = products / len(labels)
    return min(max(shared / ((1 + len(labels) / len(others)) * spread), 0.0), 1.0)


def _variance(values: Sequence[float]) -> float:
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _warnings(data: _Data, left_out: int, other_texts: int) -> list[str]:
    warnings: list[str] = []
    labels = len(data.labels)
    if labels < 30:
        warnings.append(f"{labels} labeled samples: the interval is wide.")
    if all(y == f and y.value is not None for y, f in zip(data.labels, data.judged, strict=True)):
        warnings.append(
            "The judge agrees with every label: the interval cannot see errors that are rarer "
            "than the labels show."
        )
    if number := sum(low != high for low, high in data.labels):
        warnings.append(f"{number} of {labels} labels are undetermined: the estimate is a range.")
    if number := sum(low != high for low, high in (*data.others, *data.judged)):
        warnings.append(
            f"The judge left {number} of {len(data.others) + labels} samples undetermined: the "
            "middle of their bounds is taken, and the labels correct it."
        )
    if left_out:
        warnings.append(
            f"{left_out} samples failed or have nothing to measure; they are in no figure."
        )
    if other_texts:
        warnings.append(
            f"{other_texts} labels are on samples with another answer, or another text, than the "
            "judge's: they are not the same and are in no figure."
        )
    return warnings
