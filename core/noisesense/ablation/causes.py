"""What became of claims whose chunks were taken away, beside three controls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from noisesense.ablation.cases import Case, document_of, left_out
from noisesense.scoring.outcomes import Range, Record
from noisesense.stats.interval import (
    Estimate,
    Interval,
    Resampling,
    Units,
    dirichlet_interval,
    estimate,
    mean_range,
)
from noisesense.stats.paired import MIN_PAIRS, fewest_pairs


def difference(confidence: float = 0.95) -> Callable[[Units], Interval | None]:
    """The interval of a mean difference of shares, from -1 to 1; of one unit None."""
    resampling = Resampling(confidence)

    def interval_of(units: Units) -> Interval | None:
        if sum(units.values()) < 2:
            return None
        return dirichlet_interval(units, resampling, (-1.0, 1.0))

    return interval_of


def is_above_zero(change: Estimate) -> bool:
    """Is a difference surely above 0? Never of few samples."""
    interval = change.interval
    if interval is None:
        return False
    return interval.units >= fewest_pairs((1 - interval.confidence) / 2) and interval.low > 0


class Control(NamedTuple):
    """The followed claims beside a control, over the claims that have it.

    Attributes:
        claims: how many have it.
        gone: the share of them that is gone without the chunks.
        control: the share that is gone in the control.
        difference: ``gone - control``, with the samples as clusters.
    """

    claims: int
    gone: Range
    control: Range
    difference: Estimate


@dataclass(frozen=True)
class Effect(Record):
    """What became of claims without chunks.

    Attributes:
        claims: those that were followed.
        samples: in how many samples, or clusters of them.
        gone: how many of the claims the answers without the chunks do not say.
        other_claims: beside the other claims of the same answers, as a judge's errors and other
            words make claims go, too; None where the answers have none.
        again: beside the same claims in answers with the same chunks.
        other_chunks: beside the same claims in answers without other chunks.
    """

    _derived = ("is_shown", "low")

    claims: int
    samples: int
    gone: Range
    other_claims: Control | None
    again: Control | None
    other_chunks: Control | None

    @property
    def controls(self) -> tuple[Control, ...]:
        """Those there are."""
        controls = (self.other_claims, self.again, self.other_chunks)
        return tuple(control for control in controls if control is not None)

    @property
    def is_shown(self) -> bool:
        """Do surely more claims go without the chunks than in each of the three controls?"""
        controls = self.controls
        return len(controls) == 3 and all(is_above_zero(each.difference) for each in controls)

    @property
    def low(self) -> float:
        """The least low end of the differences; -1 where one has no interval."""
        lows: list[float] = []
        for control in self.controls:
            interval = control.difference.interval
            lows.append(-1.0 if interval is None else interval.low)
        return min(lows) if len(lows) == 3 else -1.0


class Cause(NamedTuple):
    """What became of claims without a document.

    Attributes:
        document: its id, or its text where it has none.
        entails: whether it entails the claims. Else they are wrong claims that no chunk entails,
            of answers that it was retrieved for, and it alone was left out.
        claims: how many there are.
        shared: of how many chunks of other documents were taken away, too: all chunks of a
            sample's noisy claims are taken away at once.
        gone: the share of them that is gone without it.
        gone_without_others: the share of them that is gone without other chunks instead; None
            where no such answers are.
        low: `Effect.low`, where all documents in the list together have a confidence of 95%: the
            more there are, the wider is the interval of each.
        is_shown: see `Effect`.
    """

    document: str
    entails: bool
    claims: int
    shared: int
    gone: Range
    gone_without_others: Range | None
    low: float
    is_shown: bool


class Arm(NamedTuple):
    """The answers of a case without some chunks.

    Attributes:
        variant: that of the answers.
        followed: the claims that may go with the chunks.
        others: the claims of the same answers that have lost nothing.
        shams: the variants without other chunks.
    """

    case: Case
    variant: str
    followed: Sequence[int]
    others: Sequence[int]
    shams: Sequence[str]

    def other_claims_gone(self, _: int) -> Range | None:
        """The share of the other claims of the answer that are gone."""
        return self.case.gone(self.variant, self.others)

    def gone_again(self, claim: int) -> Range | None:
        """Is the claim gone with the same chunks?"""
        return self.case.gone("again", [claim])

    def gone_without_others(self, claim: int) -> Range | None:
        """The share of the answers without other chunks that do not say the claim."""
        gone = [self.case.gone(sham, [claim]) for sham in self.shams]
        return mean_range([share for share in gone if share is not None])


def arms_of(cases: Iterable[Case]) -> list[Arm]:
    """The answers without the noisy claims' chunks, and those without one document."""
    arms: list[Arm] = []
    for case in cases:
        if "without" in case.answers:
            others = case.others(case.noisy, case.sources)
            arms.append(Arm(case, "without", case.noisy, others, ("without-other",)))
        variants = [name for name in case.answers if left_out(name) is not None]
        for variant in variants:
            position = left_out(variant)
            assert position is not None
            others = case.others(case.unexplained, case.chunks_of(position))
            shams = [name for name in variants if name != variant]
            arms.append(Arm(case, variant, case.unexplained, others, shams))
    return arms


Followed = tuple[Arm, int]
"""A claim that is followed in an arm."""


def effect_of(followed: Sequence[Followed], confidence: float = 0.95) -> Effect:
    """What became of these claims."""
    gone = [arm.case.gone(arm.variant, [claim]) for arm, claim in followed]
    return Effect(
        claims=len(followed),
        samples=len({arm.case.unit for arm, _ in followed}),
        gone=_total(share for share in gone if share is not None),
        other_claims=_control(followed, Arm.other_claims_gone, confidence),
        again=_control(followed, Arm.gone_again, confidence),
        other_chunks=_control(followed, Arm.gone_without_others, confidence),
    )


def _total(ranges: Iterable[Range]) -> Range:
    low = 0.0
    high = 0.0
    for part in ranges:
        low += part.low
        high += part.high
    return Range(low, high)


def _control(
    followed: Sequence[Followed],
    control_of: Callable[[Arm, int], Range | None],
    confidence: float,
) -> Control | None:
    """The claims beside a control; None where none of them has it."""
    gone: list[Range] = []
    controls: list[Range] = []
    differences: list[tuple[Hashable, Range]] = []
    for arm, claim in followed:
        share = arm.case.gone(arm.variant, [claim])
        control = control_of(arm, claim)
        if share is not None and control is not None:
            gone.append(share)
            controls.append(control)
            differences.append((arm.case.unit, share.minus(control)))
    mean = mean_range(gone)
    of_control = mean_range(controls)
    change = estimate(differences, difference(confidence))
    if mean is None or of_control is None or change is None:
        return None
    return Control(len(gone), mean, of_control, change)


class _Suspect(NamedTuple):
    """A document, and whether it entails the claims that are followed."""

    document: str
    entails: bool


def causes_of(arms: Iterable[Arm]) -> tuple[Cause, ...]:
    """What became of claims without each document; the surest cause first.

    A document that too few samples say something of is in the list; it is no test.
    """
    followed = defaultdict[_Suspect, list[Followed]](list)
    shared = defaultdict[_Suspect, int](int)
    for arm in arms:
        chunks = arm.case.sample.retrieved_contexts
        position = left_out(arm.variant)
        for claim in arm.followed:
            if position is not None:
                suspect = _Suspect(document_of(chunks[position]), entails=False)
                followed[suspect].append((arm, claim))
                continue
            taken = {document_of(chunk) for chunk in chunks if chunk.text in arm.case.sources}
            entailing = arm.case.claims[claim].entailed_by
            for document in {document_of(chunks[chunk]) for chunk in entailing}:
                suspect = _Suspect(document, entails=True)
                followed[suspect].append((arm, claim))
                shared[suspect] += len(taken) > 1
    tests = 0
    for claims in followed.values():
        tests += len({arm.case.unit for arm, _ in claims}) >= MIN_PAIRS
    confidence = 1 - (1 - 0.95) / max(tests, 1)
    causes: list[Cause] = []
    for suspect, claims in followed.items():
        effect = effect_of(claims, confidence)
        others = effect.other_chunks
        cause = Cause(
            *suspect,
            claims=len(claims),
            shared=shared[suspect],
            gone=effect.gone.over(len(claims)),
            gone_without_others=None if others is None else others.control,
            low=effect.low,
            is_shown=effect.is_shown,
        )
        causes.append(cause)
    causes.sort(key=lambda cause: (-cause.low, -cause.claims, cause.document))
    return tuple(causes)
