"""The mean people would find, from a judge's scores of many samples and people's of a few."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from numbers import Real
from statistics import fmean, pvariance
from typing import NamedTuple

from noisesense.errors import InputError, describe
from noisesense.scoring.outcomes import Range, Record
from noisesense.stats.interval import (
    Interval,
    Resampling,
    dirichlet_interval,
    mean_range,
    units_of,
)


@dataclass(frozen=True)
class PPIMean(Record):
    """What people would find as the mean of these samples, had they labeled all of them.

    Attributes:
        mean: the estimate, or its range where people left labels open.
        interval: of the estimate, cut to what the labels leave possible; covers its range. With
            all samples labeled it is the mean itself.
        judge_mean: the naive one: the judge's over all samples, as wrong as the judge is.
        human_mean: over the labeled samples alone: right on average, as uncertain as they are few.
        weight: of the judge's scores, 0 (they do not help) to 1.
        labeled: how many samples have labels.
        unlabeled: how many have only the judge's scores.
        warnings: what a reader must know, in words.
    """

    mean: Range
    interval: Interval
    judge_mean: Range
    human_mean: Range
    weight: float
    labeled: int
    unlabeled: int
    warnings: tuple[str, ...]


def prediction_powered_mean(
    judge_unlabeled: Sequence[float],
    judge_labeled: Sequence[float],
    human_labeled: Sequence[float],
    *,
    confidence: float = 0.95,
) -> PPIMean:
    """Correct the judge's mean over these samples by its measured error.

    The estimand is the mean of people's scores over these very samples, ``n`` labeled and ``N``
    others: ``(Σ Y + Σ' Y') / (n + N)``. With the judge's scores ``f`` and ``f'``, the unknown
    scores ``Y'`` of the others have the mean

    ``û = mean(Y + λ (mean(f') − f))``, and the estimate is ``(Σ Y + N û) / (n + N)``.

    ``λ = cov(Y, f) / var(f)`` over the labeled samples, within 0 to 1, for each of them without
    itself: a useless judge then costs nothing, and for labels on a random choice of the samples
    the estimate is right on average, whatever the judge does (but for a ``û`` that is cut to 0 or
    1, which is rare).

    For the interval the terms of ``û`` get random Dirichlet weights and, for each end, half a
    sample whose error nobody saw (see `noisesense.stats.interval`). It is narrowed by
    ``√(N / (n + N))``, as the labeled samples are part of what the mean is of.

    Args:
        judge_unlabeled: ``[N]`` the judge's scores of samples without labels; may be empty.
        judge_labeled: ``[n]`` the judge's scores of the labeled samples.
        human_labeled: ``[n]`` people's scores of the same samples, in the same order.
        confidence: of the interval.

    Raises:
        InputError: fewer than two labels, sets of different length, or a number out of range.

    Sources: Angelopoulos, Duchi and Zrnic (2023), PPI++, arXiv:2311.01453; Mickey (1959), Some
    finite population unbiased ratio and regression estimators, JASA 54; Zrnic and Candès (2024),
    Cross-prediction-powered inference, PNAS 121.
    """
    count = len(human_labeled)
    if len(judge_labeled) != count:
        raise InputError(f"{count} numbers", str(len(judge_labeled)), where="judge_labeled")
    return powered_mean(
        _ranges("judge_unlabeled", judge_unlabeled),
        _ranges("judge_labeled", judge_labeled),
        _ranges("human_labeled", human_labeled),
        Resampling(confidence),
    )


def _ranges(name: str, scores: Iterable[float]) -> list[Range]:
    ranges: list[Range] = []
    for i, value in enumerate(scores):
        # What is undefined (None, NaN) has no place in a mean.
        if not isinstance(value, Real) or not 0 <= value <= 1:
            raise InputError("numbers from 0 to 1", describe(value), where=f"{name}, score {i}")
        ranges.append(Range(value, value))
    return ranges


def powered_mean(
    others: list[Range],
    judged: list[Range],
    labels: list[Range],
    resampling: Resampling,
    units: Sequence[Hashable] | None = None,
) -> PPIMean:
    """As `prediction_powered_mean`, of ranges: with the lowest labels and with the highest.

    ``units`` says of each labeled sample what it shares with others; by default each is alone.
    """
    if len(labels) < 2:
        raise InputError("at least two scores", str(len(labels)), where="human_labeled")
    scores = _middles(judged)
    rest = _middles(others)
    middle_labels = _middles(labels)
    slopes = _slopes(middle_labels, scores)
    error = _error_nobody_saw([*scores, *middle_labels, *rest], len(labels))
    prediction = _Prediction.of(labels, scores, rest, slopes)
    mean = prediction.mean
    judge_mean = mean_range([*others, *judged])
    assert judge_mean is not None, "there are labels, and so scores"
    warnings: list[str] = []
    if others and judged == labels and mean.low == mean.high:
        warnings.append(
            "No label changes a score of the judge: the interval cannot see errors that are rarer "
            "than the labels show."
        )
    if len({*scores}) == 1 and {*rest} - {*scores}:
        warnings.append(
            f"The judge gave all labeled samples the same score ({scores[0]:.2f}), so its scores "
            "of the others have no weight: the corrected mean is that of the labels."
        )
    if differ(scores, rest):
        warnings.append(
            f"The judge's mean is {fmean(scores):.2f} on the labeled samples and "
            f"{fmean(rest):.2f} on the others, further apart than in a random choice: the "
            "corrected mean and its interval hold for labels on a random choice only."
        )
    return PPIMean(
        mean=mean,
        interval=prediction.interval(error, resampling, units or range(len(labels))),
        judge_mean=judge_mean,
        human_mean=prediction.labels.over(len(labels)),
        weight=fmean(slopes),
        labeled=len(labels),
        unlabeled=len(others),
        warnings=tuple(warnings),
    )


def _middles(ranges: Iterable[Range]) -> list[float]:
    return [low if low == high else (low + high) / 2 for low, high in ranges]


def _slopes(labels: Sequence[float], scores: Sequence[float]) -> list[float]:
    """For each labeled sample ``cov(Y, f) / var(f)`` of all the others, within 0 to 1; 0 where
    the judge gives them all the same score."""
    count = len(labels) - 1
    sum_y = fsum(labels)
    sum_f = fsum(scores)
    sum_yf = fsum(y * f for y, f in zip(labels, scores, strict=True))
    sum_ff = fsum(f * f for f in scores)
    slopes: list[float] = []
    for y, f in zip(labels, scores, strict=True):
        spread = sum_ff - f * f - (sum_f - f) ** 2 / count
        shared = sum_yf - y * f - (sum_y - y) * (sum_f - f) / count
        slope = shared / spread if spread > _TINY else 0.0
        slopes.append(min(max(slope, 0.0), 1.0))
    return slopes


_TINY = 1e-9
_AS_MANY = 10


def _error_nobody_saw(scores: Sequence[float], labels: int) -> float:
    """How large the error of a sample may be that nobody labeled: as a noisy sample's score is on
    average, which few labels cannot say: as if ten more of them were wrong altogether."""
    noisy = [score for score in scores if score > 0]
    typical = fmean(noisy) if noisy else 1.0
    return (typical * labels + _AS_MANY) / (labels + _AS_MANY)


class _Prediction(NamedTuple):
    """What the labels say of the samples without one.

    Attributes:
        terms: of each labeled sample, ``Y + λ (mean(f') − f)``.
        labels: the sum of the labels.
        shift: the mean of ``λ mean(f')``.
        slope: the mean of ``λ``.
        others: how many samples have no label.
    """

    terms: list[Range]
    labels: Range
    shift: float
    slope: float
    others: int

    @classmethod
    def of(
        cls,
        labels: Sequence[Range],
        scores: Sequence[float],
        others: Sequence[float],
        slopes: Sequence[float],
    ) -> _Prediction:
        """From people's labels, the judge's scores of the same samples and of the others, and λ
        of each labeled sample."""
        mean_of_others = fmean(others) if others else 0.0
        terms: list[Range] = []
        for label, f, slope in zip(labels, scores, slopes, strict=True):
            correction = slope * (mean_of_others - f)
            terms.append(Range(label.low + correction, label.high + correction))
        mean_slope = fmean(slopes)
        return cls(
            terms=terms,
            labels=_sum(labels),
            shift=mean_slope * mean_of_others,
            slope=mean_slope,
            others=len(others),
        )

    @property
    def samples(self) -> int:
        """How many there are, with a label or without."""
        return len(self.terms) + self.others

    @property
    def of_others(self) -> Range:
        """``û``, within 0 and 1."""
        mean = _sum(self.terms).over(len(self.terms))
        return Range(min(max(mean.low, 0.0), 1.0), min(max(mean.high, 0.0), 1.0))

    @property
    def mean(self) -> Range:
        """Over all samples."""
        low, high = self.of_others
        low_sum = self.labels.low + self.others * low
        high_sum = self.labels.high + self.others * high
        return Range(low_sum, high_sum).over(self.samples)

    def interval(
        self, error: float, resampling: Resampling, units: Sequence[Hashable]
    ) -> Interval:
        """The interval of `mean`.

        Args:
            error: how far the judge may be off on one more sample that nobody labeled.
            resampling: draws the weights.
            units: what each labeled sample shares with others.
        """
        mean = self.mean
        if not self.others:
            return Interval(*mean, resampling.confidence, "dirichlet", self.samples)
        # The lowest term and the highest: the judge saw noise that people do not, or the reverse.
        limits = (self.shift - self.slope * error, self.shift + error)
        terms = units_of(zip(units, self.terms, strict=True))
        of_endless = dirichlet_interval(terms, resampling, limits)
        # That is of the mean of endlessly many others. There are so many and no more, each of them
        # one draw, and they are a part of all samples: √(N / (n + N)).
        part = sqrt(self.others / self.samples)
        low = mean.low + part * (of_endless.low - self.of_others.low)
        high = mean.high + part * (of_endless.high - self.of_others.high)
        # Whatever people would have said of the others.
        least = self.labels.low / self.samples
        most = (self.labels.high + self.others) / self.samples
        return of_endless._replace(low=max(low, least), high=min(high, most))


def _sum(ranges: Sequence[Range]) -> Range:
    return Range(fsum(each.low for each in ranges), fsum(each.high for each in ranges))


_ERRORS = 3


def differ(labeled: Sequence[float], others: Sequence[float]) -> bool:
    """Are the means of both further apart than three standard errors of a random choice?"""
    if not others:
        return False
    spread = pvariance([*labeled, *others])
    variance = spread * (1 / len(labeled) + 1 / len(others))
    apart = fmean(labeled) - fmean(others)
    return apart * apart > _ERRORS**2 * variance + _TINY
