"""What the chunks did: the answers to a plan are judged and become figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple

from noisesense.ablation.cases import Answer, Case, cases_of, distractors
from noisesense.ablation.causes import (
    Cause,
    Effect,
    Followed,
    arms_of,
    causes_of,
    difference,
    effect_of,
)
from noisesense.ablation.planning import checking, contexts_of, matched
from noisesense.errors import InputError, JudgeError
from noisesense.judging.calls import gather_all, run_blocking
from noisesense.judging.protocol import Judge
from noisesense.scoring.definitions import Truth
from noisesense.scoring.outcomes import Counts, Range, Record
from noisesense.scoring.results import Result
from noisesense.stats.interval import Estimate, estimate
from noisesense.stats.summarize import counted
from noisesense.verdicts.form import VerdictsForm

_SAID = Range(1.0, 1.0)
_OPEN = Range(0.0, 1.0)


class Change(NamedTuple):
    """The mean share of unsupported claims, over the samples that make claims under both.

    Attributes:
        before: with the same chunks.
        after: under another variant.
        change: ``after - before``, paired by sample.
    """

    before: Estimate
    after: Estimate
    change: Estimate


@dataclass(frozen=True)
class Ablation(Record):
    """What the chunks did.

    Attributes:
        claims: noisy claims of the results: not supported by the reference, entailed by a chunk.
        effect: what became of them without the chunks that entail them; None if that was not
            answered.
        causes: what became of claims without each document, the surest cause first.
        changes: by variant, from the same chunks to those of ``relevant-only`` or ``plus-K``.
        silent: by variant, how many answers claim nothing; `changes` leave their samples out.
        left_out: what could not be used, by reason, with how often; a reason begins with what was
            counted, in the plural.
    """

    claims: int
    effect: Effect | None
    causes: tuple[Cause, ...]
    changes: dict[str, Change]
    silent: dict[str, int]
    left_out: dict[str, int]


def _change(cases: Iterable[Case], variant: str) -> Change | None:
    """From the same chunks to a variant, over the samples that make claims under both."""
    first: list[tuple[Any, Range]] = []
    second: list[tuple[Any, Range]] = []
    changes: list[tuple[Any, Range]] = []
    for case in cases:
        was = case.unsupported("again")
        now = case.unsupported(variant)
        if was is not None and now is not None:
            first.append((case.unit, was))
            second.append((case.unit, now))
            changes.append((case.unit, now.minus(was)))
    before = estimate(first)
    after = estimate(second)
    change = estimate(changes, difference())
    if before is None or after is None or change is None:
        return None
    return Change(before, after, change)


def _figures(cases: Sequence[Case], compared: Iterable[str], reasons: Counter[str]) -> Ablation:
    """The figures of the cases, once their answers are judged."""
    changes: dict[str, Change] = {}
    silent: dict[str, int] = {}
    for variant in sorted(compared, key=lambda name: (distractors(name), name)):
        change = _change(cases, variant)
        if change is not None:
            changes[variant] = change
        answers = [case.answers[variant] for case in cases if variant in case.answers]
        count = sum(answer.unsupported is None for answer in answers)
        if count:
            silent[variant] = count
            reasons[f"answers to `{variant}` without claims"] = count
    arms = arms_of(cases)
    without: list[Followed] = []
    for arm in arms:
        if arm.variant == "without":
            without += [(arm, claim) for claim in arm.followed]
    return Ablation(
        claims=sum(len(case.noisy) for case in cases),
        effect=effect_of(without) if without else None,
        causes=causes_of(arms),
        changes=changes,
        silent=silent,
        left_out=dict(+reasons),
    )


def _count_unasked(
    cases: Iterable[Case], variants: AbstractSet[str], reasons: Counter[str]
) -> None:
    """Count the samples that the chunks do not let a plan ask, for each of these variants."""
    for variant in _UNASKED.keys() & variants:
        for case in cases:
            is_of_case = variant == "relevant-only" or case.noisy
            is_answered = variant in case.answers
            if is_of_case and not is_answered and contexts_of(case, variant, 0) is None:
                reasons[_UNASKED[variant]] += 1


_UNASKED = {
    "without": "samples of which no chunk would be left",
    "without-other": "samples with too few other chunks to take away as many",
    "relevant-only": "samples without a chunk that is known to be relevant",
}


def ablation(results: Iterable[Result], answered: Iterable[Any], judge: Judge) -> Ablation:
    """What the chunks did, from the system's answers to a plan.

    Of each different answer with chunks away, and of its control, one call of the judge says
    which claims of the old response it says again; one in the words of the old response says all
    of them, and costs none. Of answers to ``relevant-only`` and ``plus-K``, and of their control,
    the judge finds the claims and checks them against the reference: all of them anew, as a
    verdict of the results would be another judging. What it leaves open, or fails to judge,
    widens the figures.

    Args:
        results: those the plan was made from.
        answered: its rows with ``response`` filled in; rows without one are left out and counted.
        judge: also has to check given claims, as `LLMJudge` and `LocalJudge` do.

    Raises:
        InputError: no answer at all, an unknown variant, an answer to another question or over
            other contexts.
        JudgeError: every call failed.
    """
    return run_blocking(ablation_async(results, answered, judge))


async def ablation_async(
    results: Iterable[Result], answered: Iterable[Any], judge: Judge
) -> Ablation:
    """Same as `ablation`, in a running event loop."""
    checking(judge)
    reasons: Counter[str] = Counter()
    cases = cases_of(results, reasons)
    answers: dict[tuple[str, str], _Answered] = {}
    asked: set[str] = set()
    rows = 0
    for case, row in matched(cases, answered):
        rows += 1
        asked.add(row.variant)
        response = row.response or ""
        if response.strip():
            answer = answers.setdefault((case.id, response), _Answered(case, response, []))
            answer.variants.append(row.variant)
        else:
            reasons["rows without an answer"] += 1
    if not answers:
        got = f"none in {counted(rows, 'row')}"
        raise InputError("an answer", got, where="answered", hint="fill in `response`")
    compared = {name for name in asked if name == "relevant-only" or distractors(name)}
    followed = asked - compared - {"again"}
    outcomes = await gather_all(
        answer.judged(judge, compared, followed) for answer in answers.values()
    )
    error = _first_error(outcomes)
    if error is not None:
        first = f"answers not judged, counted as open (the first: {error})"
        reasons[first] = sum(outcome.error is not None for outcome in outcomes)
    _count_unasked(cases.values(), asked, reasons)
    return _figures([*cases.values()], compared, reasons)


class _Outcome(NamedTuple):
    """Was the judge asked about an answer, and did it fail?"""

    is_asked: bool
    error: JudgeError | None = None


def _first_error(outcomes: Sequence[_Outcome]) -> JudgeError | None:
    """Return the first error; None if there is none. Raise it if every call failed."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if not errors:
        return None
    if len(errors) == sum(outcome.is_asked for outcome in outcomes):
        raise errors[0]
    return errors[0]


class _Answered(NamedTuple):
    """An answer that several variants of a case may have given."""

    case: Case
    response: str
    variants: list[str]

    def is_to(self, variants: AbstractSet[str]) -> bool:
        """Tell whether one of them gave it, or is it the control beside them?"""
        return bool(variants) and not {*variants, "again"}.isdisjoint(self.variants)

    async def judged(
        self, judge: Any, compared: AbstractSet[str], followed: AbstractSet[str]
    ) -> _Outcome:
        """Judge the answer and put it into the case's answers. What the judge does not tell stays
        open.

        Args:
            judge: the judge.
            compared: the variants that are compared by their shares of unsupported claims.
            followed: those of which it is asked what they say again.
        """
        says_all = self.response == self.case.sample.response
        claims = [claim.text for claim in self.case.claims]
        answer = Answer(_OPEN, (_SAID if says_all else _OPEN,) * len(claims))
        is_compared = self.is_to(compared)
        has_wrong_claims = bool(self.case.noisy or self.case.unexplained)
        is_followed = self.is_to(followed) and has_wrong_claims and not says_all
        error = None
        try:
            if is_compared:
                answer = answer._replace(unsupported=await self._unsupported(judge))
            if is_followed:
                entailment = await judge.entailment([self.response], claims)
                said = tuple(_said(cell) for (cell,) in entailment.cells)
                answer = answer._replace(said=said)
        except JudgeError as caught:
            error = caught
        for variant in self.variants:
            self.case.answers[variant] = answer
        return _Outcome(is_compared or is_followed, error)

    async def _unsupported(self, judge: Any) -> Range | None:
        # Without chunks nothing is asked but the response's claims, and which are supported.
        changed = {"response": self.response, "retrieved_contexts": ()}
        verdicts = await judge.judge(self.case.sample.model_copy(update=changed))
        return unsupported(verdicts)


def _said(cell: Truth) -> Range:
    return _OPEN if cell is None else Range(float(cell), float(cell))


def unsupported(verdicts: VerdictsForm) -> Range | None:
    """The share of the claims that the reference does not support; None without claims."""
    claims = verdicts.response_claims
    if not claims:
        return None
    correct = [claim.correct for claim in claims]
    determined = len(correct) - correct.count(None)
    return Counts(correct.count(False), determined, len(correct)).bounds
