"""What became of claims whose chunks were taken away, beside three controls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from noisesense.ablation.cases import Case, left_out
from noisesense.scoring.outcomes import Range, Record
from noisesense.stats.interval import (
    Estimate,
    dirichlet_interval,
    mean_range,
    sum_range,
    units_of,
)
from noisesense.stats.offenders import document_of
from noisesense.stats.paired import MIN_PAIRS


class Change(NamedTuple):
    """Two shares of the same things, and how far they are apart.

    Attributes:
        before: the mean share in the control, or with the same chunks.
        after: without the chunks, or under another variant.
        change: ``after - before``, paired, with the samples as clusters.
    """

    before: Range
    after: Range
    change: Estimate


class Pair(NamedTuple):
    """Two shares, and the cluster of the sample that they are of."""

    unit: Hashable
    before: Range
    after: Range


def change_of(pairs: Sequence[Pair], confidence: float = 0.95) -> Change | None:
    """Return the mean difference of shares; None without pairs. One unit has no interval."""
    if not pairs:
        return None
    before = sum_range([pair.before for pair in pairs]).over(len(pairs))
    after = sum_range([pair.after for pair in pairs]).over(len(pairs))
    units = units_of((pair.unit, pair.after.minus(pair.before)) for pair in pairs)
    interval = None
    if units.total() > 1:
        interval = dirichlet_interval(units, confidence, (-1.0, 1.0))
    difference = after.minus(before)
    return Change(before, after, Estimate(*difference, interval, len(pairs)))


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
    other_claims: Change | None
    again: Change | None
    other_chunks: Change | None

    @property
    def is_shown(self) -> bool:
        """Do surely more claims go without the chunks than in each of the three controls?

        Not if one is missing, or rests on fewer than six clusters.
        """
        return self.low > 0

    @property
    def low(self) -> float:
        """The least low end of the three differences' intervals.

        -1 where one is missing, or rests on fewer than six clusters.
        """
        lows: list[float] = []
        for control in (self.other_claims, self.again, self.other_chunks):
            interval = None if control is None else control.change.interval
            if interval is None or interval.units < MIN_PAIRS:
                return -1.0
            lows.append(interval.low)
        return min(lows)


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
        low: `Effect.low`; from nine documents on, the more there are, the wider is the interval
            of each.
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


def arms_of(cases: Iterable[Case]) -> list[Arm]:
    """Return an arm for each answer without the noisy claims' chunks, or without one document."""
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


_CONFIDENCE = 0.97
"""An effect is shown by mistake in at most 3% of ablations, and so no interval of the three
misses more often, on either side (``causes.py``)."""


def effect_of(followed: Sequence[Followed], confidence: float = _CONFIDENCE) -> Effect:
    """Return what became of these claims beside the controls. Without an answer none is gone."""
    gone: list[Range] = []
    controls = defaultdict[str, list[Pair]](list)
    for arm, claim in followed:
        case = arm.case
        share = case.gone(arm.variant, [claim])
        if share is None:
            continue
        gone.append(share)
        without_others = [case.gone(sham, [claim]) for sham in arm.shams]
        beside = {
            "other claims": case.gone(arm.variant, arm.others),
            "again": case.gone("again", [claim]),
            "other chunks": mean_range([each for each in without_others if each is not None]),
        }
        for name, control in beside.items():
            if control is not None:
                controls[name].append(Pair(case.unit, control, share))
    return Effect(
        claims=len(followed),
        samples=len({arm.case.unit for arm, _ in followed}),
        gone=sum_range(gone),
        other_claims=change_of(controls["other claims"], confidence),
        again=change_of(controls["again"], confidence),
        other_chunks=change_of(controls["other chunks"], confidence),
    )


class _Suspect(NamedTuple):
    """A document, and whether it entails the claims that are followed."""

    document: str
    entails: bool


_TOGETHER = 0.4
"""How often the intervals of all documents together may miss. As each of three controls has to
lie below, hardly one in ten of those is a document that is blamed (``causes.py``)."""


def causes_of(arms: Iterable[Arm]) -> tuple[Cause, ...]:
    """Return what became of claims without each document; the surest cause first.

    A document that too few samples tell of is in the list, but does not widen the intervals.
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
            entailing = arm.case.claims[claim].entailed_by
            for document in {document_of(chunks[chunk]) for chunk in entailing}:
                suspect = _Suspect(document, entails=True)
                followed[suspect].append((arm, claim))
                shared[suspect] += len(arm.case.misleading) > 1
    tests = 0
    for claims in followed.values():
        tests += len({arm.case.unit for arm, _ in claims}) >= MIN_PAIRS
    confidence = 1 - min(1 - 0.95, _TOGETHER / max(tests, 1))
    causes: list[Cause] = []
    for suspect, claims in followed.items():
        effect = effect_of(claims, confidence)
        others = effect.other_chunks
        cause = Cause(
            *suspect,
            claims=len(claims),
            shared=shared[suspect],
            gone=effect.gone.over(len(claims)),
            gone_without_others=None if others is None else others.before,
            low=effect.low,
            is_shown=effect.is_shown,
        )
        causes.append(cause)
    causes.sort(key=lambda cause: (-cause.low, -cause.claims, cause.document))
    return tuple(causes)
