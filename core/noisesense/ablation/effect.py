"""What the chunks did: the answers to a plan are judged and become figures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from noisesense.ablation.planning import CLAIMS, Case, Row, cases_of, matched
from noisesense.errors import InputError, JudgeError
from noisesense.judging.calls import gather_all, run_blocking
from noisesense.judging.protocol import EntailmentJudge, Judge
from noisesense.scoring.outcomes import Range, Record
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import score
from noisesense.stats.interval import Estimate, estimate


class Change(NamedTuple):
    """Noise before and after, over the same samples; ``change`` is ``after - before``."""

    before: Estimate
    after: Estimate
    change: Estimate


class Cause(NamedTuple):
    """What a document causes.

    Attributes:
        document: its id, or its text where it has none.
        claims: noisy claims that it entails and that have both answers.
        low: at least so many of them go when it goes, net of those that go by chance.
        high: at most so many; the same unless the judge left verdicts open.
    """

    document: str
    claims: int
    low: int
    high: int


@dataclass(frozen=True)
class Ablation(Record):
    """What the chunks did.

    Attributes:
        claims: noisy claims of the results: not supported by the reference, entailed by a chunk.
        again: the share said again with the same chunks; None if nothing was answered.
        without: the share said again without the chunks they come from.
        effect: ``again - without``, paired by claim; from -1 to 1. None without the control.
        noise: by variant, ``""`` for the results themselves: the mean noise of a response.
        perfect_reranker: from the results to ``relevant-only``, paired by sample. Where all
            chunks are relevant nothing changes; samples with none are left out.
        growth: how much noise ``step`` distractors more add, from none to the most.
        step: the smallest number of distractors.
        causes: the documents, those that cause most first.
        left_out: what could not be used, by reason, with how often.
    """

    claims: int
    again: Estimate | None
    without: Estimate | None
    effect: Estimate | None
    noise: dict[str, Estimate]
    perfect_reranker: Change | None
    growth: Estimate | None
    step: int | None
    causes: tuple[Cause, ...]
    left_out: dict[str, int]


def _mean(cases: Iterable[Case], variant: str) -> Estimate | None:
    return estimate((case.unit, each) for case in cases for each in case.found[variant])


def _change(cases: Iterable[Case], before: str, after: str, steps: float = 1.0) -> Change | None:
    """From one variant to another, over what has both; ``change`` is that of one step."""
    pairs = [(c.unit, both) for c in cases for both in c.both(before, after)]
    change = estimate(((unit, now.minus(was).over(steps)) for unit, (was, now) in pairs), -1)
    was, now = (estimate((unit, both[end]) for unit, both in pairs) for end in (0, 1))
    return Change(was, now, change) if was and now and change else None


def figures_of(cases: list[Case], left_out: Counter[str]) -> Ablation:
    answered = {variant for case in cases for variant in case.found}
    if "relevant-only" in answered:
        for case in cases:
            if all(case.score.chunk_relevance):
                case.found["relevant-only"] = case.found[""]  # the very same chunks
    effect = _change(cases, "without", "again")
    counts = sorted(int(each[5:]) for each in answered if each.startswith("plus-"))
    names = ["", "relevant-only", *(f"plus-{count}" for count in counts)]
    growth = _change(cases, "", names[-1], counts[-1] / counts[0]) if counts else None
    return Ablation(
        claims=sum(len(case.noisy) for case in cases),
        # Of the claims that have both answers, if some have.
        again=effect.after if effect else _mean(cases, "again"),
        without=effect.before if effect else _mean(cases, "without"),
        effect=effect and effect.change,
        noise={name: found for name in names if (found := _mean(cases, name))},
        perfect_reranker=_change(cases, "", "relevant-only"),
        growth=growth and growth.change,
        step=counts[0] if counts else None,
        causes=_causes(cases),
        left_out=dict(left_out),
    )


def _causes(cases: Iterable[Case]) -> tuple[Cause, ...]:
    sums = defaultdict[str, list[Range]](list)
    for case in cases:
        for c, (again, without) in zip(case.noisy, case.both("again", "without"), strict=False):
            chunks = [case.sample.retrieved_contexts[j] for j in c.entailed_by]
            for document in {chunk.id or chunk.text for chunk in chunks}:
                sums[document].append(again.minus(without))
    causes = [
        Cause(name, len(each), *(round(sum(ends)) for ends in zip(*each, strict=True)))
        for name, each in sums.items()
    ]
    return tuple(sorted(causes, key=lambda c: (-c.low - c.high, -c.claims, c.document)))


def ablation(results: Iterable[Result], answered: Iterable[Any], judge: Judge) -> Ablation:
    """What the chunks did, from the system's answers to a plan.

    A noisy claim is said again if the new response entails it: one call of the judge for each
    answer of ``again`` and ``without``, and none if the response is the old one. The other
    variants are judged as samples, with labels, which spare the judge the reference. What the
    judge leaves open, or fails to judge, widens the figures.

    Args:
        results: those the plan was made from.
        answered: its rows with ``response`` filled in; rows without one are left out and counted.
        judge: also has to check given claims, as `LLMJudge` and `LocalJudge` do.

    Raises:
        InputError: an unknown variant, an answer to another question or over other contexts.
        JudgeError: every call failed.
    """
    return run_blocking(ablation_async(results, answered, judge))


async def ablation_async(
    results: Iterable[Result], answered: Iterable[Any], judge: Judge
) -> Ablation:
    """As `ablation`, in a running event loop."""
    if not isinstance(judge, EntailmentJudge):
        raise InputError("a judge that checks given claims", type(judge).__name__, where="judge")
    left_out: Counter[str] = Counter()
    cases = cases_of(results, left_out)
    rows = list(matched(cases, answered))
    work = [(case, row) for case, row in rows if (row.response or "").strip()]
    failed = [error for error in await gather_all(_judge(*each, judge) for each in work) if error]
    if failed and len(failed) == len(work):
        raise failed[0]
    left_out["rows without an answer"] = len(rows) - len(work)
    first = next(iter(failed), None)
    left_out[f"answers not judged, which count as open (the first: {first})"] = len(failed)
    left_out["answers without claims"] = sum(not case.found[row.variant] for case, row in work)
    return figures_of(list(cases.values()), +left_out)


async def _judge(case: Case, row: Row, judge: Any) -> JudgeError | None:
    """What became of the sample under the row's variant. A failure leaves it open."""
    sample, response, of_claims = case.sample, row.response or "", row.variant in CLAIMS
    case.found[row.variant] = [Range(0.0, 1.0)] * (len(case.noisy) if of_claims else 1)
    try:
        if of_claims and response == sample.response:
            found = [Range(1.0, 1.0)] * len(case.noisy)
        elif of_claims:
            noisy = [claim.text for claim in case.noisy]
            cells = (await judge.entailment([response], noisy)).cells
            found = [Range(float(cell is True), float(cell is not False)) for (cell,) in cells]
        else:
            # This noise is the same whatever is relevant: labels spare the judge the reference.
            chunks = [c.model_copy(update={"relevant": False}) for c in row.retrieved_contexts]
            changed = {"response": response, "retrieved_contexts": tuple(chunks)}
            sample = sample.model_copy(update=changed)
            found = Case.noise(score((await judge.judge(sample)).beside(sample)))
    except JudgeError as error:
        return error
    case.found[row.variant] = found
    return None
