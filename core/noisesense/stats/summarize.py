"""A run in figures: what a summary says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from noisesense.judging.protocol import Placebos, Usage
from noisesense.scoring.definitions import DefinitionName, Mode
from noisesense.scoring.outcomes import (
    BothModes,
    Counts,
    Partition,
    Range,
    Record,
    extent,
    percent_text,
)
from noisesense.stats.interval import Interval, interval_text
from noisesense.stats.signs import Sign


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
        claims: noisy, determined and all response claims over all samples.
    """

    mode: Mode
    determined: int
    undetermined: int
    undefined: int
    mean: Range | None
    interval: Interval | None
    claims: Counts


@dataclass(frozen=True)
class Summary(Record, BothModes[ModeSummary]):
    """A run in figures.

    Attributes:
        definition: under which all samples were scored; None if none was.
        samples: how many results there are.
        scored: of them, those with a score.
        failed: of them, those that could not be judged or scored; they are in no figure.
        nothing_claimed: scored samples whose response makes no claims, with something retrieved.
        nothing_retrieved: scored samples for which nothing was retrieved, whatever was claimed.
            Where the definition counts only what comes from a chunk, they are in no figure below,
            and neither are those before, unless ``empty="zero"`` counts both as 0.
        changes: to the judge's lists of claims, by kind, see `noisesense.Judgement`.
        placebos: how the judge did on questions of known answer.
        signs: that the system or the judge is broken, see `Sign`.
        notes: what a sound run may have, too, and a reader must know, in words.
        partition: all response claims by kind.
        from_chunks: of all claims, those that are incorrect and come from a chunk, relevant or
            not. Does not depend on the definition.
        needed_cells: verdicts that the scores needed, as a lazy plan asks for them: of each claim
            whether the reference entails it; of each that is not known to be correct, whether
            each chunk entails it; and then, of each chunk without a label, whether it entails
            each claim of the reference (one verdict a chunk where there are no such claims).
        open_cells: of these, those without an answer.
        usage: what judging cost.
        relevant: the relevant mode.
        irrelevant: the irrelevant mode; None if the definition has none.
        clusters: how many clusters the scored samples are in; None if each is alone.
        by_question: whether the clusters are the questions with their references, as no sample
            names another.
        confidence: of every interval.
    """

    _derived = ("grouped", "unmeasured", "warnings")

    definition: DefinitionName | None
    samples: int
    scored: int
    failed: int
    nothing_claimed: int
    nothing_retrieved: int
    changes: dict[str, int]
    placebos: Placebos
    signs: tuple[Sign, ...]
    notes: tuple[str, ...]
    partition: Partition
    from_chunks: Counts
    needed_cells: int
    open_cells: int
    usage: Usage
    relevant: ModeSummary | None
    irrelevant: ModeSummary | None
    clusters: int | None
    by_question: bool
    confidence: float

    def __repr__(self) -> str:
        """Say each mode's mean with its interval, and what a reader must know, a line each."""
        lines: list[str] = []
        for figures in self.modes:
            mean = "undefined" if figures.mean is None else extent(figures.mean, ".4f")
            line = f"{figures.mode}: mean {mean}"
            if figures.interval is not None:
                confidence = percent_text(self.confidence)
                line += f" ({confidence} interval {interval_text(figures.interval)})"
            lines.append(line)
        return "\n".join([*lines, *self.warnings])

    @property
    def grouped(self) -> str:
        """What the intervals are over, e.g. ``60 answers to 12 questions``."""
        if self.clusters is None:
            return counted(self.scored, "sample")
        if self.by_question:
            return f"{counted(self.scored, 'answer')} to {counted(self.clusters, 'question')}"
        return f"{counted(self.scored, 'sample')} in {counted(self.clusters, 'cluster')}"

    @property
    def measured(self) -> int:
        """How many samples are in every mean: scored, with something to measure in each mode."""
        return self.scored - self.undefined

    @property
    def undefined(self) -> int:
        """How many scored samples have nothing to measure in the mode that has most of these."""
        return max((mode.undefined for mode in self.modes), default=0)

    @property
    def unmeasured(self) -> str:
        """How many samples failed or lack something, in words; empty if all is there.

        An answer without chunks is counted even if the definition can measure it.

        E.g. ``12 of 40 answers claim nothing, for 3 of 40 questions nothing was retrieved``.
        """
        if not self.samples:
            return "there are no results"
        # A host may have a reason of its own, as ragas has one.
        others = self.undefined - self.nothing_claimed - self.nothing_retrieved
        samples = counted(self.samples, "sample")
        parts: list[str] = []
        if self.nothing_claimed:
            answers = counted(self.samples, "answer")
            verb = "claims" if self.nothing_claimed == 1 else "claim"
            parts.append(f"{self.nothing_claimed:,} of {answers} {verb} nothing")
        if self.nothing_retrieved:
            questions = counted(self.samples, "question")
            parts.append(f"for {self.nothing_retrieved:,} of {questions} nothing was retrieved")
        if others > 0:
            parts.append(f"for {others:,} of {samples} nothing can be measured")
        if self.failed:
            parts.append(f"{self.failed:,} of {samples} failed")
        return ", ".join(parts)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the figures must know, in words."""
        warnings = [f"A sign that the run is broken: {sign.reason}." for sign in self.signs]
        if self.unmeasured:
            warnings.append(f"{self.unmeasured.capitalize()}{_left_out(self)}.")
        if self.open_cells:
            warnings.append(
                f"No answer on {self.open_cells:,} of the {self.needed_cells:,} verdicts that the"
                " scores need: where they decide a score, it is a range."
            )
        if self.clusters is not None and self.by_question:
            warnings.append(
                f"{self.grouped}: the answers to one question count as one in every interval."
            )
        for mode in self.modes:
            warnings += _of_mode(self, mode)
        warnings += [f"{note.capitalize()}." for note in self.notes]
        return tuple(dict.fromkeys(warnings))


FEW_UNITS = 30
"""Fewer say little: their interval covers, and is wide."""


def _left_out(run: Summary) -> str:
    """Say how many samples some mode's mean leaves out; empty if none."""
    if run.samples == run.measured:
        return ""
    if all(mode.mean is None for mode in run.modes):
        return ": there is no mean"
    samples = counted(run.samples - run.measured, "sample")
    return f": a mean leaves out {samples}; if they are hard ones, it looks too good"


def _of_mode(run: Summary, mode: ModeSummary) -> Iterator[str]:
    """Yield a warning if the mode's mean or interval is missing, or rests on little."""
    unit = "sample" if run.clusters is None else "cluster"
    if mode.mean is None:
        yield f"{mode.mode}: no sample has anything to measure."
    elif mode.interval is None:
        yield f"{mode.mode}: only 1 {unit}: there is no interval, as it takes two {unit}s."
    elif mode.interval.units < FEW_UNITS:
        yield f"Only {mode.interval.units} {unit}s: trust the interval, not the mean."


def counted(count: int, unit: str) -> str:
    """Return a number with its unit, whose plural ends in -s: ``"1 pair"``, ``"2,000 pairs"``."""
    return f"{count:,} {unit}{'' if count == 1 else 's'}"
