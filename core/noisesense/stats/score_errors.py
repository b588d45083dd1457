"""How far a judge's scores are off, sample by sample."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from noisesense.definitions import MODES, DefinitionName, Mode
from noisesense.scoring import Score, score
from noisesense.stats._resampling import Unit
from noisesense.stats.interval import (
    Interval,
    Resampling,
    bootstrap_interval,
    covering,
    ratio,
)
from noisesense.stats.pairing import Twice

__all__ = ["SampleError", "ScoreError", "score_errors"]

Bounds = tuple[float, float]


class SampleError(NamedTuple):
    """One sample's score by the judge and by people; None where its bounds differ."""

    name: str
    judge: float | None
    human: float | None
    judge_bounds: Bounds
    human_bounds: Bounds

    @property
    def error(self) -> float | None:
        """Judge minus human; None where one of them is undetermined."""
        return None if self.judge is None or self.human is None else self.judge - self.human

    @property
    def error_bounds(self) -> Bounds:
        """Between what it lies, whichever way the open verdicts of both fall."""
        judge, human = self.judge_bounds, self.human_bounds
        return judge[0] - human[1], judge[1] - human[0]

    @property
    def absolute_bounds(self) -> Bounds:
        """Between what the absolute error lies."""
        low, high = self.error_bounds
        least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        return least, max(abs(low), abs(high))


@dataclass(frozen=True)
class ScoreError:
    """How far one mode's scores are off, over the samples with claims on both sides.

    Single figures are None where open verdicts leave them open; their bounds are over all of
    these samples.

    Attributes:
        samples: every one, the largest certain error first.
        undetermined: of these, those in which the judge or people left the score open.
        undefined: samples in which one side or both have nothing to measure.
        bias: mean of ``judge − human``; positive: the judge sees too much noise.
        bias_bounds: between what the bias lies.
        bias_interval: of the bias; covers the bounds.
        mean_absolute: mean of ``|judge − human|``.
        mean_absolute_bounds: between what it lies.
        root_mean_square: ``√ mean (judge − human)²``.
        root_mean_square_bounds: between what it lies.
    """

    samples: tuple[SampleError, ...]
    undetermined: int
    undefined: int
    bias: float | None
    bias_bounds: Bounds | None
    bias_interval: Interval | None
    mean_absolute: float | None
    mean_absolute_bounds: Bounds | None
    root_mean_square: float | None
    root_mean_square_bounds: Bounds | None


def score_errors(
    twice: Sequence[Twice], definition: DefinitionName, how: Resampling
) -> dict[Mode, ScoreError]:
    """The errors of each mode the definition has."""
    scored = [
        (
            both.name,
            score(both.judge, definition=definition),
            score(both.human, definition=definition),
        )
        for both in twice
    ]
    found: dict[Mode, ScoreError] = {}
    for mode in MODES:
        if scored[0][1].counts(mode) is None:
            continue
        every = [_sample(name, judge, human, mode) for name, judge, human in scored]
        samples = [each for each in every if each is not None]
        found[mode] = _errors(samples, len(scored) - len(samples), how)
    return found


def _sample(name: str, judge: Score, human: Score, mode: Mode) -> SampleError | None:
    ours, theirs = judge.bounds(mode), human.bounds(mode)
    if ours is None or theirs is None:
        return None
    return SampleError(name, judge.value(mode), human.value(mode), ours, theirs)


def _errors(samples: list[SampleError], undefined: int, how: Resampling) -> ScoreError:
    samples.sort(key=lambda each: (-each.absolute_bounds[0], each.name))
    undetermined = sum(each.error is None for each in samples)
    if not samples:
        return ScoreError((), 0, undefined, None, None, None, None, None, None, None)
    errors = [each.error_bounds for each in samples]
    absolute = [each.absolute_bounds for each in samples]
    bias, mean, square = (
        _mean_bounds(errors, float),
        _mean_bounds(absolute, float),
        _mean_bounds(absolute, lambda value: value * value),
    )
    root = math.sqrt(square[0]), math.sqrt(square[1])
    low, high = (
        bootstrap_interval(
            Counter[Unit]((round(each[end], 12), 1.0) for each in errors),
            ratio,
            how,
            limits=(-1.0, 1.0),
        )
        for end in (0, 1)
    )
    return ScoreError(
        samples=tuple(samples),
        undetermined=undetermined,
        undefined=undefined,
        bias=None if undetermined else bias[0],
        bias_bounds=bias,
        bias_interval=covering(low, high, "bca-range") if undetermined else low,
        mean_absolute=None if undetermined else mean[0],
        mean_absolute_bounds=mean,
        root_mean_square=None if undetermined else root[0],
        root_mean_square_bounds=root,
    )


def _mean_bounds(bounds: Sequence[Bounds], of: Callable[[float], float]) -> Bounds:
    low, high = (math.fsum(of(each[end]) for each in bounds) / len(bounds) for end in (0, 1))
    return low, high
