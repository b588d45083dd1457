"""The mean people would find, from many judged samples and few that people labelled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from statistics import fmean

from noisesense.definitions import Mode, check_mode
from noisesense.errors import InputError, describe
from noisesense.results import Result
from noisesense.stats._items import result_in
from noisesense.stats._quantiles import t_quantile
from noisesense.stats.interval import Interval, same_value_interval

__all__ = ["PoweredMean", "prediction_powered", "prediction_powered_mean"]

_TIE = 1e-12


@dataclass(frozen=True)
class PoweredMean:
    """A mean estimated from a judge's scores and people's labels.

    Attributes:
        mean: the estimate; may lie slightly outside 0 to 1.
        interval: of it, cut to 0 to 1.
        judge_mean: the naive one: the judge's over all samples, as biased as the judge is.
        human_mean: over the labelled samples alone: unbiased, and as uncertain as they are few.
        weight: of the judge's scores, 0 (they do not help) to 1.
        labelled: how many samples have labels.
        unlabelled: how many have only the judge's scores.
        warnings: what a reader must know, in words.
    """

    mean: float
    interval: Interval
    judge_mean: float
    human_mean: float
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
    weight: float | None = None,
) -> PoweredMean:
    """Correct the judge's mean by its measured error.

    With judge scores ``f`` and human scores ``Y`` of ``n`` labelled samples and judge scores
    ``f'`` of ``N`` others,

    ``mean = λ · mean(f') + mean(Y − λ f)``, ``variance = λ² var(f') / N + var(Y − λ f) / n``,

    which is unbiased whatever the judge does if the labelled samples were chosen at random. By
    default ``λ`` is the one of least variance, ``cov(Y, f) / ((1 + n/N) var(f))`` within 0 to 1,
    ``var(f)`` over all samples: a useless judge then costs nothing. The interval takes Student's
    t with ``n − 1`` degrees of freedom instead of the normal distribution, as ``n`` is small.
    Where all ``Y − λ f`` are the same, their variance says nothing: the interval then reaches
    further by what so many can have missed, see `noisesense.stats.interval`.

    Args:
        judge_unlabelled: ``[N]`` the judge's scores of samples without labels.
        judge_labelled: ``[n]`` the judge's scores of the labelled samples.
        human_labelled: ``[n]`` people's scores of the same samples, in the same order.
        confidence: of the interval.
        weight: ``λ``, to fix it: 1 is the estimate of the first paper.

    Raises:
        InputError: fewer than two scores in either set, sets of different length, or a number out
            of range.

    Sources: Angelopoulos et al. (2023), Prediction-powered inference, Science 382; Angelopoulos,
    Duchi and Zrnic (2023), PPI++, arXiv:2311.01453.
    """
    others, judged, labels = judge_unlabelled, judge_labelled, human_labelled
    if len(judged) != len(labels):
        raise InputError(f"{len(labels)} scores", str(len(judged)), where="judge_labelled")
    _check("human_labelled", labels)
    _check("judge_labelled", judged)
    _check("judge_unlabelled", others)
    if not 0 < confidence < 1:
        raise InputError("a number between 0 and 1", describe(confidence), where="confidence")
    if weight is not None and not 0 <= weight <= 1:
        raise InputError("a number from 0 to 1", describe(weight), where="weight")
    share = _best_weight(others, judged, labels) if weight is None else weight
    errors = [y - share * f for y, f in zip(labels, judged, strict=True)]
    mean = share * fmean(others) + fmean(errors)
    variance = share**2 * _variance(others) / len(others) + _variance(errors) / len(errors)
    reach = t_quantile((1 + confidence) / 2, len(labels) - 1) * math.sqrt(variance)
    below, above = _unseen(errors, share, confidence)
    low, high = (min(max(end, 0.0), 1.0) for end in (mean - reach - below, mean + reach + above))
    return PoweredMean(
        mean=mean,
        interval=Interval(low, high, confidence, "t", len(labels)),
        judge_mean=fmean([*others, *judged]),
        human_mean=fmean(labels),
        weight=share,
        labelled=len(labels),
        unlabelled=len(others),
        warnings=tuple(_warnings(judged, labels)),
    )


def prediction_powered(
    judge: Iterable[Result],
    human: Iterable[Result],
    *,
    mode: Mode,
    confidence: float = 0.95,
    weight: float | None = None,
) -> PoweredMean:
    """As `prediction_powered_mean`, from results: those of the judge over all samples, those of
    people over some of them.

    Samples are found by their id. A labelled sample without a value in this mode is left out, and
    so is a judged one.

    Raises:
        InputError: as there; also a human result on a sample the judge has not, or an id twice.
    """
    check_mode(mode)
    labels: dict[str, float | None] = {}
    for result in human:
        if result_in(result).id in labels:
            raise InputError("each sample once", f"{result.id!r} twice", where="human")
        labels[result.id] = _value(result, mode)
    others: list[float] = []
    judged: dict[str, float | None] = {}
    for result in judge:
        value = _value(result, mode)
        if result.id in judged:
            raise InputError("each sample once", f"{result.id!r} twice", where="judge")
        if result.id in labels:
            judged[result.id] = value
        elif value is not None:
            others.append(value)
    unknown = [name for name in labels if name not in judged]
    if unknown:
        raise InputError(
            "labels on judged samples",
            f"{unknown[0]!r}, which the judge has not",
            where="human",
            hint="give the samples of both the same ids",
        )
    both = [
        (found, label)
        for name, label in labels.items()
        if label is not None and (found := judged[name]) is not None
    ]
    return prediction_powered_mean(
        others,
        [found for found, _ in both],
        [label for _, label in both],
        confidence=confidence,
        weight=weight,
    )


def _check(name: str, values: Sequence[float]) -> None:
    if len(values) < 2:
        raise InputError("at least two scores", str(len(values)), where=name)
    for i, value in enumerate(values):
        # What is undefined (None, NaN) has no place in a mean.
        if not isinstance(value, Real) or not 0 <= value <= 1:
            raise InputError("numbers from 0 to 1", describe(value), where=f"{name}, score {i}")


def _unseen(errors: Sequence[float], share: float, confidence: float) -> tuple[float, float]:
    """How much further down and up the interval reaches where all errors are the same."""
    value = errors[0]
    if max(errors) - min(errors) > _TIE:
        return 0.0, 0.0
    found = same_value_interval(value, len(errors), confidence, (-share, 1.0))
    return value - found.low, found.high - value


def _value(result: Result, mode: Mode) -> float | None:
    scored = result_in(result).score
    return None if scored is None else scored.value(mode)


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


def _warnings(judged: Sequence[float], labels: Sequence[float]) -> list[str]:
    found: list[str] = []
    if len(labels) < 30:
        found.append(f"{len(labels)} labelled samples; below 30 the interval means little.")
    if all(y == f for y, f in zip(labels, judged, strict=True)):
        found.append(
            "The judge agrees with every label: the interval cannot see errors that are rarer "
            "than the labels show."
        )
    return found
