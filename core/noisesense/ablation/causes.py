"""Which documents did it: what became of the noisy claims that each of them entails."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from noisesense.ablation.planning import Case
from noisesense.scoring.outcomes import Range
from noisesense.verdicts.sample import Chunk

SAID = Range(1.0, 1.0)
NOT_SAID = Range(0.0, 0.0)
OPEN = Range(0.0, 1.0)


class Cause(NamedTuple):
    """What became of the noisy claims that a document entails, where their chunks were taken.

    Attributes:
        document: its id, or its text where it has none.
        claims: those that have both answers.
        again: how many of them were said again with the same chunks.
        gone: of those, how many not without the chunks that entail them.
        shared: of `gone`, how many where chunks of other documents went, too: all chunks of a
            sample's noisy claims are taken away at once.
        again_of_others: how many claims were said again of those that also have an answer without
            as many other chunks. A sample may have too few others to take away.
        gone_with_others: of these, how many not without the others; None where none was answered.
    """

    document: str
    claims: int
    again: Range
    gone: Range
    shared: Range
    again_of_others: Range
    gone_with_others: Range | None


def went(again: Range, now: Range) -> Range:
    """Is a claim gone that was said again? Open where it is open whether it was said again."""
    if again == SAID:
        return Range(1 - now.high, 1 - now.low)
    return OPEN if again.high else NOT_SAID


def total(ranges: Iterable[Range]) -> Range:
    """Range of the sum."""
    low = 0.0
    high = 0.0
    for part in ranges:
        low += part.low
        high += part.high
    return Range(low, high)


class _ClaimFate(NamedTuple):
    """What became of one noisy claim.

    Attributes:
        again: was it said again with the same chunks?
        gone: if so, is it gone without the chunks that it comes from?
        gone_with_others: if so, is it without as many others? None where that was not answered.
    """

    again: Range
    gone: Range
    gone_with_others: Range | None


def _claim_fates(case: Case) -> list[_ClaimFate]:
    """The fate of each noisy claim; empty if their chunks were not taken away."""
    others = case.answers.get("without-other")
    fates: list[_ClaimFate] = []
    for number, (again, without) in enumerate(case.said_in("again", "without")):
        gone_with_others = None if others is None else went(again, others.said[number])
        fates.append(_ClaimFate(again, went(again, without), gone_with_others))
    return fates


class _OfDocument(NamedTuple):
    """What became of a noisy claim that a document entails, and whether others went as well."""

    fate: _ClaimFate
    shared: bool


def _name(chunk: Chunk) -> str:
    """The document's id, or the text of a chunk without one."""
    return chunk.id or chunk.text


def _by_document(cases: Iterable[Case]) -> dict[str, list[_OfDocument]]:
    """The fates of the noisy claims that each document entails, by document."""
    by_document = defaultdict[str, list[_OfDocument]](list)
    for case in cases:
        fates = _claim_fates(case)
        if not fates:
            continue
        chunks = case.sample.retrieved_contexts
        taken = {_name(chunk) for chunk in chunks if chunk.text in case.sources}
        for claim, fate in zip(case.noisy, fates, strict=True):
            documents = {_name(chunks[position]) for position in claim.entailed_by}
            for document in documents:
                by_document[document].append(_OfDocument(fate, shared=taken != {document}))
    return by_document


def _cause(document: str, of_document: Sequence[_OfDocument]) -> Cause:
    again: list[Range] = []
    gone: list[Range] = []
    shared: list[Range] = []
    again_of_others: list[Range] = []
    gone_with_others: list[Range] = []
    for fate, is_shared in of_document:
        again.append(fate.again)
        gone.append(fate.gone)
        if is_shared:
            shared.append(fate.gone)
        if fate.gone_with_others is not None:
            again_of_others.append(fate.again)
            gone_with_others.append(fate.gone_with_others)
    return Cause(
        document=document,
        claims=len(of_document),
        again=total(again),
        gone=total(gone),
        shared=total(shared),
        again_of_others=total(again_of_others),
        gone_with_others=total(gone_with_others) if gone_with_others else None,
    )


def causes_of(cases: Iterable[Case]) -> tuple[Cause, ...]:
    """What each document did; those first with which most claims went."""
    causes = [_cause(document, fates) for document, fates in _by_document(cases).items()]
    causes.sort(key=lambda cause: (-sum(cause.gone), -cause.claims, cause.document))
    return tuple(causes)
