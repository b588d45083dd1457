"""A row in its evaluation. ragas tells a metric nothing about that: its callbacks show which
evaluation a row belongs to and when it ends, its executor whether it raises errors."""

from __future__ import annotations

import asyncio
import logging
import math
import warnings
import weakref
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from types import FrameType
from typing import Any, cast

from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from ragas import callbacks as ragas_callbacks
from ragas.cost import CostCallbackHandler
from ragas.executor import Executor

from noisesense.errors import UndeterminedScoreError
from noisesense.judging.protocol import Usage
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import Score
from noisesense.stats.summarize import Tally
from noisesense_adapters.ragas.result import Choices, ScoredFloat

_REPORT = "noisesense"
_log = logging.getLogger("noisesense")

# The judge knows no callbacks. Tasks and threads it starts inherit the context.
_callbacks: ContextVar[Any] = ContextVar("noisesense_ragas_callbacks", default=None)
_executor: ContextVar[Executor | None] = ContextVar("noisesense_ragas_executor", default=None)
_slots: ContextVar[asyncio.Semaphore | None] = ContextVar("noisesense_ragas_slots", default=None)


def current_callbacks() -> Any:
    """The callbacks of the row that is being scored; None outside ``evaluate()``."""
    return _callbacks.get()


def call_slot() -> AbstractAsyncContextManager[Any]:
    """What a model call is made in: as many at once as the evaluation has workers."""
    return _slots.get() or nullcontext()


def report_tokens(usage: Usage, model: str) -> None:
    """Tell ragas' cost counting of a call that it does not see: only LangChain reports to it."""
    counters: list[Any] = [
        handler
        for handler in getattr(current_callbacks(), "handlers", ())
        if isinstance(handler, CostCallbackHandler)
    ]
    if not counters or not usage.input_tokens + usage.output_tokens:
        return
    # Under the names that ragas' parsers look for, whichever the run was given.
    tokens = {
        **dict.fromkeys(("prompt_tokens", "input_tokens"), usage.input_tokens),
        **dict.fromkeys(("completion_tokens", "output_tokens"), usage.output_tokens),
    }
    about = {"usage": tokens, "model": model, "model_id": model}
    result = LLMResult(
        generations=[
            [ChatGeneration(message=AIMessage(content="", response_metadata=about))],
        ],
        llm_output={"token_usage": tokens, "model_name": model},
    )
    for counter in counters:
        counter.on_llm_end(result)


@contextmanager
def as_job_under(frame: FrameType | None) -> Generator[None, None, None]:
    """Inside, `score_row` does as the executor above the frame is set.

    An undetermined row must be returned where errors become NaN (an exception would lose its
    score) and raised where they are raised. Only ragas' executor knows which, and how many calls
    may be in flight. It awaits a job in a method of its own, so the nearest executor down the
    stack is the one; without any (a metric called by hand) nothing is raised. This holds for
    ragas 0.4.0 to 0.4.3.
    """
    token = _executor.set(_executor_under(frame))
    try:
        yield
    finally:
        _executor.reset(token)


def _executor_under(frame: FrameType | None) -> Executor | None:
    while frame is not None:
        code = frame.f_code
        if "self" in code.co_freevars or "self" in code.co_varnames:
            caller = frame.f_locals.get("self")
            if isinstance(caller, Executor):
                return caller
        frame = frame.f_back
    return None


def _sentence(name: str, choices: Choices, tally: Tally) -> str:
    """What ragas' own mean hides about a column; empty if every row is determined."""
    summary = tally.summary(resamples=100)  # only its exact figures are used
    mode = summary.mode(choices.mode)
    if mode is None or mode.bounds is None or not mode.undetermined:
        return ""
    low, high = mode.bounds
    are = "row is" if summary.samples == 1 else "rows are"
    sentence = (
        f"{name}(mode={choices.mode}): {mode.undetermined} of {summary.samples} {are} "
        f"undetermined; the run's mean lies between {low:.4g} and {high:.4g}"
    )
    if summary.failed:
        sentence += f" ({summary.failed} failed, which no mean includes)"
    choice = choices.undetermined
    if choice == "none":
        return f"{sentence} (ragas' own mean leaves them out and so leans low)"
    return f"{sentence} (ragas' own mean is at the {choice} end: undetermined={choice!r})"


class _Token:
    """Stands for a run where its object must go when the run ends."""


class Run:
    """One evaluation, as our metrics see it.

    Attributes:
        token: what `judge_once` gets as the run. None where there is no evaluation, and when it
            is over.
        over: has it ended? Rows that go on after an error then share nothing.
        slots: bounds the calls in flight; None where nothing does.
    """

    def __init__(self, token: object | None = None) -> None:
        self.token = token
        self.over = False
        self.slots: asyncio.Semaphore | None = None
        self._tallies: dict[tuple[str, Choices], Tally] = {}

    def count(self, name: str, choices: Choices, score: Score | None) -> None:
        """Count a row of one of our metrics; None: the row failed."""
        if self.token is None:
            return
        if (name, choices) not in self._tallies:
            self._warn_of_namesake(name, choices)
        tally = self._tallies.setdefault((name, choices), Tally())
        tally.add(score or Result(str(tally.samples), error="failed"))

    def _warn_of_namesake(self, name: str, choices: Choices) -> None:
        """Two definitions under one name and mode: ragas keeps the last in their one column."""
        for other_name, other in self._tallies:
            if (other_name, other.mode) == (name, choices.mode):
                one, two = (
                    ", ".join(f"{key}={value!r}" for key, value in [*each._asdict().items()][1:])
                    for each in (other, choices)
                )
                warnings.warn(
                    f"two metrics, {one} and {two}, are both called {name}(mode={choices.mode}),"
                    " and ragas keeps one column a name; tell them apart with"
                    " NoiseSensitivity(name=…)",
                    stacklevel=2,
                )

    def bound_by(self, executor: Executor | None) -> asyncio.Semaphore | None:
        """The slots of a run: as many as its executor has jobs in flight, as ragas' metrics."""
        if self.slots is None and executor is not None:
            workers = getattr(executor.run_config, "max_workers", None)
            limits = [n for n in (workers, executor.batch_size) if n is not None and n > 0]
            self.slots = asyncio.Semaphore(min(limits)) if limits else None
        return self.slots

    def end(self, *, log: bool = True) -> None:
        """Free what the metrics have shared, and log what ragas' own mean hides."""
        if self.over:
            return
        tallies, self._tallies = self._tallies, {}
        self.token, self.over = None, True
        sentences = [_sentence(*key, tally) for key, tally in tallies.items()] if log else []
        if any(sentences):
            _log.warning(". ".join(filter(None, sentences)))


class _Tracer(ragas_callbacks.RagasTracer):
    """ragas' tracer, which also notices the end of an evaluation."""

    noisesense_runs: dict[str, Run]

    def on_chain_end(self, outputs: Any, *, run_id: Any, **kwargs: Any) -> Any:
        super().on_chain_end(outputs, run_id=run_id, **kwargs)
        self._end(run_id, log=True)

    def on_chain_error(self, error: BaseException, *, run_id: Any, **kwargs: Any) -> Any:
        super().on_chain_error(error, run_id=run_id, **kwargs)
        self._end(run_id, log=False)

    def _end(self, run_id: Any, *, log: bool) -> None:
        run = self.noisesense_runs.get(str(run_id))
        if run is not None:
            run.end(log=log)


async def score_row(
    value_in: Callable[[Run], Awaitable[ScoredFloat]],
    callbacks: Any,
    name: str,
    choices: Choices,
) -> ScoredFloat:
    """Score a row of an evaluation: count it in its run and leave its report in ragas' traces.

    Model calls inside are reported to the callbacks (tokens, cost, tracing), and wait for a
    `call_slot`.

    Raises:
        UndeterminedScoreError: inside `as_job_under`.
    """
    run, executor = _run_of(callbacks), _executor.get()
    tokens = _callbacks.set(callbacks), _slots.set(run.bound_by(executor))
    try:
        value = await value_in(run)
    except BaseException:
        run.count(name, choices, None)
        raise
    finally:
        _callbacks.reset(tokens[0])
        _slots.reset(tokens[1])
    run.count(name, choices, value.score)
    _trace_report(callbacks, choices, value.report)
    raises = executor is not None and executor.raise_exceptions
    if raises and math.isnan(value) and value.status == "undetermined":
        raise UndeterminedScoreError(value.reason)
    return value


def _run_of(callbacks: Any) -> Run:
    """The evaluation that a metric's callbacks belong to, or one without a token.

    It ends when the tracer that ``evaluate()`` has made hears of the end, or when that tracer is
    gone (``evaluate(return_executor=True)`` never tells it).
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
        runs = cast("dict[str, Run]", tracer.noisesense_runs)  # pyright: ignore[reportUnknownMemberType]
        if root not in runs:
            runs[root] = Run(_Token())
            weakref.finalize(tracer, runs[root].end).atexit = False
        return runs[root]
    return Run()


def _evaluation(traces: dict[str, Any], at: str) -> str | None:
    """The id of the evaluation above a metric's run."""
    while at in traces:
        if traces[at].metadata.get("type") == ragas_callbacks.ChainType.EVALUATION:
            return at
        at = str(traces[at].parent_run_id)
    return None


def row_number(callbacks: Any) -> int | None:
    """The row's position in the dataset of an evaluation, as its traces know it."""
    for tracer in reversed(getattr(callbacks, "handlers", ())):
        at = str(getattr(callbacks, "parent_run_id", None))
        traces: dict[str, Any] = getattr(tracer, "traces", {})
        while at in traces:
            number = traces[at].metadata.get("row_index")
            if isinstance(number, int):
                return number
            at = str(traces[at].parent_run_id)
    return None


def _trace_report(callbacks: Any, choices: Choices, report: dict[str, Any]) -> None:
    """Leave the report in ``result.traces[row]["noise_sensitivity"]["noisesense"]``.

    ragas collects the children of a metric's run that look like its prompts, by name.
    """
    host: Any = ragas_callbacks
    run, _ = host.new_group(
        _REPORT,
        inputs={"data": choices._asdict()},
        callbacks=[] if callbacks is None else callbacks,
        metadata={"type": host.ChainType.RAGAS_PROMPT},
    )
    run.on_chain_end({"output": report})
