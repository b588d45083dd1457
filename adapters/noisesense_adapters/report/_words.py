"""What the page says of a run."""

from __future__ import annotations

from typing import NamedTuple

from noisesense import ModeSummary, Partition, Summary
from noisesense.definitions import Mode

__all__ = [
    "BOXES_CAPTION",
    "KINDS",
    "MODE_WORDS",
    "NO_VALUES",
    "Kind",
    "box_words",
    "headline",
    "histogram_words",
]

BOXES_CAPTION = "Quartiles, mean (◆) and samples further than 1.5 quartile distances (○)"
NO_VALUES = "No sample has a value: there is nothing to draw."

MODE_WORDS: dict[Mode, str] = {
    "relevant": "Wrong although the right document was there: claims a relevant chunk misled.",
    "irrelevant": "Wrong because of a document that does not help: claims noise misled.",
}


class Kind(NamedTuple):
    """A part of the partition."""

    name: str
    words: str


KINDS = {
    "correct": Kind("correct", "entailed by the reference"),
    "relevant": Kind("relevant noise", "incorrect, entailed by a relevant chunk"),
    "irrelevant": Kind("irrelevant noise", "incorrect, entailed by irrelevant chunks only"),
    "hallucination": Kind("hallucination", "incorrect, entailed by no chunk"),
    "undetermined": Kind("undetermined", "a verdict is missing; more than one kind is possible"),
}


class Headline(NamedTuple):
    """The one message, and what it is made of."""

    message: str
    rest: str


def headline(summary: Summary) -> Headline:
    """How many claims the retrieved chunks misled. Does not depend on the definition."""
    kinds = summary.partition
    if not kinds.total:
        return Headline("No response claims were judged", "There is nothing to count.")
    noisy = kinds.relevant + kinds.irrelevant
    verb = "is" if noisy == 1 else "are"
    source = "comes" if noisy == 1 else "come"
    message = f"{noisy:,} of {_claims(kinds)} {verb} incorrect and {source} from a retrieved chunk"
    rest = [f"{kinds.relevant:,} from relevant chunks, {kinds.irrelevant:,} from irrelevant ones"]
    if kinds.hallucination:
        stand = (
            "is incorrect and stands" if kinds.hallucination == 1 else "are incorrect and stand"
        )
        rest.append(f"{kinds.hallucination:,} more {stand} in no chunk")
    if kinds.undetermined:
        rest.append(f"{kinds.undetermined:,} could not be determined")
    return Headline(message, "; ".join(rest) + ".")


def _claims(kinds: Partition) -> str:
    return f"{kinds.total:,} claim" if kinds.total == 1 else f"{kinds.total:,} claims"


def histogram_words(mode: ModeSummary, counts: list[int]) -> str:
    """The text alternative of a histogram."""
    bins = (f"{i / 10:.1f} to {(i + 1) / 10:.1f}: {n}" for i, n in enumerate(counts) if n)
    return f"Histogram, {mode.mode} mode, {mode.defined} samples by value. {'; '.join(bins)}."


def box_words(modes: list[ModeSummary]) -> str:
    """The text alternative of the box plots."""
    parts = (
        f"{m.mode}: lowest {m.minimum:.2f}, lower quartile {m.quantiles[0.25]:.2f}, "
        f"median {m.median:.2f}, mean {m.mean:.2f}, upper quartile {m.quantiles[0.75]:.2f}, "
        f"highest {m.maximum:.2f}"
        for m in modes
    )
    return f"Box plots. {'; '.join(parts)}."
