"""What a run shows while it works: progress, calls and cost, and each kind of failure once."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from noisesense import Result, Usage
from noisesense.errors import NoiseSenseError
from noisesense.stats.summarize import counted
from noisesense_adapters.cli.output import one_line
from noisesense_adapters.cli.terminal import folded
from noisesense_adapters.datasets.files import count_rows
from noisesense_adapters.evaluate.wording import reused

_SHOWN_FAILURES = 20
_PACE = 300.0  # seconds of the past that say how fast a run is
LINE_EVERY = 60.0  # seconds between the lines that stand for the bar where there is no terminal


class FailureLines:
    """Counts failures, and says each kind once.

    Args:
        say: takes a line.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._kinds = set[str]()  # that were said
        self.count = 0

    def add(self, error: NoiseSenseError | str) -> None:
        """Count a failure, and say it if it is the first of its kind and few kinds were said."""
        self.count += 1
        # The kind is the message of `InputError` without what was given and where.
        kind = re.sub(r"got .*?(?=\. Hint: |$)|\d+", "#", str(error))
        if kind not in self._kinds and len(self._kinds) < _SHOWN_FAILURES:
            self._kinds.add(kind)
            self._say(one_line(f"failed: {error}"))

    def end(self) -> None:
        """Say how many more there were."""
        if more := self.count - len(self._kinds):
            self._say(f"{more:,} more failed")


class RunProgress:
    """Counts results as they come, says how far the run is, and names the first failures.

    Args:
        rows: how many there are, or the file whose rows are counted.
        judge: whose calls are told while no sample is done, and what its test found.
        clock: seconds.
    """

    def __init__(
        self, rows: Path | int, judge: object = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = Console(stderr=True, highlight=False, emoji=False)
        self._rows = rows
        self._judge = judge
        self._clock = clock
        self.done = self.chunks = 0
        self._failures = FailureLines(self.say)
        self.fail = self._failures.add
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(10),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
            get_time=clock,
            speed_estimate_period=_PACE,
        )
        self._last_line = clock()
        self._test_result = ""  # as it was said
        self._is_over = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> RunProgress:
        total = self._rows if isinstance(self._rows, int) else count_rows(self._rows)
        self._task = self._bar.add_task("", total=total)
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
        """How many failed."""
        return self._failures.count

    def add(self, result: Result | None, failure: str | None = None) -> None:
        """One more is done, or failed."""
        self.done += 1
        if result is not None:
            self.chunks += _chunks(result)
            failure = result.error
        if failure is not None:
            self.fail(failure)
        self._bar.advance(self._task)
        self._tell()

    def _beat(self) -> None:
        """A model may take minutes for its first sample: that is not silence."""
        while not self._is_over.wait(1.0):
            self._tell()

    def _tell(self) -> None:
        with self._lock:
            tested = getattr(self._judge, "form_reason", "")
            if tested != self._test_result:
                self._test_result = tested
                self.say(tested)
            task = self._bar.tasks[self._task]
            now = self._clock()
            of = "" if task.total is None else f" of {task.total:,.0f}"
            left = task.time_remaining
            until = "" if left is None else f", {timedelta(seconds=left)} left"
            failed = f"{self.failed:,} failed" if self.failed else ""
            waiting = getattr(self._judge, "waiting", 0.0)
            waits = f"waiting for the provider, {waiting:,.0f} s" if waiting >= 1 else ""
            cost = spent(getattr(self._judge, "usage", Usage()))
            made = ", ".join(filter(None, (cost, failed, waits)))
            far = f"{self.done:,}{of} samples{until}"
            if not self._bar.disable:
                self._bar.update(self._task, description=f"{far}\n{made}")
            elif now - self._last_line >= LINE_EVERY:
                self._last_line = now
                self.say(f"{far}, {made}" if made else far)

    def note(self, line: str) -> None:
        """Say it, if there is something to say."""
        if line:
            self.say(line)

    def say(self, line: str) -> None:
        """A line of its own, above the bar."""
        self._console.print(Text(folded(one_line(line), sys.stderr)), soft_wrap=True)


def _chunks(result: Result) -> int:
    if result.sample is not None:
        return len(result.sample.retrieved_contexts)
    return 0 if result.score is None else len(result.score.chunk_relevance)


def spent(usage: Usage) -> str:
    """What a judge was asked for, in words."""
    tokens = usage.input_tokens + usage.output_tokens
    parts = (
        counted(usage.calls, "call") if usage.calls else "",
        reused(usage.cached_calls) if usage.cached_calls else "",
        f"{tokens:,} tokens" if tokens else "",
        "" if usage.cost is None else f"cost {usage.cost:.4f}",
    )
    return ", ".join(filter(None, parts))
