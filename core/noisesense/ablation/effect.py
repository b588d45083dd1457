"""What the chunks did: the answers to a plan are judged and become figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from noisesense.ablation.cases import Answer, Case, Row, cases_of, distractors
from noisesense.ablation.causes import (
    Cause,
    Change,
    Effect,
    Followed,
    Pair,
    arms_of,
    causes_of,
    change_of,
    effect_of,
)
from noisesense.ablation.planning import contexts_of, matched
from noisesense.errors import InputError, JudgeError
from noisesense.judging.calls import gather_all, run_blocking
from noisesense.judging.protocol import EntailmentJudge, Judge
from noisesense.scoring.outcomes import Counts, Range, Record
from noisesense.scoring.results import Result
from noisesense.stats.summarize import counted
from noisesense.verdicts.form import VerdictsForm

_SAID = Range(1.0, 1.0)
_OPEN = Range(0.0, 1.0)


@dataclass(frozen=True)
class Ablation(Record):
    """What the chunks did.

    Attributes:
        claims: noisy claims of the results: not supported by the reference, entailed by a chunk.
        effect: what became of them without the chunks that entail them; None if that was not
            answered.
        causes: what became of claims without each document, the surest cause first.
        changes: by variant, from the same chunks to those of ``relevant-only`` or ``plus-K``.
        left_out: what could not be used, by reason, with how often; a reason begins with what was
            counted, in the plural.
    """

    claims: int
    effect: Effect | None
    causes: tuple[Cause, ...]
    changes: dict[str, Change]
    left_out: dict[str, int]


def _change(cases: Iterable[Case], variant: str) -> Change | None:
    """Return the change from the same chunks to a variant, over samples with claims under both."""
    pairs: list[Pair] = []
    for case in cases:
        was = case.unsupported("again")
        now = case.unsupported(variant)
        if was is not None and now is not None:
            pairs.append(Pair(case.unit, was, now))
    return change_of(pairs)


def _figures(cases: Sequence[Case], compared: Iterable[str], reasons: Counter[str]) -> Ablation:
    """Return the figures of the cases, once their answers are judged."""
    changes: dict[str, Change] = {}
    for variant in sorted(compared, key=lambda name: (distractors(name), name)):
        change = _change(cases, variant)
        if change is not None:
            changes[variant] = change
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
        left_out=dict(+reasons),
    )


def _count_unasked(
    cases: Iterable[Case], variants: AbstractSet[str], reasons: Counter[str]
) -> None:
    """Count in ``reasons`` the samples that had no chunks for one of these variants."""
    for variant, reason in _UNASKED.items():
        if variant not in variants:
            continue
        for case in cases:
            is_of_case = variant == "relevant-only" or case.noisy
            is_answered = variant in case.answers
            if is_of_case and not is_answered and contexts_of(case, variant) is None:
                reasons[reason] += 1


_UNASKED = {
    "without": "samples of which no chunk would be left",
    "without-other": "samples with too few other chunks to take away as many",
    "relevant-only": "samples without a chunk that is known to be relevant",
}


def ablation(results: Iterable[Result], answered: Iterable[Any], judge: Judge) -> Ablation:
    """Return what the chunks did, from the system's answers to a plan.

    Of each different answer with chunks away, and of its control, one call of the judge says
    which claims of the old response it says again; one in the words of the old response says all
    of them, and costs none. Of answers to ``relevant-only`` and ``plus-K``, and of their control,
    the judge finds the claims and checks them against the reference: all of them anew, as a
    verdict of the results would be another judging. What it leaves open, or fails to judge,
    widens the figures.

    Args:
        results: those the plan was made from.
        answered: its rows with ``response`` filled in; rows without one are left out and counted.
        judge: also has to check given claims, as `LLMJudge` does.

    Raises:
        InputError: no answer at all, an unknown variant or id, two answers to one row, an answer
            to another question or over other contexts, no results with verdicts and texts, or a
            judge that cannot check given claims.
        JudgeError: every call failed.
    """
    return run_blocking(ablation_async(results, answered, judge))


async def ablation_async(
    results: Iterable[Result], answered: Iterable[Any], judge: Judge
) -> Ablation:
    """Same as `ablation`, in a running event loop."""
    if not isinstance(judge, EntailmentJudge):
        raise InputError("a judge that checks given claims", type(judge).__name__, where="judge")
    reasons: Counter[str] = Counter()
    cases = cases_of(results, reasons)
    answers = _grouped(matched(cases, answered), reasons)
    asked = {variant for answer in answers for variant in answer.variants}
    compared = {name for name in asked if name == "relevant-only" or distractors(name)}
    followed = asked - compared - {"again"}
    await gather_all(answer.judge(judge, compared, followed) for answer in answers)
    _count_errors(answers, reasons)
    _count_unasked(cases.values(), asked, reasons)
    return _figures([*cases.values()], compared, reasons)


def _count_errors(answers: Iterable[_Answered], reasons: Counter[str]) -> None:
    """Count in ``reasons`` the answers not judged. Raises `JudgeError` if none was."""
    asked = [answer for answer in answers if answer.is_asked]
    errors = [answer.error for answer in asked if answer.error is not None]
    if errors and len(errors) == len(asked):
        raise errors[0]
    if errors:
        first = f"answers not judged, counted as open (the first: {errors[0]})"
        reasons[first] = len(errors)


def _grouped(rows: Iterable[tuple[Case, Row]], reasons: Counter[str]) -> list[_Answered]:
    """Return the different answers to each case, and count empty ones in ``reasons``.

    Raises `InputError` if there are no others.
    """
    answers: dict[tuple[str, str], _Answered] = {}
    for case, row in rows:
        response = row.response or ""
        if response.strip():
            answer = answers.setdefault((case.id, response), _Answered(case, response))
            answer.variants.append(row.variant)
        else:
            reasons["rows without an answer"] += 1
    if not answers:
        rows_seen = counted(reasons["rows without an answer"], "row")
        hint = "fill in `response`"
        raise InputError("an answer", f"none in {rows_seen}", where="answered", hint=hint)
    return [*answers.values()]


@dataclass
class _Answered:
    """An answer that several variants of a case may have given.

    Attributes:
        is_asked: was the judge asked about it?
        error: why it did not judge it.
    """

    case: Case
    response: str
    variants: list[str] = field(default_factory=list[str])
    is_asked: bool = False
    error: JudgeError | None = None

    async def judge(
        self, judge: Any, compared: AbstractSet[str], followed: AbstractSet[str]
    ) -> None:
        """Judge the answer and put it into the case's answers. What the judge does not tell stays
        open.

        Args:
            judge: the judge.
            compared: the variants that are compared by their shares of unsupported claims.
            followed: those of which it is asked what they say again.
        """
        claims = [claim.text for claim in self.case.claims]
        says_all = self.response == self.case.sample.response
        answer = Answer(_OPEN, (_SAID if says_all else _OPEN,) * len(claims))
        has_wrong_claims = bool(self.case.noisy or self.case.unexplained)
        try:
            if self._is_to(compared):
                self.is_asked = True
                answer = answer._replace(unsupported=await self._unsupported(judge))
            if self._is_to(followed) and has_wrong_claims and not says_all:
                self.is_asked = True
                entailment = await judge.entailment([self.response], claims)
                said = tuple(
                    _OPEN if cell is None else Range(float(cell), float(cell))
                    for (cell,) in entailment.cells
                )
                answer = answer._replace(said=said)
        except JudgeError as caught:
            self.error = caught
        for variant in self.variants:
            self.case.answers[variant] = answer

    def _is_to(self, variants: AbstractSet[str]) -> bool:
        """Tell whether it answers one of the variants, or ``again``; False without variants."""
        return bool(variants) and not {*variants, "again"}.isdisjoint(self.variants)

    async def _unsupported(self, judge: Any) -> Range | None:
        """Judge the answer anew; None if it makes no claims. Raises `JudgeError`."""
        # Without chunks the reference's claims are not asked for.
        changed = {"response": self.response, "retrieved_contexts": ()}
        verdicts = await judge.judge(self.case.sample.model_copy(update=changed))
        return unsupported(verdicts)


def unsupported(verdicts: VerdictsForm) -> Range | None:
    """Return the share of the claims that the reference does not support; None without claims."""
    claims = verdicts.response_claims
    if not claims:
        return None
    correct = [claim.correct for claim in claims]
    determined = len(correct) - correct.count(None)
    return Counts(correct.count(False), determined, len(correct)).bounds
