"""The plots, drawn by matplotlib: SVG images for the page, and a PNG for papers.

The colors are those of the page's style sheet. An SVG image contains the light and the dark ones,
to look like the page; a PNG has the light ones.
"""

from __future__ import annotations

import base64
import io
import os
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib import cbook, style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from noisesense import Estimate, ModeSummary, Partition, Result, Summary, read_results, summarize
from noisesense.ablation import Ablation
from noisesense.errors import InputError, encodable
from noisesense.jsonl import as_path
from noisesense.scoring.definitions import MODES
from noisesense.scoring.outcomes import extent

# matplotlib's types leave keyword arguments open:
# pyright: reportUnknownMemberType=false

STYLE = (Path(__file__).parent / "page" / "report.css").read_text(encoding="utf-8")
_VARIABLES = STYLE.partition("\n* {")[0]
_COLORS: dict[str, str] = dict(
    re.findall(r"--([\w-]+): (#\w{6})", _VARIABLES.partition("@media")[0])
)
# Independent of the user's settings, with the same bytes every time.
_SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": _COLORS["line"],
    "axes.facecolor": "none",
    "axes.labelcolor": _COLORS["faint"],
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 10,
    "grid.color": _COLORS["line"],
    "hatch.linewidth": 0.8,
    "patch.linewidth": 1.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "noisesense",
    "text.color": _COLORS["ink"],
    "text.parse_math": False,
    "xtick.labelcolor": _COLORS["ink"],
    "xtick.major.size": 0,
    "ytick.labelcolor": _COLORS["ink"],
    "ytick.major.size": 0,
}
_TITLE = 48
"""Characters in a line of the title, as many as fit in the width."""
_BESIDE = 1.1
"""The position of the bar of undetermined samples, beside the scale."""


class Plot(NamedTuple):
    """A plot.

    Attributes:
        caption: the title; empty if the content in words is the title.
        draw: draws the plot, and returns its content in words.
        height: in inches, at a phone's width of 4.2.
    """

    caption: str
    draw: Callable[[Axes], str]
    height: float = 2.3


class Image(NamedTuple):
    """A plot of the page: its caption, its content in words, and the image as a data URL."""

    caption: str
    words: str
    address: str


def spread_plots(summary: Summary) -> list[Plot]:
    """A histogram for each mode, and a box plot; none if there is nothing to draw."""
    plots: list[Plot] = []
    determined: list[ModeSummary] = []
    for figures in summary.modes:
        if figures.mean is None:
            continue
        caption = f"{figures.mode.capitalize()} mode: samples by value"
        plots.append(Plot(caption, partial(_histogram, mode=figures)))
        if figures.determined:
            determined.append(figures)
    if determined:
        plots.append(_box_plot(determined))
    return plots


def _box_plot(modes: list[ModeSummary]) -> Plot:
    caption = "Quartiles and samples beyond 1.5 × IQR (○)"
    left_out: list[str] = []
    for figures in modes:
        if figures.undetermined:
            left_out.append(f"{figures.undetermined:,} {figures.mode}")
    if left_out:
        caption += f"; left out, undetermined: {', '.join(left_out)}"
    return Plot(caption, partial(_boxes, modes=modes), 0.5 + 0.45 * len(modes))


def partition_plots(partition: Partition) -> list[Plot]:
    """One bar of all response claims by kind; none without claims."""
    if not partition.total:
        return []
    return [Plot("", partial(_bar, partition=partition), 0.3)]


def growth_plots(ablation: Ablation) -> list[Plot]:
    """Unsupported claims by the number of distractors; none if no ``plus-K`` was answered."""
    if not any(name.startswith("plus-") for name in ablation.changes):
        return []
    caption = "Unsupported claims by number of distractors"
    return [Plot(caption, partial(_growth, ablation=ablation))]


def write_png(
    results: Iterable[Result] | str | os.PathLike[str] | Ablation,
    path: str | os.PathLike[str],
    *,
    title: str = "Noise sensitivity",
) -> Path:
    """Write the plots of results, or of an ablation, to one PNG.

    The same results give the same bytes (with the same matplotlib).

    Args:
        results: results, the path of a file that `noisesense.read_results` reads, or an ablation,
            of which the growth by distractors is drawn.
        path: the file to write.
        title: the title above the plots.

    Raises:
        InputError: results of several definitions, nothing to draw, or a file that cannot be
            written.
    """
    target = as_path(path)
    if isinstance(results, Ablation):
        plots = growth_plots(results)
    else:
        if isinstance(results, (str, os.PathLike)):
            results = read_results(results)
        summary = summarize(results)
        plots = [*spread_plots(summary), *partition_plots(summary.partition)]
    if not plots:
        raise InputError("something to draw", "no value", where=str(target))
    heights = [0.6 + plot.height for plot in plots]
    with style.context(["default", _SETTINGS]):
        figure = Figure(figsize=(6, sum(heights)), layout="constrained")
        figure.suptitle(textwrap.fill(encodable(title), _TITLE), weight="bold")
        rows = figure.subplots(len(plots), squeeze=False, height_ratios=heights)
        for plot, (ax,) in zip(plots, rows, strict=True):
            words = plot.draw(ax)
            ax.set_title(plot.caption or words, wrap=True)
        try:
            figure.savefig(target, format="png", dpi=200, metadata={"Software": "NoiseSense"})
        except OSError as error:
            got = error.strerror or type(error).__name__
            raise InputError("a file that can be written", got, where=str(target)) from error
    return target


def image(plot: Plot) -> Image:
    """Draw a plot for the page."""
    file = io.StringIO()
    with style.context(["default", _SETTINGS]):
        figure = Figure(figsize=(4.2, plot.height), layout="constrained")
        words = plot.draw(figure.subplots())
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = re.sub("'DejaVu Sans'.*?sans-serif", "var(--sans)", file.getvalue())
    for name, color in _COLORS.items():
        svg = svg.replace(color, f"var(--{name})")
    svg = svg.replace('<style type="text/css">', f"<style>{_VARIABLES}", 1)
    svg = svg.replace("<svg ", '<svg preserveAspectRatio="none" ', 1)  # the bar is stretched
    encoded = base64.b64encode(svg.encode()).decode()
    return Image(plot.caption, words, f"data:image/svg+xml;base64,{encoded}")


# Each of these functions draws a plot, and returns its content in words.


def _histogram(ax: Axes, mode: ModeSummary) -> str:
    """Samples by value in ten bins from 0 to 1, with undetermined ones in a bar beside them."""
    counts = Counter[float]()
    for value, times in mode.distribution:
        counts[min(int(10 * value), 9) / 10] += times
    _label_bars(ax, counts, mode.mode)
    ticks: dict[float, str] = {0: "0", 0.2: "0.2", 0.4: "0.4", 0.6: "0.6", 0.8: "0.8", 1: "1"}
    words: list[str] = []
    for low, samples in sorted(counts.items()):
        words.append(f"{low:.1f} to {low + 0.1:.1f}: {samples:,}")
    end = 1.02
    if mode.undetermined:
        _label_bars(ax, {_BESIDE: mode.undetermined}, "undetermined")
        ticks[_BESIDE + 0.05] = "\nundetermined"  # below the numbers of the scale
        words.append(f"undetermined: {mode.undetermined:,}")
        end = _BESIDE + 0.12
    ax.set_xlim(-0.02, end)
    ax.set_xticks(list(ticks), list(ticks.values()))
    ax.set_xlabel("noise sensitivity")
    ax.yaxis.set_visible(False)
    return f"Histogram of the samples by value, {mode.mode} mode: {'; '.join(words)}."


def _label_bars(ax: Axes, counts: Mapping[float, int], kind: str) -> None:
    bars = ax.bar(list(counts), list(counts.values()), width=0.1, align="edge", **_fill(kind))
    ax.bar_label(bars, fmt="{:,.0f}", fontsize=8.5)


def _boxes(ax: Axes, modes: list[ModeSummary]) -> str:
    """Quartiles, whiskers of at most 1.5 × IQR, and the samples beyond them."""
    words: list[str] = []
    for position, mode in enumerate(reversed(modes)):
        values: list[float] = []
        for value, times in mode.distribution:
            values += [value] * times
        (stats,) = cbook.boxplot_stats(values)
        stats["fliers"] = sorted(set(stats["fliers"]))  # thousands of points may be equal
        color = _COLORS[mode.mode]
        line = {"color": color, "linewidth": 1.5}
        ax.bxp(
            [stats],
            positions=[position],
            orientation="horizontal",
            widths=0.5,
            manage_ticks=False,
            boxprops=line,
            whiskerprops=line,
            capprops=line,
            medianprops={"color": color, "linewidth": 3},
            flierprops={"markersize": 3.5, "markeredgecolor": color},
        )
        quartiles = f"{stats['q1']:.2f}, {stats['med']:.2f}, {stats['q3']:.2f}"
        words.insert(0, f"{mode.mode} {values[0]:.2f} to {values[-1]:.2f}, quartiles {quartiles}")
    ax.set_yticks(range(len(modes)), [mode.mode for mode in reversed(modes)])
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.6, len(modes) - 0.4), xlabel="noise sensitivity")
    ax.grid(axis="x")
    return f"Box plots: {'; '.join(words)}."


def _bar(ax: Axes, partition: Partition) -> str:
    """The counts of all kinds of claims, side by side in one bar."""
    left = 0
    words: list[str] = []
    for kind, count in partition._asdict().items():
        if count:
            words.append(f"{kind_name(kind)} {count:,}")
            ax.barh(0, count, left=left, **_fill(kind))
            left += count
    ax.margins(0)
    ax.set_axis_off()
    return f"Stacked bar of {partition.total:,} claims by kind: {', '.join(words)}."


def _growth(ax: Axes, ablation: Ablation) -> str:
    """The share of unsupported claims by the number of distractors, with its interval."""
    means: dict[int, Estimate] = {}
    if ablation.again is not None:
        means[0] = ablation.again
    for name, change in ablation.changes.items():
        if name.startswith("plus-"):
            means[int(name.removeprefix("plus-"))] = change.after
    counts = list(means)
    color = _COLORS["irrelevant"]
    _fill_between(ax, counts, [(mean.low, mean.high) for mean in means.values()])
    _fill_between(ax, counts, [(mean.interval or mean)[:2] for mean in means.values()])
    ax.plot(counts, [(mean.low + mean.high) / 2 for mean in means.values()], "o-", color=color)
    ax.set(ylim=(0, None), xlabel="distractors added", ylabel="share of claims")
    ax.set_xticks(counts)
    ax.grid(axis="y")
    words = [f"with {count} {extent(mean[:2], '.2f')}" for count, mean in means.items()]
    return f"Mean share of unsupported claims by the number of distractors: {', '.join(words)}."


def _fill_between(ax: Axes, counts: list[int], ranges: list[tuple[float, float]]) -> None:
    lows = [low for low, _ in ranges]
    highs = [high for _, high in ranges]
    ax.fill_between(counts, lows, highs, color=_COLORS["irrelevant"], alpha=0.18, linewidth=0)


def kind_name(kind: str) -> str:
    """The name of a kind of claim in texts."""
    return f"{kind} noise" if kind in MODES else kind


def _fill(kind: str) -> dict[str, Any]:
    """The fill of a bar in the kind's color; hatched for undetermined ones."""
    if kind == "undetermined":
        return {"color": _COLORS["surface"], "edgecolor": _COLORS[kind], "hatch": "////"}
    return {"color": _COLORS[kind], "edgecolor": _COLORS["surface"]}
