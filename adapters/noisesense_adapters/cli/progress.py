"""What a run shows on stderr: a bar in a terminal, and what failed."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType

from rich.console import RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from noisesense import Result, Usage
from noisesense_adapters.cli.output import console
from noisesense_adapters.datasets.read import count_rows

__all__ = ["Pace", "RunProgress", "shown_usage"]

_SHOWN_FAILURES = 20
_LAST = 1000


class Pace:
    """How fast the last results came. Those of an earlier run are none: they cost no time.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times = deque([clock()], maxlen=_LAST)

    def add(self) -> None:
        """A result came."""
        self._times.append(self._clock())

    @property
    def rate(self) -> float | None:
        """Results a second; None before there are any."""
        seconds = self._times[-1] - self._times[0]
        return (len(self._times) - 1) / seconds if seconds > 0 else None

    def shown(self, left: float | None) -> str:
        """The rate, and how long as many as are left will take."""
        rate = self.rate
        if rate is None:
            return ""
        pace = f"{rate:,.1f}/s"
        if left is None:
            return pace
        minutes, seconds = divmod(round(left / rate), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{pace}, {hours}:{minutes:02}:{seconds:02} left"


class _TwoLines(Progress):
    """The bar, and below it what was spent: beside each other they do not fit 80 columns."""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        for task in self.tasks:
            if task.fields["spent"]:
                yield Text(task.fields["spent"], no_wrap=True, overflow="ellipsis")


class RunProgress:
    """Counts results as they come, draws the bar, and names each failure (up to 20).

    Args:
        dataset: its rows are counted, if there is a bar to draw.
    """

    def __init__(self, dataset: Path) -> None:
        self._console = console(stderr=True)
        self._bar: Progress | None = None
        self.done = self.kept = self.failed = 0
        self.usage = Usage()
        if self._console.is_terminal:
            self._bar = _TwoLines(
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[pace]}"),
                console=self._console,
                transient=True,
            )
            self._total = count_rows(dataset)
            self._task = self._bar.add_task("scoring", total=self._total, pace="", spent="")
        self._pace = Pace()

    def __enter__(self) -> RunProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        hidden = self.failed - _SHOWN_FAILURES
        if hidden > 0:
            self.say(f"{hidden:,} more failed")

    def add(self, result: Result | None) -> None:
        """Count a result; None: one of an earlier run."""
        self.done += 1
        if result is None:
            self.kept += 1
        else:
            self._pace.add()
            self.usage += result.usage
            if result.error is not None:
                self.fail(result.error)
        if self._bar is not None:
            left = None if self._total is None else max(self._total - self.done, 0)
            failed = f"{self.failed:,} failed" if self.failed else ""
            spent = ", ".join(part for part in (shown_usage(self.usage), failed) if part)
            self._bar.update(self._task, advance=1, pace=self._pace.shown(left), spent=spent)

    def fail(self, error: str) -> None:
        """Name a failure, unless there were many."""
        self.failed += 1
        if self.failed <= _SHOWN_FAILURES:
            self.say(f"failed: {error}")

    def say(self, line: str) -> None:
        """A line of its own, above the bar."""
        self._console.print(Text(" ".join(line.split())), soft_wrap=True)


def shown_usage(usage: Usage) -> str:
    """Calls, tokens and cost, as far as there are any."""
    tokens = usage.input_tokens + usage.output_tokens
    parts: list[tuple[object, Callable[[], str]]] = [
        (usage.calls, lambda: f"{usage.calls:,} calls"),
        (usage.cached_calls, lambda: f"{usage.cached_calls:,} from the store"),
        (tokens, lambda: f"{tokens:,} tokens"),
        (usage.cost is not None, lambda: f"cost {usage.cost:.4f}"),
    ]
    return ", ".join(text() for there, text in parts if there)
