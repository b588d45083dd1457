"""Rates of many cases at once: each is drawn towards the others, the more the less it says alone.

Of ten documents that are retrieved once, the one that misled is hardly as bad as its rate of 1.
What is likely for any document is learned from all of them: each rate is a draw of a beta
distribution, whose mean and variance are estimated from all counts. Chosen by what they show, such
rates still mean what they say, and their intervals hold (``tests/benchmarks/sentences.py``).

Sources: Kleinman (1973), Proportions with extraneous variance, JASA 68; Efron (2010), Large-Scale
Inference, chapter 1.
"""

from __future__ import annotations

from collections import Counter
from math import sqrt
from typing import NamedTuple

from noisesense.stats.numerics import special


class Hits(NamedTuple):
    """In how many cases of all something happened; a case may count in part."""

    hits: float
    cases: int


class Rate(NamedTuple):
    """What is known of one rate.

    Attributes:
        mean: the best guess.
        low: it is below with a probability of half of what the interval may miss.
        high: above, likewise.
    """

    mean: float
    low: float
    high: float


class Prior(NamedTuple):
    """What is likely for any rate: a beta distribution.

    Attributes:
        mean: of the rates.
        cases: how many cases it is worth; the more, the less the rates differ.
    """

    mean: float
    cases: float

    def after(self, seen: Hits) -> tuple[float, float]:
        """Return the beta distribution's two parameters, with the hits and misses seen added."""
        hits = self.mean * self.cases + seen.hits
        misses = (1 - self.mean) * self.cases + seen.cases - seen.hits
        return hits, misses


_LEAST = 1.0
_MOST = 16.0
_MOST_ABOVE = 2.0
_TAIL = 0.025
"""How often each end of an interval may miss."""


def shrunken(counts: Counter[Hits]) -> dict[Hits, Rate]:
    """Return the rate behind each of these counts, with a 95% interval.

    A document that misleads is not as the others are. So for the high end of its interval the
    others, the prior, count as two cases at most.

    Args:
        counts: how often each `Hits` occurs, among all documents that could have been chosen,
            also those without hits.
    """
    quantile = special().betaincinv
    prior = prior_of(counts)
    above = prior._replace(cases=min(prior.cases, _MOST_ABOVE))
    rates: dict[Hits, Rate] = {}
    for seen in counts:
        hits, misses = prior.after(seen)
        rates[seen] = Rate(
            mean=hits / (hits + misses),
            low=float(quantile(hits, misses, _TAIL)),
            high=float(quantile(*above.after(seen), 1 - _TAIL)),
        )
    return rates


def prior_of(counts: Counter[Hits]) -> Prior:
    """Return the distribution of the rates, by the moments of the counts.

    ``E θ`` is the share of cases with a hit, ``E θ²`` that of the pairs of cases of one rate in
    which both have one, each averaged over the rates. A rate with four times as many cases weighs
    twice as much. Few rates tell little of their variance: the prior is worth at most as many
    cases as there are rates, at least 1 and at most 16. Two cases more, a fifth of a hit in them,
    keep the mean off 0 and 1; without counts it is 0.1.
    """
    hits = 0.2
    weights = 2.0
    pairs_of_hits = 0.0
    weights_of_pairs = 0.0
    for seen, times in counts.items():
        weight = times * sqrt(seen.cases)
        share = seen.hits / seen.cases
        hits += weight * share
        weights += weight
        if seen.cases > 1:
            pairs_of_hits += weight * share * (seen.hits - 1) / (seen.cases - 1)
            weights_of_pairs += weight
    mean = hits / weights
    if not weights_of_pairs:
        return Prior(mean, _LEAST)
    variance = pairs_of_hits / weights_of_pairs - mean**2
    cases = min(float(counts.total()), _MOST)
    if variance > 0:
        by_variance = mean * (1 - mean) / variance - 1
        cases = min(max(by_variance, _LEAST), cases)
    return Prior(mean, cases)
