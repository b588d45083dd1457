"""What a summary keeps of each sample: nothing but how often each triple of counts occurred."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import fsum
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import AfterValidator, Field, StrictInt, model_validator

from noisesense.errors import InputError
from noisesense.scoring.definitions import DefinitionName, Mode, modes_of
from noisesense.scoring.outcomes import Counts, Range
from noisesense.scoring.scoring import Score
from noisesense.stats.resampling import Unit
from noisesense.verdicts.sample import Model

End = int
"""Of a range: 0 is the low one, 1 the high one."""

Distribution = tuple[tuple[float, int], ...]
"""Distinct values, ascending, and how many samples have each."""


class Cells(NamedTuple):
    """How many verdicts a score needs, and how many of them have no answer."""

    needed: int
    open: int


def cells_of(score: Score) -> Cells:
    """What a lazy plan asks of this sample; see `noisesense.Summary`."""
    verdicts = score.verdicts
    claims, reference = verdicts.response_claims, verdicts.reference_claims
    suspects = missing = 0
    for claim in claims:
        if not claim.correct:
            suspects += 1
            missing += (claim.correct is None) + len(claim.undetermined)
    if not suspects:
        return Cells(len(claims), 0)
    chunks = verdicts.chunk_count
    labeled = [j for j, c in enumerate(verdicts.chunks or ()) if c.relevant is not None]
    needed, unlabeled = len(claims) + chunks * suspects, chunks - len(labeled)
    if not reference:
        return Cells(needed + unlabeled, missing + unlabeled)
    for each in reference:
        if each.undetermined:
            missing += sum([j not in labeled for j in each.undetermined])
    return Cells(needed + unlabeled * len(reference), missing)


Times = Counter[Counts]
"""How many samples have each triple of counts."""


def range_of(counts: Counts) -> Range:
    """Of a sample that has one; without claims it has it by the convention ``"zero"``."""
    if not counts.total:
        return Range(0.0, 0.0)
    return Range(counts.noisy / counts.total, counts.highest / counts.total)


@dataclass
class ModeTally:
    """One mode's counts over all samples: whole numbers only, so that no order shows in them.

    Memory: one entry for each distinct ``(noisy, determined, total)``, of which responses of up to
    ``R`` claims have at most ``R³``, however many samples there are; and as many a cluster.
    """

    mode: Mode
    times: Times = field(default_factory=Counter[Counts])
    """Samples with bounds."""
    undefined: int = 0
    clusters: dict[str, Times] = field(default_factory=dict[str, Times])

    def add(self, score: Score, cluster: str | None) -> None:
        """Count one sample."""
        counts = score.counts(self.mode)
        if counts is None:
            return  # the definition does not have this mode
        if not counts.noisy and score.empty != "zero" and score.lacks(self.mode):
            self.undefined += 1
            return
        self.times[counts] += 1
        if cluster is not None:
            self.clusters.setdefault(cluster, Counter())[counts] += 1

    def merge(self, other: ModeTally) -> None:
        """Count all that the other has counted."""
        self.times.update(other.times)
        self.undefined += other.undefined
        for cluster, times in other.clusters.items():
            self.clusters.setdefault(cluster, Counter()).update(times)

    def to_dict(self) -> dict[str, Any]:
        """Everything counted as plain data."""
        clusters = {name: _listed(self.clusters[name]) for name in sorted(self.clusters)}
        return {"undefined": self.undefined, "times": _listed(self.times), "clusters": clusters}

    @property
    def samples(self) -> int:
        """How many have bounds."""
        return self.times.total()

    @property
    def open(self) -> int:
        """How many are undetermined."""
        return sum(times for counts, times in self.times.items() if counts.undetermined)

    def ends(self, end: End) -> Distribution:
        """Of all samples, their lowest or their highest values."""
        values: Counter[float] = Counter()
        for counts, times in self.times.items():
            values[range_of(counts)[end]] += times
        return tuple(sorted(values.items()))

    def ranges(self) -> tuple[tuple[Range, int], ...]:
        """The distinct ranges, ascending, and how many samples have each."""
        ranges: Counter[Range] = Counter()
        for counts, times in self.times.items():
            ranges[range_of(counts)] += times
        return tuple(sorted(ranges.items()))

    def sums(self) -> Counts:
        """All claims of all samples."""
        return sums(self.times)

    def mean(self) -> Range | None:
        """The means of the lows and of the highs, over the samples that have bounds."""
        if not self.times:
            return None
        low, high = (
            fsum(value * times for value, times in self.ends(end)) / self.samples for end in (0, 1)
        )
        return Range(low, high)

    def mean_units(self, end: End, *, clustered: bool) -> Counter[Unit]:
        """What each sample (or cluster) adds to that end's mean: ``(Σ value, how many)``."""
        if not clustered:
            return Counter({(value, 1.0): times for value, times in self.ends(end)})
        # Rounded: a third and two thirds are one, however they were added.
        units: Counter[Unit] = Counter()
        for times in self.clusters.values():
            value = fsum(range_of(counts)[end] * n for counts, n in times.items())
            units[round(value, 12), float(times.total())] += 1
        return _ascending(units)

    def claim_units(self, end: End, *, clustered: bool) -> Counter[Unit]:
        """What each adds to that end's share of claims: ``(Σ noisy or highest, Σ total)``."""
        if clustered:
            every = ((sums(times), 1) for times in self.clusters.values())
        else:
            every = ((counts, times) for counts, times in self.times.items())
        units: Counter[Unit] = Counter()
        for counts, times in every:
            if counts.total:
                counted = (counts.noisy, counts.highest)[end]
                units[float(counted), float(counts.total)] += times
        return _ascending(units)


def sums(times: Times) -> Counts:
    """All claims of all those samples."""
    parts = [[n * count for n in counts] for counts, count in times.items()]
    return Counts(*map(sum, zip(*parts, strict=True))) if parts else Counts(0, 0, 0)


def _ascending(units: Counter[Unit]) -> Counter[Unit]:
    # What is computed of units goes through them in their order.
    return Counter(dict(sorted(units.items())))


def _listed(times: Times) -> list[tuple[int, ...]]:
    return [(*counts, times[counts]) for counts in sorted(times)]


Spent = Literal["calls", "cached_calls", "reasks", "input_tokens", "output_tokens"]
SPENT: tuple[Spent, ...] = get_args(Spent)
"""Of a usage, what is counted."""

_Count = Annotated[StrictInt, Field(ge=0)]
_Row = tuple[_Count, _Count, _Count, Annotated[StrictInt, Field(ge=1)]]


def _in_order(rows: tuple[_Row, ...]) -> tuple[_Row, ...]:
    for noisy, determined, total, _ in rows:
        if not noisy <= determined <= total:
            got = f"{noisy}, {determined} and {total}"
            raise InputError("noisy <= determined <= total claims", got)
    return rows


_Rows = Annotated[tuple[_Row, ...], AfterValidator(_in_order)]


def _times(rows: Iterable[_Row]) -> Times:
    times: Times = Counter()
    for *counts, count in rows:
        times[Counts(*counts)] += count
    return times


class _ModeForm(Model):
    undefined: _Count = 0
    times: _Rows = ()
    clusters: dict[str, _Rows] = Field(default_factory=dict[str, "_Rows"])

    def tally(self, mode: Mode) -> ModeTally:
        """The counts that it is the form of."""
        clusters = {name: _times(rows) for name, rows in self.clusters.items()}
        return ModeTally(mode, _times(self.times), self.undefined, clusters)


class TallyForm(Model):
    """A `noisesense.Tally` as JSON holds it. Each row of counts ends in how often it occurred."""

    noisesense_tally: Literal[1]
    definition: DefinitionName | None = None
    samples: _Count = 0
    scored: _Count = 0
    failed: _Count = 0
    empty: _Count = 0
    unanswered: _Count = 0
    in_clusters: _Count = 0
    needed_cells: _Count = 0
    open_cells: _Count = 0
    partition: tuple[_Count, _Count, _Count, _Count, _Count] = (0, 0, 0, 0, 0)
    usage: dict[Spent, _Count] = Field(default_factory=dict[Spent, int])
    cost: tuple[StrictInt, Annotated[StrictInt, Field(ge=1)]] | None = None
    modes: dict[Mode, _ModeForm] = Field(default_factory=dict[Mode, _ModeForm])

    @model_validator(mode="after")
    def _adds_up(self) -> TallyForm:
        modes = modes_of(self.definition) if self.definition else ()
        adds_up = self.samples == self.scored + self.failed and self.in_clusters <= self.scored
        if not adds_up or set(self.modes) != set(modes) or (self.scored and not modes):
            got = f"{self.samples} samples, {self.scored} scored, {self.failed} failed"
            raise InputError("a tally that adds up", f"{got}, modes {', '.join(self.modes)}")
        for mode, counted in self.modes.items():
            samples = counted.undefined + sum(times for *_, times in counted.times)
            if samples != self.scored:
                expected = f"{self.scored} samples, as were scored"
                raise InputError(expected, str(samples), where=f"mode {mode}")
        return self
