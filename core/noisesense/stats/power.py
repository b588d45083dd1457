"""How many pairs would show a change? From how a run's values scatter."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from noisesense.errors import InputError, check_whole
from noisesense.scoring.definitions import modes_of
from noisesense.scoring.outcomes import Range, Record, check_between
from noisesense.scoring.results import Result, check_scored_alike, result_in
from noisesense.stats.figures import Figure, value_of
from noisesense.stats.interval import Resampling, effective_units, ends_of
from noisesense.stats.paired import POWER, decides_nothing, errors_seen, mean_error
from noisesense.stats.pairing import MIN_PAIRED, Paired, clusters_of, pair


@dataclass(frozen=True)
class FigurePower(Record):
    """One figure.

    Attributes:
        figure: ``"relevant"``, ``"irrelevant"`` or ``"any"``; see `noisesense.compare`.
        samples: how many were measured.
        scatter: of the difference of one pair (of clusters: as if each sample stood alone with
            the same error of the mean).
        pairs: how many the change needs; None where nothing scatters.
        seen: the change that as many pairs as were measured would show; None where they decide
            nothing, or nothing scatters.
    """

    figure: Figure
    samples: int
    scatter: float
    pairs: int | None
    seen: float | None


@dataclass(frozen=True)
class Power(Record):
    """What `compare` can see.

    Attributes:
        change: the true difference of the means.
        often: how often `compare` should call it worse.
        answers: how many answers to each question are averaged.
        paired: was the scatter taken from the differences of two runs?
        figures: each, with how many pairs it needs.
    """

    change: float
    often: float
    answers: int
    paired: bool
    figures: tuple[FigurePower, ...]


def power(
    results: Iterable[Result],
    other: Iterable[Result] | None = None,
    *,
    change: float,
    answers: int = 1,
    often: float = POWER,
    confidence: float = 0.95,
) -> Power:
    """How many pairs `compare` needs to call a change worse.

    The least number of pairs of which ``(t(1 − α/2) + t(often)) · scatter / √pairs`` is at most
    the change. The scatter is the standard deviation of a pair's difference. With a second run it
    is that of the two runs' differences, best of one system that answered twice. Without, it is
    ``√2`` times that of the values: as if the second version answered each question independently
    of the first. Where hard questions are hard for both, fewer pairs do.

    Args:
        results: of a run like those to compare. If every result names its cluster, or several
            without ids have the same question, the pairs are in clusters like these.
        other: a second run over the same samples.
        change: of the mean, between 0 and 1.
        answers: how many answers to each question are averaged; the scatter, if it is chance from
            answer to answer, falls by the square root.
        often: how often the change should be seen.
        confidence: of the intervals of `compare`.

    Raises:
        InputError: a number out of range, results that were not scored alike, an id twice in a
            run, or fewer than two that have something to measure.
        PairingError: too few samples are in both runs.
    """
    check_between(change, "change")
    check_between(often, "often")
    check_whole(answers, 1, "answers")
    first = list(map(result_in, results))
    second = first
    if other is not None:
        second = list(map(result_in, other))
    check_scored_alike((*first, *second), "results")
    scores = [result.score for result in first if result.score]
    if not scores:
        raise InputError("scored results", "none", where="results")
    pairs = pair(first, second, runs=("results", "other"), min_paired=MIN_PAIRED)
    plan = _Plan(Resampling(confidence), change, often, answers)
    chosen: tuple[Figure, ...] = (*modes_of(scores[0].definition), "any")
    paired = other is not None
    figures = [_figure(figure, pairs, plan, paired=paired) for figure in chosen]
    return Power(change, often, answers, paired, tuple(figures))


@dataclass(frozen=True)
class _Plan:
    """What the caller of `power` wants to see."""

    resampling: Resampling
    change: float
    often: float
    answers: int


def _figure(figure: Figure, pairs: Paired, plan: _Plan, *, paired: bool) -> FigurePower:
    values = _values(figure, pairs, paired=paired)
    ends = ends_of(values)
    units = sum(ends[0].values())
    if units < 2:
        expected = "two samples (or clusters) with something to measure"
        raise InputError(f"{expected}, or more", str(units), where=figure)
    error = max(mean_error(end) for end in ends) / math.sqrt(plan.answers)
    if not paired:
        error *= math.sqrt(2)
    samples = len(values)
    size = effective_units(ends[0])
    if not error:
        return FigurePower(figure, samples, 0.0, None, None)
    scatter = error * math.sqrt(samples)
    pairs_needed = _pairs_needed(error, size, samples, plan)
    seen = None
    if not decides_nothing(size, plan.resampling.tail):
        seen = errors_seen(size, plan.resampling.tail, plan.often) * error
    return FigurePower(figure, samples, scatter, pairs_needed, seen)


def _values(figure: Figure, pairs: Paired, *, paired: bool) -> list[tuple[Hashable, Range]]:
    """Each pair's difference, or its first value, with its cluster as `compare` takes them."""
    scored = [(x, x.score, y.score) for x, y in pairs.pairs if x.score and y.score]
    clusters = clusters_of([x for x, _, _ in scored], pairs.by) or range(len(scored))
    values: list[tuple[Hashable, Range]] = []
    for (_, a, b), unit in zip(scored, clusters, strict=True):
        before = value_of(figure, a)
        after = value_of(figure, b)
        if before is not None and after is not None:
            values.append((unit, after.minus(before) if paired else before))
    return values


def _pairs_needed(error: float, size: float, samples: int, plan: _Plan) -> int:
    """The least number of pairs that show the change as often as planned.

    ``samples`` pairs have that standard error, and say as much as ``size`` independent ones.
    """
    tail = plan.resampling.tail
    # With as many degrees of freedom as one could wish: a few less than enough.
    enough = samples * (errors_seen(math.inf, tail, plan.often) * error / plan.change) ** 2
    pairs = max(math.floor(enough), 2)
    while True:
        alike = size * pairs / samples
        reached = error * math.sqrt(samples / pairs)
        tells = not decides_nothing(alike, tail)
        if tells and errors_seen(alike, tail, plan.often) * reached <= plan.change:
            return pairs
        pairs += 1
