"""What one measurement gives: the score, its reason and report, in DeepEval's terms."""

from __future__ import annotations

from dataclasses import dataclass

from deepeval.utils import prettify_list

from noisesense import Judge, Judgement, Mode, Score, Usage
from noisesense.judging.protocol import DetailedJudge

_RELEVANCE = {True: "relevant", False: "irrelevant", None: "relevance undetermined"}


@dataclass(frozen=True)
class Cost:
    """What the metric spent; None where nobody reports it."""

    evaluation_cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True)
class Measurement:
    """The result of measuring one test case."""

    value: float | None = None  # None: undefined or undetermined
    score: Score | None = None  # None: the judge's model gave nothing usable
    judgement: Judgement | None = None
    unusable: str | None = None  # what was wrong with the model's replies
    reason: str | None = None
    steps: tuple[str, ...] = ()  # the report, in the steps of DeepEval's own metrics
    cost: Cost = Cost()


def measurement_of(
    score: Score,
    judgement: Judgement,
    mode: Mode,
    threshold: float | None,
    *,
    include_reason: bool,
    cost: Cost,
) -> Measurement:
    """The measurement where there are verdicts."""
    # A number that the open verdicts could change is never shown without a word about them.
    explained = include_reason or score.status(mode) != "determined"
    reason = _reason(score, judgement, mode, threshold) if explained else None
    value = score.value(mode)
    chunks = [f"chunk {j}: {_RELEVANCE[label]}" for j, label in enumerate(score.chunk_relevance)]
    steps = (
        f"Chunks:\n{prettify_list(chunks)}",
        f"Claims:\n{prettify_list([claim.text for claim in score.claims])}",
        f"Verdicts:\n{prettify_list([claim.sentence for claim in score.claims])}",
        f"Judge: {_judging(judgement)}",
        f"Score: {score.status(mode) if value is None else value}\nReason: {reason}",
    )
    return Measurement(value, score, judgement, reason=reason, steps=steps, cost=cost)


def unusable_measurement(
    problem: str, usage: Usage, title: str, threshold: float | None, *, cost: Cost
) -> Measurement:
    """The measurement where the judge's model gave nothing to compute even bounds from."""
    reason = f"{title} is undetermined: {problem}."
    if threshold is not None:
        reason += f" Whether it is above the threshold {threshold:.4g} cannot be decided."
    steps = (
        f"Claims: undetermined ({problem})",
        f"Judge: {usage.calls} calls",
        f"Score: undetermined\nReason: {reason}",
    )
    return Measurement(unusable=problem, reason=reason, steps=steps, cost=cost)


def cost_of(judge: Judge, usage: Usage) -> Cost:
    """Zero if another metric paid; None if the judge does not report it."""
    if not isinstance(judge, DetailedJudge):
        return Cost()
    if not usage.calls:
        return Cost(0.0, 0, 0)
    if not usage.input_tokens and not usage.output_tokens:
        return Cost(usage.cost)
    return Cost(usage.cost, usage.input_tokens, usage.output_tokens)


def _reason(score: Score, judgement: Judgement, mode: Mode, threshold: float | None) -> str:
    parts = [score.reason(mode)]
    if judgement.unanswered:
        parts.append(f"The judge left {_verdicts(judgement.unanswered)} unanswered.")
    if threshold is not None:
        parts.append(_gate_sentence(score, mode, threshold))
    return " ".join(filter(None, parts))


def _gate_sentence(score: Score, mode: Mode, threshold: float) -> str:
    outcome, bounds = score.gate(mode, threshold), score.bounds(mode)
    is_open = score.status(mode) == "undetermined"
    certain = ", whatever the open verdicts are" if is_open else ""
    if outcome == "undecided" and bounds is not None:
        span = f"it lies between {bounds[0]:.4g} and {bounds[1]:.4g}"
        return f"Whether it is above the threshold {threshold:.4g} cannot be decided: {span}."
    if outcome == "fail":
        return f"It is above the threshold {threshold:.4g}{certain}."
    if outcome == "pass" and is_open:
        return f"It is not above the threshold {threshold:.4g}{certain}."
    return ""


def _judging(judgement: Judgement) -> str:
    usage = judgement.usage
    if judgement.shared:
        parts = [f"shared with another metric, which made {judgement.paid.calls} calls"]
    else:
        parts = [
            f"{usage.calls} calls",
            f"{usage.reasks} of them re-asks" if usage.reasks else "",
            f"{usage.cached_calls} answers from the store" if usage.cached_calls else "",
        ]
    if judgement.unanswered:
        parts.append(f"{_verdicts(judgement.unanswered)} unanswered")
    return ", ".join(filter(None, parts))


def _verdicts(count: int) -> str:
    return "1 verdict" if count == 1 else f"{count} verdicts"
