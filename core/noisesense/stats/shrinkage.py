"""Rates of many cases at once: each is drawn towards the others, the more the less it says alone.

Of ten documents that are retrieved once, the one that misled is hardly as bad as its rate of 1.
What is likely for any document is learned from all of them: each rate is a draw of a beta
distribution, or now and then any number from 0 to 1. Which beta distribution, and how often
otherwise, is weighed by how well it fits the counts, over a grid (hierarchical Bayes). Chosen by
what they show, such rates still mean what they say, and their intervals hold.

Sources: Gelman et al. (2013), Bayesian Data Analysis, sections 5.3 and 5.4; Efron (2010),
Large-Scale Inference, chapter 1.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import exp, fsum, inf, lgamma, log, log1p
from operator import mul
from typing import NamedTuple


class Hits(NamedTuple):
    """In how many cases of all something happened; a case may count in part."""

    hits: float
    cases: int


def _logistic(z: float) -> float:
    return 1 / (1 + exp(-z))


# Rates are cells of equal width on the logit scale; what lies beyond goes to the two at the ends.
_STEP = 0.1
_LOGITS = [-8 + _STEP * i for i in range(141)]
_RATES = [_logistic(z) for z in _LOGITS]
_MIDDLES = [0.0, *_RATES, 1.0]
_BORDERS = [_logistic(z - _STEP / 2) for z in [*_LOGITS, _LOGITS[-1] + _STEP]]
_STARTS = [0.0, *_BORDERS]
_ENDS = [*_BORDERS, 1.0]
_MEANS = [_logistic(-4.5 + 0.75 * i) for i in range(9)]
_CASES = (1.0, 4.0, 16.0, 64.0)  # how many cases a beta distribution is worth
_OTHERWISE = (0.0, 0.1)
_NEGLIGIBLE = 30.0  # a prior whose fit is so much worse, in logarithms


def _beta(a: float, b: float) -> list[float]:
    """How likely each cell is by a beta distribution."""
    scale = lgamma(a) + lgamma(b) - lgamma(a + b)
    inside: list[float] = []
    for rate in _RATES:
        density = exp(a * log(rate) + b * log1p(-rate) - scale)
        inside.append(density * _STEP)
    below = exp(a * (_LOGITS[0] - _STEP / 2) - scale) / a
    above = exp(-b * (_LOGITS[-1] + _STEP / 2) - scale) / b
    return [below, *inside, above]


@lru_cache(maxsize=1)
def _priors() -> list[list[float]]:
    uniform = _beta(1.0, 1.0)
    priors: list[list[float]] = []
    for mean in _MEANS:
        for cases in _CASES:
            beta = _beta(mean * cases, (1 - mean) * cases)
            for share in _OTHERWISE:
                priors.append(_mixed(beta, uniform, share))
    return priors


def _mixed(first: list[float], second: list[float], share: float) -> list[float]:
    """A mixture of two distributions, of the second by this share."""
    return [(1 - share) * p + share * q for p, q in zip(first, second, strict=True)]


def _likelihood(case: Hits) -> list[float]:
    """Of each cell; scaled, as only the proportions count."""
    misses = case.cases - case.hits
    logs = [case.hits * log(rate) + misses * log1p(-rate) for rate in _RATES]
    # Of the two cells at the ends, as if their rates were 0 and 1.
    never = -inf if case.hits else 0.0
    always = -inf if misses else 0.0
    logs = [never, *logs, always]
    top = max(logs)
    return [exp(value - top) for value in logs]


class Rate(NamedTuple):
    """What is known of one rate.

    Attributes:
        mean: the best guess.
        low: it is below with a probability of half of what the interval may miss.
        high: above, likewise.
        top_tenth: how likely it is among the highest tenth of all rates.
    """

    mean: float
    low: float
    high: float
    top_tenth: float


def shrunken(counts: Counter[Hits], confidence: float = 0.95) -> dict[Hits, Rate]:
    """The rate behind each of these counts.

    Args:
        counts: of all that could have been chosen, also of those without hits.
        confidence: how often an interval is meant to hold the rate.
    """
    cells = _posteriors(counts)
    pooled = [0.0] * len(_ENDS)
    for case, times in counts.items():
        for i, share in enumerate(cells[case]):
            pooled[i] += times * share / counts.total()
    tenth = bisect(list(accumulate(pooled)), 0.9)
    tail = (1 - confidence) / 2
    return {case: _rate(cells[case], tenth, tail) for case in counts}


def _posteriors(counts: Counter[Hits]) -> dict[Hits, list[float]]:
    """How likely each cell is, for each count."""
    priors = _priors()
    likelihoods = {case: _likelihood(case) for case in counts}
    evidence: dict[Hits, list[float]] = {}
    fits = [0.0] * len(priors)
    for case, times in counts.items():
        evidence[case] = [_dot(prior, likelihoods[case]) for prior in priors]
        for i, value in enumerate(evidence[case]):
            fits[i] += times * log(value)
    best = max(fits)
    likely = [i for i, fit in enumerate(fits) if fit > best - _NEGLIGIBLE]
    likely_priors = [priors[i] for i in likely]
    by_cell = list(zip(*likely_priors, strict=True))
    posteriors: dict[Hits, list[float]] = {}
    for case, values in evidence.items():
        weights = [exp(fits[i] - best) / values[i] for i in likely]
        prior = [_dot(weights, column) for column in by_cell]
        joint = list(map(mul, prior, likelihoods[case]))
        whole = fsum(joint)
        posteriors[case] = [cell / whole for cell in joint]
    return posteriors


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    whole: float = sum(map(mul, a, b))
    return whole


def _rate(cells: Sequence[float], tenth: int, tail: float) -> Rate:
    sums = list(accumulate(cells))
    return Rate(
        mean=_dot(cells, _MIDDLES),
        low=_quantile(sums, tail),
        high=_quantile(sums, 1 - tail),
        top_tenth=1 - sums[tenth],
    )


def _quantile(sums: Sequence[float], p: float) -> float:
    """The rate below which the share ``p`` lies, within its cell by interpolation."""
    at = min(bisect(sums, p), len(sums) - 1)
    before = sums[at - 1] if at else 0.0
    part = (p - before) / (sums[at] - before)
    return _STARTS[at] + part * (_ENDS[at] - _STARTS[at])
