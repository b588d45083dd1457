"""What the chunks did: the answers to a plan are judged and become figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from noisesense.ablation.causes import OPEN, SAID, Cause, causes_of, total, went
from noisesense.ablation.planning import (
    OF_CLAIMS,
    Answer,
    Case,
    cases_of,
    checking,
    contexts_of,
    distractors,
    matched,
)
from noisesense.errors import InputError, JudgeError
from noisesense.judging.calls import gather_all, run_blocking
from noisesense.judging.protocol import Judge
from noisesense.scoring.definitions import Truth
from noisesense.scoring.outcomes import Counts, Range, Record
from noisesense.scoring.results import Result
from noisesense.stats.binomial import binomial_interval
from noisesense.stats.interval import (
    Estimate,
    Interval,
    Resampling,
    Units,
    dirichlet_interval,
    estimate,
)
from noisesense.stats.paired import MIN_PAIRS, difference_interval
from noisesense.stats.summarize import counted
from noisesense.verdicts.form import VerdictsForm

TOO_FEW_OTHERS = "samples with too few other chunks to take away as many"
"""Why samples have no answer to ``without-other``, in `Ablation.left_out`."""
NOT_JUDGED = "answers not judged, counted as open"
"""How the reason of failed judgements begins, in `Ablation.left_out`."""


class Change(NamedTuple):
    """The mean share of unsupported claims, over the samples that make claims under both.

    Attributes:
        before: under the one variant.
        after: under the other.
        change: ``after - before``, paired by sample.
    """

    before: Estimate
    after: Estimate
    change: Estimate


class Fate(NamedTuple):
    """What became of noisy claims when chunks were taken away.

    Attributes:
        claims: those that have both answers, with the same chunks and without some.
        again: how many of them were said again with the same chunks.
        gone: of those, the share not said without; None if none was said again.
    """

    claims: int
    again: Range
    gone: Estimate | None


class Step(NamedTuple):
    """From so many distractors to more."""

    fewer: int
    more: int
    change: Estimate


Direction = Literal["more", "less"]


def direction(change: Estimate) -> Direction | None:
    """Is a difference surely above 0, or below? None: it is not decided, as of few samples."""
    interval = change.interval
    if interval is None or interval.units < MIN_PAIRS:
        return None
    if interval.low > 0:
        return "more"
    return "less" if interval.high < 0 else None


@dataclass(frozen=True)
class Ablation(Record):
    """What the chunks did.

    Attributes:
        claims: noisy claims of the results: not supported by the reference, entailed by a chunk.
        without: what became of them without their chunks, where others are left.
        no_context: the same where none is left.
        without_other: the same with as many other chunks away.
        effect: of the claims said again, the share that goes without their chunks minus the share
            that goes without others, over the claims that have both; from -1 to 1.
        again: the mean share of a response's claims that the reference does not support, with the
            same chunks.
        changes: from that to each other variant, over the same samples.
        growth: from each number of distractors to the next.
        silent: by variant, how many answers claim nothing; `changes` leave their samples out.
        causes: the documents, those that cause most first.
        left_out: what could not be used, by reason, with how often; a reason begins with what was
            counted, in the plural.
    """

    claims: int
    without: Fate | None
    no_context: Fate | None
    without_other: Fate | None
    effect: Estimate | None
    again: Estimate | None
    changes: dict[str, Change]
    growth: tuple[Step, ...]
    silent: dict[str, int]
    causes: tuple[Cause, ...]
    left_out: dict[str, int]

    @property
    def trend(self) -> Direction | None:
        """Do unsupported claims get more, or less, with every step of two or more?"""
        directions: list[Direction | None] = [direction(step.change) for step in self.growth]
        if len(directions) < 2 or len({*directions}) > 1:
            return None
        return directions[0]


def _difference(units: Units) -> Interval | None:
    """Student's t interval of the mean, or that of random weights where it has no width.

    It has none if all differences are as large as can be, 1 or -1. Few units need not have shown
    a smaller one.
    """
    resampling = Resampling()
    interval = difference_interval(units, resampling)
    if interval is None or interval.low < interval.high:
        return interval
    return dirichlet_interval(units, resampling, (-1.0, 1.0))


def _change(cases: Iterable[Case], before: str, after: str) -> Change | None:
    """From one variant to another, over the samples that make claims under both."""
    first: list[tuple[str, Range]] = []
    second: list[tuple[str, Range]] = []
    changes: list[tuple[str, Range]] = []
    for case in cases:
        was = case.unsupported(before)
        now = case.unsupported(after)
        if was is not None and now is not None:
            first.append((case.unit, was))
            second.append((case.unit, now))
            changes.append((case.unit, now.minus(was)))
    mean_before = estimate(first)
    mean_after = estimate(second)
    change = estimate(changes, _difference)
    if mean_before is None or mean_after is None or change is None:
        return None
    return Change(mean_before, mean_after, change)


def _fate(cases: Iterable[Case], variant: str) -> Fate | None:
    """What became of noisy claims under a variant; None if no claim has both answers."""
    said_again: list[Range] = []
    gone: list[tuple[str, Range]] = []
    for case in cases:
        for again, now in case.said_in("again", variant):
            said_again.append(again)
            if again.high:
                gone.append((case.unit, went(again, now)))
    if not said_again:
        return None
    return Fate(len(said_again), total(said_again), estimate(gone, binomial_interval))


def _effect(cases: Iterable[Case]) -> Estimate | None:
    """See `Ablation.effect`."""
    differences: list[tuple[str, Range]] = []
    for case in cases:
        for again, without, other in case.said_in("again", "without", "without-other"):
            if again.high:
                difference = other.minus(without) if again == SAID else Range(-1.0, 1.0)
                differences.append((case.unit, difference))
    return estimate(differences, _difference)


def figures_of(cases: Sequence[Case], left_out: Counter[str]) -> Ablation:
    """The figures of the cases, once their answers are judged."""
    answered: set[str] = set()
    controls: list[tuple[str, Range]] = []
    for case in cases:
        answered.update(case.answers)
        share = case.unsupported("again")
        if share is not None:
            controls.append((case.unit, share))
    with_distractors = [variant for variant in answered if distractors(variant)]
    with_distractors.sort(key=distractors)
    others = ("without", "no-context", "without-other", "relevant-only")
    changes: dict[str, Change] = {}
    for variant in (*others, *with_distractors):
        change = _change(cases, "again", variant)
        if change is not None:
            changes[variant] = change
    growth: list[Step] = []
    for fewer, more in pairwise(["again", *with_distractors]):
        step = _change(cases, fewer, more)
        if step is not None:
            growth.append(Step(distractors(fewer), distractors(more), step.change))
    silent = _silent(cases)
    return Ablation(
        claims=sum(len(case.noisy) for case in cases),
        without=_fate(cases, "without"),
        no_context=_fate(cases, "no-context"),
        without_other=_fate(cases, "without-other"),
        effect=_effect(cases),
        again=estimate(controls),
        changes=changes,
        growth=tuple(growth),
        silent=silent,
        causes=causes_of(cases),
        left_out=dict(left_out + _not_asked(cases, answered, silent)),
    )


def _silent(cases: Iterable[Case]) -> dict[str, int]:
    """How many answers claim nothing, by variant."""
    silent: Counter[str] = Counter()
    for case in cases:
        for variant, answer in case.answers.items():
            silent[variant] += answer.unsupported is None
    return dict(+silent)


def _not_asked(
    cases: Iterable[Case], answered: set[str], silent: Mapping[str, int]
) -> Counter[str]:
    """What the figures leave out, by reason.

    These are answers that claim nothing, and samples that a plan could not ask about.
    """
    reasons: Counter[str] = Counter()
    for variant, count in silent.items():
        reasons[f"answers to `{variant}` without claims"] = count
    for case in cases:
        if "without-other" in answered and "without" in case.answers:
            too_few = _is_unplanned(case, "without-other")
            reasons[TOO_FEW_OTHERS] += too_few
        if "relevant-only" in answered and "relevant-only" not in case.answers:
            none_known = _is_unplanned(case, "relevant-only")
            reasons["samples without a chunk that is known to be relevant"] += none_known
    return reasons


def _is_unplanned(case: Case, variant: str) -> bool:
    """Does a plan leave out this variant, one without distractors, for want of chunks?"""
    return contexts_of(case, variant, seed=0) is None


def ablation(results: Iterable[Result], answered: Iterable[Any], judge: Judge) -> Ablation:
    """What the chunks did, from the system's answers to a plan.

    Of each different answer of a sample the judge finds the claims and checks them against the
    reference: two calls. Of answers with chunks away, and of their control, it also says which of
    the sample's noisy claims they say again: one call more. An answer in the words of the old
    response costs none. What the judge leaves open, or fails to judge, widens the figures.

    Args:
        results: those the plan was made from.
        answered: its rows with ``response`` filled in; rows without one are left out and counted.
        judge: also has to check given claims, as `LLMJudge` does.

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
    left_out: Counter[str] = Counter()
    cases = cases_of(results, left_out)
    variants_of: dict[tuple[str, str], list[str]] = {}  # by case and response
    rows = 0
    for case, row in matched(cases, answered):
        rows += 1
        response = row.response or ""
        if response.strip():
            variants_of.setdefault((case.id, response), []).append(row.variant)
        else:
            left_out["rows without an answer"] += 1
    if not variants_of:
        got = f"none in {counted(rows, 'row')}"
        raise InputError("an answer", got, where="answered", hint="fill in `response`")
    work: list[Coroutine[Any, Any, JudgeError | None]] = []
    asked = 0
    for (name, response), variants in variants_of.items():
        case = cases[name]
        work.append(_put_answer(case, response, variants, judge))
        if response != case.sample.response:
            asked += 1
    errors = await gather_all(work)
    failed = [error for error in errors if error is not None]
    if failed and len(failed) == asked:
        raise failed[0]
    if failed:
        left_out[f"{NOT_JUDGED} (the first: {failed[0]})"] = len(failed)
    return figures_of([*cases.values()], left_out)


async def _put_answer(
    case: Case, response: str, variants: Sequence[str], judge: Any
) -> JudgeError | None:
    """Judge the answer that these variants gave, and put it into ``case.answers``.

    Returns the error of a judge that fails. What it did not tell stays open.
    """
    claims = [claim.text for claim in case.noisy]
    answer = Answer(OPEN, (OPEN,) * len(claims))
    error = None
    try:
        if response == case.sample.response:
            answer = Answer(unsupported(case.score.verdicts), (SAID,) * len(claims))
        else:
            # Without chunks nothing is asked but the response's claims, and which are supported.
            changed = {"response": response, "retrieved_contexts": ()}
            verdicts = await judge.judge(case.sample.model_copy(update=changed))
            answer = answer._replace(unsupported=unsupported(verdicts))
            if claims and OF_CLAIMS.intersection(variants):
                entailment = await judge.entailment([response], claims)
                said = [_said(cell) for (cell,) in entailment.cells]
                answer = answer._replace(said=tuple(said))
    except JudgeError as caught:
        error = caught
    for variant in variants:
        case.answers[variant] = answer
    return error


def _said(cell: Truth) -> Range:
    return OPEN if cell is None else Range(float(cell), float(cell))


def unsupported(verdicts: VerdictsForm) -> Range | None:
    """The share of the claims that the reference does not support; None without claims."""
    claims = verdicts.response_claims
    if not claims:
        return None
    correct = [claim.correct for claim in claims]
    determined = len(correct) - correct.count(None)
    return Counts(correct.count(False), determined, len(correct)).bounds
