"""What a run shows: progress and failures on stderr while it runs, then its summary."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from noisesense import ModeSummary, Result, Summary, Usage
from noisesense.errors import NoiseSenseError
from noisesense.scoring.definitions import MODES
from noisesense.stats.summary import counted, headline
from noisesense_adapters.cli import output
from noisesense_adapters.cli.output import extent, one_line, span
from noisesense_adapters.cli.terminal import visible
from noisesense_adapters.datasets.read import count_rows

_SHOWN_FAILURES = 20
_PACE = 300.0  # seconds of the past that say how fast a run is
_TELL = 60.0  # seconds between the lines that stand for the bar where there is no terminal


class _TwoLines(Progress):
    """The bar, and below it the cost: side by side they do not fit 80 columns."""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        for task in self.tasks:
            if task.fields["spent"]:
                yield Text(task.fields["spent"], no_wrap=True, overflow="ellipsis")


class RunProgress:
    """Counts results as they come, draws the bar, and names the first failures.

    Args:
        rows: how many there are, or the file whose rows are counted for the bar.
        judge: whose calls are told while no sample is done, and what its test found.
        clock: seconds.
    """

    def __init__(
        self,
        rows: Path | int,
        judge: object = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = output.console(stderr=True)
        self._rows, self._judge = rows, judge
        self.done = self.failed = self.chunks = 0
        self.usage = Usage()
        self.judges: dict[str, None] = {}
        self._failures: dict[str, int] = {}
        self._bar = _TwoLines(
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
            get_time=clock,
            speed_estimate_period=_PACE,
        )
        self._clock, self._told, self._tested = clock, clock(), ""
        self._over, self._lock = threading.Event(), threading.Lock()

    def __enter__(self) -> RunProgress:
        total = self._rows if isinstance(self._rows, int) else count_rows(self._rows)
        self._task = self._bar.add_task("scoring", total=total, spent="")
        self._bar.start()
        threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._tell()
        self._bar.stop()
        alike = sum(times - 1 for times in self._failures.values())
        if alike:
            self.say(f"{alike:,} more failed like one of these")
        hidden = self.failed - alike - min(len(self._failures), _SHOWN_FAILURES)
        if hidden > 0:
            self.say(f"{hidden:,} more failed")

    def add(self, result: Result | None) -> None:
        self.done += 1
        if result is not None:
            self.usage += result.usage
            self.chunks += _chunks(result)
            self.judges |= {result.judge: None} if result.judge else {}
            if result.error is not None:
                self.fail(result.error)
        self._bar.advance(self._task)
        self._tell()

    def fail(self, error: NoiseSenseError | str) -> None:
        """Count a failure, and name it if it is one of the first of its kind."""
        self.failed += 1
        kind = re.sub(r"\d+", "#", str(error))  # lines and rows differ, what is wrong does not
        if kind in self._failures:
            self._failures[kind] += 1
        elif len(self._failures) < _SHOWN_FAILURES:
            self._failures[kind] = 1
            self.say(f"failed: {error}")

    def _beat(self) -> None:
        """A model may take minutes for its first sample: that is not silence."""
        while not self._over.wait(1.0):
            self._tell()

    def _tell(self) -> None:
        with self._lock:
            tested = getattr(self._judge, "form_reason", "")
            # A model that is unfit ends the run, and the error says it.
            if tested != self._tested and getattr(self._judge, "form", None):
                self._tested = tested
                self.say(tested)
            usage = getattr(self._judge, "usage", self.usage)
            failed = f"{self.failed:,} failed" if self.failed else ""
            spent = ", ".join(filter(None, (_usage(usage), failed)))
            self._bar.update(self._task, spent=spent)
            task, now = self._bar.tasks[self._task], self._clock()
            if self._bar.disable and now - self._told >= _TELL:
                self._told, of = now, "" if task.total is None else f" of {task.total:,.0f}"
                left = task.time_remaining
                until = "" if left is None else f"{timedelta(seconds=left)} left"
                self.say(", ".join(filter(None, (f"{self.done:,}{of} samples", until, spent))))

    def say(self, line: str) -> None:
        """A line of its own, above the bar."""
        self._console.print(Text(visible(one_line(line))), soft_wrap=True)


def _chunks(result: Result) -> int:
    if result.sample is not None:
        return len(result.sample.retrieved_contexts)
    return 0 if result.score is None else len(result.score.chunk_relevance)


def _usage(usage: Usage) -> str:
    tokens = usage.input_tokens + usage.output_tokens
    parts = (
        f"{usage.calls:,} calls" if usage.calls else "",
        f"{usage.cached_calls:,} from the store" if usage.cached_calls else "",
        f"{tokens:,} tokens" if tokens else "",
        "" if usage.cost is None else f"cost {usage.cost:.4f}",
    )
    return ", ".join(filter(None, parts))


def show_summary(
    out: Console,
    name: str,
    summary: Summary,
    chunks: int,
    doubts: Iterable[str] = (),
) -> None:
    """Print a run's figures, and ``doubts`` about its judge; warnings go to stderr."""
    output.show_lines(out, _run(name, summary, chunks))
    modes = [each for mode in MODES if (each := summary.mode(mode)) is not None]
    if modes:
        message, rest = headline(summary)
        output.show_lines(out, "", f"{message}.", rest, "")
        output.show_modes(out, {mode.mode: _figures(mode, summary) for mode in modes})
    spent = _usage(summary.usage)
    if spent:
        output.show_lines(out, ". ".join([f"judged with {spent}", *doubts]))
    output.tell(*(f"note: {warning}" for warning in summary.warnings))


def _run(name: str, summary: Summary, chunks: int) -> str:
    parts = [counted(summary.samples, "sample"), f"{summary.scored:,} scored"]
    if summary.failed:
        parts.append(f"{summary.failed:,} failed")
    if summary.empty:
        parts.append(f"{summary.empty:,} without claims")
    parts.append(counted(chunks, "chunk"))
    if summary.clusters is not None:
        parts.append(counted(summary.clusters, "cluster"))
    definition = (
        f"; definition {summary.definition}, lower is better" if summary.definition else ""
    )
    return f"{name}: {', '.join(parts)}{definition}"


def _figures(mode: ModeSummary, summary: Summary) -> dict[str, str]:
    """Labels and figures of one mode, top to bottom."""
    percent = f"  {summary.confidence:.0%} interval"
    return {
        "mean": extent(mode.mean),
        percent: span(mode.interval),
        "median": extent(mode.median),
        "maximum": extent(mode.maximum),
        "samples undetermined": f"{mode.undetermined:,}",
        "samples undefined": f"{mode.undefined:,}",
        "mean over all claims": extent(mode.micro),
        f"{percent} ": span(mode.micro_interval),
    }
