"""What one measurement gives, in DeepEval's terms, and where the metric keeps it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, cast

from deepeval.utils import prettify_list

from noisesense import Judgement, Mode, Score, gate
from noisesense.scoring.outcomes import GateOutcome

_RELEVANCE = {True: "relevant", False: "irrelevant", None: "relevance undetermined"}


def _bounds(score: Score, mode: Mode, higher: bool) -> tuple[float, float] | None:
    """Of the sensitivity, or of the robustness, one minus it."""
    if not higher:
        return score.bounds(mode)
    low = replace(score, undetermined="high").robustness(mode)
    high = replace(score, undetermined="low").robustness(mode)
    return None if low is None or high is None else (low, high)


def outcome_of(score: Score, mode: Mode, threshold: float, higher: bool) -> GateOutcome:
    """The gate; of the robustness, which is compared as it is shown: ``1 - 0.9 < 0.1``."""
    bounds = _bounds(score, mode, higher)
    if bounds is None or not higher:
        return gate(bounds, threshold)
    low, high = bounds
    return "pass" if low >= threshold else "fail" if high < threshold else "undecided"


def reason_of(
    score: Score, judgement: Judgement, mode: Mode, threshold: float | None, higher: bool
) -> str:
    """The score's reason, and how it stands to the threshold."""
    parts, bounds = [score.reason(mode)], _bounds(score, mode, higher)
    low, high = bounds or (0.0, 0.0)
    lies = f"is {low:.4g}" if low == high else f"lies between {low:.4g} and {high:.4g}"
    if bounds and higher:
        noise = "Noise robustness, one minus noise sensitivity,"
        parts.insert(0, f"{noise} {lies} (higher is better).")
    if judgement.unanswered:
        parts.append(f"The judge left {judgement.unanswered} verdicts unanswered.")
    if threshold is not None and bounds:
        outcome = outcome_of(score, mode, threshold, higher)
        it, side = ("The robustness", "below") if higher else ("It", "above")
        side = f"{side} the threshold {threshold:.4g}"
        if outcome == "undecided":
            parts.append(f"Whether {it.lower()} is {side} cannot be decided: it {lies}.")
        elif outcome == "fail" or low != high:
            sure = ", whatever the open verdicts are" if low != high else ""
            parts.append(f"{it} is {'' if outcome == 'fail' else 'not '}{side}{sure}.")
    return " ".join(parts)


def steps_of(score: Score, judgement: Judgement, value: float | str, reason: str) -> list[str]:
    """The report, in the steps of DeepEval's own metrics."""
    usage = judgement.usage
    judging = f"{usage.calls} calls, {usage.cached_calls} answers from the store"
    if judgement.shared:
        judging = f"shared with another metric, which made {judgement.paid.calls} calls"
    chunks = [f"chunk {j}: {_RELEVANCE[label]}" for j, label in enumerate(score.chunk_relevance)]
    return [
        f"Chunks:\n{prettify_list(chunks)}",
        f"Claims:\n{prettify_list([claim.text for claim in score.claims])}",
        f"Verdicts:\n{prettify_list([claim.sentence for claim in score.claims])}",
        f"Judge: {judging}, {judgement.unanswered} verdicts unanswered",
        f"Score: {value}\nReason: {reason}",
    ]


# Of this task and those it starts, by the metric's id, with the metric, so that the id stays its.
_own: ContextVar[Mapping[int, tuple[Any, dict[str, Any]]]] = ContextVar("noisesense_deepeval")


class Measured:
    """An attribute that every measurement has for itself.

    DeepEval measures several test cases at once with one metric (``@observe(metrics=[m])``), and
    goes on to the next one while a test case that timed out still runs in its thread. It resets
    ``skipped`` or ``error`` before each test case, in the task that reads the results afterwards:
    there new results begin. Outside of tasks they are those of the measurement begun last.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, metric: Any, owner: type) -> Any:
        default = False if self._name == "skipped" else None
        return default if metric is None else _results(metric).get(self._name, default)

    def __set__(self, metric: Any, value: Any) -> None:
        before = _results(metric)
        over = before.get("measured") and not before.get("skipped")
        if (self._name, value) == ("skipped", False) or (
            over and (self._name, value) == ("error", None)
        ):
            _set_results(metric, {})
        _results(metric)[self._name] = value


def begin(metric: Any) -> None:
    """A measurement begins: with the results that DeepEval has begun for it, or new ones."""
    results = _results(metric)
    results = {} if results.get("measured") else results
    results["measured"] = True
    _set_results(metric, results)


def _results(metric: Any) -> dict[str, Any]:
    _, own = _own.get({}).get(id(metric), (None, None)) if _in_task() else (None, None)
    return own if own is not None else cast("dict[str, Any]", metric.latest)


def _set_results(metric: Any, results: dict[str, Any]) -> None:
    metric.latest = results
    if _in_task():
        _own.set({**_own.get({}), id(metric): (metric, results)})


def _in_task() -> bool:
    return asyncio._get_running_loop() is not None  # pyright: ignore[reportPrivateUsage]
