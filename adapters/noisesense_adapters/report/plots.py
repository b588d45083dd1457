"""The plots, drawn by matplotlib: for the page, and as PNG files for papers and slides.

The page's style sheet names the colors. A PNG has its light ones; a plot of the page is an SVG
image that brings both sets along, so that it is light or dark as the page is.
"""

from __future__ import annotations

import base64
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from matplotlib import cbook, style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from noisesense import ModeSummary, Partition, Result, Summary, read_results, summarize
from noisesense.ablation import Ablation
from noisesense.errors import InputError
from noisesense.jsonl import as_path
from noisesense.scoring.definitions import MODES
from noisesense.scoring.outcomes import extent

# matplotlib's own types leave its keyword arguments open:
# pyright: reportUnknownMemberType=false

Results = Iterable[Result] | str | os.PathLike[str]

STYLE = (Path(__file__).parent / "page" / "report.css").read_text(encoding="utf-8")
_VARIABLES = STYLE.partition("\n* {")[0]
_COLORS: dict[str, str] = dict(
    re.findall(r"--([\w-]+): (#\w{6})", _VARIABLES.partition("@media")[0])
)
# Whatever the user's own settings are, and the same bytes every time.
_SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": _COLORS["line"],
    "axes.facecolor": "none",
    "axes.labelcolor": _COLORS["faint"],
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "font.size": 10,
    "grid.color": _COLORS["line"],
    "hatch.linewidth": 0.8,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
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
_drawing = partial(style.context, ["default", _SETTINGS])

NO_VALUES = "No sample has a value: there is nothing to draw."
_BESIDE = 1.1
"""The position of the bar of undetermined samples: off the scale."""


def named(results: Results, title: str | None) -> tuple[Iterable[Result], str]:
    """The results, and their heading: it names the file that they come from, if there is one."""
    if isinstance(results, (str, os.PathLike)):
        return read_results(results), title or f"Noise sensitivity: {as_path(results).name}"
    return results, title or "Noise sensitivity"


def write_png(
    results: Results,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    confidence: float = 0.95,
    dpi: int = 200,
) -> Path:
    """Write histograms and box plots of both modes and the partition as one PNG.

    The same results give the same bytes (with the same matplotlib).

    Args:
        results: results, or the path of a file that `noisesense.read_results` reads.
        path: the file to write.
        title: above the plots; by default ``Noise sensitivity``, and the name of the file.
        confidence: of the intervals shown beside the means.
        dpi: dots per inch; the picture is 8 inches wide.

    Raises:
        InputError: results of several definitions, a number out of range, or a picture that
            cannot be written.
        RecordingError: a file that cannot be read.
    """
    results, title = named(results, title)
    summary = summarize(results, confidence=confidence)
    modes = _shown(summary)
    with _drawing():
        figure = Figure(figsize=(8, 6.6 if modes else 2.2), layout="constrained")
        figure.suptitle(title, weight="bold")
        if modes:
            _draw_all(figure, summary, modes)
        else:
            figure.text(0.5, 0.5, NO_VALUES, ha="center")
        return _save_png(figure, as_path(path), dpi)


def write_growth(found: Ablation, path: str | os.PathLike[str]) -> Path:
    """Write the mean noise by the number of distractors, with its intervals as a band.

    Raises:
        InputError: no ``plus-K`` was answered, or the picture cannot be written.
    """
    target = as_path(path)
    if not _grows(found):
        raise InputError("answers of a variant plus-K", "none", where=str(target))
    with _drawing():
        figure = Figure(figsize=(6, 3.6), layout="constrained")
        _growth(figure.subplots(), found)
        return _save_png(figure, target)


class Plot(NamedTuple):
    """A plot of the page: what it shows, the same in words, and the image as an address."""

    caption: str
    words: str
    address: str


def spread_plots(summary: Summary) -> list[Plot]:
    """A histogram for each mode, and a box plot; none where there is nothing to draw."""
    modes = _shown(summary)
    found = [
        _plot(f"{mode.mode.capitalize()} mode: samples by value", partial(_histogram, mode=mode))
        for mode in modes
    ]
    if boxed := [mode for mode in modes if mode.determined]:
        found.append(
            _plot(_boxes_caption(boxed), partial(_boxes, modes=boxed), 0.5 + 0.45 * len(boxed))
        )
    return found


def partition_plot(partition: Partition) -> Plot | None:
    """All response claims by kind, as shares of one bar; None without claims."""
    return _plot("", partial(_bar, partition=partition), 0.3) if partition.total else None


def growth_plot(found: Ablation) -> Plot | None:
    """What `write_growth` writes; None if no ``plus-K`` was answered."""
    caption = "Noise by the number of distractors, with its interval"
    return _plot(caption, partial(_growth, found=found)) if _grows(found) else None


def _plot(caption: str, draw: Callable[[Axes], str], height: float = 2.3) -> Plot:
    file = io.StringIO()
    with _drawing():
        figure = Figure(figsize=(4.2, height), layout="constrained")  # inches, for a phone's width
        words = draw(figure.subplots())
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = re.sub("'DejaVu Sans'.*?sans-serif", "var(--sans)", file.getvalue())
    for name, color in _COLORS.items():
        svg = svg.replace(color, f"var(--{name})")
    svg = svg.replace('<style type="text/css">', f"<style>{_VARIABLES}", 1)
    svg = svg.replace("<svg ", '<svg preserveAspectRatio="none" ', 1)  # the bar is stretched
    encoded = base64.b64encode(svg.encode()).decode()
    return Plot(caption, words, f"data:image/svg+xml;base64,{encoded}")


def _save_png(figure: Figure, path: Path, dpi: int = 200) -> Path:
    try:
        figure.savefig(path, format="png", dpi=dpi, metadata={"Software": "NoiseSense"})
    except OSError as error:
        got = error.strerror or type(error).__name__
        raise InputError("a file that can be written", got, where=str(path)) from error
    return path


def _shown(summary: Summary) -> list[ModeSummary]:
    """The modes that have something to draw."""
    return [found for mode in MODES if (found := summary.mode(mode)) and found.mean]


def _draw_all(figure: Figure, summary: Summary, modes: list[ModeSummary]) -> None:
    names = [mode.mode for mode in modes]
    rows: Any = [names, ["boxes"] * len(names), ["kinds"] * len(names)]
    axes: dict[str, Axes] = cast(Any, figure).subplot_mosaic(rows, height_ratios=[3, 1.9, 0.6])
    for mode in modes:
        _histogram(axes[mode.mode], mode)
        about = f"mean {extent(mode.mean)}" if mode.mean else ""
        if mode.interval:
            low, high, level, *_ = mode.interval
            about += f"\n{level:.0%} interval {low:.3f} to {high:.3f}"
        axes[mode.mode].set_title(f"{mode.mode}\n{about}")
    boxed = [mode for mode in modes if mode.determined]
    _boxes(axes["boxes"], boxed)
    axes["boxes"].set_title(_boxes_caption(boxed), wrap=True)
    _bar(axes["kinds"], summary.partition)
    axes["kinds"].set_title(f"{summary.partition.total:,} response claims")
    axes["kinds"].legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=5)


# Each of these draws, and returns the same in words.


def _histogram(ax: Axes, mode: ModeSummary) -> str:
    """Samples by value, in ten bins from 0 to 1.

    Samples whose value the judge left open get a bar of their own, beside the scale.
    """
    counts = Counter[float]()
    for value, times in mode.distribution:
        counts[min(int(10 * value), 9) / 10] += times
    left_open = {_BESIDE: mode.undetermined} if mode.undetermined else {}
    for kind, bars in ((mode.mode, counts), ("undetermined", left_open)):
        drawn = ax.bar(list(bars), list(bars.values()), width=0.1, align="edge", **_fill(kind))
        ax.bar_label(drawn, fmt="{:,.0f}", fontsize=8.5)
    ticks = {tick: f"{tick:g}" for tick in (0, 0.2, 0.4, 0.6, 0.8, 1)}
    words = [f"{low:.1f} to {low + 0.1:.1f}: {n:,}" for low, n in sorted(counts.items())]
    if left_open:
        ticks[_BESIDE + 0.05] = "\nundetermined"  # below the scale's own figures
        words.append(f"undetermined: {mode.undetermined:,}")
    ax.set_xlim(-0.02, _BESIDE + 0.12 if left_open else 1.02)
    ax.set_xticks(list(ticks), list(ticks.values()))
    ax.set_xlabel("noise sensitivity")
    ax.yaxis.set_visible(False)
    return f"Histogram of the samples by value, {mode.mode} mode: {'; '.join(words)}."


def _boxes(ax: Axes, modes: list[ModeSummary]) -> str:
    """Quartiles, whiskers of at most 1.5 × IQR, and single samples beyond them."""
    words: list[str] = []
    for at, mode in enumerate(reversed(modes)):
        values = [value for value, times in mode.distribution for _ in range(times)]
        (stats,) = cbook.boxplot_stats(values)
        stats["fliers"] = sorted(set(stats["fliers"]))  # thousands of equal points are one
        color, line = _COLORS[mode.mode], {"color": _COLORS[mode.mode], "linewidth": 1.5}
        ax.bxp(
            [stats],
            positions=[at],
            orientation="horizontal",
            widths=0.5,
            manage_ticks=False,
            boxprops=line,
            whiskerprops=line,
            capprops=line,
            medianprops={"color": color, "linewidth": 3},
            flierprops={"markersize": 3.5, "markeredgecolor": color},
        )
        quartiles = ", ".join(f"{stats[name]:.2f}" for name in ("q1", "med", "q3"))
        words.insert(0, f"{mode.mode} {values[0]:.2f} to {values[-1]:.2f}, quartiles {quartiles}")
    ax.set_yticks(range(len(modes)), [mode.mode for mode in reversed(modes)])
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.6, len(modes) - 0.4), xlabel="noise sensitivity")
    ax.grid(axis="x")
    return f"Box plots: {'; '.join(words)}."


def _boxes_caption(modes: list[ModeSummary]) -> str:
    """What the box plots show, and which samples they cannot."""
    missing = [f"{mode.undetermined:,} {mode.mode}" for mode in modes if mode.undetermined]
    without = f"; left out, undetermined: {', '.join(missing)}" if missing else ""
    return f"Quartiles and samples beyond 1.5 × IQR (○){without}"


def _bar(ax: Axes, partition: Partition) -> str:
    left, words = 0, list[str]()
    for kind, count in partition._asdict().items():
        if count:
            words.append(f"{kind_name(kind)} {count:,}")
            ax.barh(0, count, left=left, label=words[-1], **_fill(kind))
            left += count
    ax.margins(0)
    ax.set_axis_off()
    return f"Stacked bar of {partition.total:,} claims by kind: {', '.join(words)}."


def _growth(ax: Axes, found: Ablation) -> str:
    curve = {
        int(name.removeprefix("plus-") or 0): each
        for name, each in found.noise.items()
        if name != "relevant-only"
    }
    means = list(curve.values())
    for ends in (means, [each.interval or each for each in means]):
        lows, highs = [each[0] for each in ends], [each[1] for each in ends]
        color = _COLORS["irrelevant"]
        ax.fill_between(list(curve), lows, highs, color=color, alpha=0.18, linewidth=0)
    ax.plot(list(curve), [(each.low + each.high) / 2 for each in means], "o-", color=color)
    ax.set(ylim=(0, None), xlabel="distractors added", ylabel="noise sensitivity")
    ax.set_xticks(list(curve))
    ax.grid(axis="y")
    values = (f"with {count} {extent(each[:2], '.2f')}" for count, each in curve.items())
    return f"Mean noise by the number of distractors: {', '.join(values)}."


def _grows(found: Ablation) -> bool:
    return any(name.startswith("plus-") for name in found.noise)


def kind_name(kind: str) -> str:
    """How texts call a kind of claim."""
    return f"{kind} noise" if kind in MODES else kind


def _fill(kind: str) -> dict[str, Any]:
    """A bar in the kind's color; what is open is hatched."""
    if kind == "undetermined":
        return {"color": _COLORS["surface"], "edgecolor": _COLORS[kind], "hatch": "////"}
    return {"color": _COLORS[kind], "edgecolor": _COLORS["surface"]}
