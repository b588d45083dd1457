"""What figures say, in the words that the commands and the report share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from noisesense import Offender, Offenders, Range, Summary, Trust
from noisesense.scoring.outcomes import extent
from noisesense.stats.interval import interval_text
from noisesense.stats.labels_cells import CellKind, Rate
from noisesense.stats.offenders import SURE
from noisesense.stats.summarize import counted


class Headline(NamedTuple):
    """The main message, and the counts behind it."""

    message: str
    rest: str


def headline(summary: Summary) -> Headline:
    """How many claims the retrieved chunks misled, and what there was nothing to measure of.

    Does not depend on the definition.
    """
    kinds = summary.partition
    found = summary.from_chunks
    if not kinds.total:
        return Headline("Nothing was measured", f"{summary.unmeasured or 'There are no results'}.")
    amount = f"{found.noisy:,}"
    one = found.noisy == 1 or kinds.total == 1
    if found.highest != found.noisy:
        amount = f"{found.noisy:,} to {found.highest:,}"
        one = kinds.total == 1
    verb, source = ("is", "comes") if one else ("are", "come")
    message = (
        f"{amount} of {counted(kinds.total, 'claim')} {verb} not supported by the reference and "
        f"{source} from a retrieved chunk"
    )
    if summary.unmeasured:
        message += f"; {summary.unmeasured}"
    rest = [f"{kinds.relevant:,} from relevant chunks, {kinds.irrelevant:,} from irrelevant ones"]
    if kinds.hallucination:
        are = "is" if kinds.hallucination == 1 else "are"
        rest.append(
            f"{kinds.hallucination:,} more {are} supported neither by the reference nor by a chunk"
        )
    if kinds.undetermined:
        rest.append(f"the judge left {kinds.undetermined:,} open")
    return Headline(message, "; ".join(rest) + ".")


class Caused(NamedTuple):
    """What an ablation counted of one document.

    Attributes:
        document: its name.
        again: how many of its claims were said again with the same chunks.
        gone: how many of those were not said without it.
        shared: how many of `gone` went where other documents were taken away, too; None if that
            was not counted.
    """

    document: str
    again: Range
    gone: Range
    shared: Range | None


def guiltiest(caused: Iterable[Caused]) -> Caused | None:
    """The document that most claims go with; None if none goes for certain."""
    guilty = [each for each in caused if each.gone.low > 0]
    return max(guilty, key=lambda each: each.gone.low, default=None)


def document_name(document: str, width: int = 60) -> str:
    """A document in one line of at most so many characters."""
    name = " ".join(document.split())
    if len(name) > width:
        name = f"{name[: width - 1].rstrip()}…"
    return name.rstrip(".") or "(no id and no text)"


def offender_sentences(found: Offenders, caused: Iterable[Caused] = ()) -> Iterator[str]:
    """Where to look first, and what may be wrong with that."""
    guilty = guiltiest(caused)
    if guilty is not None:
        yield (
            f"By the ablation most claims go with {document_name(guilty.document)}: "
            f"{extent(guilty.gone, '.0f')} of {extent(guilty.again, '.0f')} that were said again "
            f"with the same chunks were not said without it{_together(guilty.shared)}."
        )
    first = found.first
    if first is not None:
        yield (
            f"Look first at {document_name(first.document)}: it entails "
            f"{counted(first.claims, 'claim')} that the reference does not support.{_why(found)}"
        )
    elif sum(each.claims > 0 for each in found.documents) > 1:
        yield _too_little_to_tell(found)
    if found.terse:
        yield (
            f"Of {counted(found.true_looking, 'claim')} that the reference or a relevant chunk "
            f"supports, {found.unmentioned:,} are in no reference. If the references leave out "
            'what is true, correct documents stand first: "noisesense ablation" shows which ones '
            "cause anything."
        )


def _together(shared: Range | None) -> str:
    """That a document was not taken away alone."""
    if shared is None or not shared.high:
        return ""
    return f", {extent(shared, '.0f')} of them where other documents were taken away, too"


def shared_text(shared: Range | None) -> str:
    """The same in a cell of a table."""
    if shared is None or not shared.high:
        return ""
    return f" ({extent(shared, '.0f')} shared)"


_FEWEST_DOCUMENTS = 10
"""Fewer have no tenth."""


def _why(found: Offenders) -> str:
    """How sure it is that the first document is one of the worst; nothing of few documents."""
    if found.first is None or found.retrieved < _FEWEST_DOCUMENTS:
        return ""
    probability = _at_most_99(found.first.top_tenth)
    return f" With a probability of {probability} it is {_among_the_worst(found)}."


def _among_the_worst(found: Offenders) -> str:
    return (
        f"among the tenth of the {found.retrieved:,} retrieved documents that mislead most often"
    )


def _counts(document: Offender) -> tuple[int, int, int]:
    return document.samples, document.open_samples, document.retrieved


def _too_little_to_tell(found: Offenders) -> str:
    """That the first of several is not sure enough to be named as the one to look at."""
    leading = found.documents[0]
    level = [each for each in found.documents[1:] if _counts(each) == _counts(leading)]
    lead = f"and {len(level):,} more lead: each" if level else "leads: it"
    misled = extent((leading.samples, leading.samples + leading.open_samples), ",")
    leads = (
        f"{document_name(leading.document)} {lead} misled in {misled} of the "
        f"{counted(leading.retrieved, 'sample')} that retrieved it."
    )
    if found.retrieved < _FEWEST_DOCUMENTS:
        return f"{leads} Where the intervals of the rates overlap, the order may be chance."
    probability = f"{leading.top_tenth:.0%}"
    if probability == f"{SURE:.0%}":
        probability = f"just under {probability}"
    return (
        f"{leads} The probability that it is {_among_the_worst(found)} is {probability}; at "
        f"{SURE:.0%} it would be the one to look at first."
    )


def _at_most_99(share: float) -> str:
    return "over 99%" if share > 0.99 else f"{share:.0%}"


def trust_sentences(found: Trust) -> Iterator[str]:
    """Whose verdicts were compared, the means, and the errors in each kind of cell."""
    compared = counted(found.compared, "verdict")
    were = "was" if found.compared == 1 else "were"
    yield f"{compared} of {found.judge} {were} compared with people's labels."
    if found.not_asked:
        labels = "label is" if found.not_asked == 1 else "labels are"
        yield (
            f"{found.not_asked:,} more {labels} in no error rate: the judge was not asked there, "
            "as its scores do not need it; score --plan full asks it."
        )
    for mode, mean in found.means.items():
        yield (
            f"In the {mode} mode people would find a mean of {interval_text(mean.interval)} in "
            f"these results, where the judge finds {extent(mean.judge_mean, '.4f')}."
        )
    for kind, each in found.cells.items():
        if each.counts.compared:
            yield (
                f"Of the {_CLAIMS[kind]} that people do not find {_PLACES[kind]}, the judge finds "
                f"{_rate(each.false_yes)} there; of those that they do find, it misses "
                f"{_rate(each.false_no)}."
            )


_CLAIMS: dict[CellKind, str] = {
    "correct": "claims",
    "response": "response claims",
    "reference": "reference claims",
}
_PLACES: dict[CellKind, str] = {
    "correct": "in the reference",
    "response": "in a chunk",
    "reference": "in a chunk",
}


def _rate(rate: Rate) -> str:
    if rate.value is None:
        return "an unknown share"
    between = f" ({interval_text(rate.interval, percent=True)})" if rate.interval else ""
    return f"{rate.value:.1%}{between}"
