"""What a summary says: plain data, made by `noisesense.summarize`, and its warnings in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

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
        minimum: the lowest value.
        maximum: the highest value.
        stdev: sample standard deviation, divisor ``n − 1``; None below two samples and where a
            sample is undetermined.
        quantiles: ``{p: range}``, between two values by interpolation (numpy's default).
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
    minimum: Range | None
    maximum: Range | None
    stdev: float | None
    quantiles: dict[float, Range]
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
        unanswered: verdicts the judge was asked for and did not give.
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
        warnings: what a reader of the figures must know, in words.
    """

    _derived = ("unanswered_share",)

    definition: DefinitionName | None
    samples: int
    scored: int
    failed: int
    empty: int
    partition: Partition
    unanswered: int
    needed_cells: int
    open_cells: int
    usage: Usage
    relevant: ModeSummary | None
    irrelevant: ModeSummary | None
    clusters: int | None
    confidence: float
    warnings: tuple[str, ...]

    @property
    def unanswered_share(self) -> float | None:
        """``open_cells / needed_cells``; None where nothing was needed."""
        return self.open_cells / self.needed_cells if self.needed_cells else None


FEW_UNITS = 30
"""Fewer say little: their interval covers, and is wide."""

FEW_NOISY = 5
"""With fewer samples that differ from the commonest value, an interval depends on single ones."""


def run_warnings(
    *, samples: int, failed: int, unanswered: int, cells: tuple[int, int], partly_clustered: bool
) -> list[str]:
    """Of the run as a whole; ``cells`` are those without an answer, and those that were needed."""
    warnings: list[str] = []
    if not samples:
        warnings.append("There are no results.")
    if failed and failed == samples:
        warnings.append(f"All {counted(samples, 'sample')} failed: there are no figures.")
    elif failed:
        warnings.append(
            f"{failed} of {samples} samples failed and are in no figure: if they are the hard "
            "ones, every figure is too good."
        )
    if unanswered:
        warnings.append(
            f"The judge left {unanswered} verdicts unanswered; the bounds say how far the "
            "figures could move."
        )
    missing, needed = cells
    if missing:
        warnings.append(
            f"{missing:,} of the {needed:,} verdicts that the scores need "
            f"({_percent(missing / needed)}) have no answer: where they decide a score, it is a "
            "range."
        )
    if partly_clustered:
        warnings.append(
            "Only some samples name a cluster: the intervals are over single samples and may be "
            "too narrow."
        )
    return warnings


def mode_warnings(mode: ModeSummary, count: int, unit: str, *, differing: int) -> list[str]:
    """Of one mode; its interval is over ``count`` of ``unit``, ``"sample"`` or ``"cluster"``."""
    samples = mode.determined + mode.undetermined
    if not samples:
        words = "no sample has anything to measure."
        return [f"{mode.mode}: {words}"] if mode.undefined else []
    warnings: list[str] = []
    if mode.undetermined and mode.mean:
        low, high = mode.mean
        are = "is" if mode.undetermined == 1 else "are"
        warnings.append(
            f"{mode.mode}: {mode.undetermined:,} of {counted(samples, 'sample')} {are} "
            f"undetermined; the mean lies between {low:.4g} and {high:.4g}, and the verdicts do "
            "not decide where."
        )
    if count < FEW_UNITS:
        warnings.append(
            f"{mode.mode}: {counted(count, unit)} only; read the interval, not the mean."
        )
    if mode.interval and len(mode.ranges) == 1:
        warnings.append(
            f"{mode.mode}: all {count} {unit}s have the same value; the interval says how far "
            "off that can be with so few."
        )
    elif mode.interval and samples >= FEW_UNITS and differing < FEW_NOISY:
        warnings.append(
            f"{mode.mode}: only {differing} of {samples} samples differ from the "
            "commonest value; the interval depends on those few samples."
        )
    return warnings


def _percent(share: float) -> str:
    return "less than 0.1%" if share < 0.001 else f"{share:.1%}"


def counted(count: int, unit: str) -> str:
    """``"1 pair"``, ``"2,000 pairs"``."""
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


class Headline(NamedTuple):
    """The main message, and the counts behind it."""

    message: str
    rest: str


def headline(summary: Summary) -> Headline:
    """How many claims the retrieved chunks misled. Does not depend on the definition."""
    kinds = summary.partition
    if not kinds.total:
        return Headline("No response claims were judged", "There is nothing to count.")
    noisy = kinds.relevant + kinds.irrelevant
    amount, one = f"{noisy:,}", 1 in (noisy, kinds.total)
    if kinds.undetermined:
        amount, one = f"{noisy:,} to {noisy + kinds.undetermined:,}", False
    verb, source = ("is", "comes") if one else ("are", "come")
    message = (
        f"{amount} of {counted(kinds.total, 'claim')} {verb} not supported by the reference and "
        f"{source} from a retrieved chunk"
    )
    rest = [f"{kinds.relevant:,} from relevant chunks, {kinds.irrelevant:,} from irrelevant ones"]
    if kinds.hallucination:
        are = "is" if kinds.hallucination == 1 else "are"
        rest.append(
            f"{kinds.hallucination:,} more {are} supported neither by the reference nor by a chunk"
        )
    if kinds.undetermined:
        rest.append(f"the judge left {kinds.undetermined:,} open")
    return Headline(message, "; ".join(rest) + ".")
