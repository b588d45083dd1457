"""One measurement: the test case in, DeepEval's result attributes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from deepeval.metrics.indicator import metric_progress_indicator
from deepeval.test_case import LLMTestCase

from noisesense import (
    Judge,
    Judgement,
    NoiseSenseError,
    ReplyError,
    Sample,
    UndefinedScoreError,
    Usage,
)
from noisesense import score as score_verdicts
from noisesense.sharing import judge_once
from noisesense_adapters.deepeval._given import given_verdicts
from noisesense_adapters.deepeval._judging import Cost, cost_of, judge_over
from noisesense_adapters.deepeval._report import (
    reason_of,
    unusable_logs,
    unusable_reason,
    verbose_logs_of,
)
from noisesense_adapters.deepeval._test_case import place_of, sample_of, verdicts_of

if TYPE_CHECKING:
    from noisesense_adapters.deepeval._metric import NoiseSensitivityMetric

__all__ = ["measure_into"]


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
