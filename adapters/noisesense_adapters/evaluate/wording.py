"""The sentences that say what results mean, for the terminal and the report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from noisesense import Summary, Trust
from noisesense.scoring.outcomes import extent
from noisesense.stats.figures import Figure, FigureComparison
from noisesense.stats.summarize import counted

if TYPE_CHECKING:  # only the command `ablation` needs it
    from noisesense.ablation import Ablation, Effect


class Headline(NamedTuple):
    """The main message, and the counts behind it."""

    message: str
    rest: str


def headline(summary: Summary) -> Headline:
    """Say how many claims are wrong and came from a document, and what could not be measured.

    It is the same under every definition.
    """
    kinds = summary.partition
    noise = summary.from_chunks
    if not kinds.total:
        return Headline("Nothing was measured", f"{summary.unmeasured.capitalize()}.")
    amount = f"{noise.noisy:,}"
    if noise.highest != noise.noisy:
        amount += f" to {noise.highest:,}"
    verb = "is" if amount == "1" or kinds.total == 1 else "are"
    claims = counted(kinds.total, "claim")
    message = f"{amount} of {claims} {verb} wrong and came from a retrieved document"
    if summary.unmeasured:
        message += f"; {summary.unmeasured}"
    rest = [
        f"{kinds.relevant:,} from relevant documents, {kinds.irrelevant:,} from irrelevant ones"
    ]
    if kinds.hallucination:
        verb = "is" if kinds.hallucination == 1 else "are"
        rest.append(f"{kinds.hallucination:,} more {verb} wrong and in no retrieved document")
    if kinds.undetermined:
        rest.append(f"the judge left {kinds.undetermined:,} open")
    return Headline(message, "; ".join(rest) + ".")


_CHANGES = {
    "left out": "added that its lists had left out",
    "stray": "dropped that are not in the text",
    "beside the question": "dropped that are beside the question",
}


def changed_claims(summary: Summary) -> str:
    """Say how many claims the judge, asked once more, has added and dropped; empty if none."""
    parts: list[str] = []
    for change, words in _CHANGES.items():
        if change in summary.changes:
            parts.append(f"{summary.changes[change]:,} {words}")
    return f"claims the judge was asked about once more: {', '.join(parts)}" if parts else ""


def document_name(text: str, width: int = 60) -> str:
    """Name a document or a question in one line, cut with ``…`` to ``width`` characters.

    Full stops at the end are left out. A blank text is ``no id, no text``, whatever the width.
    """
    name = " ".join(text.split())
    if len(name) > width:
        name = f"{name[: width - 1].rstrip()}…"
    return name.rstrip(".") or "no id, no text"


FIGURE_NAMES: dict[Figure, str] = {
    "relevant": "the relevant mode",
    "irrelevant": "the irrelevant mode",
    "any": "all claims from documents",
    "correct": "correct claims",
}


def by_more(found: FigureComparison) -> str:
    """Return ``" by more than 0.05"`` with the comparison's margin; empty if the margin is 0."""
    return f" by more than {found.margin:.3g}" if found.margin else ""


def standing(found: FigureComparison) -> str:
    """Say what is known of B beside A by one figure, in a few words."""
    within = f"within {found.margin:.3g}"
    if found.decision == "same":
        return f"the same {within}"
    if found.decision != "undecided":
        return found.decision
    if found.worsening is None or found.too_few:
        return "too few to say"
    if found.side is not None:
        return f"{found.side}, maybe {within}"
    return "left open by the judge" if found.left_open else "not clearly different"


def cause_sentence(found: Ablation) -> str | None:
    """Say what became of the claims without their documents; None where that is not known."""
    effect = found.effect
    if effect is None:
        return None
    share = extent(effect.gone.over(effect.claims), ".0%")
    sentence = f"Of the wrong claims from documents, {share} vanish when we remove these"
    others = effect.other_claims
    if others is not None:
        share = extent(others.before, ".0%")
        sentence += f"; of the other claims in the same answers, {share}"
    return f"{sentence}."


def ablation_sentences(found: Ablation) -> Iterator[str]:
    """Yield sentences that say what an ablation found."""
    if not found.claims:
        yield "No wrong claim came from a document: none was removed."
    cause = cause_sentence(found)
    if cause is not None:
        yield cause
    if found.effect is not None:
        yield _effect_sentence(found.effect)
    for document in found.causes:
        if document.is_shown and not document.entails:
            name = document_name(document.document)
            yield f"Wrong claims that are in no document vanish without {name}."
    for reason, count in found.left_out.items():
        nouns, _, rest = reason.partition(" ")
        yield f"Note: {counted(count, nouns.removesuffix('s'))} {rest}."


def _effect_sentence(effect: Effect) -> str:
    """Say whether the documents that the wrong claims came from matter."""
    from noisesense.stats.paired import MIN_PAIRS

    if effect.is_shown:
        return "So these documents matter."
    if effect.samples < MIN_PAIRS:
        return f"Too few samples to tell whether these documents matter: it takes {MIN_PAIRS}."
    if effect.low == -1:
        return f"It cannot be told whether these matter: a control has under {MIN_PAIRS} samples."
    return "No effect of these documents is shown."


def trust_sentence(found: Trust) -> str:
    """Say how many of the judge's verdicts were compared, and with whose labels."""
    labels = "the labels" if found.labels_by is None else f"the labels of {found.labels_by}"
    return f"{counted(found.compared, 'verdict')} of {found.judge} compared with {labels}."
