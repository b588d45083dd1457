"""From results to a summary in one pass, and what is kept of each sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum
from typing import Any, NamedTuple

from noisesense.errors import InputError, describe
from noisesense.judging.claims import repetitions
from noisesense.judging.protocol import COUNTED, NO_USAGE, Usage
from noisesense.scoring.definitions import DefinitionName, Mode, Outcome, modes_of
from noisesense.scoring.outcomes import Counts, Partition, Range
from noisesense.scoring.results import Result, result_in
from noisesense.scoring.scoring import Lack, Score
from noisesense.stats.interval import Interval, Resampling, mean_interval, units_of
from noisesense.stats.resampling import Unit, quantile_of_counts
from noisesense.stats.summarize import ModeSummary, Summary, cells_of

_Outcomes = frozenset[tuple[Outcome, int]]
"""How many claims of a sample have each outcome."""

_Cluster = str | bytes | None
"""A cluster's name; of samples without ids the key of the texts they share; None: on its own."""

_DIGITS_OF_KEY = 64
"""Of an id that is the key of a sample's texts; a quick hash fills the last 16 of them."""
_DIGITS_OF_HASH = 16


class _Sample(NamedTuple):
    """What is kept of a sample."""

    cluster: _Cluster
    outcomes: _Outcomes
    """None where no mode has anything to measure."""
    measures: tuple[Mode, ...]
    """The modes with something to measure."""
    lack: Lack | None

    @property
    def claims(self) -> list[Outcome]:
        """The outcome of each claim, in any order."""
        return list(Counter(dict(self.outcomes)).elements())

    def unit(self, *, by_name: bool) -> _Cluster:
        """What it shares with others; a cluster's name counts only where every sample has one."""
        is_name = isinstance(self.cluster, str)
        return None if is_name and not by_name else self.cluster


class _Value(NamedTuple):
    """What a mode counts in one sample or several that are alike.

    Attributes:
        unit: what the sample shares with others; None: nothing.
        counts: of its claims.
        times: how many samples.
    """

    unit: _Cluster
    counts: Counts
    times: int


@dataclass
class Tally:
    """Collects results one by one; `summary` may be asked for at any time.

    Tallies add up: ``a + b`` has counted what ``a`` and ``b`` have. It keeps whole numbers and
    exact fractions only, so that the parts of a run, merged in any order and grouping, give the
    summary of the whole to the last bit. A tally pickles: that is its form for another machine.

    Memory does not grow with the number of samples, but with the ways in which claims may come
    out, of which responses of up to ten claims have some 1,000 to 3,000 where nothing is open;
    with the number of the clusters; and with that of the samples that have no id, whose texts
    are compared: some 100 bytes each.

    >>> from noisesense import Verdicts, score
    >>> clean, noisy = Tally(), Tally()
    >>> clean.add(score(Verdicts.from_matrices([True], [[True]], [[True]])))
    >>> noisy.add(score(Verdicts.from_matrices([False], [[True]], [[True]])))
    >>> (clean + noisy).summary().relevant.mean.value
    0.5
    """

    definition: DefinitionName | None = field(default=None, init=False)
    _sums: Counter[str] = field(default_factory=Counter[str], init=False)
    _cost: Fraction | None = field(default=None, init=False)
    _samples: Counter[_Sample] = field(default_factory=Counter[_Sample], init=False)
    _unnamed: dict[bytes, _Sample] = field(default_factory=dict[bytes, _Sample], init=False)
    """By the key of its texts the first sample without an id."""
    _different: dict[_Sample, _Sample] = field(
        default_factory=dict[_Sample, _Sample], init=False, compare=False
    )
    """Each that is kept, once: alike ones take no memory of their own."""

    def add(self, result: Result | Score) -> None:
        """Count one result.

        Raises:
            InputError: it is no result, or was scored under another definition than those before.
        """
        sums = self._sums
        if isinstance(result, Score):
            result = Result(str(sums["samples"]), result)
        score = result_in(result).score
        if score is not None:
            if score.definition != self.definition:
                self._settle(score.definition, f"result {result.id!r}")
            self._count(result, score)
        sums["samples"] += 1
        if result.usage is not NO_USAGE:
            sums.update({name: getattr(result.usage, name) for name in COUNTED})
            self._pay(result.usage.cost)

    def _count(self, result: Result, score: Score) -> None:
        measures = score.measures
        outcomes: _Outcomes = frozenset()
        if measures:
            outcomes = frozenset(Counter(score.outcomes).items())
            needed, missing = cells_of(score)
            self._sums["needed_cells"] += needed
            self._sums["open_cells"] += missing
            texts = (claim.text for claim in score.verdicts.response_claims)
            self._sums["repeated_claims"] += repetitions(texts)
        self._sums["echoes"] += result.echoes
        sample = _Sample(result.cluster, outcomes, measures, score.lack)
        sample = self._different.setdefault(sample, sample)
        key = None if result.cluster is not None else _key_of_texts(result.id)
        if key is not None:
            first = self._unnamed.get(key)
            if first is None:
                self._unnamed[key] = sample
            else:
                self._unnamed[key] = self._clustered(first, key)
                sample = sample._replace(cluster=key)
        self._samples[sample] += 1

    def _clustered(self, sample: _Sample, key: bytes) -> _Sample:
        """Put a counted sample into the cluster of those with the same texts."""
        if sample.cluster is not None:
            return sample
        self._samples[sample] -= 1
        if not self._samples[sample]:
            del self._samples[sample]
        clustered = sample._replace(cluster=key)
        self._samples[clustered] += 1
        return clustered

    def _pay(self, cost: float | Fraction | None) -> None:
        """Without rounding; None: nobody knows what it was."""
        if cost is not None:
            self._cost = Fraction(cost) + (self._cost or 0)

    def _settle(self, definition: DefinitionName, where: str) -> None:
        """All that is scored is scored alike: as the first is. Raises `InputError`."""
        self.definition = self.definition or definition
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
        self._sums.update(other._sums)
        self._samples.update(other._samples)
        for key, sample in other._unnamed.items():
            first = self._unnamed.setdefault(key, sample)
            if first is not sample:
                self._clustered(sample, key)
                self._unnamed[key] = self._clustered(first, key)
        self._pay(other._cost)

    def __add__(self, other: Tally) -> Tally:
        """A new tally of all that both have counted. Raises as `merge`."""
        if not isinstance(other, Tally):
            return NotImplemented
        both = Tally()
        both.merge(self)
        both.merge(other)
        return both

    def summary(self, *, confidence: float = 0.95) -> Summary:
        """The figures so far; see `summarize`."""
        resampling = Resampling(confidence)
        sums = self._sums
        samples = self._samples.items()
        scored = self._samples.total()
        in_clusters = sum(n for each, n in samples if isinstance(each.cluster, str))
        repeated = sum(n for each, n in samples if isinstance(each.cluster, bytes))
        by_name = scored == in_clusters
        modes: dict[Mode, ModeSummary] = {}
        for mode in modes_of(self.definition) if self.definition else ():
            modes[mode] = self._mode(mode, resampling, by_name=by_name)
        kinds = [(Partition.of(each.claims), n) for each, n in samples]
        from_chunks = [(Counts.of(each.claims, "from_a_chunk"), n) for each, n in samples]
        lacking = Counter[Lack | None]()
        for each, n in samples:
            lacking[each.lack] += n
        cost = None if self._cost is None else float(self._cost)
        return Summary(
            definition=self.definition,
            samples=sums["samples"],
            scored=scored,
            failed=sums["samples"] - scored,
            nothing_claimed=lacking["nothing_claimed"],
            nothing_retrieved=lacking["nothing_retrieved"],
            repeated_claims=sums["repeated_claims"],
            echoes=sums["echoes"],
            partition=_added(Partition, kinds),
            from_chunks=_added(Counts, from_chunks),
            in_clusters=in_clusters,
            repeated=repeated,
            needed_cells=sums["needed_cells"],
            open_cells=sums["open_cells"],
            usage=Usage(**{name: sums[name] for name in COUNTED}, cost=cost),
            relevant=modes.get("relevant"),
            irrelevant=modes.get("irrelevant"),
            clusters=self._clusters(by_name=by_name),
            confidence=confidence,
        )

    def _clusters(self, *, by_name: bool) -> int | None:
        """How many units the samples with something to measure are in; None if each is one."""
        alone = 0
        shared: set[_Cluster] = set()
        for sample, times in self._samples.items():
            if "relevant" not in sample.measures:
                continue
            unit = sample.unit(by_name=by_name)
            if unit is None:
                alone += times
            else:
                shared.add(unit)
        return alone + len(shared) if shared or (by_name and self._samples) else None

    def _mode(self, mode: Mode, resampling: Resampling, *, by_name: bool) -> ModeSummary:
        undefined = 0
        seen = Counter[tuple[_Cluster, Counts]]()
        for sample, times in self._samples.items():
            if mode in sample.measures:
                seen[sample.unit(by_name=by_name), Counts.of(sample.claims, mode)] += times
            else:
                undefined += times
        values = [_Value(unit, counts, times) for (unit, counts), times in seen.items()]
        ranges = Counter[Range]()
        for each in values:
            ranges[each.counts.bounds] += each.times
        claims: Counts = _added(Counts, [(each.counts, each.times) for each in values])
        undetermined = sum(n for each, n in ranges.items() if each.value is None)
        of_samples: list[_Part] = []
        of_claims: list[_Part] = []
        for unit, counts, times in values:
            of_samples.append(_Part(unit, counts.bounds, 1, times))
            if counts.total:
                noisy = Range(counts.noisy, counts.highest)
                of_claims.append(_Part(unit, noisy, counts.total, times))
        return ModeSummary(
            mode=mode,
            determined=ranges.total() - undetermined,
            undetermined=undetermined,
            undefined=undefined,
            mean=_mean(ranges),
            interval=_interval(of_samples, resampling),
            median=_quantile(ranges, 0.5),
            maximum=_quantile(ranges, 1),
            claims=claims,
            micro=claims.bounds if claims.total else None,
            micro_interval=_interval(of_claims, resampling),
            ranges=tuple(sorted(ranges.items())),
        )


def _key_of_texts(name: str) -> bytes | None:
    """What tells an id made of a sample's texts from others like it; None of any other id.

    That is its end: the start of a quick hash is only zeros (see `datasets.read.light_row`).
    """
    if len(name) != _DIGITS_OF_KEY:
        return None
    try:
        return bytes.fromhex(name[-_DIGITS_OF_HASH:])
    except ValueError:
        return None


def _added(kind: Any, parts: Sequence[tuple[Sequence[int], int]]) -> Any:
    """Counts of that kind over all parts, of which each occurs so many times."""
    return kind(*(sum(n * each[i] for each, n in parts) for i in range(len(kind._fields))))


def _mean(ranges: Counter[Range]) -> Range | None:
    count = ranges.total()
    if not count:
        return None
    lows = fsum(each.low * times for each, times in ranges.items())
    highs = fsum(each.high * times for each, times in ranges.items())
    return Range(lows / count, highs / count)


def _quantile(ranges: Counter[Range], p: float) -> Range | None:
    if not ranges:
        return None
    lows = sorted((each.low, times) for each, times in ranges.items())
    highs = sorted((each.high, times) for each, times in ranges.items())
    return Range(quantile_of_counts(lows, p), quantile_of_counts(highs, p))


class _Part(NamedTuple):
    """What samples that are alike add to a ratio.

    Attributes:
        unit: what they share with others; None: nothing.
        part: what each adds above the line, at least and at most.
        size: what it adds below.
        times: how many there are.
    """

    unit: _Cluster
    part: Range
    size: int
    times: int


def _interval(parts: Iterable[_Part], resampling: Resampling) -> Interval | None:
    """Of ``Σ part / Σ size`` over clusters, and over samples that are in none."""
    shared: list[_Part] = []
    alone: list[_Part] = []
    for each in parts:
        (alone if each.unit is None else shared).append(each)
    ends: list[Counter[Unit]] = []
    for end in (0, 1):
        units = units_of((p.unit, p.part[end] * p.times, p.size * p.times) for p in shared)
        for each in alone:
            units[each.part[end], each.size] += each.times
        ends.append(units)
    return mean_interval(ends, resampling)


def summarize(results: Iterable[Result | Score], *, confidence: float = 0.95) -> Summary:
    """A run in figures: per mode, over samples and over claims, with intervals.

    Over all samples with something to measure, ``mean = (Σ lowest value, Σ highest value) /
    samples`` (macro) and ``micro = (Σ noisy, Σ highest) / Σ claims``: whichever way the open
    verdicts fall, the figure lies between. No figure is over the determined samples alone: those
    are the easy ones. Intervals (see `noisesense.stats.interval`) are over samples, or, if
    every scored result names its cluster, over clusters, since samples that share something are
    not independent; they cover the range. Results without ids that have the same texts are one
    cluster.

    The results are read once; see `Tally` for what is kept of them.

    Args:
        results: `Result` objects, or bare scores.
        confidence: of the intervals. The same results give the same intervals.

    Raises:
        InputError: results of several definitions, or a number out of range.

    >>> from noisesense import Verdicts, score
    >>> clean = Verdicts.from_matrices([True], [[True]], [[True]])
    >>> noisy = Verdicts.from_matrices([False], [[True]], [[True]])
    >>> summarize([score(clean), score(noisy)]).relevant.mean.value
    0.5
    """
    tally = Tally()
    for result in results:
        tally.add(result)
    return tally.summary(confidence=confidence)
