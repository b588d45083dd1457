"""From results to a summary, in one pass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from noisesense.definitions import DefinitionName, Mode
from noisesense.errors import InputError, describe
from noisesense.judge import Usage
from noisesense.results import Result
from noisesense.scoring import Partition, Score
from noisesense.stats._items import result_in
from noisesense.stats._open_cells import open_cells
from noisesense.stats._quantiles import quantile_of_counts
from noisesense.stats._tally import ModeTally
from noisesense.stats._warnings import mode_warnings, run_warnings
from noisesense.stats.interval import Resampling, bootstrap_interval, ratio
from noisesense.stats.risk import RiskThresholds, risk_signs
from noisesense.stats.summary import ModeSummary, Summary

__all__ = ["QUANTILES", "Tally", "summarize"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Tally:
    """Collects results one by one; `summary` may be asked for at any time.

    Memory does not grow with the number of samples: see `ModeTally`.
    """

    def __init__(self) -> None:
        self._modes: dict[Mode, ModeTally] = {}
        self._definition: DefinitionName | None = None
        self._partition = Partition(0, 0, 0, 0, 0)
        self._usage = Usage()
        self.samples = self.scored = self.failed = self._empty = 0
        self._unanswered = self._open_cells = self._in_clusters = 0

    def add(self, result: Result | Score) -> None:
        """Count one result.

        Raises:
            InputError: it is no result, or was scored under another definition than those before.
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
            self._definition = score.definition
            modes: tuple[Mode, Mode] = ("relevant", "irrelevant")
            self._modes = {mode: ModeTally(mode) for mode in modes if score.counts(mode)}
        elif score.definition != self._definition:
            raise InputError(
                f"results of one definition, {self._definition!r}",
                repr(score.definition),
                where=f"result {result.id!r}",
                hint="read the results with definition=… to score all of them alike",
            )
        self.scored += 1
        self._in_clusters += result.cluster is not None
        partition = score.partition
        self._empty += not partition.total
        self._partition = Partition(*map(sum, zip(self._partition, partition, strict=True)))
        if partition.undetermined:
            self._open_cells += open_cells(score)
        for tally in self._modes.values():
            tally.add(score, result.cluster)

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
        how = Resampling(confidence, resamples, seed).check()
        for p in quantiles:
            if not 0 <= p <= 1:
                raise InputError("numbers from 0 to 1", describe(p), where="quantiles")
        everywhere = 0 < self.scored == self._in_clusters
        if cluster and self.scored and not everywhere:
            raise InputError(
                "a cluster for every scored sample",
                f"{self._in_clusters} of {self.scored}",
                where="cluster",
            )
        clustered = everywhere if cluster is None else cluster and everywhere
        risk = risk or RiskThresholds()
        found: dict[Mode, ModeSummary] = {
            mode: _mode_summary(tally, how, quantiles, risk, clustered=clustered)
            for mode, tally in self._modes.items()
        }
        clusters = max((len(t.clusters) for t in self._modes.values()), default=0)
        warnings = run_warnings(
            samples=self.samples,
            failed=self.failed,
            unanswered=self._unanswered,
            partly_clustered=cluster is None and 0 < self._in_clusters < self.scored,
        )
        for mode, each in found.items():
            units = self._modes[mode].mean_units(clustered=clustered)
            unit = "cluster" if clustered else "sample"
            warnings += mode_warnings(each, sum(units.values()), unit)
        return Summary(
            definition=self._definition,
            samples=self.samples,
            scored=self.scored,
            failed=self.failed,
            empty=self._empty,
            partition=self._partition,
            unanswered=self._unanswered,
            undetermined_cells=self._open_cells,
            usage=self._usage,
            relevant=found.get("relevant"),
            irrelevant=found.get("irrelevant"),
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

    ``mean = Σ value / samples with a value`` (macro), ``micro = Σ noisy / Σ determined claims``.
    Intervals are bootstrap intervals (see `noisesense.stats.interval`) over samples, or over
    clusters where samples that share something are not independent.

    The results are read once. Memory does not grow with their number: kept are only how often
    each pair of counts occurred (and four numbers a cluster), from which mean, median, quantiles
    and intervals follow exactly.

    Args:
        results: `Result` objects, or bare scores.
        confidence: of the intervals.
        cluster: intervals over clusters? By default if every scored result names its cluster.
        seed: the same seed gives the same intervals, in every Python version.
        resamples: how many bootstrap resamples.
        quantiles: which to give.
        risk: thresholds of ValidMind's signs of high risk.

    Raises:
        InputError: results of several definitions, a number out of range, or ``cluster=True``
            and a result without one.

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
    how: Resampling,
    quantiles: Sequence[float],
    risk: RiskThresholds,
    *,
    clustered: bool,
) -> ModeSummary:
    distribution = tally.distribution()
    count = sum(times for _, times in distribution)
    claims = tally.sums()
    mean = _mean(distribution, count)
    median = quantile_of_counts(distribution, 0.5) if count else None
    stdev = _stdev(distribution, count, mean)
    noisy, determined, total = claims
    return ModeSummary(
        mode=tally.mode,
        defined=count,
        undefined=sum(tally.times.values()) - count,
        mean=mean,
        median=median,
        stdev=stdev,
        minimum=distribution[0][0] if count else None,
        maximum=distribution[-1][0] if count else None,
        quantiles={p: quantile_of_counts(distribution, p) for p in quantiles} if count else {},
        interval=bootstrap_interval(tally.mean_units(clustered=clustered), ratio, how),
        bounds=tally.mean_bounds(),
        claims=claims,
        micro=noisy / determined if determined else None,
        micro_interval=bootstrap_interval(tally.claim_units(clustered=clustered), ratio, how),
        micro_bounds=(noisy / total, (noisy + claims.undetermined) / total) if total else None,
        distribution=distribution,
        signs=risk_signs(distribution, mean=mean, median=median, stdev=stdev, thresholds=risk),
    )


def _mean(distribution: Sequence[tuple[float, int]], count: int) -> float | None:
    return math.fsum(value * times for value, times in distribution) / count if count else None


def _stdev(
    distribution: Sequence[tuple[float, int]], count: int, mean: float | None
) -> float | None:
    if mean is None or count < 2:
        return None
    squares = math.fsum(times * (value - mean) ** 2 for value, times in distribution)
    return math.sqrt(squares / (count - 1))
