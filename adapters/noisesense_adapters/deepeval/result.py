"""One measurement, and what it leaves in DeepEval's result, reason and verbose logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from deepeval.metrics.indicator import metric_progress_indicator
from deepeval.metrics.utils import construct_verbose_logs
from deepeval.test_case import LLMTestCase
from deepeval.utils import prettify_list

from noisesense import (
    Judge,
    Judgement,
    Mode,
    NoiseSenseError,
    ReplyError,
    Sample,
    Score,
    UndefinedScoreError,
    Usage,
)
from noisesense import score as score_verdicts
from noisesense.judging.sharing import judge_once
from noisesense_adapters.deepeval.llm import Cost, cost_of, judge_over
from noisesense_adapters.deepeval.sample import given_verdicts, place_of, sample_of, verdicts_of

if TYPE_CHECKING:
    from noisesense_adapters.deepeval.metric import NoiseSensitivityMetric

__all__ = ["measure_into", "reason_of", "unusable_logs", "unusable_reason", "verbose_logs_of"]

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


class _Answer(NamedTuple):
    """What was found out about a sample; ``problem`` says why nothing could be."""

    judgement: Judgement | None
    judge: Judge | None
    problem: str = ""
    usage: Usage = Usage()


async def measure_into(
    metric: NoiseSensitivityMetric,
    test_case: LLMTestCase,
    blocking: bool,
    show_indicator: bool,
    in_component: bool,
) -> float | None:
    """Measure the test case and set the metric's result attributes. Raises as `measure`."""
    # After a timeout DeepEval measures the next test case with the same object while the last
    # one still runs in its thread: who has been overtaken leaves the attributes alone.
    turn = metric.turn = object()
    _set(metric, _NOTHING)
    with metric_progress_indicator(
        metric,
        async_mode=not blocking,
        _show_indicator=show_indicator,
        _in_component=in_component,
    ):
        try:
            results = await _results(metric, test_case, blocking)
        except Exception as error:
            failure = error
            if isinstance(error, TypeError):
                # DeepEval answers a TypeError by measuring the test case all over again.
                failure = NoiseSenseError(f"measuring failed with TypeError: {error}")
            if metric.turn is turn:
                metric.error = str(failure)
            if failure is error:
                raise
            raise failure from error
        if metric.turn is turn:
            _set(metric, results)
            metric.is_successful()
    score: float | None = results["score"]
    return score


_NOTHING: dict[str, Any] = {
    **dict.fromkeys(("score", "score_breakdown", "score_detail", "judgement", "unusable")),
    **dict.fromkeys(("reason", "success", "error", "verbose_logs", "evaluation_model")),
    **dict.fromkeys(Cost._fields),
    "skipped": False,
}


def _set(metric: NoiseSensitivityMetric, results: dict[str, Any]) -> None:
    for name, value in results.items():
        setattr(metric, name, value)


async def _results(
    metric: NoiseSensitivityMetric, test_case: LLMTestCase, blocking: bool
) -> dict[str, Any]:
    sample = sample_of(test_case, metric.__name__, metric.chunk_labels)
    answer = await _answer(metric, test_case, sample, blocking)
    results: dict[str, Any] = {"score": None, **cost_of(answer.judge, answer.usage)._asdict()}
    if answer.judge is None:
        results["evaluation_model"] = "given verdicts"
    elif metric.model is None and metric.judge is None:
        # The metric would make the default model once more, only to learn its name.
        results["evaluation_model"] = getattr(answer.judge, "model", None)
    if answer.judgement is None:
        reason = unusable_reason(metric, answer.problem)
        logs = unusable_logs(metric, answer.problem, answer.usage, reason)
        return {**results, "unusable": answer.problem, "reason": reason, "verbose_logs": logs}
    try:
        score = score_verdicts(
            answer.judgement.verdicts,
            definition=metric.definition,
            empty=metric.empty,
            undetermined=metric.undetermined,
        )
    except UndefinedScoreError as error:
        raise UndefinedScoreError(f"{place_of(test_case)}: {error}") from None
    # A number that the open verdicts could change is never shown without a word about them.
    explained = metric.include_reason or score.status(metric.mode) != "determined"
    told = reason_of(metric, score, answer.judgement) if explained else None
    return {
        **results,
        "score": score.value(metric.mode),
        "score_breakdown": score.to_dict(),
        "score_detail": score,
        "judgement": answer.judgement,
        "reason": told,
        "verbose_logs": verbose_logs_of(metric, score, answer.judgement, told),
    }


async def _answer(
    metric: NoiseSensitivityMetric, test_case: LLMTestCase, sample: Sample, blocking: bool
) -> _Answer:
    verdicts = verdicts_of(test_case, sample)
    if verdicts is None and metric.verdicts is not None:
        verdicts = given_verdicts(metric.verdicts, sample)
    if verdicts is not None:
        return _Answer(Judgement(verdicts), None)
    judge = metric.judge
    if judge is None:
        judge = judge_over(metric.model, metric.store, metric.judge_options, blocking=blocking)
    try:
        judgement = await judge_once(
            judge, sample, metric=metric.configuration, run=test_case, share=metric.share
        )
    except ReplyError as error:
        # The model answered, but with nothing to compute a score from: undetermined, and not 0.
        spent = error.usage if isinstance(error.usage, Usage) else Usage()
        return _Answer(None, judge, str(error), spent)
    return _Answer(judgement, judge, usage=judgement.usage)
