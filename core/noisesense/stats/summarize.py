"""From results to a summary, in one pass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import add
from typing import Any

from noisesense.errors import InputError, describe
from noisesense.jsonl import parse_line, to_json
from noisesense.judging.protocol import NO_USAGE, Usage
from noisesense.scoring.definitions import DefinitionName, Mode, modes_of
from noisesense.scoring.outcomes import Partition, Range
from noisesense.scoring.results import Result, result_in
from noisesense.scoring.scoring import Score
from noisesense.stats.interval import Resampling, mean_interval
from noisesense.stats.resampling import quantile_of_counts
from noisesense.stats.summary import ModeSummary, Summary, mode_warnings, run_warnings
from noisesense.stats.tally import (
    SPENT,
    Distribution,
    ModeTally,
    TallyForm,
    cells_of,
    range_of,
)

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass
class Tally:
    """Collects results one by one; `summary` may be asked for at any time.

    Tallies add up: ``a + b`` has counted what ``a`` and ``b`` have. It keeps whole numbers and
    exact fractions only, so that the parts of a run, merged in any order and grouping, give the
    summary of the whole to the last bit. A tally pickles, and `to_json` writes it as text.

    Memory does not grow with the number of samples: see `ModeTally`.

    >>> from noisesense import Verdicts, score
    >>> clean, noisy = Tally(), Tally()
    >>> clean.add(score(Verdicts.from_matrices([True], [[True]], [[True]])))
    >>> noisy.add(score(Verdicts.from_matrices([False], [[True]], [[True]])))
    >>> (clean + noisy).summary().relevant.mean.value
    0.5
    """

    definition: DefinitionName | None = field(default=None, init=False)
    samples: int = field(default=0, init=False)
    scored: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)
    empty: int = field(default=0, init=False)
    unanswered: int = field(default=0, init=False)
    in_clusters: int = field(default=0, init=False)
    needed_cells: int = field(default=0, init=False)
    open_cells: int = field(default=0, init=False)
    partition: Partition = field(default=Partition(0, 0, 0, 0, 0), init=False)
    _usage: Usage = field(default=NO_USAGE, init=False)
    _cost: Fraction | None = field(default=None, init=False)
    _modes: dict[Mode, ModeTally] = field(default_factory=dict[Mode, ModeTally], init=False)

    def add(self, result: Result | Score) -> None:
        """Count one result.

        Raises:
            InputError: it is no result, or was scored under another definition than those before.
        """
        if isinstance(result, Score):
            result = Result(str(self.samples), result)
        result = result_in(result)
        score = result.score
        if score is not None and score.definition != self.definition:
            self._settle(score.definition, f"result {result.id!r}")
        self.samples += 1
        self.unanswered += result.unanswered
        if result.usage is not NO_USAGE:
            self._spend(result.usage, _exact(result.usage.cost))
        if score is None:
            self.failed += 1
        else:
            self._add_score(score, result.cluster)

    def _add_score(self, score: Score, cluster: str | None) -> None:
        self.scored += 1
        self.in_clusters += cluster is not None
        partition = score.partition
        self.empty += not partition.total
        self.partition = _added(self.partition, partition)
        needed, missing = cells_of(score)
        self.needed_cells += needed
        self.open_cells += missing
        for tally in self._modes.values():
            tally.add(score, cluster)

    def _spend(self, usage: Usage, cost: Fraction | None) -> None:
        self._usage += replace(usage, cost=None)
        if cost is not None:
            self._cost = cost if self._cost is None else self._cost + cost

    def _settle(self, definition: DefinitionName, where: str) -> None:
        """All that is scored is scored alike: as the first is. Raises `InputError`."""
        if self.definition is None:
            self.definition = definition
            self._modes = {mode: ModeTally(mode) for mode in modes_of(definition)}
        if definition != self.definition:
            raise InputError(
                f"results of one definition, {self.definition!r}",
                repr(definition),
                where=where,
                hint="read the results with definition=… to score all of them alike",
            )

    def merge(self, other: Tally) -> None:
        """Count all that the other has counted.

        Raises:
            InputError: no tally, or one of another definition; nothing was counted.
        """
        if not isinstance(other, Tally):
            raise InputError("a Tally", describe(other), where="merge")
        if other.definition is not None:
            self._settle(other.definition, "merge")
        for name in _WHOLE:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.partition = _added(self.partition, other.partition)
        self._spend(other._usage, other._cost)
        for mode, tally in other._modes.items():
            self._modes[mode].merge(tally)

    def __add__(self, other: Tally) -> Tally:
        """A new tally of all that both have counted. Raises as `merge`."""
        if not isinstance(other, Tally):
            return NotImplemented
        both = Tally()
        both.merge(self)
        both.merge(other)
        return both

    def to_dict(self) -> dict[str, Any]:
        """Everything counted as plain JSON-ready data; the same for tallies that are equal."""
        cost = None if self._cost is None else self._cost.as_integer_ratio()
        return {
            "noisesense_tally": 1,
            "definition": self.definition,
            **{name: getattr(self, name) for name in _WHOLE},
            "partition": self.partition,
            "usage": {name: getattr(self._usage, name) for name in SPENT},
            "cost": cost,
            "modes": {mode: tally.to_dict() for mode, tally in self._modes.items()},
        }

    def to_json(self) -> str:
        """As `to_dict`, in one line of JSON text."""
        return to_json(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tally:
        """The inverse of `to_dict`. Raises `InputError` if it is none, or does not add up."""
        form = TallyForm.model_validate(data)
        tally = cls()
        for name in _WHOLE:
            setattr(tally, name, getattr(form, name))
        tally.partition = Partition(*form.partition)
        tally._spend(Usage(**form.usage), None if form.cost is None else Fraction(*form.cost))
        if form.definition is not None:
            tally._settle(form.definition, "")
        for mode, counted in form.modes.items():
            tally._modes[mode] = counted.tally(mode)
        return tally

    @classmethod
    def from_json(cls, text: str) -> Tally:
        """The inverse of `to_json`. Raises `InputError`."""
        data = parse_line(text)
        return cls.from_dict(data)

    def summary(
        self,
        *,
        confidence: float = 0.95,
        cluster: bool | None = None,
        seed: int = 0,
        resamples: int = 2000,
        quantiles: Sequence[float] = QUANTILES,
    ) -> Summary:
        """The figures so far; see `summarize`."""
        resampling = Resampling(confidence, resamples, seed).check()
        for p in quantiles:
            if not 0 <= p <= 1:
                raise InputError("numbers from 0 to 1", describe(p), where="quantiles")
        everywhere = 0 < self.scored == self.in_clusters
        if cluster and self.scored and not everywhere:
            got = f"{self.in_clusters} of {self.scored}"
            raise InputError("a cluster for every scored sample", got, where="cluster")
        clustered = everywhere if cluster is None else cluster and everywhere
        modes = {
            mode: _mode_summary(tally, resampling, quantiles, clustered=clustered)
            for mode, tally in self._modes.items()
        }
        warnings = run_warnings(
            samples=self.samples,
            failed=self.failed,
            unanswered=self.unanswered,
            cells=(self.open_cells, self.needed_cells),
            partly_clustered=cluster is None and 0 < self.in_clusters < self.scored,
        )
        for mode, tally in self._modes.items():
            count = len(tally.clusters) if clustered else tally.samples
            unit = "cluster" if clustered else "sample"
            warnings += mode_warnings(modes[mode], count, unit, differing=_differing(tally))
        return Summary(
            definition=self.definition,
            samples=self.samples,
            scored=self.scored,
            failed=self.failed,
            empty=self.empty,
            partition=self.partition,
            unanswered=self.unanswered,
            needed_cells=self.needed_cells,
            open_cells=self.open_cells,
            usage=replace(self._usage, cost=None if self._cost is None else float(self._cost)),
            relevant=modes.get("relevant"),
            irrelevant=modes.get("irrelevant"),
            clusters=len(self._modes["relevant"].clusters) if clustered else None,
            confidence=confidence,
            warnings=tuple(warnings),
        )


_WHOLE = (
    *("samples", "scored", "failed", "empty", "unanswered", "in_clusters"),
    *("needed_cells", "open_cells"),
)


def _added(one: Partition, other: Partition) -> Partition:
    return Partition(*map(add, one, other))


def _exact(cost: float | None) -> Fraction | None:
    """What was spent, to be added without rounding; None where nobody knows."""
    return Fraction(cost) if cost is not None and math.isfinite(cost) else None


def summarize(
    results: Iterable[Result | Score],
    *,
    confidence: float = 0.95,
    cluster: bool | None = None,
    seed: int = 0,
    resamples: int = 2000,
    quantiles: Sequence[float] = QUANTILES,
) -> Summary:
    """A run in figures: per mode, over samples and over claims, with intervals.

    Over all samples with something to measure, ``mean = (Σ lowest value, Σ highest value) /
    samples`` (macro) and ``micro = (Σ noisy, Σ highest) / Σ claims``: whichever way the open
    verdicts fall, the figure lies between. No figure is over the determined samples alone: those
    are the easy ones. Intervals (see `noisesense.stats.interval`) are over samples, or over
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

    Raises:
        InputError: results of several definitions, a number out of range, or ``cluster=True`` and
            a result without one.

    >>> from noisesense import Verdicts, score
    >>> clean = Verdicts.from_matrices([True], [[True]], [[True]])
    >>> noisy = Verdicts.from_matrices([False], [[True]], [[True]])
    >>> summarize([score(clean), score(noisy)]).relevant.mean.value
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
    )


def _mode_summary(
    tally: ModeTally, resampling: Resampling, quantiles: Sequence[float], *, clustered: bool
) -> ModeSummary:
    undetermined, count = tally.open, tally.samples
    lows, highs = tally.ends(0), tally.ends(1)
    claims = tally.sums()

    def at(p: float) -> Range | None:
        if not count:
            return None
        return Range(quantile_of_counts(lows, p), quantile_of_counts(highs, p))

    return ModeSummary(
        mode=tally.mode,
        determined=count - undetermined,
        undetermined=undetermined,
        undefined=tally.undefined,
        mean=tally.mean(),
        interval=mean_interval(
            [tally.mean_units(end, clustered=clustered) for end in (0, 1)], resampling
        ),
        median=at(0.5),
        minimum=at(0),
        maximum=at(1),
        stdev=None if undetermined else _stdev(lows, count),
        quantiles={p: each for p in quantiles if (each := at(p))},
        claims=claims,
        micro=range_of(claims) if claims.total else None,
        micro_interval=mean_interval(
            [tally.claim_units(end, clustered=clustered) for end in (0, 1)], resampling
        ),
        ranges=tally.ranges(),
    )


def _differing(tally: ModeTally) -> int:
    """How many samples differ from the commonest value, at the end where they are fewest.

    An end at which none does has an interval that does not depend on single samples.
    """
    commonest = (max((times for _, times in tally.ends(end)), default=0) for end in (0, 1))
    differing = (tally.samples - times for times in commonest)
    return min((count for count in differing if count), default=tally.samples)


def _stdev(distribution: Distribution, count: int) -> float | None:
    if count < 2:
        return None
    mean = math.fsum(value * times for value, times in distribution) / count
    squares = math.fsum(times * (value - mean) ** 2 for value, times in distribution)
    return math.sqrt(squares / (count - 1))
