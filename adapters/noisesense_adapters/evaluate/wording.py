"""What figures say, in the words that the commands and the report share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from noisesense import Offender, Offenders, Range, Summary, Trust
from noisesense.scoring.definitions import Mode
from noisesense.scoring.outcomes import extent
from noisesense.stats.interval import interval_text
from noisesense.stats.labels_cells import CellAgreement, CellKind, Rate
from noisesense.stats.offenders import SURE
from noisesense.stats.powered_mean import PPIMean
from noisesense.stats.summarize import counted


class Headline(NamedTuple):
    """The main message, and the counts behind it."""

    message: str
    rest: str


def headline(summary: Summary) -> Headline:
    """How many claims are noise from the retrieved chunks, and what could not be measured.

    Does not depend on the definition.
    """
    kinds = summary.partition
    noise = summary.from_chunks
    if not kinds.total:
        reason = summary.unmeasured or "There are no results"
        return Headline("Nothing was measured", f"{reason}.")
    amount = f"{noise.noisy:,}"
    is_one = noise.noisy == 1 or kinds.total == 1
    if noise.highest != noise.noisy:
        amount += f" to {noise.highest:,}"
        is_one = kinds.total == 1
    verb, source = ("is", "comes") if is_one else ("are", "come")
    claims = counted(kinds.total, "claim")
    message = (
        f"{amount} of {claims} {verb} not supported by the reference and {source} from a "
        "retrieved chunk"
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


def reused(replies: int) -> str:
    """How many replies were used again, of an earlier call or out of a store."""
    return f"{replies:,} {'reply' if replies == 1 else 'replies'} used again"


class Caused(NamedTuple):
    """What an ablation counted for one document.

    Attributes:
        document: its name.
        again: how many of its claims were said again with the same chunks.
        gone: how many of those were not said without it.
        shared: how many of `gone` went when other documents were taken away, too; None if that
            was not counted.
    """

    document: str
    again: Range
    gone: Range
    shared: Range | None


def guiltiest(caused: Iterable[Caused]) -> Caused | None:
    """The document with which most claims go; None if no claim goes for certain."""
    first: Caused | None = None
    most = 0.0
    for document in caused:
        if document.gone.low > most:
            first = document
            most = document.gone.low
    return first


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
        gone = extent(guilty.gone, ".0f")
        again = extent(guilty.again, ".0f")
        yield (
            f"By the ablation most claims go with {document_name(guilty.document)}: {gone} of "
            f"{again} that were said again with the same chunks were not said without it"
            f"{_together(guilty.shared)}."
        )
    first = found.first
    misleading = [document for document in found.documents if document.claims]
    if first is not None:
        claims = counted(first.claims, "claim")
        yield (
            f"Look first at {document_name(first.document)}: it entails {claims} that the "
            f"reference does not support.{_why(found)}"
        )
    elif len(misleading) > 1:
        yield _too_little_to_tell(found)
    if found.terse:
        claims = counted(found.true_looking, "claim")
        verb = "is" if found.unmentioned == 1 else "are"
        yield (
            f"Of {claims} that the reference or a relevant chunk "
            f"supports, {found.unmentioned:,} {verb} in no reference. If the references leave out "
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
    return f" It is {_at_most_99(found.first.top_tenth)} likely to be {_among_the_worst(found)}."


def _among_the_worst(found: Offenders) -> str:
    """The tenth that mislead most often: of 10 documents one, of 11 two."""
    tenth = math.ceil(found.retrieved / 10)
    if tenth == 1:
        return f"the worst of {found.retrieved:,} retrieved documents"
    return f"in the worst tenth ({tenth:,} of {found.retrieved:,} retrieved documents)"


def _counts(document: Offender) -> tuple[int, int, int]:
    return document.samples, document.open_samples, document.retrieved


def _too_little_to_tell(found: Offenders) -> str:
    """That the first of several is not sure enough to be named as the one to look at."""
    leading, *others = found.documents
    level = [document for document in others if _counts(document) == _counts(leading)]
    lead = f"and {len(level):,} more lead: each" if level else "leads: it"
    misled = extent((leading.samples, leading.samples + leading.open_samples), ",")
    samples = f"{misled} of the {leading.retrieved:,} samples"
    if leading.retrieved == 1:
        samples = "the only sample"
    leads = f"{document_name(leading.document)} {lead} misled in {samples} that retrieved it."
    if found.retrieved < _FEWEST_DOCUMENTS:
        return f"{leads} {_order(found)}"
    probability = f"{leading.top_tenth:.0%}"
    if probability == f"{SURE:.0%}":
        probability = f"just under {probability}"
    subject = "Each" if level else "It"
    return (
        f"{leads} {subject} is {probability} likely to be {_among_the_worst(found)}; from "
        f"{SURE:.0%} on that counts as sure."
    )


def _order(found: Offenders) -> str:
    """Do the intervals of the rates tell the first document from the others?"""
    leading, *others = found.documents
    highest = max((document.interval.high for document in others), default=math.inf)
    if leading.interval.low > highest:
        return "The interval of its rate lies above those of the others."
    return "Where the intervals of the rates overlap, the order may be chance."


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
        yield _mean_by_people(mode, mean)
    for kind, cells in found.cells.items():
        if cells.counts.compared:
            yield f"{_QUESTIONS[kind]} {_errors(cells)}."


def _mean_by_people(mode: Mode, mean: PPIMean) -> str:
    """The mean that people would find, and how far the judge's may be from it."""
    if is_exact(mean):
        people = extent(mean.mean, ".4f")
        by_people = f"people find a mean of {people} (exact: every sample is labeled)"
    else:
        people = interval_text(mean.interval)
        by_people = f"people would find a mean of {people} in these results"
    judges = extent(mean.judge_mean, ".4f")
    return f"In the {mode} mode {by_people}, where the judge finds {judges}, {_off(mean)}."


def is_exact(mean: PPIMean) -> bool:
    """Is there nothing to estimate? Every sample is labeled, and no label that counts is open."""
    return not mean.unlabeled and mean.mean.value is not None


def _off(mean: PPIMean) -> str:
    """By how much the judge's mean is too low or too high, as far as the labels tell."""
    least = round(mean.interval.low - mean.judge_mean.high, 4)
    most = round(mean.interval.high - mean.judge_mean.low, 4)
    if least > 0:
        return f"too low by {_between(least, most)}"
    if most < 0:
        return f"too high by {_between(-most, -least)}"
    at_most: list[str] = []
    if most > 0:
        at_most.append(f"{most:.2g} too low")
    if least < 0:
        at_most.append(f"{-least:.2g} too high")
    if not at_most:
        return "the same"
    return f"at most {' or '.join(at_most)}"


def _between(low: float, high: float) -> str:
    return f"{low:.4g}" if low == high else f"{low:.2g} to {high:.2g}"


_QUESTIONS: dict[CellKind, str] = {
    "correct": "Is a claim in the reference?",
    "response": "Is a response claim in a chunk?",
    "reference": "Is a reference claim in a chunk?",
}


def _errors(cells: CellAgreement) -> str:
    """How often the judge says the opposite of people, for one kind of question."""
    counts = cells.counts
    no = counts.false_yes + counts.both_no
    yes = counts.missed + counts.both_yes
    if no:
        rate = _rate(counts.false_yes, no, cells.false_yes)
        false_yes = f"Where people say no, the judge says yes in {rate}"
    else:
        false_yes = "No label says no"
    if yes:
        rate = _rate(counts.missed, yes, cells.false_no)
        false_no = f"where people say yes, the judge says no in {rate}"
    else:
        false_no = "no label says yes"
    return f"{false_yes}; {false_no}"


def _rate(errors: int, labels: int, rate: Rate) -> str:
    """Errors of all labels, with their share and its interval."""
    share = f"{errors / labels:.1%}"
    if rate.interval:
        share += f", interval {interval_text(rate.interval, percent=True)}"
    return f"{errors:,} of {labels:,} ({share})"
