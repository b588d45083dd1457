"""The words of the page and of the pictures."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from noisesense import ModeSummary
from noisesense.scoring.definitions import Mode
from noisesense.scoring.outcomes import extent
from noisesense.stats.compare import ModeComparison
from noisesense.stats.resampling import quantile_of_counts

NO_VALUES = "No sample has a value: there is nothing to draw."

MODE_WORDS: dict[Mode, str] = {
    "relevant": "The right document was retrieved, but it misled: "
    "claims that a relevant chunk supports and the reference does not.",
    "irrelevant": "A document that does not help misled: "
    "claims that irrelevant chunks support and the reference does not.",
}


class Kind(NamedTuple):
    name: str
    words: str


KINDS = {
    "correct": Kind("correct", "entailed by the reference"),
    "relevant": Kind("relevant noise", "in a relevant chunk, and not in the reference"),
    "irrelevant": Kind("irrelevant noise", "in irrelevant chunks only, and not in the reference"),
    "hallucination": Kind("hallucination", "found neither in the reference nor in a chunk"),
    "undetermined": Kind("undetermined", "the judge left its kind open"),
}


_CHANGE = {
    "worse": ", worse",
    "better": ", better",
    "same": ", the same within the margin",
    "undecided": ", which may be chance",
}


def since(name: str, modes: list[ModeComparison]) -> str:
    """What changed since an earlier run."""
    parts = [
        f"{mode.mode} {extent(mode.mean_a)} → {extent(mode.mean_b)} "
        f"({extent(mode.difference, '+.3f')}{_CHANGE[mode.decision]})"
        for mode in modes
        if mode.mean_a and mode.mean_b and mode.difference
    ]
    return f"Since {name}: {', '.join(parts) or 'nothing to compare'}."


def histogram_words(mode: ModeSummary, counts: list[int]) -> str:
    """The text alternative of a histogram."""
    bins = [f"{i / 10:.1f} to {(i + 1) / 10:.1f}: {n}" for i, n in enumerate(counts) if n]
    if missing := left_out(mode):
        bins.append(f"undetermined: {missing}")
    samples = mode.determined + mode.undetermined
    return f"Histogram, {mode.mode} mode, {samples} samples by value. {'; '.join(bins)}."


def left_out(mode: ModeSummary) -> int:
    """How many samples have no value to draw because the judge left it open."""
    samples = mode.determined + mode.undetermined
    return samples - sum(times for _, times in mode.distribution)


def box_words(modes: list[ModeSummary]) -> str:
    return f"Box plots. {'; '.join(map(_box, modes))}."


def _box(mode: ModeSummary) -> str:
    at = partial(quantile_of_counts, mode.distribution)
    mean = f"mean {extent(mode.mean, '.2f')}, " if mode.mean else ""
    missing = left_out(mode)
    excluded = f", without {missing} undetermined" if missing else ""
    return (
        f"{mode.mode}{excluded}: lowest {at(0):.2f}, lower quartile {at(0.25):.2f}, "
        f"median {at(0.5):.2f}, {mean}upper quartile {at(0.75):.2f}, highest {at(1):.2f}"
    )


def boxes_caption(modes: list[ModeSummary]) -> str:
    """What the box plots show, and which samples they cannot."""
    mean = ", mean (◆)" if any(not left_out(mode) for mode in modes) else ""
    caption = f"Quartiles{mean} and samples beyond 1.5 × IQR (○)"
    missing = [f"{count:,} {mode.mode}" for mode in modes if (count := left_out(mode))]
    if not missing:
        return caption
    return f"{caption}, of determined samples; undetermined and left out: {', '.join(missing)}"
