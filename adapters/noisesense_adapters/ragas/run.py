"""The run a row belongs to, as ragas' callbacks and its executor show it.

They are handed on to the model and told our report; and the run is told apart from others, its
end is noticed, and whether it raises errors is found out. ragas tells a metric none of the three.
"""

from __future__ import annotations

import logging
import warnings
import weakref
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from ragas import callbacks as ragas_callbacks
from ragas.executor import Executor

from noisesense.scoring.scoring import Score
from noisesense.stats.summarize import Tally

__all__ = [
    "Run",
    "callbacks_in",
    "current_callbacks",
    "errors_are_raised",
    "raising_as_under",
    "run_of",
    "trace_report",
    "warn_of_namesake",
]

_REPORT = "noisesense"
_log = logging.getLogger("noisesense")

# The judge knows no callbacks. Tasks and threads it starts inherit the context.
_callbacks: ContextVar[Any] = ContextVar("noisesense_ragas_callbacks", default=None)
_raising: ContextVar[bool] = ContextVar("noisesense_ragas_raising", default=False)


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


@contextmanager
def raising_as_under(frame: FrameType | None) -> Generator[None, None, None]:
    """Inside, `errors_are_raised` says whether the executor that called this frame raises them.

    A row without a number must be returned where errors become NaN (an exception would lose its
    score) and raised where they are raised. Only ragas' executor knows which, and a job of its is
    awaited by one of its own methods: so the nearest executor down the stack is the one. Without
    any (a metric called by hand) nothing is raised. The executor is the same in ragas 0.4.0 to
    0.4.3.
    """
    token = _raising.set(_executor_raises(frame))
    try:
        yield
    finally:
        _raising.reset(token)


def errors_are_raised() -> bool:
    """Was ``evaluate(raise_exceptions=True)`` said?"""
    return _raising.get()


def _executor_raises(frame: FrameType | None) -> bool:
    while frame is not None:
        code = frame.f_code
        if "self" in code.co_freevars or "self" in code.co_varnames:
            caller = frame.f_locals.get("self")
            if isinstance(caller, Executor):
                return caller.raise_exceptions
        frame = frame.f_back
    return False


@dataclass
class _Column:
    """What one of our metrics has made of the rows so far."""

    name: str
    asked: dict[str, str]
    rows: int = 0
    failed: int = 0
    undetermined: int = 0
    tally: Tally = field(default_factory=Tally)

    def add(self, score: Score | None) -> None:
        self.rows += 1
        if score is None:
            self.failed += 1
            return
        self.tally.add(score)
        self.undetermined += score.status(self.asked["mode"]) == "undetermined"  # type: ignore[arg-type]

    def sentence(self) -> str:
        summary = self.tally.summary(resamples=100)  # only its exact figures are used
        mode = summary.mode(self.asked["mode"])  # type: ignore[arg-type]
        low, high = (mode.bounds if mode is not None else None) or (0.0, 1.0)
        are = "row is" if self.undetermined == 1 and self.rows == 1 else "rows are"
        said = (
            f"{self.name}(mode={self.asked['mode']}): {self.undetermined} of {self.rows} {are} "
            f"undetermined; the run's mean lies between {low:.4g} and {high:.4g}"
        )
        if self.failed:
            said += f" ({self.failed} failed, which no mean includes)"
        choice = self.asked["undetermined"]
        if choice == "none":
            return f"{said} (ragas' own mean leaves them out and so leans low)"
        return f"{said} (ragas' own mean is at the {choice} end: undetermined={choice!r})"


class _Token:
    """Stands for a run where its object must go when the run ends."""


class Run:
    """One evaluation, as our metrics see it.

    Attributes:
        token: what `judge_once` is given as the run. None where there is no evaluation, and when
            it is over.
        over: has it ended? Rows that go on after an error are then on their own.
    """

    def __init__(self, token: object | None = None) -> None:
        self.token = token
        self.over = False
        self._columns: dict[tuple[str, ...], _Column] = {}

    def count(self, name: str, asked: dict[str, str], score: Score | None) -> None:
        """One of our metrics is done with a row; None: the row failed."""
        if self.token is not None:
            key = (name, *asked.values())
            self._columns.setdefault(key, _Column(name, asked)).add(score)

    def end(self, *, tell: bool = True) -> None:
        """Free what the metrics have shared, and log what ragas' own mean hides."""
        columns = [column for column in self._columns.values() if column.undetermined]
        self.token, self.over, self._columns = None, True, {}
        if columns and tell:
            _log.warning(". ".join(column.sentence() for column in columns))


class _Tracer(ragas_callbacks.RagasTracer):
    """ragas' tracer, which also hears that an evaluation is over."""

    noisesense_runs: dict[str, Run]

    def on_chain_end(self, outputs: Any, *, run_id: Any, **kwargs: Any) -> Any:
        super().on_chain_end(outputs, run_id=run_id, **kwargs)
        self._end(run_id, tell=True)

    def on_chain_error(self, error: BaseException, *, run_id: Any, **kwargs: Any) -> Any:
        super().on_chain_error(error, run_id=run_id, **kwargs)
        self._end(run_id, tell=False)

    def _end(self, run_id: Any, *, tell: bool) -> None:
        run = self.noisesense_runs.get(str(run_id))
        if run is not None and not run.over:
            run.end(tell=tell)


def run_of(callbacks: Any) -> Run:
    """The evaluation to which a metric's callbacks belong; one that is none for any other.

    It ends with ragas' own: when the tracer that ``evaluate()`` has made is told so, or when that
    is gone (``evaluate(return_executor=True)`` never tells it).
    """
    # The last: a list of callbacks that the user hands to several runs keeps all their tracers.
    for tracer in reversed(getattr(callbacks, "handlers", ())):
        if type(tracer) not in (ragas_callbacks.RagasTracer, _Tracer):
            continue
        root = _evaluation(tracer.traces, str(callbacks.parent_run_id))
        if root is None:
            continue
        if type(tracer) is not _Tracer:
            tracer.__class__ = _Tracer
            tracer.noisesense_runs = {}
        runs: dict[str, Run] = tracer.noisesense_runs
        if root not in runs:
            runs[root] = Run(_Token())
            weakref.finalize(tracer, _end_unless_over, runs[root]).atexit = False
        return runs[root]
    return Run()


def _end_unless_over(run: Run) -> None:
    if not run.over:
        run.end()


def _evaluation(traces: dict[str, Any], at: str) -> str | None:
    """The run's id of the evaluation above a metric's run."""
    while at in traces:
        if traces[at].metadata.get("type") == ragas_callbacks.ChainType.EVALUATION:
            return at
        at = str(traces[at].parent_run_id)
    return None


def trace_report(callbacks: Any, asked: dict[str, str], report: dict[str, Any]) -> None:
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


def warn_of_namesake(callbacks: Any, name: str, asked: dict[str, str]) -> None:
    """Warn if another metric of this name and mode scored the row by another definition.

    ragas keeps the last of them in the one column they share.
    """
    for other in _asked_in_row(callbacks, name):
        if other["mode"] == asked["mode"] and other != asked:
            one, two = (
                ", ".join(f"{key}={value!r}" for key, value in each.items() if key != "mode")
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
