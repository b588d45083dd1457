"""What a measurement leaves in DeepEval's reason and verbose logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepeval.metrics.utils import construct_verbose_logs
from deepeval.utils import prettify_list

from noisesense import Judgement, Mode, Score, Usage

if TYPE_CHECKING:
    from noisesense_adapters.deepeval._metric import NoiseSensitivityMetric

__all__ = ["reason_of", "unusable_logs", "unusable_reason", "verbose_logs_of"]

_RELEVANCE = {True: "relevant", False: "irrelevant", None: "relevance undetermined"}


def reason_of(metric: NoiseSensitivityMetric, score: Score, judgement: Judgement) -> str:
    """The value, what it comes from, what was left open, and what the threshold makes of it."""
    parts = [score.reason(metric.mode)]
    if judgement.unanswered:
        parts.append(f"The judge left {_verdicts(judgement.unanswered)} unanswered.")
    if metric.threshold is not None:
        parts.append(_gate_sentence(score, metric.mode, metric.threshold))
    return " ".join(filter(None, parts))


def _gate_sentence(score: Score, mode: Mode, threshold: float) -> str:
    outcome, bounds = score.gate(mode, threshold), score.bounds(mode)
    if outcome == "undecided" and bounds is not None:
        low, high = bounds
        span = f"it lies between {low:.4g} and {high:.4g}"
        return f"Whether it is above the threshold {threshold:.4g} cannot be decided: {span}."
    if outcome == "fail":
        return f"It is above the threshold {threshold:.4g}{_for_certain(score, mode)}."
    if outcome == "pass" and score.status(mode) == "undetermined":
        return f"It is not above the threshold {threshold:.4g}{_for_certain(score, mode)}."
    return ""


def _for_certain(score: Score, mode: Mode) -> str:
    return ", whatever was left open" if score.status(mode) == "undetermined" else ""


def unusable_reason(metric: NoiseSensitivityMetric, problem: str) -> str:
    """The reason where the judge's model gave nothing to compute even bounds from."""
    title = f"Noise sensitivity ({metric.mode}, definition {metric.definition})"
    reason = f"{title} is undetermined: {problem}."
    if metric.threshold is None:
        return reason
    return f"{reason} Whether it is above the threshold {metric.threshold:.4g} cannot be decided."


def verbose_logs_of(
    metric: NoiseSensitivityMetric, score: Score, judgement: Judgement, reason: str | None
) -> str:
    """The per-claim report, in the steps of DeepEval's own metrics."""
    chunks = [
        f"chunk {j}: {_RELEVANCE[relevant]}" for j, relevant in enumerate(score.chunk_relevance)
    ]
    value = score.value(metric.mode)
    steps = [
        f"Chunks:\n{prettify_list(chunks)}",
        f"Claims:\n{prettify_list([claim.text for claim in score.claims])}",
        f"Verdicts:\n{prettify_list([claim.sentence for claim in score.claims])}",
        f"Judge: {_cost(judgement)}",
        f"Score: {score.status(metric.mode) if value is None else value}\nReason: {reason}",
    ]
    return construct_verbose_logs(metric, steps)


def unusable_logs(metric: NoiseSensitivityMetric, problem: str, usage: Usage, reason: str) -> str:
    """The report where there are no claims to report on."""
    steps = [
        f"Claims: undetermined ({problem})",
        f"Judge: {usage.calls} calls",
        f"Score: undetermined\nReason: {reason}",
    ]
    return construct_verbose_logs(metric, steps)


def _cost(judgement: Judgement) -> str:
    usage = judgement.usage
    if judgement.shared:
        parts = [f"shared with another metric, whose {judgement.paid.calls} calls it took"]
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
