"""A score in words: deterministic, no model involved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from noisesense.scoring.definitions import Mode
from noisesense.scoring.outcomes import ClaimOutcome, Counts

_MAX_CLAIMS = 5


class Scored(Protocol):
    """What the words are made of; a `Score` has it."""

    @property
    def definition(self) -> str: ...
    @property
    def empty(self) -> str: ...
    @property
    def undetermined(self) -> str: ...
    def counts(self, mode: Mode) -> Counts | None: ...
    def bounds(self, mode: Mode) -> tuple[float, float] | None: ...
    def value(self, mode: Mode) -> float | None: ...


def mode_sentence(score: Scored, claims: Sequence[ClaimOutcome], mode: Mode) -> str:
    """One mode's value and the claims behind it."""
    title = f"Noise sensitivity ({mode}, definition {score.definition})"
    counts = score.counts(mode)
    if counts is None:
        return f"{title} is undefined: the definition has no {mode} mode."
    if not counts.total:
        if score.empty == "zero":
            return f"{title} is 0 by convention: the response has no claims."
        return f"{title} is undefined: the response has no claims."
    noisy = [claim for claim in claims if getattr(claim, mode) is True]
    head = f"{title} is {_amount(score, mode, counts)}"
    return " ".join([head, *_listed(noisy), *_open(claims, mode, counts)])


def _amount(score: Scored, mode: Mode, counts: Counts) -> str:
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


def _ratio(score: Scored, mode: Mode, noisy: int, total: int) -> str:
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
    sentences = [claim.sentence for claim in claims[:_MAX_CLAIMS]]
    more = len(claims) - _MAX_CLAIMS
    return sentences + ([f"And {more} more."] if more > 0 else [])


def _open(claims: Sequence[ClaimOutcome], mode: Mode, counts: Counts) -> list[str]:
    """The claims of which it is not known whether the mode counts them."""
    if not counts.undetermined:
        return []
    which = "1 claim counts" if counts.undetermined == 1 else f"{counts.undetermined} claims count"
    unknown = [claim for claim in claims if getattr(claim, mode) is None]
    return [f"The judge left open whether {which}.", *_listed(unknown)]
