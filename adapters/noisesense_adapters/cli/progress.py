"""Progress of a run: samples that are done, calls and cost of the judge, and failures."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TimeRemainingColumn,
)
from rich.text import Text

from noisesense import Result, Usage
from noisesense.stats.summarize import counted
from noisesense_adapters.cli.output import Failures, one_line
from noisesense_adapters.cli.terminal import fold
from noisesense_adapters.datasets.files import count_rows

_LINE_EVERY = 60.0
"""Seconds between lines of progress where there is no terminal for a bar."""


class RunProgress:
    """Count results as they come, show how far the run is, and name the first failures.

    Args:
        path: the file whose rows are counted.
        judge: the judge whose calls and cost are shown; None without one.
    """

    def __init__(self, path: Path, judge: object = None) -> None:
        self._console = Console(stderr=True, highlight=False, emoji=False)
        self._judge = judge
        self.done = 0
        self.chunks = 0
        self._failures = Failures(self.say)
        self._bar = Progress(
            MofNCompleteColumn(),
            BarColumn(10),
            TimeRemainingColumn(),
            _CostColumn(self),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        total = None if self._bar.disable else count_rows(path)
        self._task = self._bar.add_task("", total=total)
        self._last_line = time.monotonic()

    def __enter__(self) -> RunProgress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    @property
    def failed(self) -> int:
        """The number of samples that failed."""
        return self._failures.count

    def add(self, result: Result) -> None:
        """Count a sample and its chunks; say its error if it is among the first failures."""
        self.done += 1
        if result.sample is not None:
            self.chunks += len(result.sample.retrieved_contexts)
        elif result.score is not None:
            self.chunks += len(result.score.chunk_relevance)
        if result.error is not None:
            self._failures.add(result.error)
        self._bar.advance(self._task)
        now = time.monotonic()
        if self._bar.disable and now - self._last_line >= _LINE_EVERY:
            self._last_line = now
            self.say(f"{counted(self.done, 'sample')}, {self.costs()}")

    def costs(self) -> str:
        """Return in words the judge's calls and cost, failures, and a wait for the provider."""
        parts = [spent(getattr(self._judge, "usage", Usage())), f"{self.failed:,} failed"]
        waiting = getattr(self._judge, "waiting", 0.0)
        if waiting >= 1:
            parts.append(f"waiting for the provider, {waiting:,.0f} s")
        return ", ".join(filter(None, parts))

    def say(self, line: str) -> None:
        """Print on stderr a line of its own, above the bar."""
        self._console.print(Text(fold(one_line(line), sys.stderr)), soft_wrap=True)


class _CostColumn(ProgressColumn):
    """Shows the costs of a run, which rise before its first sample is done."""

    def __init__(self, run: RunProgress) -> None:
        super().__init__()
        self._run = run

    def render(self, task: Task) -> Text:
        return Text(self._run.costs())


def spent(usage: Usage) -> str:
    """Return in words the calls, tokens and cost of a judge; an empty text if there are none."""
    parts: list[str] = []
    if usage.calls:
        parts.append(counted(usage.calls, "call"))
    if usage.cached_calls:
        parts.append(f"{counted(usage.cached_calls, 'answer')} used again")
    tokens = usage.input_tokens + usage.output_tokens
    if tokens:
        parts.append(f"{tokens:,} tokens")
    if usage.cost is not None:
        parts.append(f"cost {usage.cost:.4f}")
    return ", ".join(parts)
