"""How far a judge's scores are off, sample by sample."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from noisesense.definitions import MODES, DefinitionName, Mode
from noisesense.scoring import score
from noisesense.stats._resampling import Unit
from noisesense.stats.interval import Interval, Resampling, bootstrap_interval, ratio
from noisesense.stats.pairing import Twice

__all__ = ["SampleError", "ScoreError", "score_errors"]


class SampleError(NamedTuple):
    """One sample's score by the judge and by people."""

    name: str
    judge: float
    human: float

    @property
    def error(self) -> float:
        """Judge minus human."""
        return self.judge - self.human


@dataclass(frozen=True)
class ScoreError:
    """How far one mode's scores are off, over the samples where both are defined.

    Attributes:
        samples: every one, the largest error first.
        undefined: samples in which one score or both are undefined.
        bias: mean of ``judge − human``; positive: the judge sees too much noise.
        bias_interval: of that mean.
        mean_absolute: mean of ``|judge − human|``.
        root_mean_square: ``√ mean (judge − human)²``.
    """

    samples: tuple[SampleError, ...]
    undefined: int
    bias: float | None
    bias_interval: Interval | None
    mean_absolute: float | None
    root_mean_square: float | None


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
        pairs = [(name, judge.value(mode), human.value(mode)) for name, judge, human in scored]
        samples = [
            SampleError(name, judge, human)
            for name, judge, human in pairs
            if judge is not None and human is not None
        ]
        found[mode] = _errors(samples, len(scored) - len(samples), how)
    return found


def _errors(samples: list[SampleError], undefined: int, how: Resampling) -> ScoreError:
    samples.sort(key=lambda each: (-abs(each.error), each.name))
    count = len(samples)
    if not count:
        return ScoreError((), undefined, None, None, None, None)
    errors = [each.error for each in samples]
    units: Counter[Unit] = Counter((round(error, 12), 1.0) for error in errors)
    return ScoreError(
        samples=tuple(samples),
        undefined=undefined,
        bias=math.fsum(errors) / count,
        bias_interval=bootstrap_interval(units, ratio, how, limits=(-1.0, 1.0)),
        mean_absolute=math.fsum(map(abs, errors)) / count,
        root_mean_square=math.sqrt(math.fsum(error * error for error in errors) / count),
    )
