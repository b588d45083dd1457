"""What a summary says: plain data, made by `noisesense.summarize`, and its warnings in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from noisesense.judging.protocol import Usage
from noisesense.scoring.definitions import DefinitionName, Mode
from noisesense.scoring.outcomes import BothModes, Counts, Partition, Range, Record
from noisesense.stats.interval import Interval


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
    def undetermined_claims(self) -> int:
        """Claims of which it is not known whether this mode counts them."""
        return self.claims.undetermined

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
        empty: scored samples whose response has no claims.
        partition: all response claims by kind.
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

    _derived = ("unanswered_share", "warnings")

    definition: DefinitionName | None
    samples: int
    scored: int
    failed: int
    empty: int
    partition: Partition
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
        yield f"All {counted(run.samples, 'sample')} failed: there are no figures."
    elif run.failed:
        yield (
            f"{run.failed} of {run.samples} samples failed and are in no figure: if they are the "
            "hard ones, every figure is too good."
        )
    if share := run.unanswered_share:
        percent = "less than 0.1%" if share < 0.001 else f"{share:.1%}"
        yield (
            f"{run.open_cells:,} of the {run.needed_cells:,} verdicts that the scores need "
            f"({percent}) have no answer: where they decide a score, it is a range."
        )
    if 0 < run.in_clusters < run.scored:
        yield PARTLY_CLUSTERED


def _of_mode(run: Summary, mode: ModeSummary) -> Iterator[str]:
    samples = mode.determined + mode.undetermined
    if not samples:
        yield f"{mode.mode}: no sample has anything to measure."
        return
    units, unit = (samples, "sample") if run.clusters is None else (run.clusters, "cluster")
    if units < FEW_UNITS:
        yield f"{mode.mode}: {counted(units, unit)} only; read the interval, not the mean."


def counted(count: int, unit: str) -> str:
    """``"1 pair"``, ``"2,000 pairs"``."""
    return f"{count:,} {unit}{'' if count == 1 else 's'}"
