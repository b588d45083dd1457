"""What figures say, in the words that the commands and the report share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from noisesense import Estimate, Offenders, Range, Summary, Trust
from noisesense.ablation import Ablation, Cause, Fate, direction
from noisesense.scoring.outcomes import extent
from noisesense.stats.interval import interval_text
from noisesense.stats.labels_cells import CellKind, Rate
from noisesense.stats.summarize import counted


class Headline(NamedTuple):
    """The main message, and the counts behind it."""

    message: str
    rest: str


def headline(summary: Summary) -> Headline:
    """How many claims the retrieved chunks misled, and what there was nothing to measure of.

    Does not depend on the definition.
    """
    kinds, found = summary.partition, summary.from_chunks
    if not kinds.total:
        return Headline("Nothing was measured", f"{summary.unmeasured or 'There are no results'}.")
    amount, one = f"{found.noisy:,}", found.noisy == 1 or kinds.total == 1
    if found.highest != found.noisy:
        amount, one = f"{found.noisy:,} to {found.highest:,}", kinds.total == 1
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
    """

    document: str
    again: Range
    gone: Range


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
    most = guiltiest(caused)
    if most is not None:
        yield (
            f"By the ablation most claims go with {document_name(most.document)}: "
            f"{extent(most.gone, '.0f')} of {extent(most.again, '.0f')} that were said again with "
            "the same chunks were not said without it."
        )
    first = found.first
    if first is not None:
        yield (
            f"Look first at {document_name(first.document)}: {first.claims:,} of them. With a "
            f"probability of {_at_most_99(first.top_tenth)} it is among the tenth of the "
            "retrieved documents that mislead most often."
        )
    elif sum(each.claims > 0 for each in found.documents) > 1:
        yield (
            "No document stands out: of none is it likely enough (90%) that it is among the tenth "
            "of the retrieved documents that mislead most often."
        )
    if found.terse:
        yield (
            f"Of {counted(found.true_looking, 'claim')} that the reference or a relevant chunk "
            f"supports, {found.unmentioned:,} are in no reference. If the references leave out "
            'what is true, correct documents stand first: "noisesense ablation" shows which ones '
            "cause anything."
        )


def _at_most_99(share: float) -> str:
    return "over 99%" if share > 0.99 else f"{share:.0%}"


def trust_sentence(found: Trust) -> str:
    """The means, if there are any, and the errors in each kind of cell, in words."""
    means = [
        f"people would find a mean ({mode} mode) of {interval_text(mean.interval)} in these "
        f"results where it finds {extent(mean.judge_mean, '.4f')}"
        for mode, mean in found.means.items()
    ]
    errors = [
        f"{_rate(each.false_yes)} false yes and {_rate(each.false_no)} false no {_WHERE[kind]}"
        for kind, each in found.cells.items()
        if each.counts.compared
    ]
    rates = f"has {', '.join(errors)} ({found.compared:,} labeled verdicts)."
    if not means:
        return f"{found.judge} {rates}"
    return f"{found.judge}: {'; '.join(means)}. It {rates}"


_WHERE: dict[CellKind, str] = {
    "correct": "in claims against the reference",
    "response": "in response claims against chunks",
    "reference": "in reference claims against chunks",
}


def _rate(rate: Rate) -> str:
    if rate.value is None:
        return "an unknown share of"
    between = f" ({interval_text(rate.interval, percent=True)})" if rate.interval else ""
    return f"{rate.value:.1%}{between}"


def cause_sentence(found: Ablation) -> str | None:
    """What an ablation found, in short; None where it cannot tell."""
    fate = found.without
    sham = found.without_other
    if fate is None or fate.gone is None:
        return None
    gone = f"{_percent(fate.gone)} ({_span(fate.gone)})"
    said = f"{gone} of the claims that were said again go with their chunks"
    if sham is not None and sham.gone is not None:
        said += f", {_percent(sham.gone)} ({_span(sham.gone)}) with other chunks"
    return f"{said}."


def ablation_sentences(found: Ablation) -> Iterator[str]:
    """What an ablation found."""
    if not found.claims:
        yield "No chunk entails a claim that the reference does not support: none was taken away."
    if found.without is not None:
        yield from _guilty_chunks(found, found.without)
    if found.no_context is not None:
        counts = _said_again(found.no_context, "claims", "without any")
        yield f"Counted apart, where those are all the chunks there are: {counts}."
    if reranked := found.changes.get("relevant-only"):
        yield (
            f"With relevant chunks alone {_percent(reranked.after)} of a response's claims, on "
            "average, are not supported by the reference, with the same chunks as before "
            f"{_percent(reranked.before)} ({counted(reranked.change.size, 'sample')}): "
            f"{_difference(reranked.change)}."
        )
    if found.trend is not None:
        steps = [f"{step.fewer} to {step.more} {_points(step.change)}" for step in found.growth]
        yield (
            f"At each step of more distractors {found.trend} of a response's claims are not "
            f"supported by the reference, in percentage points: {', '.join(steps)}."
        )
    yield from (f"Left out: {count} {reason}." for reason, count in found.left_out.items())


def _guilty_chunks(found: Ablation, fate: Fate) -> Iterator[str]:
    """What goes with the chunks that noisy claims come from, and what goes with others."""
    which = "claims that a chunk entails and the reference does not support"
    counts = _said_again(fate, which, "without the chunks that entail them")
    if fate.gone is None:
        yield f"{counts}: what the chunks do cannot be told."
        return
    yield f"{counts}: {_percent(fate.gone)} ({_span(fate.gone)}) go with these chunks."
    sham = found.without_other
    if sham is None or sham.gone is None or found.effect is None:
        yield (
            "No effect of these chunks is shown: how many go with other chunks (without-other) "
            "is not known."
        )
        return
    kept = f"{_still_said(sham.gone)} of {_number(sham.again)} were said"
    gone = f"{_percent(sham.gone)} ({_span(sham.gone)})"
    yield f"With as many other chunks away instead, {kept}: {gone} go with others."
    sign = direction(found.effect)
    verdict = "No effect of these chunks is shown" if sign is None else "So these chunks matter"
    if sign == "less":
        verdict = "The other chunks matter more"
    yield f"{verdict}: the difference is {_points(found.effect)} percentage points."


def _said_again(fate: Fate, which: str, how: str) -> str:
    """How many were said again, and how many of those under the variant."""
    again = _number(fate.again)
    said = f"{again} of {fate.claims} {which} were said again with the same chunks"
    if fate.gone is None:
        return said
    return f"{said}; of those {again}, {_still_said(fate.gone)} {how}"


def _still_said(gone: Estimate) -> str:
    kept = Range(gone.size * (1 - gone.high), gone.size * (1 - gone.low))
    return _number(kept)


def _number(counts: Range) -> str:
    text = extent(counts, ".0f")
    return "none" if text == "0" else text


def _percent(share: Estimate) -> str:
    ends = extent(share[:2], ".0%")
    return ends if share.value is not None else f"between {ends.replace(' to ', ' and ')}"


def _span(share: Estimate) -> str:
    found = share.interval
    return extent(found[:2], ".0%") if found else "too few samples for an interval"


def _difference(change: Estimate) -> str:
    shown = f"{_points(change)} percentage points"
    return shown if direction(change) else f"no effect is shown, {shown}"


def _points(change: Estimate) -> str:
    """A difference of shares, with its interval."""
    value = _signed(change[:2])
    interval = _signed(change.interval[:2]) if change.interval else "too few samples"
    return f"{value} ({interval})"


def _signed(ends: tuple[float, float]) -> str:
    low, high = (f"{round(100 * end):+d}" for end in ends)
    return low if low == high else f"{low} to {high}"


class Listing(NamedTuple):
    """A table: what it shows, its titles, and rows of as many cells."""

    caption: str
    titles: tuple[str, ...]
    rows: list[tuple[str, ...]]


_DOCUMENTS = 10


def ablation_tables(found: Ablation) -> list[Listing]:
    """The variants beside their control, and the documents; each where there is something."""
    tables: list[Listing] = []
    if found.again is not None:
        caption = "Share of a response's claims that the reference does not support, on average"
        titles = ("variant", "samples", "same chunks", "these chunks", "difference in points")
        tables.append(Listing(caption, titles, _variants(found, found.again)))
    if found.causes:
        caption = "Claims that a document entails and the reference does not support"
        titles = (
            "document",
            "claims",
            "said again",
            "gone without their chunks",
            "gone without others",
        )
        rows = [_document(cause) for cause in found.causes[:_DOCUMENTS]]
        tables.append(Listing(caption, titles, rows))
    return tables


def _variants(found: Ablation, control: Estimate) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    rows.append(("again", f"{control.size:,}", _with_span(control), "", ""))
    for name, (before, after, change) in found.changes.items():
        shares = (_with_span(before), _with_span(after))
        rows.append((name, f"{change.size:,}", *shares, _points(change)))
    return rows


def _with_span(share: Estimate) -> str:
    return f"{_percent(share)} ({_span(share)})"


def _document(cause: Cause) -> tuple[str, ...]:
    others = cause.gone_with_others
    return (
        document_name(cause.document),
        f"{cause.claims:,}",
        extent(cause.again, ".0f"),
        extent(cause.gone, ".0f"),
        "" if others is None else extent(others, ".0f"),
    )
