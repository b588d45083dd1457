"""What one measurement gives, in DeepEval's terms, and where the metric keeps it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, cast

from deepeval.utils import prettify_list

from noisesense import Judgement, Mode, Score
from noisesense.scoring.outcomes import GateOutcome, extent

_SAYS: dict[GateOutcome, str] = {
    "pass": "The score is {}.",
    "fail": "The score is not {}.",
    "undecided": "Whether the score is {} cannot be decided: it does not pass.",
}


def outcome_of(score: Score, mode: Mode, threshold: float, higher: bool) -> GateOutcome:
    """Return the outcome of the noise's gate, see `noisesense.gate`.

    With ``higher`` the threshold is of the robustness, and ``1 - threshold`` the limit of the
    noise; rounded, since ``1 - 0.9 < 0.1``.
    """
    limit = round(1 - threshold, 12) if higher else threshold
    return score.gate(mode, limit)


def reason_of(score: Score, mode: Mode, threshold: float, higher: bool) -> str:
    """Return the score's reason, and how it stands to the threshold unless it is undefined."""
    parts: list[str] = []
    bounds = score.bounds(mode)
    if higher and bounds:
        robustness = extent((1 - bounds.high, 1 - bounds.low), ".6g")
        noise = "Noise robustness, one minus noise sensitivity"
        parts.append(f"{noise}, is {robustness} (higher is better).")
    parts.append(score.reason(mode))
    outcome = outcome_of(score, mode, threshold, higher)
    if outcome in _SAYS:
        limit = f"at {'least' if higher else 'most'} the threshold {threshold:g}"
        parts.append(_SAYS[outcome].format(limit))
    return " ".join(parts)


def steps_of(score: Score, judgement: Judgement, value: float | str, reason: str) -> list[str]:
    """Return the report, in the steps of DeepEval's own metrics."""
    sentences = prettify_list([claim.sentence for claim in score.claims])
    paid = judgement.usage + judgement.paid
    counts = f"{paid.calls} calls, {paid.cached_calls} kept, {judgement.unanswered} unanswered"
    return [
        f"Verdicts:\n{sentences}",
        f"Judge: {counts}",
        f"Score: {value}\nReason: {reason}",
    ]


# Of this task and those it starts, by metric.
_own: ContextVar[Mapping[Any, dict[str, Any]]] = ContextVar("noisesense_deepeval")


def measured(name: str) -> Any:
    """Return an attribute that every measurement has for itself.

    DeepEval measures several test cases at once with one metric (``@observe(metrics=[m])``), and
    goes on to the next one while a test case that timed out still runs in its thread. It resets
    ``skipped`` or ``error`` before each test case, in the task that reads the results afterwards:
    there new results begin. Outside of tasks they are those of the measurement begun last.
    """

    def get(metric: Any) -> Any:
        return _results(metric).get(name, False if name == "skipped" else None)

    def put(metric: Any, value: Any) -> None:
        if name in ("skipped", "error") and not value and not _results(metric).get("skipped"):
            _take(metric, {})
        _results(metric)[name] = value

    return property(get, put)


def begin(metric: Any) -> None:
    """Begin a measurement: in the results that DeepEval's reset made for it, or in new ones."""
    results = _results(metric)
    _take(metric, {} if "measuring" in results else results)
    _results(metric)["measuring"] = True


def _take(metric: Any, results: dict[str, Any]) -> None:
    """Let these be the metric's results: the latest, and in a task those of the task."""
    metric.latest = results
    if _in_task():
        _own.set({**_own.get({}), metric: results})


def _results(metric: Any) -> dict[str, Any]:
    own = _own.get({}).get(metric) if _in_task() else None
    return cast("dict[str, Any]", metric.latest) if own is None else own


def _in_task() -> bool:
    return asyncio._get_running_loop() is not None  # pyright: ignore[reportPrivateUsage]
