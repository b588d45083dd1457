"""ragas' callbacks: handed on to the model, and told our report."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ragas import callbacks as ragas_callbacks

__all__ = ["callbacks_in", "current_callbacks", "trace_report", "warn_of_namesake"]

_REPORT = "noisesense"

# The judge knows no callbacks. Tasks and threads it starts inherit the context.
_callbacks: ContextVar[Any] = ContextVar("noisesense_ragas_callbacks", default=None)


@contextmanager
def callbacks_in(callbacks: Any) -> Generator[None, None, None]:
    """The model calls made inside are reported to these callbacks (tokens, cost, tracing)."""
    token = _callbacks.set(callbacks)
    try:
        yield
    finally:
        _callbacks.reset(token)


def current_callbacks() -> Any:
    """The callbacks of the metric that is being computed; None outside ``evaluate()``."""
    return _callbacks.get()


def trace_report(callbacks: Any, asked: dict[str, Any], report: dict[str, Any]) -> None:
    """Leave the report in ``result.traces[row]["noise_sensitivity"]["noisesense"]``.

    ragas collects the children of a metric's run that look like its prompts, by name.
    """
    host: Any = ragas_callbacks
    run, _ = host.new_group(
        _REPORT,
        inputs={"data": asked},
        callbacks=[] if callbacks is None else callbacks,
        metadata={"type": host.ChainType.RAGAS_PROMPT},
    )
    run.on_chain_end({"output": report})


def warn_of_namesake(callbacks: Any, name: str, asked: dict[str, Any]) -> None:
    """Warn if another metric of this name and mode scored the row by another definition.

    ragas keeps the last of them in the one column they share.
    """
    for other in _asked_in_row(callbacks, name):
        if other["mode"] == asked["mode"] and other != asked:
            one, two = (
                f"definition={each['definition']!r}, empty={each['empty']!r}"
                for each in (other, asked)
            )
            warnings.warn(
                f"two metrics, {one} and {two}, are both called {name}(mode={asked['mode']}), and"
                " ragas keeps one column a name; tell them apart with NoiseSensitivity(name=…)",
                stacklevel=2,
            )


def _asked_in_row(callbacks: Any, name: str) -> Iterator[dict[str, Any]]:
    """What metrics of this name were asked for, those that have reported on the same row."""
    for tracer in getattr(callbacks, "handlers", ()):
        if not isinstance(tracer, ragas_callbacks.RagasTracer):
            continue
        runs = tracer.traces
        own = runs.get(str(callbacks.parent_run_id))
        row = runs.get(own.parent_run_id) if own and own.parent_run_id else None
        metrics = [runs[child] for child in row.children] if row else []
        for metric in metrics:
            if metric.name == name:
                reports = [runs[child] for child in metric.children]
                yield from (run.inputs["data"] for run in reports if run.name == _REPORT)
