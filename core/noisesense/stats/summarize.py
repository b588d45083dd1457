"""A run in figures, in one pass: what a summary says, and what is kept of each sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum
from typing import Any, NamedTuple

from noisesense.errors import InputError, describe
from noisesense.judging.claims import repetitions
from noisesense.judging.protocol import COUNTED, NO_USAGE, Usage
from noisesense.scoring.definitions import DefinitionName, Mode, Outcome, modes_of
from noisesense.scoring.outcomes import BothModes, Counts, Partition, Range, Record
from noisesense.scoring.results import Result, result_in
from noisesense.scoring.scoring import Lack, Score
from noisesense.stats.interval import Interval, Resampling, mean_interval, units_of
from noisesense.stats.resampling import Unit, quantile_of_counts


@dataclass(frozen=True)
class ModeSummary(Record):
    """One mode over all samples with something to measure. Figures are None where there are none.

    Each figure is a `Range`: whichever way the open verdicts fall, it lies between. Its ``value``
    is a number only where every completion of the verdicts gives it.

    Attributes:
        mode: ``"relevant"`` or ``"irrelevant"``.
        determined: samples of which every completion of the verdicts gives the same value.
        undetermined: samples whose value the judge left open; they are in every range.
        undefined: scored samples with nothing to measure; in no figure.
        mean: macro average, every sample counts the same: the headline.
        interval: of the mean; where that is a range, it covers all of it. None below two units.
        median: the middle value.
        maximum: the highest value.
        claims: noisy, determined and all response claims over all samples.
        micro: ``noisy / total`` claims, every claim counts the same.
        micro_interval: of that share.
        ranges: the distinct ranges of single samples, ascending, and how many have each.
    """

    mode: Mode
    determined: int
    undetermined: int
    undefined: int
    mean: Range | None
    interval: Interval | None
    median: Range | None
    maximum: Range | None
    claims: Counts
    micro: Range | None
    micro_interval: Interval | None
    ranges: tuple[tuple[Range, int], ...]

    @property
    def distribution(self) -> tuple[tuple[float, int], ...]:
        """The distinct values, and how many samples have each; of the samples with a value."""
        return tuple((low, times) for (low, high), times in self.ranges if low == high)


@dataclass(frozen=True)
class Summary(Record, BothModes[ModeSummary]):
    """A run in figures.

    Attributes:
        definition: under which all samples were scored; None if none was.
        samples: how many results there are.
        scored: of them, those with a score.
        failed: of them, those that could not be judged or scored; they are in no figure.
        nothing_claimed: scored samples whose response makes no claims.
        nothing_retrieved: scored samples for which nothing was retrieved, whatever was claimed.
            Where the definition counts only what comes from a chunk, they are in no figure below,
            and neither are those before, unless ``empty="zero"`` counts both as 0.
        repeated_claims: response claims that say by words what an earlier one of their sample
            says. They are in the verdicts that were given, and count.
        partition: all response claims by kind.
        from_chunks: of all claims, those that are incorrect and come from a chunk, relevant or
            not. Does not depend on the definition.
        in_clusters: scored samples that name their cluster.
        needed_cells: verdicts that the scores needed, as a lazy plan asks for them: of each claim
            whether the reference entails it; of each that is not known to be correct, whether
            each chunk entails it; and then, of each chunk without a label, whether it entails
            each claim of the reference (one verdict a chunk where there are no such claims).
        open_cells: of these, those without an answer.
        usage: what judging cost.
        relevant: the relevant mode.
        irrelevant: the irrelevant mode; None if the definition has none.
        clusters: over how many clusters the intervals were made; None: over single samples.
        confidence: of every interval.
    """

    _derived = ("unanswered_share", "unmeasured", "warnings")

    definition: DefinitionName | None
    samples: int
    scored: int
    failed: int
    nothing_claimed: int
    nothing_retrieved: int
    repeated_claims: int
    partition: Partition
    from_chunks: Counts
    in_clusters: int
    needed_cells: int
    open_cells: int
    usage: Usage
    relevant: ModeSummary | None
    irrelevant: ModeSummary | None
    clusters: int | None
    confidence: float

    @property
    def unanswered_share(self) -> float | None:
        """``open_cells / needed_cells``; None where nothing was needed."""
        return self.open_cells / self.needed_cells if self.needed_cells else None

    @property
    def undefined(self) -> int:
        """Scored samples that are in no figure of a mode: the one that has more of them."""
        modes = (self.relevant, self.irrelevant)
        return max((each.undefined for each in modes if each is not None), default=0)

    @property
    def unmeasured(self) -> str:
        """What there was nothing to measure of, in words; empty if there was something of all.

        E.g. ``12 of 40 answers claim nothing, for 3 nothing was retrieved, 1 failed``.
        """
        parts: list[str] = []
        of = f" of {self.samples:,}"
        if claimed := self.nothing_claimed:
            parts.append(f"{claimed:,}{of} answers claim{'s' if claimed == 1 else ''} nothing")
            of = ""
        if retrieved := self.nothing_retrieved:
            questions = f"{of} questions" if of else ""
            parts.append(f"for {retrieved:,}{questions} nothing was retrieved")
            of = ""
        # A host's own reason, as ragas has one.
        if (others := self.undefined - claimed - retrieved) > 0:
            samples = f"{of} samples" if of else ""
            parts.append(f"for {others:,}{samples} there is nothing to measure")
            of = ""
        if self.failed:
            samples = f"{of} samples" if of else ""
            parts.append(f"{self.failed:,}{samples} failed")
        return ", ".join(parts)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the figures must know, in words."""
        modes = [mode for mode in (self.relevant, self.irrelevant) if mode]
        of_modes = (warning for mode in modes for warning in _of_mode(self, mode))
        return (*_of_run(self), *of_modes)


PARTLY_CLUSTERED = (
    "Only some samples name a cluster: the intervals are over single samples and may be too "
    "narrow."
)

FEW_UNITS = 30
"""Fewer say little: their interval covers, and is wide."""


def _of_run(run: Summary) -> Iterator[str]:
    if not run.samples:
        yield "There are no results."
    elif run.failed == run.samples:
        every = "The only sample" if run.samples == 1 else f"All {run.samples:,} samples"
        yield f"{every} failed: there are no figures."
    elif run.unmeasured:
        said = f"{run.unmeasured[0].upper()}{run.unmeasured[1:]}"
        if run.undefined or run.failed:
            said += ": they are in no figure; if they are the hard ones, every figure is too good"
        yield f"{said}."
    if share := run.unanswered_share:
        percent = "less than 0.1%" if share < 0.001 else f"{share:.1%}"
        yield (
            f"{run.open_cells:,} of the {run.needed_cells:,} verdicts that the scores need "
            f"({percent}) have no answer: where they decide a score, it is a range."
        )
    if repeated := run.repeated_claims:
        claims = counted(repeated, "claim")
        yield f"The given verdicts repeat {claims} of the same answer by words; each counts."
    if 0 < run.in_clusters < run.scored:
        yield PARTLY_CLUSTERED


def _of_mode(run: Summary, mode: ModeSummary) -> Iterator[str]:
    if not (samples := mode.determined + mode.undetermined):
        yield f"{mode.mode}: no sample has anything to measure."
        return
    units, unit = (samples, "sample") if run.clusters is None else (run.clusters, "cluster")
    if units < FEW_UNITS:
        yield f"{mode.mode}: {counted(units, unit)} only; read the interval, not the mean."


def counted(count: int, unit: str) -> str:
    """``"1 pair"``, ``"2,000 pairs"``."""
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


def cells_of(score: Score) -> tuple[int, int]:
    """How many verdicts a lazy plan needs of this sample, and how many of them have no answer.

    See `noisesense.Summary`.
    """
    verdicts, reference = score.verdicts, score.verdicts.reference_claims
    claims = verdicts.response_claims
    gaps = [(c.correct is None) + len(c.undetermined) for c in claims if not c.correct]
    if not gaps:
        return len(claims), 0
    labels = [chunk.relevant for chunk in verdicts.chunks or ()] or [None] * verdicts.chunk_count
    unlabeled = labels.count(None)
    # Without reference claims nothing says which chunk without a label is relevant.
    missing = sum(gaps) + (0 if reference else unlabeled)
    missing += sum([labels[j] is None for claim in reference for j in claim.undetermined])
    return len(claims) + len(labels) * len(gaps) + unlabeled * max(len(reference), 1), missing


_Outcomes = frozenset[tuple[Outcome, int]]
"""How many claims of a sample have each outcome."""


class _Sample(NamedTuple):
    """What is kept of a sample."""

    cluster: str | None
    outcomes: _Outcomes
    """None where no mode has anything to measure."""
    measures: tuple[Mode, ...]
    """The modes with something to measure."""
    lack: Lack | None

    @property
    def claims(self) -> list[Outcome]:
        """The outcome of each claim, in any order."""
        return list(Counter(dict(self.outcomes)).elements())


@dataclass
class Tally:
    """Collects results one by one; `summary` may be asked for at any time.

    Tallies add up: ``a + b`` has counted what ``a`` and ``b`` have. It keeps whole numbers and
    exact fractions only, so that the parts of a run, merged in any order and grouping, give the
    summary of the whole to the last bit. A tally pickles: that is its form for another machine.

    Memory does not grow with the number of samples, but with the ways in which claims may come
    out, of which responses of up to ten claims have some 1,000 to 3,000 where nothing is open;
    and with the number of the clusters.

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
        if (score := result_in(result).score) is not None:
            if score.definition != self.definition:
                self._settle(score.definition, f"result {result.id!r}")
            measures = score.measures
            outcomes = frozenset(Counter(score.outcomes if measures else ()).items())
            needed, missing = cells_of(score) if measures else (0, 0)
            sums["needed_cells"] += needed
            sums["open_cells"] += missing
            sums["repeated_claims"] += repetitions(c.text for c in score.verdicts.response_claims)
            self._samples[_Sample(result.cluster, outcomes, measures, score.lack)] += 1
        sums["samples"] += 1
        if result.usage is not NO_USAGE:
            sums.update({name: getattr(result.usage, name) for name in COUNTED})
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
        in_clusters = sum(n for each, n in samples if each.cluster is not None)
        clustered = 0 < scored == in_clusters
        modes = {
            mode: self._mode(mode, resampling, clustered=clustered)
            for mode in (modes_of(self.definition) if self.definition else ())
        }
        measured = {each.cluster for each, _ in samples if "relevant" in each.measures}
        kinds = [(Partition.of(each.claims), n) for each, n in samples]
        from_chunks = [(Counts.of(each.claims, "from_a_chunk"), n) for each, n in samples]
        lacking = Counter[Lack | None]()
        for each, n in samples:
            lacking[each.lack] += n
        return Summary(
            definition=self.definition,
            samples=sums["samples"],
            scored=scored,
            failed=sums["samples"] - scored,
            nothing_claimed=lacking["nothing_claimed"],
            nothing_retrieved=lacking["nothing_retrieved"],
            repeated_claims=sums["repeated_claims"],
            partition=_added(Partition, kinds),
            from_chunks=_added(Counts, from_chunks),
            in_clusters=in_clusters,
            needed_cells=sums["needed_cells"],
            open_cells=sums["open_cells"],
            usage=Usage(
                **{name: sums[name] for name in COUNTED},
                cost=None if self._cost is None else float(self._cost),
            ),
            relevant=modes.get("relevant"),
            irrelevant=modes.get("irrelevant"),
            clusters=len(measured) if clustered else None,
            confidence=confidence,
        )

    def _mode(self, mode: Mode, resampling: Resampling, *, clustered: bool) -> ModeSummary:
        seen = Counter[tuple["str | None", "Counts | None"]]()
        for each, n in self._samples.items():
            counts = Counts.of(each.claims, mode) if mode in each.measures else None
            seen[each.cluster, counts] += n
        known = [(name, counts, n) for (name, counts), n in seen.items() if counts is not None]
        claims: Counts = _added(Counts, [(counts, n) for _, counts, n in known])
        ranges = Counter[Range]()
        for _, counts, n in known:
            ranges[counts.bounds] += n
        count = ranges.total()
        undetermined = sum(n for each, n in ranges.items() if each.value is None)
        of_samples = [(name, counts.bounds, 1, n) for name, counts, n in known]
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
            micro=claims.bounds if claims.total else None,
            micro_interval=_interval(of_claims, resampling, clustered=clustered),
            ranges=tuple(sorted(ranges.items())),
        )


def _added(kind: Any, parts: Sequence[tuple[Sequence[int], int]]) -> Any:
    """Counts of that kind over all parts, of which each occurs so many times."""
    return kind(*(sum(n * each[i] for each, n in parts) for i in range(len(kind._fields))))


_Parts = Sequence[tuple["str | None", tuple[float, float], int, int]]
"""Of samples alike: cluster, what each adds at least and at most, over how much, how many."""


def _interval(parts: _Parts, resampling: Resampling, *, clustered: bool) -> Interval | None:
    """Of ``Σ part / Σ size`` over samples, or over clusters of them."""
    ends = [Counter[Unit](), Counter[Unit]()]
    for end, units in enumerate(ends):
        if clustered:
            ends[end] = units_of((name, part[end] * n, size * n) for name, part, size, n in parts)
        else:
            for _, part, size, n in parts:
                units[part[end], size] += n
    return mean_interval(ends, resampling)


def summarize(results: Iterable[Result | Score], *, confidence: float = 0.95) -> Summary:
    """A run in figures: per mode, over samples and over claims, with intervals.

    Over all samples with something to measure, ``mean = (Σ lowest value, Σ highest value) /
    samples`` (macro) and ``micro = (Σ noisy, Σ highest) / Σ claims``: whichever way the open
    verdicts fall, the figure lies between. No figure is over the determined samples alone: those
    are the easy ones. Intervals (see `noisesense.stats.interval`) are over samples, or, if
    every scored result names its cluster, over clusters, since samples that share something are
    not independent; they cover the range.

    The results are read once. Memory does not grow with their number: kept is only how often
    the claims of a response came out alike (in each cluster), from which bounds, median and
    intervals follow exactly.

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
