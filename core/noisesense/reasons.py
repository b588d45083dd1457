"""Outcomes in words: deterministic, no model involved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noisesense.definitions import Mode

if TYPE_CHECKING:
    from noisesense.scoring import ClaimOutcome, Counts, Score

__all__ = ["claim_sentence", "mode_sentence"]

_MAX_CLAIMS = 5
_MAX_TEXT = 120


def claim_sentence(claim: ClaimOutcome) -> str:
    """One claim's outcome, e.g. ``Claim 1 "…" is incorrect and comes from relevant chunk 0.``"""
    return f"{_name(claim)} {_fate(claim)}."


def _fate(claim: ClaimOutcome) -> str:
    if claim.category == "correct":
        return "is correct: the reference entails it"
    if claim.category == "relevant":
        also = claim.irrelevant_chunks
        rest = f", also from irrelevant {_chunks(also)}" if also else ""
        return f"is incorrect and comes from relevant {_chunks(claim.relevant_chunks)}{rest}"
    if claim.category == "irrelevant":
        return f"is incorrect and comes from irrelevant {_chunks(claim.irrelevant_chunks)}"
    if claim.category == "hallucination":
        return "is incorrect and no retrieved chunk entails it"
    return f"is undetermined: there is no verdict on {_open_questions(claim)}"


def _open_questions(claim: ClaimOutcome) -> str:
    gaps: list[str] = []
    if claim.correct is None:
        gaps.append("whether the reference entails it")
    if claim.undetermined_chunks:
        some = claim.undetermined_chunks
        gaps.append(f"whether {_chunks(some)} {'entails' if len(some) == 1 else 'entail'} it")
    if claim.unlabelled_chunks:
        some = claim.unlabelled_chunks
        gaps.append(f"whether {_chunks(some)} {'is' if len(some) == 1 else 'are'} relevant")
    return " nor on ".join(gaps)


def mode_sentence(score: Score, mode: Mode) -> str:
    """One mode's value and the claims behind it."""
    title = f"Noise sensitivity ({mode}, definition {score.definition})"
    counts = score.counts(mode)
    if counts is None:
        return f"{title} is undefined: the definition has no {mode} mode."
    if not counts.total:
        if score.empty == "zero":
            return f"{title} is 0 by convention: the response has no claims."
        return f"{title} is undefined: the response has no claims."
    noisy = [claim for claim in score.claims if getattr(claim, mode) is True]
    head = f"{title} is {_amount(score, mode, counts)}"
    return " ".join([head, *_listed(noisy), *_open(score, mode, counts)])


def _amount(score: Score, mode: Mode, counts: Counts) -> str:
    bounds, value = score.bounds(mode), score.value(mode)
    low, high = bounds or (0.0, 0.0)
    if not counts.undetermined:
        return f"{low:.4g} (lower is better): {_ratio(score, mode, counts.noisy, counts.total)}."
    span = f"it lies between {low:.4g} and {high:.4g}"
    known = _ratio(score, mode, counts.noisy, counts.total)
    if value is None:
        return f"undetermined: {span} (lower is better). For certain, {known}."
    as_what = "noise" if score.undetermined == "high" else "no noise"
    return (
        f"{value:.4g} (lower is better) with what is undetermined counted as {as_what}; {span}. "
        f"For certain, {known}."
    )


def _ratio(score: Score, mode: Mode, noisy: int, total: int) -> str:
    which = "response claims" if total != 1 else "response claim"
    verb = "is" if noisy == 1 or total == 1 else "are"
    return f"{noisy} of {total} {which} {verb} {_counted(score.definition, mode)}"


def _counted(definition: str, mode: Mode) -> str:
    if definition == "validmind" or (definition == "promptfoo" and mode == "relevant"):
        return "incorrect"
    if definition == "promptfoo":
        return "incorrect with an irrelevant chunk as its source"
    if definition == "ragas" and mode == "irrelevant":
        return "incorrect and entailed by irrelevant chunks only"
    which = "a relevant" if mode == "relevant" else "an irrelevant"
    return f"incorrect and entailed by {which} chunk"


def _listed(claims: list[ClaimOutcome]) -> list[str]:
    sentences = [claim_sentence(claim) for claim in claims[:_MAX_CLAIMS]]
    more = len(claims) - _MAX_CLAIMS
    return sentences + ([f"And {more} more."] if more > 0 else [])


def _open(score: Score, mode: Mode, counts: Counts) -> list[str]:
    """The claims of which it is not known whether the mode counts them."""
    if not counts.undetermined:
        return []
    which = "1 claim counts" if counts.undetermined == 1 else f"{counts.undetermined} claims count"
    unknown = [claim for claim in score.claims if getattr(claim, mode) is None]
    return [f"The judge left open whether {which}.", *_listed(unknown)]


def _name(claim: ClaimOutcome) -> str:
    text = " ".join(claim.text.split())
    if len(text) > _MAX_TEXT:
        text = text[: _MAX_TEXT - 1] + "…"
    return f'Claim {claim.index} "{text}"' if text else f"Claim {claim.index}"


def _chunks(found: tuple[int, ...]) -> str:
    if len(found) == 1:
        return f"chunk {found[0]}"
    return f"chunks {', '.join(map(str, found[:-1]))} and {found[-1]}"
