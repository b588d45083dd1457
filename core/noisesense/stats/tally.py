"""From results to a summary in one pass, and what is kept of each sample."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from operator import attrgetter

from msgspec import Struct

from noisesense.errors import InputError
from noisesense.judging.protocol import COUNTED, NO_PLACEBOS, NO_USAGE, Placebos, Usage
from noisesense.scoring.definitions import DefinitionName, Mode, Outcome, modes_of
from noisesense.scoring.outcomes import Counts, Partition, Range, check_between
from noisesense.scoring.results import Result, each_of, result_in
from noisesense.scoring.scoring import Lack, Score
from noisesense.stats.clusters import are_questions, cluster_of
from noisesense.stats.interval import Unit, mean_interval, unit_of
from noisesense.stats.needed import cells_of
from noisesense.stats.signs import SignCounts
from noisesense.stats.summarize import ModeSummary, Summary

_category = attrgetter("category")


class _Sample(Struct, frozen=True, cache_hash=True):
    """What is kept of a sample."""

    outcomes: tuple[Outcome, ...]
    """Of its claims, by category; none where no mode has anything to measure."""
    measures: tuple[Mode, ...]
    """The modes with something to measure."""
    lack: Lack | None


_InCluster = tuple[str | None, _Sample]
"""A sample, with the cluster that it is in; None: it stands alone."""

_Unit = frozenset[tuple[_Sample, int]]
"""What is independent of the rest: the different samples in it, and how often each occurs."""


@dataclass
class Tally:
    """Collects results one by one; `summary` may be asked for at any time.

    Tallies add up: ``a + b`` has counted what ``a`` and ``b`` have. It keeps whole numbers and
    exact fractions only, so that the parts of a run, merged in any order and grouping, give the
    summary of the whole to the last bit. A tally pickles: that is its form for another machine.

    Memory does not grow with the number of samples, but with the ways in which claims may come
    out, of which responses of up to ten claims have some 1,000 to 3,000 where nothing is open;
    and with the number of clusters, questions among them: some 100 bytes each.

    >>> from noisesense import Verdicts, score
    >>> clean, noisy = Tally(), Tally()
    >>> clean.add(score(Verdicts.from_matrices([True], [[True]], [[True]])))
    >>> noisy.add(score(Verdicts.from_matrices([False], [[True]], [[True]])))
    >>> (clean + noisy).summary().relevant.mean.value
    0.5
    """

    definition: DefinitionName | None = field(default=None, init=False)
    _sums: Counter[str] = field(default_factory=Counter[str], init=False)
    _changes: Counter[str] = field(default_factory=Counter[str], init=False)
    _cost: Fraction | None = field(default=None, init=False)
    _samples: Counter[_InCluster] = field(default_factory=Counter[_InCluster], init=False)
    _signs: SignCounts = field(default_factory=SignCounts, init=False)

    def add(self, result: Result | Score) -> None:
        """Count one result, or a bare score.

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
        if result.placebos is not NO_PLACEBOS:
            sums.update(result.placebos._asdict())
        for changed in result.changes:
            self._changes[changed.change] += 1
        if result.usage is not NO_USAGE:
            sums.update({name: getattr(result.usage, name) for name in COUNTED})
            self._pay(result.usage.cost)

    def _count(self, result: Result, score: Score) -> None:
        sums = self._sums
        self._signs.add(result, score)
        outcomes: tuple[Outcome, ...] = ()
        lack = score.lack
        # Not always ``score.measures``, which finds the lack again and takes twice as long.
        measures = modes_of(score.definition) if lack is None else score.measures
        if measures:
            outcomes = tuple(sorted(score.outcomes, key=_category))
            needed, missing = cells_of(score)
            sums["needed_cells"] += needed
            sums["open_cells"] += missing
        self._samples[cluster_of(result), _Sample(outcomes, measures, lack)] += 1

    def _pay(self, cost: float | Fraction | None) -> None:
        """Add a cost without rounding it; None, an unknown one, adds nothing."""
        if cost is not None:
            self._cost = Fraction(cost) + (self._cost or 0)

    def _settle(self, definition: DefinitionName, where: str) -> None:
        """Keep the first definition. Raises `InputError` for another one."""
        self.definition = self.definition or definition
        if definition != self.definition:
            raise InputError(
                f"results of one definition, {self.definition!r}",
                repr(definition),
                where=where,
                hint="read the results with definition=… to score all of them alike",
            )

    def __add__(self, other: Tally) -> Tally:
        """Return a new tally of all that both have counted.

        Raises:
            InputError: they are of two definitions.
        """
        both = Tally()
        for part in (self, other):
            if part.definition is not None:
                both._settle(part.definition, "a sum of tallies")
            both._signs.merge(part._signs)
            both._sums.update(part._sums)
            both._changes.update(part._changes)
            both._samples.update(part._samples)
            both._pay(part._cost)
        return both

    def summary(self, *, confidence: float = 0.95) -> Summary:
        """Return the figures so far, raising as `summarize` does; nothing is reset."""
        check_between(confidence, "confidence")
        sums = self._sums
        units = self._units()
        samples = Counter[_Sample]()
        for (_, sample), times in self._samples.items():
            samples[sample] += times
        scored = samples.total()
        lacking = Counter[Lack | None]()
        kinds = Counter[str]()
        from_chunks: list[tuple[Counts, int]] = []
        for sample, times in samples.items():
            lacking[sample.lack] += times
            from_chunks.append((Counts.of(sample.outcomes, "from_a_chunk"), times))
            for outcome in sample.outcomes:
                kinds[outcome.category] += times
        modes: dict[Mode, ModeSummary] = {}
        for mode in modes_of(self.definition) if self.definition else ():
            modes[mode] = _mode(mode, samples, units, confidence)
        cost = None if self._cost is None else float(self._cost)
        usage = Usage(**{name: sums[name] for name in COUNTED}, cost=cost)
        placebos = Placebos(sums["asked"], sums["wrong"], sums["unanswered"])
        signs, notes = self._signs.found(placebos)
        return Summary(
            definition=self.definition,
            samples=sums["samples"],
            scored=scored,
            failed=sums["samples"] - scored,
            nothing_claimed=lacking["nothing_claimed"],
            nothing_retrieved=lacking["nothing_retrieved"],
            changes=dict(+self._changes),
            placebos=placebos,
            signs=signs,
            notes=notes,
            partition=Partition(*map(kinds.__getitem__, Partition._fields)),
            from_chunks=_sum(from_chunks),
            needed_cells=sums["needed_cells"],
            open_cells=sums["open_cells"],
            usage=usage,
            relevant=modes.get("relevant"),
            irrelevant=modes.get("irrelevant"),
            clusters=units.total() if units.total() < scored else None,
            by_question=are_questions(cluster for cluster, _ in self._samples),
            confidence=confidence,
        )

    def _units(self) -> Counter[_Unit]:
        """Return the independent units (clusters, samples alone), and how often each occurs."""
        units = Counter[_Unit]()
        clusters = defaultdict[str, list[tuple[_Sample, int]]](list)
        for (cluster, sample), times in self._samples.items():
            if cluster is None:
                units[frozenset({(sample, 1)})] += times
            else:
                clusters[cluster].append((sample, times))
        units.update(map(frozenset, clusters.values()))
        return units


def _mode(
    mode: Mode, samples: Counter[_Sample], units: Counter[_Unit], confidence: float
) -> ModeSummary:
    """Return the figures of one mode."""
    counts: dict[_Sample, Counts] = {}
    shares = Counter[Counts]()
    undefined = 0
    for sample, times in samples.items():
        if mode in sample.measures:
            counts[sample] = Counts.of(sample.outcomes, mode)
            shares[counts[sample]] += times
        else:
            undefined += times
    means = Counter[Unit]()
    for unit, alike in units.items():
        measured: list[Range] = []
        for sample, times in unit:
            if sample in counts:
                measured += [counts[sample].bounds] * times
        if measured:
            means[unit_of(measured)] += alike
    determined = sum(times for share, times in shares.items() if not share.undetermined)
    return ModeSummary(
        mode=mode,
        determined=determined,
        undetermined=shares.total() - determined,
        undefined=undefined,
        mean=_mean(shares),
        interval=mean_interval(means, confidence),
        claims=_sum(shares.items()),
    )


def _sum(counted: Iterable[tuple[Counts, int]]) -> Counts:
    """Add up counts, each as many times as the number beside it says."""
    noisy = 0
    known = 0
    total = 0
    for counts, times in counted:
        noisy += counts.noisy * times
        known += counts.determined * times
        total += counts.total * times
    return Counts(noisy, known, total)


def _mean(shares: Counter[Counts]) -> Range | None:
    """Return the mean of the exact shares: that of ten times 0.1 is 0.1. None without any."""
    samples = shares.total()
    if not samples:
        return None
    low = Fraction(0)
    high = Fraction(0)
    for counts, times in shares.items():
        claims = counts.total or 1
        low += Fraction(counts.noisy, claims) * times
        high += Fraction(counts.highest, claims) * times
    return Range(float(low / samples), float(high / samples))


def summarize(results: Iterable[Result | Score], *, confidence: float = 0.95) -> Summary:
    """Return a run in figures: per mode, with intervals.

    Over all samples with something to measure, ``mean = (Σ lowest value, Σ highest value) /
    samples``: whichever way the open verdicts fall, the figure lies between. No figure is over the
    determined samples alone: those are the easy ones. Intervals (see `noisesense.stats.interval`)
    cover the range. They are over clusters: samples that name the same one, or else have the same
    question and reference, are not independent.

    The results are read once; see `Tally` for what is kept of them.

    Args:
        results: `Result` objects, or bare scores.
        confidence: of the intervals. The same results give the same intervals.

    Raises:
        InputError: something else than results, results of several definitions, or a number out
            of range.
        MissingExtraError: numpy is not installed, and there is an interval.

    >>> from noisesense import Verdicts, score
    >>> clean = Verdicts.from_matrices([True], [[True]], [[True]])
    >>> noisy = Verdicts.from_matrices([False], [[True]], [[True]])
    >>> summarize([score(clean), score(noisy)]).relevant.mean.value
    0.5
    """
    tally = Tally()
    for result in each_of(results):
        tally.add(result)
    return tally.summary(confidence=confidence)
