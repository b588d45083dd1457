"""How much of a score is the judge's own variance: the same samples judged several times."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

from noisesense.errors import InputError
from noisesense.scoring.definitions import MODES, Mode
from noisesense.scoring.outcomes import BothModes, Record, check_limit
from noisesense.scoring.results import Result, result_in
from noisesense.stats.interval import Interval, Resampling, bootstrap_interval
from noisesense.stats.pairing import MIN_PAIRED, Named, PairedBy, name_of, pair
from noisesense.stats.resampling import Statistic


class SampleStability(NamedTuple):
    """One sample whose value is not the same in all repeats.

    Attributes:
        id: its name in the first repeat.
        values: in each repeat.
        crosses: is it above the limit in some repeats and not in others?
    """

    id: str
    values: tuple[float, ...]
    crosses: bool


@dataclass(frozen=True)
class ModeStability(Record):
    """One mode, over the samples that have a value in every repeat.

    Attributes:
        mode: ``"relevant"`` or ``"irrelevant"``.
        samples: how many there are.
        left_out: samples without a value in some repeat: failed, undetermined or undefined.
        means: of each repeat.
        within: variance of a sample's value from repeat to repeat, the judge's own:
            ``mean over samples of Σ (value − sample's mean)² / (K − 1)``.
        between: variance of the samples' true values: that of their means, less ``within / K``;
            0 at least.
        judge_share: ``within / (within + between)``: how much of the variance of a single value
            is the judge's own. None where nothing varies.
        judge_share_interval: of it, over samples; None where it cannot be said.
        mean_error: ``√(within / samples)``: how far the judge alone scatters the mean of a run.
        changed: the samples with several values, those that cross the limit and scatter most
            first.
        crossing: of these, how many cross the limit; None without one.
    """

    mode: Mode
    samples: int
    left_out: int
    means: tuple[float, ...]
    within: float | None
    between: float | None
    judge_share: float | None
    judge_share_interval: Interval | None
    mean_error: float | None
    changed: tuple[SampleStability, ...]
    crossing: int | None


@dataclass(frozen=True)
class Stability(Record, BothModes[ModeStability]):
    """Several judgings of the same samples.

    Attributes:
        repeats: how many.
        samples: that all repeats have.
        limit: which a sample's value may cross.
        relevant: the relevant mode.
        irrelevant: the irrelevant mode; None if the definition has none.
    """

    repeats: int
    samples: int
    limit: float | None
    relevant: ModeStability | None
    irrelevant: ModeStability | None


class _Judged(NamedTuple):
    name: Named
    result: Result


def stability(
    runs: Iterable[Iterable[Result]],
    *,
    limit: float | None = None,
    pair_by: PairedBy | None = None,
    min_paired: float = MIN_PAIRED,
) -> Stability:
    """How far a judge agrees with itself: variance within and between samples.

    Args:
        runs: two or more judgings of the same samples, each asked anew: a store would give the
            first one's answers again.
        limit: a sample's value above it counts as noisy; which samples change sides?
        pair_by: as in `noisesense.compare`.
        min_paired: likewise, of each repeat with the first.

    Raises:
        InputError: fewer than two runs, an empty one, or a number out of range.
        PairingError: too few samples are in all of them.

    Source: the variance components of a one-way random effects model, e.g. Searle, Casella and
    McCulloch (1992), Variance Components, section 3.6.
    """
    if limit is not None:
        check_limit(limit)
    named = [[_Judged(name_of(r), r) for r in map(result_in, run)] for run in runs]
    if len(named) < 2:
        raise InputError("two runs or more", str(len(named)), where="runs")
    first, *others = named
    # By object: a dataset may hold a sample twice, and then its id as well.
    repeats_of = {id(each): [each.result] for each in first}
    for other in others:
        for ours, theirs in pair(first, other, pair_by, min_paired=min_paired).pairs:
            repeats_of[id(ours)].append(theirs.result)
    repeats = len(named)
    judged = [results for results in repeats_of.values() if len(results) == repeats]
    modes = {mode: _mode(mode, judged, limit) for mode in MODES}
    return Stability(
        repeats=repeats,
        samples=len(judged),
        limit=limit,
        relevant=modes["relevant"],
        irrelevant=modes["irrelevant"],
    )


def _mode(
    mode: Mode, judged: Sequence[Sequence[Result]], limit: float | None
) -> ModeStability | None:
    scores = [result.score for results in judged for result in results if result.score]
    if scores and all(score.counts(mode) is None for score in scores):
        return None  # the definition has no such mode
    names: list[str] = []
    values: list[tuple[float, ...]] = []
    for results in judged:
        known = [
            value
            for result in results
            if result.score is not None and (value := result.score.value(mode)) is not None
        ]
        if len(known) == len(results):
            names.append(results[0].id)
            values.append(tuple(known))
    left_out, count = len(judged) - len(values), len(values)
    if not count:
        crossing = None if limit is None else 0
        return ModeStability(mode, 0, left_out, (), None, None, None, None, None, (), crossing)
    within = fsum(map(_variance, values)) / count
    averages = [fsum(each) / len(each) for each in values]
    repeats = len(values[0])
    between = max(_variance(averages) - within / repeats, 0.0) if count > 1 else None
    total = within + (between or 0.0)
    changed = [
        _changed(name, each, limit)
        for name, each in zip(names, values, strict=True)
        if len({*each}) > 1
    ]
    # Rounded: 1/4, 1/2, 1/2 scatter as much as 1/4, 0, 0.
    changed.sort(key=lambda each: (not each.crosses, -round(_variance(each.values), 12), each.id))
    return ModeStability(
        mode=mode,
        samples=count,
        left_out=left_out,
        means=tuple(fsum(column) / count for column in zip(*values, strict=True)),
        within=within,
        between=between,
        judge_share=within / total if total and between is not None else None,
        judge_share_interval=bootstrap_interval(
            Counter(
                (_variance(each), mean, mean * mean, 1.0)
                for each, mean in zip(values, averages, strict=True)
            ),
            _share(repeats),
            Resampling(),
        ),
        mean_error=math.sqrt(within / count),
        changed=tuple(changed),
        crossing=None if limit is None else sum(each.crosses for each in changed),
    )


def _variance(values: Sequence[float]) -> float:
    mean = fsum(values) / len(values)
    return fsum((each - mean) ** 2 for each in values) / (len(values) - 1)


def _share(repeats: int) -> Statistic:
    """The judge's share, of the sums over samples of: variance, mean, mean squared, 1."""

    def share(sums: Sequence[float]) -> float | None:
        variances, means, squares, count = sums
        if count < 2:
            return None
        within = variances / count
        spread = max(squares - means * means / count, 0.0) / (count - 1)
        whole = within + max(spread - within / repeats, 0.0)
        return within / whole if whole > 1e-12 else None

    return share


def _changed(name: str, values: tuple[float, ...], limit: float | None) -> SampleStability:
    sides = {value > limit for value in values} if limit is not None else ()
    return SampleStability(name, values, len(sides) > 1)
