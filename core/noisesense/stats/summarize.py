"""From results to a summary, in one pass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from noisesense.errors import InputError, describe
from noisesense.judging.protocol import Usage
from noisesense.scoring.definitions import MODES, DefinitionName, Mode
from noisesense.scoring.outcomes import Partition
from noisesense.scoring.results import Result, result_in
from noisesense.scoring.scoring import Score, Undetermined
from noisesense.stats.interval import (
    Interval,
    Resampling,
    Units,
    bootstrap_interval,
    covering,
    ratio,
)
from noisesense.stats.quantiles import quantile_of_counts
from noisesense.stats.risk import Figure, RiskThresholds, risk_signs
from noisesense.stats.summary import ModeSummary, Summary, mode_warnings, run_warnings
from noisesense.stats.tally import Distribution, ModeTally, cells_of, undetermined_cells

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Tally:
    """Collects results one by one; `summary` may be asked for at any time.

    Memory does not grow with the number of samples: see `ModeTally`.
    """

    def __init__(self) -> None:
        self._modes: dict[Mode, ModeTally] = {}
        self._definition: DefinitionName | None = None
        self._undetermined: Undetermined = "none"
        self._partition = Partition(0, 0, 0, 0, 0)
        self._usage = Usage()
        self.samples = self.scored = self.failed = self._empty = 0
        self._unanswered = self._in_clusters = 0
        self._undetermined_cells = self._needed_cells = self._open_cells = 0

    def add(self, result: Result | Score) -> None:
        """Count one result.

        Raises:
            InputError: it is no result, or was scored under another definition than those before,
                or with another choice of what open verdicts give.
        """
        if isinstance(result, Score):
            result = Result(str(self.samples), result)
        result = result_in(result)
        self.samples += 1
        self._unanswered += result.unanswered
        if result.usage != _NO_USAGE:
            self._usage += result.usage
        if result.score is None:
            self.failed += 1
            return
        self._add_score(result.score, result)

    def _add_score(self, score: Score, result: Result) -> None:
        if self._definition is None:
            self._definition, self._undetermined = score.definition, score.undetermined
            self._modes = {
                mode: ModeTally(mode, score.undetermined) for mode in MODES if score.counts(mode)
            }
        self._check_alike(score, result)
        self.scored += 1
        self._in_clusters += result.cluster is not None
        partition = score.partition
        self._empty += not partition.total
        self._partition = Partition(*map(sum, zip(self._partition, partition, strict=True)))
        if partition.undetermined:
            self._undetermined_cells += undetermined_cells(score)
        needed, missing = cells_of(score)
        self._needed_cells += needed
        self._open_cells += missing
        for tally in self._modes.values():
            tally.add(score, result.cluster)

    def _check_alike(self, score: Score, result: Result) -> None:
        if score.definition != self._definition:
            raise InputError(
                f"results of one definition, {self._definition!r}",
                repr(score.definition),
                where=f"result {result.id!r}",
                hint="read the results with definition=… to score all of them alike",
            )
        if score.undetermined != self._undetermined:
            raise InputError(
                f"results of one choice for open verdicts, undetermined={self._undetermined!r}",
                repr(score.undetermined),
                where=f"result {result.id!r}",
                hint="read the results with undetermined=… to score all of them alike",
            )

    def summary(
        self,
        *,
        confidence: float = 0.95,
        cluster: bool | None = None,
        seed: int = 0,
        resamples: int = 2000,
        quantiles: Sequence[float] = QUANTILES,
        risk: RiskThresholds | None = None,
    ) -> Summary:
        """The figures so far; see `summarize`."""
        resampling = Resampling(confidence, resamples, seed).check()
        for p in quantiles:
            if not 0 <= p <= 1:
                raise InputError("numbers from 0 to 1", describe(p), where="quantiles")
        everywhere = 0 < self.scored == self._in_clusters
        if cluster and self.scored and not everywhere:
            got = f"{self._in_clusters} of {self.scored}"
            raise InputError("a cluster for every scored sample", got, where="cluster")
        clustered = everywhere if cluster is None else cluster and everywhere
        risk = risk or RiskThresholds()
        modes = {
            mode: _mode_summary(tally, resampling, quantiles, risk, clustered=clustered)
            for mode, tally in self._modes.items()
        }
        clusters = max((len(t.clusters) for t in self._modes.values()), default=0)
        warnings = run_warnings(
            samples=self.samples,
            failed=self.failed,
            unanswered=self._unanswered,
            cells=(self._open_cells, self._needed_cells),
            partly_clustered=cluster is None and 0 < self._in_clusters < self.scored,
        )
        for mode, tally in self._modes.items():
            count = len(tally.clusters) if clustered else tally.samples
            unit = "cluster" if clustered else "sample"
            warnings += mode_warnings(modes[mode], count, unit, differing=_differing(tally))
        return Summary(
            definition=self._definition,
            undetermined=self._undetermined,
            samples=self.samples,
            scored=self.scored,
            failed=self.failed,
            empty=self._empty,
            partition=self._partition,
            unanswered=self._unanswered,
            undetermined_cells=self._undetermined_cells,
            needed_cells=self._needed_cells,
            open_cells=self._open_cells,
            usage=self._usage,
            relevant=modes.get("relevant"),
            irrelevant=modes.get("irrelevant"),
            clusters=clusters if clustered else None,
            confidence=confidence,
            warnings=tuple(warnings),
        )


_NO_USAGE = Usage()


def summarize(
    results: Iterable[Result | Score],
    *,
    confidence: float = 0.95,
    cluster: bool | None = None,
    seed: int = 0,
    resamples: int = 2000,
    quantiles: Sequence[float] = QUANTILES,
    risk: RiskThresholds | None = None,
) -> Summary:
    """A run in figures: per mode, over samples and over claims, with intervals.

    Over all samples with response claims, ``bounds = (Σ lowest value, Σ highest value) /
    samples`` (macro) and ``micro_bounds = (Σ noisy, Σ highest) / Σ claims``: whichever way the
    open verdicts fall, the figure lies between. ``mean`` and ``micro`` are given where the two
    ends meet. No figure is over the determined samples alone: those are the easy ones.
    Intervals are bootstrap intervals (see `noisesense.stats.interval`) over samples, or over
    clusters where samples that share something are not independent; they cover the range.

    The results are read once. Memory does not grow with their number: kept are only how often
    each triple of counts occurred (and six numbers a cluster), from which bounds, median,
    quantiles and intervals follow exactly.

    Args:
        results: `Result` objects, or bare scores.
        confidence: of the intervals.
        cluster: intervals over clusters? By default if every scored result names its cluster.
        seed: the same seed gives the same intervals, in every Python version.
        resamples: how many bootstrap resamples.
        quantiles: which to give.
        risk: thresholds of ValidMind's signs of high risk.

    Raises:
        InputError: results of several definitions or choices for open verdicts, a number out of
            range, or ``cluster=True`` and a result without one.

    >>> from noisesense import Verdicts, score
    >>> clean = Verdicts.from_matrices([True], [[True]], [[True]])
    >>> noisy = Verdicts.from_matrices([False], [[True]], [[True]])
    >>> summarize([score(clean), score(noisy)]).relevant.mean
    0.5
    """
    tally = Tally()
    for result in results:
        tally.add(result)
    return tally.summary(
        confidence=confidence,
        cluster=cluster,
        seed=seed,
        resamples=resamples,
        quantiles=quantiles,
        risk=risk,
    )


def _mode_summary(
    tally: ModeTally,
    resampling: Resampling,
    quantiles: Sequence[float],
    risk: RiskThresholds,
    *,
    clustered: bool,
) -> ModeSummary:
    undetermined, count = tally.open, tally.samples
    lows, highs = tally.ends(0), tally.ends(1)
    # The values whose figures are given as single ones; None where open verdicts decide.
    chosen = tally.distribution() if tally.undetermined != "none" or not undetermined else None
    bounds = tally.mean_bounds()
    claims = tally.sums()
    mean, stdev = _mean_and_stdev(chosen)

    def at(p: float) -> tuple[float, float]:
        return quantile_of_counts(lows, p), quantile_of_counts(highs, p)

    def point(p: float) -> float | None:
        low, high = at(p)
        if chosen is not None:
            return quantile_of_counts(chosen, p)
        return low if low == high else None

    median = point(0.5) if count else None
    noisy, _, total = claims
    counted = claims.highest if tally.undetermined == "high" else noisy
    decided = total and (tally.undetermined != "none" or not claims.undetermined)
    return ModeSummary(
        mode=tally.mode,
        determined=count - undetermined,
        undetermined=undetermined,
        undefined=tally.undefined,
        bounds=bounds,
        mean=mean,
        interval=_interval(
            [tally.mean_units(end, clustered=clustered) for end in (0, 1)],
            resampling,
            is_open=bool(undetermined),
        ),
        median=median,
        minimum=point(0) if count else None,
        maximum=point(1) if count else None,
        stdev=stdev,
        quantiles={p: point(p) for p in quantiles} if count else {},
        quantile_bounds={p: at(p) for p in quantiles} if count else {},
        claims=claims,
        micro=counted / total if decided else None,
        micro_bounds=(noisy / total, claims.highest / total) if total else None,
        micro_interval=_interval(
            [tally.claim_units(end, clustered=clustered) for end in (0, 1)],
            resampling,
            is_open=bool(claims.undetermined),
        ),
        distribution=tally.distribution(),
        signs=risk_signs(
            chosen,
            (lows, highs),
            mean=Figure(mean, bounds),
            median=Figure(median, at(0.5) if count else None),
            stdev=Figure(stdev, _stdev_bounds(tally)),
            thresholds=risk,
        ),
    )


def _interval(ends: Sequence[Units], resampling: Resampling, *, is_open: bool) -> Interval | None:
    """Of a mean, or of the range between two."""
    low = bootstrap_interval(ends[0], ratio, resampling)
    if not is_open:
        return low
    return covering(low, bootstrap_interval(ends[1], ratio, resampling), "bca-range")


def _differing(tally: ModeTally) -> int:
    """How many samples differ from the commonest value, at the end where they are fewest.

    An end at which none does has an exact interval, which does not depend on single samples.
    """
    commonest = (max((times for _, times in tally.ends(end)), default=0) for end in (0, 1))
    differing = (tally.samples - times for times in commonest)
    return min((count for count in differing if count), default=tally.samples)


def _mean_and_stdev(distribution: Distribution | None) -> tuple[float | None, float | None]:
    if not distribution:
        return None, None
    count = sum(times for _, times in distribution)
    mean = math.fsum(value * times for value, times in distribution) / count
    squares = math.fsum(times * (value - mean) ** 2 for value, times in distribution)
    return mean, math.sqrt(squares / (count - 1)) if count > 1 else None


def _stdev_bounds(tally: ModeTally) -> tuple[float, float] | None:
    """Between which ends the standard deviation lies.

    It is a norm of the centered values: moving each sample from the middle of its range by at
    most half of it changes the deviation by at most that of the moves, ``√(Σ move² / (n − 1))``.
    """
    _, around = _mean_and_stdev(tally.middles())
    if around is None:
        return None
    reach = math.sqrt(tally.distance_from_middles() / (tally.samples - 1))
    return max(around - reach, 0.0), around + reach
