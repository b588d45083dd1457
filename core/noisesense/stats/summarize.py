"""From results to a summary, in one pass: what is kept of each sample is what it counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum

from noisesense.errors import InputError, describe
from noisesense.judging.protocol import NO_USAGE, Usage
from noisesense.scoring.definitions import MODES, DefinitionName, Mode, modes_of
from noisesense.scoring.outcomes import Counts, Partition, Range
from noisesense.scoring.results import Result, result_in
from noisesense.scoring.scoring import Score
from noisesense.stats.interval import Interval, Resampling, mean_interval, units_of
from noisesense.stats.resampling import Unit, quantile_of_counts
from noisesense.stats.summary import ModeSummary, Summary


def cells_of(score: Score) -> tuple[int, int]:
    """How many verdicts a lazy plan needs of this sample, and how many of them have no answer.

    See `noisesense.Summary`.
    """
    verdicts, reference = score.verdicts, score.verdicts.reference_claims
    claims = verdicts.response_claims
    suspects = [claim for claim in claims if not claim.correct]
    if not suspects:
        return len(claims), 0
    labels = [chunk.relevant for chunk in verdicts.chunks or ()] or [None] * verdicts.chunk_count
    unlabeled = labels.count(None)
    missing = sum([(claim.correct is None) + len(claim.undetermined) for claim in suspects])
    missing += sum([labels[j] is None for claim in reference for j in claim.undetermined])
    # Without reference claims nothing says which chunk without a label is relevant.
    missing += 0 if reference else unlabeled
    return len(claims) + len(labels) * len(suspects) + unlabeled * max(len(reference), 1), missing


def range_of(counts: Counts) -> Range:
    """Of a sample that has one; without claims it has it by the convention ``"zero"``."""
    if not counts.total:
        return Range(0.0, 0.0)
    return Range(counts.noisy / counts.total, counts.highest / counts.total)


_Sample = tuple["str | None", Partition, "Counts | None", "Counts | None"]
"""A sample's cluster, its claims by kind, and what each mode counts; None where there is nothing
to measure."""

_SPENT = ("calls", "cached_calls", "reasks", "input_tokens", "output_tokens")


@dataclass
class Tally:
    """Collects results one by one; `summary` may be asked for at any time.

    Tallies add up: ``a + b`` has counted what ``a`` and ``b`` have. It keeps whole numbers and
    exact fractions only, so that the parts of a run, merged in any order and grouping, give the
    summary of the whole to the last bit. A tally pickles: that is its form for another machine.

    Memory does not grow with the number of samples, but with the ways in which claims may be of
    the five kinds, of which responses of up to ten claims have some 3,000; and with the number of
    the clusters.

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
            counted = [score.counts(mode) if score.bounds(mode) else None for mode in MODES]
            self._samples[result.cluster, score.partition, counted[0], counted[1]] += 1
            needed, missing = cells_of(score)
            sums["needed_cells"] += needed
            sums["open_cells"] += missing
        sums["samples"] += 1
        if result.usage is not NO_USAGE:
            sums.update({name: getattr(result.usage, name) for name in _SPENT})
            self._pay(result.usage.cost)

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
        resampling, sums, samples = Resampling(confidence), self._sums, self._samples.items()
        scored = self._samples.total()
        in_clusters = sum(n for (cluster, *_), n in samples if cluster is not None)
        clustered = 0 < scored == in_clusters
        modes = {
            mode: self._mode(mode, resampling, clustered=clustered)
            for mode in (modes_of(self.definition) if self.definition else ())
        }
        measured = {cluster for (cluster, _, counts, _), _ in samples if counts}
        return Summary(
            definition=self.definition,
            samples=sums["samples"],
            scored=scored,
            failed=sums["samples"] - scored,
            empty=sum(n for (_, kinds, *_), n in samples if not kinds.total),
            partition=Partition(
                *(sum(n * kinds[i] for (_, kinds, *_), n in samples) for i in range(5))
            ),
            in_clusters=in_clusters,
            needed_cells=sums["needed_cells"],
            open_cells=sums["open_cells"],
            usage=Usage(
                **{name: sums[name] for name in _SPENT},
                cost=None if self._cost is None else float(self._cost),
            ),
            relevant=modes.get("relevant"),
            irrelevant=modes.get("irrelevant"),
            clusters=len(measured) if clustered else None,
            confidence=confidence,
        )

    def _mode(self, mode: Mode, resampling: Resampling, *, clustered: bool) -> ModeSummary:
        seen = Counter[tuple["str | None", "Counts | None"]]()
        for (cluster, _, *counted), n in self._samples.items():
            seen[cluster, counted[MODES.index(mode)]] += n
        known = [(name, counts, n) for (name, counts), n in seen.items() if counts is not None]
        claims = Counts(*(sum(n * counts[i] for _, counts, n in known) for i in range(3)))
        ranges = Counter[Range]()
        for _, counts, n in known:
            ranges[range_of(counts)] += n
        count = ranges.total()
        undetermined = sum(n for each, n in ranges.items() if each.value is None)
        of_samples = [(name, range_of(counts), 1, n) for name, counts, n in known]
        of_claims = [(name, (c.noisy, c.highest), c.total, n) for name, c, n in known if c.total]

        def at(p: float) -> Range | None:
            ends = (sorted((each[end], n) for each, n in ranges.items()) for end in (0, 1))
            return Range(*(quantile_of_counts(end, p) for end in ends)) if count else None

        sums = [fsum(each[end] * n for each, n in ranges.items()) for end in (0, 1)]
        return ModeSummary(
            mode=mode,
            determined=count - undetermined,
            undetermined=undetermined,
            undefined=seen.total() - count,
            mean=Range(sums[0] / count, sums[1] / count) if count else None,
            interval=_interval(of_samples, resampling, clustered=clustered),
            median=at(0.5),
            maximum=at(1),
            claims=claims,
            micro=range_of(claims) if claims.total else None,
            micro_interval=_interval(of_claims, resampling, clustered=clustered),
            ranges=tuple(sorted(ranges.items())),
        )


_Parts = Sequence[tuple["str | None", tuple[float, float], int, int]]
"""Of samples alike: cluster, what each adds at least and at most, over how much, how many."""


def _interval(parts: _Parts, resampling: Resampling, *, clustered: bool) -> Interval | None:
    """Of ``Σ part / Σ size`` over samples, or over clusters of them."""
    ends: list[Counter[Unit]] = []
    for end in (0, 1):
        units = Counter[Unit]()
        if clustered:
            units = units_of((name, part[end] * n, size * n) for name, part, size, n in parts)
        else:
            for _, part, size, n in parts:
                units[part[end], size] += n
        ends.append(units)
    return mean_interval(ends, resampling)


def summarize(results: Iterable[Result | Score], *, confidence: float = 0.95) -> Summary:
    """A run in figures: per mode, over samples and over claims, with intervals.

    Over all samples with something to measure, ``mean = (Σ lowest value, Σ highest value) /
    samples`` (macro) and ``micro = (Σ noisy, Σ highest) / Σ claims``: whichever way the open
    verdicts fall, the figure lies between. No figure is over the determined samples alone: those
    are the easy ones. Intervals (see `noisesense.stats.interval`) are over samples, or, if
    every scored result names its cluster, over clusters, since samples that share something are
    not independent; they cover the range.

    The results are read once. Memory does not grow with their number: kept are only how often
    each triple of counts occurred (in each cluster), from which bounds, median and intervals
    follow exactly.

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
