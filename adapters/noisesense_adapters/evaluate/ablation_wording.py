"""What an ablation says, in the words that its command and the report share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from noisesense import Estimate, Range
from noisesense.ablation import Ablation, Cause, Fate, direction
from noisesense.ablation.effect import NOT_JUDGED, TOO_FEW_OTHERS
from noisesense.scoring.outcomes import extent
from noisesense.stats.paired import MIN_PAIRS
from noisesense.stats.summarize import counted
from noisesense_adapters.evaluate.wording import document_name, shared_text


def cause_sentence(found: Ablation) -> str | None:
    """What an ablation found, in short; None where it cannot tell."""
    fate = found.without
    sham = found.without_other
    if fate is None or fate.gone is None:
        return None
    gone = f"{_with_span(fate.gone)} are gone without their chunks"
    sentence = f"Of the claims that were said again with the same chunks {gone}"
    if sham is not None and sham.gone is not None:
        sentence += f", {_with_span(sham.gone)} without other chunks"
    if found.effect is not None and direction(found.effect) is None:
        if _units(found.effect) < MIN_PAIRS:
            sentence += "; too few samples have both to compare"
        else:
            sentence += "; no difference is shown"
    return f"{sentence}."


def ablation_sentences(found: Ablation) -> Iterator[str]:
    """What an ablation found."""
    if not found.claims:
        yield "No chunk entails a claim that the reference does not support: none was taken away."
    if found.without is not None:
        yield from _guilty_chunks(found, found.without)
    if found.no_context is not None:
        # The chunks that entail the claims are all that were retrieved.
        counts = _said_again(found.no_context, "claims", "without any")
        yield f"Counted apart, where those are all the chunks there are: {counts}."
    reranked = found.changes.get("relevant-only")
    if reranked is not None:
        samples = counted(reranked.change.size, "sample")
        yield (
            f"With relevant chunks alone {_percent(reranked.after)} of a response's claims, on "
            "average, are not supported by the reference, with the same chunks as before "
            f"{_percent(reranked.before)} ({samples}): {_difference(reranked.change)}."
        )
    if found.trend is not None:
        steps = [f"{step.fewer} to {step.more} {_points(step.change)}" for step in found.growth]
        yield (
            f"At each step of more distractors {found.trend} of a response's claims are not "
            f"supported by the reference, in percentage points: {', '.join(steps)}."
        )
    for reason, count in found.left_out.items():
        yield _left_out(reason, count)


def _left_out(reason: str, count: int) -> str:
    """What was not used, and why. A reason begins with a noun in the plural."""
    nouns, _, rest = reason.partition(" ")
    amount = f"{counted(count, nouns.removesuffix('s'))} {rest}."
    return amount if reason.startswith(NOT_JUDGED) else f"Left out: {amount}"


def _guilty_chunks(found: Ablation, fate: Fate) -> Iterator[str]:
    """What goes with the chunks that noisy claims come from, and what goes with others."""
    which = "claims that a chunk entails and the reference does not support"
    counts = _said_again(fate, which, "without the chunks that entail them")
    if fate.gone is None:
        yield f"{counts}: what the chunks do cannot be told."
        return
    yield f"{counts}: {_with_span(fate.gone)} go with these chunks."
    sham = found.without_other
    if sham is None or sham.gone is None or found.effect is None:
        yield (
            "No effect of these chunks is shown: how many go with other chunks (without-other) "
            "is not known."
        )
        return
    kept = f"{_still_said(sham.gone)} of {_number(sham.again)} were said"
    gone = _with_span(sham.gone)
    yield f"With as many other chunks away instead, {kept}: {gone} go with others."
    yield _effect(found.effect, found.left_out.get(TOO_FEW_OTHERS, 0))


def _effect(effect: Estimate, no_control: int) -> str:
    """Do more claims go with their own chunks than with others?"""
    difference = f"the difference is {_points(effect)} percentage points"
    sign = direction(effect)
    if sign == "more":
        return f"So these chunks matter: {difference}."
    if sign == "less":
        return f"The other chunks matter more: {difference}."
    units = _units(effect)
    if units < MIN_PAIRS:
        there_are = "is 1" if units == 1 else f"are {units}"
        if no_control:
            there_are += f"; {no_control:,} more had too few other chunks to take away as many"
        return (
            "Whether more go with these chunks than with others cannot be told: it takes "
            f"{MIN_PAIRS} samples (or clusters) to compare, and there {there_are}. So far "
            f"{difference}."
        )
    return f"No effect of these chunks is shown: {difference}, an interval that holds 0."


def _units(change: Estimate) -> int:
    """Over how many samples, or clusters, the interval is; one alone has none."""
    return 1 if change.interval is None else change.interval.units


def _said_again(fate: Fate, which: str, how: str) -> str:
    """How many were said again, and how many of those under the variant."""
    again = _number(fate.again)
    said = f"{again} of {fate.claims} {which} were said again with the same chunks"
    if fate.gone is None:
        return said
    return f"{said}; of those {again}, {_still_said(fate.gone)} {how}"


def _still_said(gone: Estimate) -> str:
    """How many claims did not go."""
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
    if direction(change):
        return shown
    if _units(change) < MIN_PAIRS:
        return f"too few to tell (it takes {MIN_PAIRS}), {shown}"
    return f"no effect is shown, {shown}"


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
    titles: tuple[str, ...]
    if found.again is not None:
        caption = (
            "Share of a response's claims that the reference does not support, on average over "
            "the samples whose responses claim something both ways"
        )
        titles = (
            "variant",
            "samples",
            "claim nothing",
            "same chunks",
            "with this variant",
            "difference in points",
        )
        tables.append(Listing(caption, titles, _variants(found, found.again)))
    if found.causes:
        caption = "Claims that a document entails and the reference does not support"
        if any(cause.shared.high for cause in found.causes[:_DOCUMENTS]):
            caption += " (shared: other documents were taken away, too)"
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
    """A row for the repeat with the same chunks, and one for each variant.

    A variant without a sample to compare has only the count of its answers that claim nothing.
    """
    claim_nothing = {name: f"{count:,}" for name, count in found.silent.items()}
    rows: list[tuple[str, ...]] = []
    again = claim_nothing.get("again", "0")
    rows.append(("again", f"{control.size:,}", again, _with_span(control), "", ""))
    for name, (before, after, change) in found.changes.items():
        shares = (_with_span(before), _with_span(after))
        count = claim_nothing.get(name, "0")
        rows.append((name, f"{change.size:,}", count, *shares, _points(change)))
    for name, count in claim_nothing.items():
        if name != "again" and name not in found.changes:
            rows.append((name, "0", count, "", "", ""))
    return rows


def _with_span(share: Estimate) -> str:
    return f"{_percent(share)} ({_span(share)})"


def _document(cause: Cause) -> tuple[str, ...]:
    others = ""
    if cause.gone_with_others is not None:
        gone = extent(cause.gone_with_others, ".0f")
        others = f"{gone} of {extent(cause.again_of_others, '.0f')}"
    return (
        document_name(cause.document),
        f"{cause.claims:,}",
        extent(cause.again, ".0f"),
        f"{extent(cause.gone, '.0f')}{shared_text(cause.shared)}",
        others,
    )
