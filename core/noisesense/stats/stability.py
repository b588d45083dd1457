"""How much of a score is the judge's own variance: the same samples judged several times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import fsum, sqrt
from statistics import fmean
from typing import NamedTuple

from noisesense.errors import InputError
from noisesense.scoring.definitions import MODES, Mode
from noisesense.scoring.outcomes import BothModes, Record, check_limit
from noisesense.scoring.results import Result, check_scored_alike, result_in
from noisesense.stats.interval import Interval, Resampling, bootstrap_interval
from noisesense.stats.pairing import MIN_PAIRED, PairedBy, pair
from noisesense.stats.resampling import Statistic, Unit, total


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
        judge_share: ``within / (within + between)``: how much of the variance of a single value
            is the judge's own, where ``within`` is the mean over samples of ``Σ (value − sample's
            mean)² / (K − 1)`` and ``between`` the variance of the samples' means, less
            ``within / K``, 0 at least. None where nothing varies.
        judge_share_interval: of it, over samples; None where it cannot be said.
        mean_error: ``√(within / samples)``: how far the judge alone scatters the mean of a run.
        changed: the samples with several values, those that cross the limit and scatter most
            first.
    """

    mode: Mode
    samples: int
    left_out: int
    means: tuple[float, ...]
    judge_share: float | None
    judge_share_interval: Interval | None
    mean_error: float | None
    changed: tuple[SampleStability, ...]


@dataclass(frozen=True)
class Stability(Record, BothModes[ModeStability]):
    """Several judgings of the same samples.

    Attributes:
        repeats: how many.
        samples: that all repeats have.
        unpaired: further samples of the largest repeat, which another one lacks; in no figure.
        relevant: the relevant mode.
        irrelevant: the irrelevant mode; None if the definition has none.
    """

    repeats: int
    samples: int
    unpaired: int
    relevant: ModeStability | None
    irrelevant: ModeStability | None


def stability(
    runs: Iterable[Iterable[Result]],
    *,
    limit: float | None = None,
    pair_by: PairedBy | None = None,
) -> Stability:
    """How far a judge agrees with itself: variance within and between samples.

    Args:
        runs: two or more judgings of the same samples, each asked anew: a store would give the
            first one's answers again.
        limit: a sample's value above it counts as noisy; which samples change sides?
        pair_by: as in `noisesense.compare`.

    Raises:
        InputError: fewer than two runs, an empty one, a limit out of range, or results that were
            not scored alike.
        PairingError: too few samples of the first are in another.

    Source: the variance components of a one-way random effects model, e.g. Searle, Casella and
    McCulloch (1992), Variance Components, section 3.6.
    """
    if limit is not None:
        check_limit(limit)
    judgings = [[*map(result_in, run)] for run in runs]
    if len(judgings) < 2:
        raise InputError("two runs or more", str(len(judgings)), where="runs")
    check_scored_alike(chain.from_iterable(judgings), "runs")
    first, *others = judgings
    # By object: a dataset may hold a sample twice, and then its id as well.
    repeats_of = {id(each): [each] for each in first}
    for other in others:
        for ours, theirs in pair(first, other, pair_by, min_paired=MIN_PAIRED).pairs:
            repeats_of[id(ours)].append(theirs)
    samples = [each for each in repeats_of.values() if len(each) == len(judgings)]
    unpaired = max(map(len, judgings)) - len(samples)
    modes = (_mode(mode, samples, len(judgings), limit) for mode in MODES)
    return Stability(len(judgings), len(samples), unpaired, *modes)


def _mode(
    mode: Mode, samples: Sequence[Sequence[Result]], repeats: int, limit: float | None
) -> ModeStability | None:
    scores = [result.score for results in samples for result in results if result.score]
    if scores and all(score.counts(mode) is None for score in scores):
        return None  # the definition has no such mode
    found: list[SampleStability] = []
    for results in samples:
        bounds = [each.score.bounds(mode) for each in results if each.score]
        known = tuple(each.low for each in bounds if each and each.value is not None)
        if len(known) == repeats:
            sides = () if limit is None else {value > limit for value in known}
            found.append(SampleStability(results[0].id, known, len(sides) > 1))
    units = Counter[Unit]()
    for each in found:
        mean = fmean(each.values)
        units[_variance(each.values), mean, mean * mean, 1.0] += 1
    sums, share = total(units) if units else [0.0] * 4, _share(repeats)
    changed = [each for each in found if len({*each.values}) > 1]
    # Rounded: 1/4, 1/2, 1/2 scatter as much as 1/4, 0, 0.
    changed.sort(key=lambda each: (not each.crosses, -round(_variance(each.values), 12), each.id))
    return ModeStability(
        mode=mode,
        samples=len(found),
        left_out=len(samples) - len(found),
        means=tuple(fmean(run) for run in zip(*(each.values for each in found), strict=True)),
        judge_share=share(sums),
        judge_share_interval=bootstrap_interval(units, share, Resampling()),
        mean_error=sqrt(sums[0]) / len(found) if found else None,
        changed=tuple(changed),
    )


def _variance(values: Sequence[float]) -> float:
    mean = fmean(values)
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
