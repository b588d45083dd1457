"""What a run shows: progress and failures on stderr while it runs, then its summary."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import cast

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from noisesense import ModeSummary, Result, Summary, Usage
from noisesense.errors import NoiseSenseError
from noisesense.scoring.definitions import MODES, Category
from noisesense.stats.summary import counted
from noisesense_adapters.cli import output
from noisesense_adapters.cli.output import extent, figure, kind, one_line, span
from noisesense_adapters.cli.terminal import visible
from noisesense_adapters.datasets.read import count_rows

_SHOWN_FAILURES = 20
_LAST = 1000


class Pace:
    """How fast the last results came. Those from a store do not count: they took no time.

    Args:
        clock: seconds.
        at_once: how many are judged at once: before so many are there, too few are to say.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, at_once: int = 1) -> None:
        self._clock, self._at_once = clock, at_once
        self._times = deque([(clock(), 0)], maxlen=_LAST)

    def add(self, count: int = 1) -> None:
        self._times.append((self._clock(), self._times[-1][1] + count))

    @property
    def rate(self) -> float | None:
        (start, before), (end, now) = self._times[0], self._times[-1]
        enough = end > start and now >= self._at_once
        return (now - before) / (end - start) if enough else None

    def shown(self, left: float | None) -> str:
        """The rate, and how long the remaining results will take."""
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
    """The bar, and below it the cost: side by side they do not fit 80 columns."""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        for task in self.tasks:
            if task.fields["spent"]:
                yield Text(task.fields["spent"], no_wrap=True, overflow="ellipsis")


class RunProgress:
    """Counts results as they come, draws the bar, and names the first failures.

    Args:
        dataset: the file whose rows are counted for the bar.
        at_once: how many samples are judged at once.
    """

    def __init__(self, dataset: Path, at_once: int = 1) -> None:
        self._console = output.console(stderr=True)
        self._bar: Progress | None = None
        self.done = self.failed = self.chunks = 0
        self.usage = Usage()
        self._failures: dict[str, int] = {}
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
        self._pace = Pace(at_once=at_once)

    def __enter__(self) -> RunProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
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
            if result.usage.calls or not result.usage.cached_calls:
                self._pace.add()
            if result.error is not None:
                self.fail(result.error)
        self._draw()

    def fail(self, error: NoiseSenseError | str) -> None:
        """Count a failure, and name it if it is one of the first of its kind."""
        self.failed += 1
        kind = re.sub(r"\d+", "#", str(error))  # lines and rows differ, what is wrong does not
        if kind in self._failures:
            self._failures[kind] += 1
        elif len(self._failures) < _SHOWN_FAILURES:
            self._failures[kind] = 1
            self.say(f"failed: {error}")

    def _draw(self) -> None:
        if self._bar is not None:
            left = None if self._total is None else max(self._total - self.done, 0)
            failed = f"{self.failed:,} failed" if self.failed else ""
            spent = ", ".join(part for part in (_usage(self.usage), failed) if part)
            self._bar.update(self._task, advance=1, pace=self._pace.shown(left), spent=spent)

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
    aggregates: Mapping[str, float | None] | None,
    chunks: int,
) -> None:
    """Print a run's figures; warnings go to stderr."""
    output.show_lines(out, _headline(name, summary, chunks))
    modes = [each for mode in MODES if (each := summary.mode(mode)) is not None]
    if modes:
        out.print()
        figures = [_figures(mode, summary) for mode in modes]
        # A mode without a sample to measure has no quantiles.
        labels = max(figures, key=len)
        rows = [
            [label, *(column.get(label, figure(None)) for column in figures)] for label in labels
        ]
        output.show_table(
            out, [output.Column(""), *output.numeric(*(mode.mode for mode in modes))], rows
        )
        out.print()
        output.show_lines(out, _partition(summary))
    if aggregates is not None:
        shown = ", ".join(
            f"{name} {'undetermined' if value is None else value}"
            for name, value in aggregates.items()
        )
        output.show_lines(out, f"as RAGChecker prints it, in percent: {shown}")
    spent = _usage(summary.usage)
    if spent:
        output.show_lines(out, f"judged with {spent}")
    output.tell(*(f"note: {warning}" for warning in summary.warnings))


def _headline(name: str, summary: Summary, chunks: int) -> str:
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
    measured = mode.determined + mode.undetermined
    quantiles = {
        "median" if p == 0.5 else f"{p:.0%} quantile": extent(each)
        for p, each in mode.quantiles.items()
    }
    return {
        "mean": extent(mode.mean),
        percent: span(mode.interval),
        "standard deviation": (
            "undetermined" if mode.undetermined and measured > 1 else figure(mode.stdev)
        ),
        "minimum": extent(mode.minimum),
        **quantiles,
        "maximum": extent(mode.maximum),
        "samples determined": f"{mode.determined:,}",
        "samples undetermined": f"{mode.undetermined:,}",
        "samples undefined": f"{mode.undefined:,}",
        "mean over all claims": extent(mode.micro),
        f"{percent} ": span(mode.micro_interval),
    }


def _partition(summary: Summary) -> str:
    total = summary.partition.total
    if not total:
        return "no response claims"
    shares = ", ".join(
        f"{kind(cast('Category', category))} {count / total:.1%}"
        for category, count in summary.partition._asdict().items()
    )
    return f"{counted(total, 'response claim')}: {shares}"
