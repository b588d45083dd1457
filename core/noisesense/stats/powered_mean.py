"""The mean people would find, from a judge's scores of many samples and people's of a few."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, pvariance

from noisesense.errors import InputError
from noisesense.scoring.outcomes import Range, Record
from noisesense.stats.interval import (
    Interval,
    dirichlet_interval,
    sum_range,
    units_of,
)
from noisesense.stats.numerics import numpy


@dataclass(frozen=True)
class PPIMean(Record):
    """What people would find as the mean of these samples, had they labeled all of them.

    Attributes:
        mean: the estimate, or its range where people left labels open.
        interval: of the estimate, cut to what the labels leave possible; covers its range. With
            all samples labeled it is the mean itself.
        judge_mean: the naive one: the judge's over all samples, as wrong as the judge is.
        labeled: how many samples have labels.
        unlabeled: how many have only the judge's scores.
        warnings: what a reader must know, in words.
    """

    mean: Range
    interval: Interval
    judge_mean: Range
    labeled: int
    unlabeled: int
    warnings: tuple[str, ...]


def powered_mean(
    others: list[Range],
    judged: list[Range],
    labels: list[Range],
    confidence: float,
    units: Sequence[Hashable] | None = None,
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

    What the judge left open is no sample left out, which would leave the hard ones out: its score
    is the middle of its bounds, as the correction holds for whatever the judge's scores are. Open
    labels make the estimate a range, which the interval covers.

    Args:
        others: ``[N]`` the judge's scores of samples without labels; may be empty.
        judged: ``[n]`` the judge's scores of the labeled samples.
        labels: ``[n]`` people's scores of the same samples, in the same order.
        confidence: of the interval.
        units: of each labeled sample what it shares with others; by default each is alone.

    Raises:
        InputError: fewer than two labels.
        MissingExtraError: numpy is not installed.

    Sources: Angelopoulos, Duchi and Zrnic (2023), PPI++, arXiv:2311.01453; Mickey (1959), Some
    finite population unbiased ratio and regression estimators, JASA 54; Zrnic and Candès (2024),
    Cross-prediction-powered inference, PNAS 121.
    """
    count = len(labels)
    if count < 2:
        raise InputError("at least two labeled samples", str(count))
    scores = _middles(judged)
    rest = _middles(others)
    middle_labels = _middles(labels)
    slopes = _slopes(middle_labels, scores)
    slope = fmean(slopes)
    of_rest = fmean(rest) if rest else 0.0
    terms: list[Range] = []
    for label, f, own_slope in zip(labels, scores, slopes, strict=True):
        correction = own_slope * (of_rest - f)
        terms.append(Range(label.low + correction, label.high + correction))
    endless = _within(sum_range(terms).over(count))
    labeled = sum_range(labels)
    samples = count + len(others)
    low = (labeled.low + len(others) * endless.low) / samples
    high = (labeled.high + len(others) * endless.high) / samples
    interval = Interval(low, high, confidence, samples)
    if others:
        # The lowest term and the highest: the judge saw noise that people do not, or the reverse.
        error = _error_nobody_saw([*scores, *middle_labels, *rest], count)
        limits = (slope * (of_rest - error), slope * of_rest + error)
        of_terms = units_of(zip(units or range(count), terms, strict=True))
        of_endless = dirichlet_interval(of_terms, confidence, limits)
        # That is of the mean of endlessly many others. There are so many and no more, each of them
        # one draw, and they are a part of all samples: √(N / (n + N)).
        part = sqrt(len(others) / samples)
        # Whatever people would have said of the others.
        least = labeled.low / samples
        most = (labeled.high + len(others)) / samples
        interval = of_endless._replace(
            low=max(low + part * (of_endless.low - endless.low), least),
            high=min(high + part * (of_endless.high - endless.high), most),
        )
    warnings: list[str] = []
    if differ(scores, rest):
        warnings.append(
            f"The judge's mean is {fmean(scores):.2f} on the labeled samples and "
            f"{fmean(rest):.2f} on the others, further apart than in a random choice: the "
            "corrected mean and its interval hold for labels on a random choice only."
        )
    return PPIMean(
        mean=Range(low, high),
        interval=interval,
        judge_mean=sum_range([*others, *judged]).over(samples),
        labeled=count,
        unlabeled=len(others),
        warnings=tuple(warnings),
    )


def _middles(ranges: Iterable[Range]) -> list[float]:
    return [low if low == high else (low + high) / 2 for low, high in ranges]


def _slopes(labels: Sequence[float], scores: Sequence[float]) -> list[float]:
    """Return for each labeled sample ``cov(Y, f) / var(f)`` of all the others, within 0 to 1.

    It is 0 where the judge gives them all the same score.
    """
    np = numpy()
    others = len(labels) - 1
    y = np.array(labels)
    f = np.array(scores)
    spread = f @ f - f * f - (f.sum() - f) ** 2 / others
    shared = y @ f - y * f - (y.sum() - y) * (f.sum() - f) / others
    slopes = np.zeros(len(f))
    np.divide(shared, spread, out=slopes, where=spread > _TINY)
    within: list[float] = np.clip(slopes, 0.0, 1.0).tolist()
    return within


_TINY = 1e-9
_AS_MANY = 10


def _error_nobody_saw(scores: Sequence[float], labels: int) -> float:
    """Return how large the error of a sample may be that nobody labeled.

    It is as a noisy sample's score is on average, which few labels cannot say: as if ten more of
    them were wrong altogether.
    """
    noisy = [score for score in scores if score > 0]
    typical = fmean(noisy) if noisy else 1.0
    return (typical * labels + _AS_MANY) / (labels + _AS_MANY)


def _within(mean: Range) -> Range:
    """Return a mean of scores with both ends cut to lie from 0 to 1."""
    return Range(min(max(mean.low, 0.0), 1.0), min(max(mean.high, 0.0), 1.0))


_ERRORS = 3


def differ(labeled: Sequence[float], others: Sequence[float]) -> bool:
    """Tell whether the means are further apart than three standard errors of a random choice.

    False without others; there has to be a labeled one.
    """
    if not others:
        return False
    spread = pvariance([*labeled, *others])
    variance = spread * (1 / len(labeled) + 1 / len(others))
    apart = fmean(labeled) - fmean(others)
    return apart * apart > _ERRORS**2 * variance + _TINY
