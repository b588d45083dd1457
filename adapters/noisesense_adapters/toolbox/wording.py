"""What figures say, in the words that the commands and the report share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from noisesense import Estimate, Offender, Summary, Trust
from noisesense.ablation import Ablation
from noisesense.scoring.outcomes import extent
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


def culprit(ranking: Sequence[Offender]) -> Offender | None:
    """The first of a ranking, if it explains more claims than the second, or more alone, whatever
    is open of the others."""
    first, *others = ranking or (None,)
    if first is None or not first.claims:
        return None
    tied = (first.claims, first.alone) in [(each.claims, each.alone) for each in others[:1]]
    more = any(each.claims + each.undetermined > first.claims for each in others)
    return None if tied or more else first


def trust_sentence(found: Trust) -> str:
    """The means, if there are any, and the errors in each kind of cell, in words."""
    means = [
        f"people would find a mean ({mode} mode) of {mean.interval.low:.4f} to "
        f"{mean.interval.high:.4f} where {found.judge} finds {extent(mean.judge_mean, '.4f')}"
        for mode, mean in found.means.items()
    ]
    errors = [
        f"{_rate(each.false_yes)} false yes and {_rate(each.false_no)} false no {_WHERE[kind]}"
        for kind, each in found.cells.items()
        if each.counts.compared
    ]
    said = f"{found.judge} has {', '.join(errors)} ({found.compared:,} labeled verdicts)."
    return "; ".join([*means, said]) if means else said


_WHERE: dict[CellKind, str] = {
    "correct": "in claims against the reference",
    "response": "in response claims against chunks",
    "reference": "in reference claims against chunks",
}


def _rate(rate: Rate) -> str:
    if rate.value is None:
        return "an unknown share of"
    between = f" ({extent(rate.interval[:2], '.1%')})" if rate.interval else ""
    return f"{rate.value:.1%}{between}"


def _span(estimate: Estimate, form: str) -> str:
    found = estimate.interval
    return extent(found[:2], form) if found else "too few samples for an interval"


def _between(ends: Estimate, form: str) -> str:
    text = extent(ends[:2], form)
    return text if ends.value is not None else f"between {text.replace(' to ', ' and ')}"


def _number(share: Estimate) -> str:
    return extent((share.low * share.size, share.high * share.size), ".0f")


def ablation_sentences(found: Ablation) -> Iterator[str]:
    """What an ablation found."""
    again, without, effect = found.again, found.without, found.effect
    of = "claims that came from a chunk and are not in the reference"
    if not found.claims:
        yield "No claim came from a chunk and is not in the reference: there is nothing to ablate."
    elif again and without and effect:
        yield (
            f"Of {effect.size} {of}, {_number(again)} were said again with the same chunks and "
            f"{_number(without)} without the chunks they came from: {_between(effect, '.0%')} "
            f"({_span(effect, '.0%')}) of them go when the chunk goes."
        )
    elif said := without or again:
        how = "without the chunks they came from" if without else "with the same chunks"
        yield f"Of {said.size} {of}, {_number(said)} were said again {how}."
        yield "This is no effect: what goes by chance is known only from both, again and without."
    if found.perfect_reranker:
        before, after, change = found.perfect_reranker
        way = "falls" if change.high < 0 else "rises" if change.low > 0 else "goes"
        yield (
            f"With relevant chunks alone, noise sensitivity {way} from {_between(before, '.2f')} "
            f"to {_between(after, '.2f')} (difference {_span(change, '+.2f')})."
        )
    if found.growth:
        yield (
            f"Each {found.step} distractors more add {_between(found.growth, '.2f')} "
            f"({_span(found.growth, '.2f')}) to noise sensitivity."
        )
    yield from (f"Left out: {count} {reason}." for reason, count in found.left_out.items())
