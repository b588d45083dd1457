"""Lines of a running command: progress, calls and cost, and each kind of failure once."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from noisesense import Result, Usage
from noisesense.errors import NoiseSenseError
from noisesense.stats.summarize import counted
from noisesense_adapters.cli.output import one_line
from noisesense_adapters.cli.terminal import fold
from noisesense_adapters.datasets.files import count_rows

_SHOWN_FAILURES = 20
LINE_EVERY = 60.0
"""Seconds between lines of progress where there is no terminal for a bar."""


class FailureLines:
    """Count failures, and say the first of each kind.

    Args:
        say: prints a line.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._kinds = set[str]()  # those that were printed
        self.count = 0

    def add(self, error: NoiseSenseError | str) -> None:
        """Count a failure. Say it if it is the first of its kind, up to 20 kinds."""
        self.count += 1
        # The kind is the message of `InputError` without the value and its place.
        kind = re.sub(r"got .*?(?=\. Hint: |\n|$)|\d+", "#", str(error))
        if kind not in self._kinds and len(self._kinds) < _SHOWN_FAILURES:
            self._kinds.add(kind)
            self._say(one_line(f"failed: {error}"))

    def end(self) -> None:
        """Say how many failures were not shown."""
        more = self.count - len(self._kinds)
        if more:
            self._say(f"{more:,} more failed")


class RunProgress:
    """Count results as they come, show how far the run is, and name the first failures.

    Args:
        rows: the number of rows, or the file whose rows are counted.
        judge: the judge whose test, calls and cost are shown; None without one.
        clock: gives the time in seconds.
    """

    def __init__(
        self, rows: Path | int, judge: object = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = Console(stderr=True, highlight=False, emoji=False)
        self._rows = rows
        self._judge = judge
        self._clock = clock
        self.done = 0
        self.chunks = 0
        self._failures = FailureLines(self.say)
        self.fail = self._failures.add
        self._bar = Progress(
            MofNCompleteColumn(),
            BarColumn(10),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._last_line = clock()
        self._is_over = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> RunProgress:
        self._total = self._rows if isinstance(self._rows, int) else count_rows(self._rows)
        self._task = self._bar.add_task("", total=self._total)
        self._bar.start()
        threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._tell()
        self._bar.stop()
        self._failures.end()

    @property
    def failed(self) -> int:
        """The number of samples that failed."""
        return self._failures.count

    def add(self, result: Result | None, failure: str | None = None) -> None:
        """Count a sample that is done or failed."""
        self.done += 1
        if result is not None:
            if result.sample is not None:
                self.chunks += len(result.sample.retrieved_contexts)
            elif result.score is not None:
                self.chunks += len(result.score.chunk_relevance)
            failure = result.error
        if failure is not None:
            self.fail(failure)
        self._bar.advance(self._task)
        self._tell()

    def _beat(self) -> None:
        """Show progress each second, as a model may take minutes for its first sample."""
        while not self._is_over.wait(1.0):
            self._tell()

    def _tell(self) -> None:
        """Update the bar; without a terminal, print a line each minute."""
        with self._lock:
            now = self._clock()
            costs = self._costs()
            if not self._bar.disable:
                self._bar.update(self._task, description=costs)
            elif now - self._last_line >= LINE_EVERY:
                self._last_line = now
                total = "" if self._total is None else f" of {self._total:,}"
                position = f"{self.done:,}{total} samples"
                self.say(f"{position}, {costs}" if costs else position)

    def _costs(self) -> str:
        """Say the calls and cost of the judge, the failures, and a wait for the provider."""
        parts: list[str] = []
        cost = spent(getattr(self._judge, "usage", Usage()))
        if cost:
            parts.append(cost)
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        waiting = getattr(self._judge, "waiting", 0.0)
        if waiting >= 1:
            parts.append(f"waiting for the provider, {waiting:,.0f} s")
        return ", ".join(parts)

    def say(self, line: str) -> None:
        """Print a line of its own, above the bar."""
        self._console.print(Text(fold(one_line(line), sys.stderr)), soft_wrap=True)


def spent(usage: Usage) -> str:
    """Say the calls, tokens and cost of a judge; nothing if there are none."""
    parts: list[str] = []
    if usage.calls:
        parts.append(counted(usage.calls, "call"))
    if usage.cached_calls:
        parts.append(counted(usage.cached_calls, "kept answer"))
    tokens = usage.input_tokens + usage.output_tokens
    if tokens:
        parts.append(f"{tokens:,} tokens")
    if usage.cost is not None:
        parts.append(f"cost {usage.cost:.4f}")
    return ", ".join(parts)
