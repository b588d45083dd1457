"""A summary as a table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from noisesense import Interval, ModeSummary, Summary
from noisesense.scoring.definitions import MODES, Category
from noisesense.stats.summary import counted
from noisesense_adapters.cli.output import Column, console, show_lines, show_table
from noisesense_adapters.cli.progress import shown_usage

__all__ = ["extent", "figure", "kind", "short", "show_summary", "signed", "span"]

_KEY = re.compile("[0-9a-f]{64}")
_KINDS: dict[Category, str] = {
    "correct": "correct",
    "relevant": "relevant noise",
    "irrelevant": "irrelevant noise",
    "hallucination": "hallucination",
    "undetermined": "undetermined",
}


def figure(value: float | None) -> str:
    """Four digits; ``-`` where it is undefined."""
    return "-" if value is None else f"{value:.4f}"


def span(pair: tuple[float, float] | Interval | None) -> str:
    """From where to where."""
    return "-" if pair is None else f"{pair[0]:.4f} to {pair[1]:.4f}"


def extent(bounds: tuple[float, float] | None) -> str:
    """A figure that lies between two bounds: one number where they meet."""
    if bounds is None:
        return "-"
    return figure(bounds[0]) if bounds[0] == bounds[1] else span(bounds)


def signed(bounds: tuple[float, float] | None) -> str:
    """As `extent`, of a difference."""
    if bounds is None:
        return "-"
    low, high = bounds
    return f"{low:+.4f}" if low == high else f"{low:+.4f} to {high:+.4f}"


def kind(category: Category | None) -> str:
    """A kind of claim in words."""
    return "absent" if category is None else _KINDS[category]


def short(name: str) -> str:
    """A sample's name; a content's key by its first characters."""
    return f"{name[:12]}…" if _KEY.fullmatch(name) else name


def show_summary(
    out: Console, name: str, summary: Summary, aggregates: Mapping[str, float | None] | None = None
) -> None:
    """Print a run's figures; warnings go to stderr."""
    show_lines(out, [_headline(name, summary)])
    modes = [found for mode in MODES if (found := summary.mode(mode)) is not None]
    if modes:
        out.print()
        columns = [Column(""), *(Column(mode.mode, numeric=True) for mode in modes)]
        columns_of = [_figures(mode, summary) for mode in modes]
        # A mode without a sample to measure has no quantiles.
        labels = max(columns_of, key=len)
        rows = [
            [Text(label), *(Text(figures.get(label, figure(None))) for figures in columns_of)]
            for label in labels
        ]
        show_table(out, columns, rows)
        out.print()
        show_lines(out, [_partition(summary)])
        show_lines(out, _signs(modes))
    if aggregates is not None:
        figures = ", ".join(
            f"{name} {'undetermined' if value is None else value}"
            for name, value in aggregates.items()
        )
        show_lines(out, [f"as RAGChecker prints it, in percent: {figures}"])
    spent = shown_usage(summary.usage)
    if spent:
        show_lines(out, [f"judged with {spent}"])
    err = console(stderr=True)
    show_lines(err, [f"note: {warning}" for warning in summary.warnings])


def _headline(name: str, summary: Summary) -> str:
    parts = [counted(summary.samples, "sample"), f"{summary.scored:,} scored"]
    if summary.failed:
        parts.append(f"{summary.failed:,} failed")
    if summary.empty:
        parts.append(f"{summary.empty:,} without claims")
    if summary.clusters is not None:
        parts.append(counted(summary.clusters, "cluster"))
    definition = (
        f"; definition {summary.definition}, lower is better" if summary.definition else ""
    )
    return f"{name}: {', '.join(parts)}{definition}"


def _figures(mode: ModeSummary, summary: Summary) -> dict[str, str]:
    """Labels and figures of one mode, top to bottom."""
    percent = f"  {summary.confidence:.0%} interval"
    as_what = {"low": "no noise", "high": "noise"}.get(summary.undetermined)
    chosen = {} if as_what is None else {f"  open as {as_what}": figure(mode.mean)}
    quantiles = {
        "median" if p == 0.5 else f"{p:.0%} quantile": extent(bounds)
        for p, bounds in mode.quantile_bounds.items()
    }

    def known(value: float | None, samples: int = 1) -> str:
        """`figure`, or that it hangs on what the judge left open."""
        there = mode.determined + mode.undetermined
        return "undetermined" if value is None and there >= samples else figure(value)

    return {
        "mean": extent(mode.bounds),
        percent: span(mode.interval),
        **chosen,
        "standard deviation": known(mode.stdev, samples=2),
        "minimum": known(mode.minimum),
        **quantiles,
        "maximum": known(mode.maximum),
        "samples determined": f"{mode.determined:,}",
        "samples undetermined": f"{mode.undetermined:,}",
        "samples undefined": f"{mode.undefined:,}",
        "mean over all claims": extent(mode.micro_bounds),
        f"{percent} ": span(mode.micro_interval),
    }


def _partition(summary: Summary) -> str:
    total = summary.partition.total
    if not total:
        return "no response claims"
    shares = ", ".join(
        f"{words} {getattr(summary.partition, kind) / total:.1%}" for kind, words in _KINDS.items()
    )
    return f"{counted(total, 'response claim')}: {shares}"


def _signs(modes: Sequence[ModeSummary]) -> list[str]:
    """ValidMind's signs of high risk that are there."""
    return [
        f"sign of high risk, {mode.mode}: {sign.sentence}"
        for mode in modes
        for sign in mode.signs
        if sign.present
    ]
