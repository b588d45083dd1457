"""Simulated runs whose true figures are known, for tests of statistics and their benchmark.

Scores are ratios of small counts, skewed, and many are zero: a sample is clean with probability
``clean``; otherwise each of its claims is noisy with a probability drawn from Beta(a, b). The
true mean is ``(1 − clean) · a / (a + b)`` over samples and over claims, as the number of claims
(1 + Poisson(4)) is drawn independently.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from noisesense import Result, Score, Verdicts, score

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
    product = rng.random()
    count = 0
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


def misjudged(rng: random.Random, truth: Verdicts, rates: tuple[float, float]) -> Verdicts:
    """What a judge says that turns "no" into "yes" and "yes" into "no" at these rates."""

    def said(cells: Sequence[bool | None]) -> list[bool | None]:
        drawn = [rng.random() for _ in cells]
        wrong = [at < rates[bool(cell)] for cell, at in zip(cells, drawn, strict=True)]
        return [
            cell if cell is None else cell != flip for cell, flip in zip(cells, wrong, strict=True)
        ]

    table = truth.to_matrices()
    return Verdicts.from_matrices(
        said(table["reference_to_response"]),
        [said(row) for row in table["chunks_to_response"]],
        [said(row) for row in table["chunks_to_reference"] or []],
    )
