"""What one measurement gives, in DeepEval's terms, and where the metric keeps it."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from deepeval.utils import prettify_list

from noisesense import (
    Judge,
    Judgement,
    Mode,
    NoiseSenseError,
    Score,
    UndefinedScoreError,
    Usage,
    gate,
)
from noisesense.errors import UndeterminedScoreError
from noisesense.judging.protocol import DetailedJudge
from noisesense.scoring.gate import GateOutcome
from noisesense_adapters.toolbox.judges import NOTHING_RETRIEVED

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
    higher_is_better: bool,
    include_reason: bool,
    cost: Cost,
) -> Measurement:
    """The measurement where there are verdicts."""
    # A number that the open verdicts could change is never shown without a word about them.
    explained = include_reason or score.status(mode) != "determined"
    if explained:
        reason = _reason(score, judgement, mode, threshold, higher_is_better)
    else:
        reason = "Higher is better." if higher_is_better else "Lower is better."
    value = score.robustness(mode) if higher_is_better else score.value(mode)
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
    problem: str,
    usage: Usage,
    title: str,
    threshold: float | None,
    *,
    higher_is_better: bool,
    cost: Cost,
) -> Measurement:
    """The measurement where the judge's model gave nothing to compute even bounds from."""
    reason = f"{title} is undetermined: {problem}."
    if threshold is not None:
        side = _side(threshold, higher_is_better)
        reason += f" Whether it is {side} cannot be decided."
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


def not_a_number(measurement: Measurement, mode: Mode) -> NoiseSenseError:
    """Where DeepEval needs one: it would fail on None, and would not say on which test case."""
    reason = f"{measurement.reason} DeepEval needs a number here"
    score = measurement.score
    if score is None:
        return UndeterminedScoreError(f"{reason}.")
    if score.status(mode) == "undetermined":
        return UndeterminedScoreError(f'{reason}; undetermined="high" counts the open as noise.')
    if score.claims:
        return UndefinedScoreError(f"{reason}.")
    return UndefinedScoreError(f'{reason}; empty="zero" counts no claims as no noise.')


def outcome_of(
    score: Score, mode: Mode, threshold: float, *, higher_is_better: bool
) -> GateOutcome:
    """The gate; of the robustness, which is compared as it is shown: ``1 - 0.9 < 0.1``."""
    bounds = _bounds(score, mode, higher_is_better)
    if bounds is None or not higher_is_better:
        return gate(bounds, threshold)
    low, high = bounds
    return "pass" if low >= threshold else "fail" if high < threshold else "undecided"


def _bounds(score: Score, mode: Mode, higher_is_better: bool) -> tuple[float, float] | None:
    if not higher_is_better:
        return score.bounds(mode)
    low = replace(score, undetermined="high").robustness(mode)
    high = replace(score, undetermined="low").robustness(mode)
    return None if low is None or high is None else (low, high)


def _reason(
    score: Score,
    judgement: Judgement,
    mode: Mode,
    threshold: float | None,
    higher_is_better: bool,
) -> str:
    parts = [score.reason(mode)]
    bounds = _bounds(score, mode, higher_is_better)
    if higher_is_better and bounds is not None:
        low, high = bounds
        span = f"is {low:.4g}" if low == high else f"lies between {low:.4g} and {high:.4g}"
        parts.insert(
            0, f"Noise robustness, one minus noise sensitivity, {span} (higher is better)."
        )
    if score.verdicts.chunks == ():
        parts.append(NOTHING_RETRIEVED)
    if judgement.unanswered:
        parts.append(f"The judge left {_verdicts(judgement.unanswered)} unanswered.")
    if threshold is not None and bounds is not None:
        outcome = outcome_of(score, mode, threshold, higher_is_better=higher_is_better)
        parts.append(_gate_sentence(outcome, bounds, threshold, higher_is_better))
    return " ".join(filter(None, parts))


def _gate_sentence(
    outcome: GateOutcome, bounds: tuple[float, float], threshold: float, higher_is_better: bool
) -> str:
    low, high = bounds
    it = "The robustness" if higher_is_better else "It"
    side = _side(threshold, higher_is_better)
    certain = ", whatever the open verdicts are" if low != high else ""
    if outcome == "undecided":
        span = f"it lies between {low:.4g} and {high:.4g}"
        return f"Whether {it.lower()} is {side} cannot be decided: {span}."
    if outcome == "fail":
        return f"{it} is {side}{certain}."
    return f"{it} is not {side}{certain}." if certain else ""


def _side(threshold: float, higher_is_better: bool) -> str:
    """Where a score fails."""
    return f"{'below' if higher_is_better else 'above'} the threshold {threshold:.4g}"


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


@dataclass(eq=False)
class State:
    """What one measurement sets. DeepEval knows these as attributes of the metric."""

    metric: weakref.ref[Any]
    started: bool = False
    score: float | None = None
    score_breakdown: dict[str, Any] | None = None
    score_detail: Score | None = None
    judgement: Judgement | None = None
    unusable: str | None = None
    reason: str | None = None
    success: bool | None = None
    error: str | None = None
    skipped: bool = False
    evaluation_cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    verbose_logs: str | None = None
    evaluation_model: str | None = None

    def take(self, measurement: Measurement) -> None:
        score, cost = measurement.score, measurement.cost
        self.score = measurement.value
        self.score_detail = score
        self.score_breakdown = None if score is None else score.to_dict()
        self.judgement = measurement.judgement
        self.unusable = measurement.unusable
        self.reason = measurement.reason
        self.evaluation_cost = cost.evaluation_cost
        self.input_tokens = cost.input_tokens
        self.output_tokens = cost.output_tokens


# By the metric's id: tasks that DeepEval starts for a test case inherit those of the test case.
_states: ContextVar[Mapping[int, State]] = ContextVar("noisesense_deepeval_states")


class Measured:
    """An attribute that every measurement has for itself.

    DeepEval measures several test cases at once with one metric (``@observe(metrics=[m])``), and
    goes on to the next one while a test case that timed out still runs in its thread. It resets
    ``skipped`` and ``error`` before each test case, in the task that reads the results afterwards.
    So that is where a new state begins, which this task and those it starts then see. Outside of
    tasks there is one state, that of the measurement begun last.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, metric: Any, owner: type) -> Any:
        return self if metric is None else getattr(state_of(metric), self._name)

    def __set__(self, metric: Any, value: Any) -> None:
        state = state_of(metric)
        is_over = state.started and not state.skipped  # a skipped one's error is cleared, too
        resets = value is False if self._name == "skipped" else value is None and is_over
        if resets and self._name in ("skipped", "error"):
            state = _new_state(metric)
        setattr(state, self._name, value)


def state_of(metric: Any) -> State:
    return _state_of_task(metric) or metric.latest


def _state_of_task(metric: Any) -> State | None:
    if not _in_task():
        return None
    state = _states.get({}).get(id(metric))
    return state if state is not None and state.metric() is metric else None


def _new_state(metric: Any) -> State:
    state = metric.latest = State(weakref.ref(metric))
    if _in_task():
        _states.set({**_states.get({}), id(metric): state})
    return state


def started_state(metric: Any) -> State:
    """The test case's, emptied; a new one where DeepEval's runner has begun none."""
    state = _state_of_task(metric)
    if state is None:
        if metric.latest.started:
            metric.latest = State(weakref.ref(metric))
        state = metric.latest
    vars(state).update(vars(State(state.metric, started=True)))
    return state


def _in_task() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def success_of(state: State, metric: Any) -> bool | None:
    """Does the metric's score pass? None where nothing is to decide."""
    threshold, higher = metric.threshold, metric.higher_is_better
    if threshold is None:
        return None
    if state.error is not None or state.unusable is not None:
        return False
    if state.score_detail is not None:
        outcome = outcome_of(state.score_detail, metric.mode, threshold, higher_is_better=higher)
        return None if outcome == "undefined" else outcome == "pass"
    # Of a score that DeepEval has set.
    if state.score is None:
        return None
    return (
        state.score >= threshold
        if higher
        else gate((state.score, state.score), threshold) == "pass"
    )
