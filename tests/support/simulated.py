"""Simulated runs whose true figures are known, for tests of statistics and their benchmark.

Scores are ratios of small counts, skewed, and many are zero: a sample is clean with probability
``clean``; otherwise each of its claims is noisy with a probability drawn from Beta(a, b). The
true mean is ``(1 − clean) · a / (a + b)`` over samples and over claims, as the number of claims
(1 + Poisson(4)) is drawn independently.
"""

from __future__ import annotations

import math
import random
from functools import cache
from typing import NamedTuple

from noisesense import Result, Score, Verdicts, score

__all__ = [
    "POPULATIONS",
    "Draw",
    "Population",
    "misjudged",
    "ragchecker_like",
    "result_of",
    "score_of",
]

Draw = tuple[int, int]
"""Noisy claims, all claims."""


class Population(NamedTuple):
    """See the module."""

    name: str
    clean: float
    a: float
    b: float

    @property
    def mean(self) -> float:
        """The truth that intervals should hold."""
        return (1 - self.clean) * self.a / (self.a + self.b)

    def odds(self, rng: random.Random) -> float:
        """How noisy the claims of one sample are."""
        return 0.0 if rng.random() < self.clean else rng.betavariate(self.a, self.b)

    def draw(self, rng: random.Random, odds: float | None = None) -> Draw:
        """One sample."""
        odds = self.odds(rng) if odds is None else odds
        claims = 1 + poisson(rng, 4)
        return sum(rng.random() < odds for _ in range(claims)), claims


POPULATIONS = (
    Population("relevant", 0.25, 2.0, 2.4),
    Population("irrelevant", 0.6, 1.0, 4.0),
    Population("rare", 0.8, 1.0, 5.0),
)


def poisson(rng: random.Random, mean: float) -> int:
    """By counting how many uniform factors it takes to fall below ``exp(-mean)``."""
    product, count = rng.random(), 0
    while product > math.exp(-mean):
        product *= rng.random()
        count += 1
    return count


@cache
def score_of(draw: Draw) -> Score:
    """A score of ``noisy / claims`` in the relevant mode and 0 in the irrelevant one."""
    noisy, claims = draw
    correct = [i >= noisy for i in range(claims)]
    return score(Verdicts.from_matrices(correct, [[True]] * claims, [[True]]))


def result_of(name: object, draw: Draw, cluster: object = None) -> Result:
    """The same as a result."""
    return Result(str(name), score_of(draw), cluster=None if cluster is None else str(cluster))


def ragchecker_like(rng: random.Random, *, chunks: int = 15) -> Verdicts:
    """One table such as RAGChecker makes: long references and sources that repeat each other.

    A chunk is about the question with probability 0.3 and then entails each of the 10 to 24
    reference claims with probability 0.3. Each of 4 to 12 response claims is wrong with
    probability 0.65; it stands in chunks about the question (0.55), there in every second one,
    or in others (0.14), there in every fifth, or nowhere. That gives a mean noise sensitivity of
    about 0.34 in the relevant mode.
    """
    about = [rng.random() < 0.3 for _ in range(chunks)]
    correct = [rng.random() >= 0.65 for _ in range(rng.randint(4, 12))]
    rows: list[list[bool]] = []
    for _ in correct:
        place = rng.random()
        rows.append(
            [
                rng.random() < (0.5 if j else 0.0)
                if place < 0.55
                else place < 0.69 and not j and rng.random() < 0.2
                for j in about
            ]
        )
    reference = [[j and rng.random() < 0.3 for j in about] for _ in range(rng.randint(10, 24))]
    return Verdicts.from_matrices(correct, rows, reference)


def misjudged(
    rng: random.Random,
    truth: Verdicts,
    rates: tuple[float, float],
    correlation: float = 0.0,
    within: str = "claim",
) -> Verdicts:
    """What a judge says that turns "no" into "yes" and "yes" into "no" at these rates.

    With probability ``correlation`` the cells of a claim (or a chunk) are drawn by one number.
    """
    shared: dict[object, float | None] = {}

    def said(cell: bool | None, claim: object, chunk: object) -> bool | None:
        group = claim if within == "claim" else chunk
        if group not in shared:
            shared[group] = rng.random() if rng.random() < correlation else None
        drawn = shared[group]
        wrong = (rng.random() if drawn is None else drawn) < rates[1 if cell else 0]
        return cell if cell is None else cell != wrong

    table = truth.to_matrices()
    responses = len(table["reference_to_response"])
    correct = [said(c, i, ("correct", i)) for i, c in enumerate(table["reference_to_response"])]
    rows = [
        [said(cell, i, j) for j, cell in enumerate(row)]
        for i, row in enumerate(table["chunks_to_response"] + (table["chunks_to_reference"] or []))
    ]
    return Verdicts.from_matrices(correct, rows[:responses], rows[responses:])
