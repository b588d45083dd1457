"""The plots, drawn by matplotlib: histogram, box plot and partition, also as SVG in the page."""

from __future__ import annotations

import io
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup
from matplotlib import cbook
from matplotlib import style as mpl_style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from noisesense import ModeSummary, Partition, Summary
from noisesense.errors import InputError
from noisesense.scoring.definitions import MODES, Mode
from noisesense_adapters.report.samples import (
    KINDS,
    box_words,
    boxes_caption,
    histogram_words,
    left_out,
)

# matplotlib's own types leave its keyword arguments open:
# pyright: reportUnknownMemberType=false


BINS = 10

_BESIDE = 1.16
"""The position of the bar of undetermined samples: off the scale."""


@dataclass(frozen=True)
class Colors:
    """A color for each element; ``on_fill`` is for text inside a bar."""

    ink: str
    faint: str
    line: str
    surface: str
    on_fill: str
    correct: str
    relevant: str
    irrelevant: str
    hallucination: str
    undetermined: str

    def mode(self, mode: Mode) -> str:
        return self.relevant if mode == "relevant" else self.irrelevant


PAPER = Colors(
    ink="#1b1f24",
    faint="#59636e",
    line="#d5dae0",
    surface="#ffffff",
    on_fill="#ffffff",
    correct="#1f7a8c",
    relevant="#c2410c",
    irrelevant="#6d4bc3",
    hallucination="#475569",
    undetermined="#6e7781",
)


def save_png(figure: Figure, path: Path, dpi: int = 200) -> Path:
    """Raises `InputError` if the picture cannot be written."""
    try:
        figure.savefig(path, format="png", dpi=dpi, metadata={"Software": "NoiseSense"})
    except OSError as error:
        got = error.strerror or type(error).__name__
        raise InputError("a file that can be written", got, where=str(path)) from error
    return path


@contextmanager
def drawing() -> Generator[None, None, None]:
    """matplotlib's defaults, whatever the user's own settings, and the same bytes every time."""
    ours: dict[str, Any] = {
        "axes.spines.left": False,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "font.size": 11,
        "hatch.linewidth": 0.8,
        "svg.fonttype": "none",
        "svg.hashsalt": "noisesense",
    }
    with mpl_style.context(["default", ours]):
        yield


def shown(summary: Summary) -> Iterator[ModeSummary]:
    """The modes that have something to draw."""
    for mode in MODES:
        figures = summary.mode(mode)
        if figures is not None and (figures.distribution or figures.undetermined):
            yield figures


def histogram(ax: Axes, mode: ModeSummary, colors: Colors) -> list[int]:
    """Samples by value, in ten bins from 0 to 1; returns the counts.

    Samples whose value the judge left open get a bar of their own, beside the scale.
    """
    values = [value for value, _ in mode.distribution]
    times = [count for _, count in mode.distribution]
    counts, _, _ = ax.hist(
        values,
        bins=BINS,
        range=(0, 1),
        weights=times,
        color=colors.mode(mode.mode),
        edgecolor=colors.surface,
        linewidth=1.5,
    )
    ticks = {tick: f"{tick:g}" for tick in (0, 0.2, 0.4, 0.6, 0.8, 1)}
    missing = left_out(mode)
    if missing:
        bars = ax.bar(
            _BESIDE,
            missing,
            width=1 / BINS,
            color=colors.surface,
            edgecolor=colors.undetermined,
            hatch="////",
            linewidth=1.5,
        )
        ax.bar_label(bars, fmt="{:,.0f}", padding=2, color=colors.ink)
        ax.margins(y=0.12)
        ticks[_BESIDE] = "\nundetermined"  # below the scale's own figures
    ax.set_xlim(0, _BESIDE + 0.18 if missing else 1)
    ax.set_xticks(list(ticks), list(ticks.values()))
    ax.set_xlabel("noise sensitivity", color=colors.faint)
    ax.set_ylabel("samples", color=colors.faint)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    quiet(ax, colors, grid="y")
    return [round(float(count)) for count in cbook.flatten([list(counts)])]


def box_plot(ax: Axes, modes: list[ModeSummary], colors: Colors) -> None:
    """Quartiles, whiskers of at most 1.5 × IQR, single samples beyond them, and the mean."""
    for at, mode in enumerate(reversed(modes)):
        color = colors.mode(mode.mode)
        values = [value for value, times in mode.distribution for _ in range(times)]
        (stats,) = cbook.boxplot_stats(values)
        stats["fliers"] = sorted(set(stats["fliers"]))  # thousands of equal points are one
        line = {"color": color, "linewidth": 1.5}
        ax.bxp(
            [stats],
            positions=[at],
            orientation="horizontal",
            widths=0.5,
            # A mean over the determined samples is one over those that were easy to judge.
            showmeans=not left_out(mode),
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": colors.surface, "edgecolor": color, "linewidth": 1.5},
            whiskerprops=line,
            capprops=line,
            medianprops={"color": color, "linewidth": 3},
            meanprops={
                "marker": "D",
                "markersize": 6,
                "markerfacecolor": color,
                "markeredgecolor": colors.surface,
            },
            flierprops={
                "marker": "o",
                "markersize": 3.5,
                "markerfacecolor": "none",
                "markeredgecolor": color,
            },
        )
    ax.set_yticks(range(len(modes)), [mode.mode for mode in reversed(modes)])
    ax.set_ylim(-0.6, len(modes) - 0.4)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    ax.set_xlabel("noise sensitivity", color=colors.faint)
    quiet(ax, colors, grid="x")


def partition_bar(ax: Axes, partition: Partition, colors: Colors, *, percent: bool = True) -> None:
    """All response claims by kind, as shares of one bar."""
    left = 0.0
    for kind, count in partition._asdict().items():
        share = count / partition.total if partition.total else 0.0
        if not share:
            continue
        open_kind = kind == "undetermined"
        color = getattr(colors, kind)
        ax.barh(
            0,
            share,
            left=left,
            height=1,
            color=colors.surface if open_kind else color,
            edgecolor=color if open_kind else colors.surface,
            hatch="////" if open_kind else None,
            linewidth=1.5,
        )
        if percent and share >= 0.07 and not open_kind:
            ax.text(
                left + share / 2,
                0,
                f"{share:.0%}",
                color=colors.on_fill,
                ha="center",
                va="center",
                weight="bold",
            )
        left += share
    ax.set_xlim(0, 1)
    ax.set_ylim(-0.5, 0.5)
    ax.set_axis_off()


def quiet(ax: Axes, colors: Colors, *, grid: Any) -> None:
    ax.set_facecolor("none")
    ax.set_axisbelow(True)
    ax.grid(axis=grid, color=colors.line, linewidth=0.8)
    ax.tick_params(colors=colors.line, labelcolor=colors.ink, length=0, pad=8)
    ax.spines["bottom"].set_color(colors.line)


# Colors that matplotlib accepts and nothing else uses: each stands for a variable of the page.
VARIABLES = Colors(
    **{field.name: f"#0100{i:02x}" for i, field in enumerate(fields(Colors), start=1)}
)
_NAMES = {color: f"var(--{name.replace('_', '-')})" for name, color in asdict(VARIABLES).items()}

_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_LEFT_OUT = {f"{_SVG}metadata", f"{_SVG}style"}
_LINK = re.compile(r"#([^)]+)")


def inline_svg(figure: Figure, name: str, label: str, *, stretched: bool = False) -> Markup:
    """The figure as an ``svg`` element named by its text alternative."""
    file = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    root = ElementTree.fromstring(file.getvalue())
    _clean(root, f"{name}-")
    for attribute in ("height", "width", "version"):
        root.attrib.pop(attribute, None)
    root.attrib |= {"class": "plot", "role": "img", "aria-label": label}
    if stretched:
        root.set("preserveAspectRatio", "none")
    text = ElementTree.tostring(root, encoding="unicode")
    for color, variable in _NAMES.items():
        text = text.replace(color, variable)
    return Markup(re.sub(r">\s+<", "><", text))  # matplotlib's, and escaped by ElementTree


def _clean(node: ElementTree.Element, prefix: str) -> None:
    node.tag = node.tag.removeprefix(_SVG)
    for child in list(node):
        if child.tag in _LEFT_OUT:
            node.remove(child)
        else:
            _clean(child, prefix)
    old = dict(node.attrib)
    node.attrib.clear()
    style = dict(part.split(":", 1) for part in old.pop("style", "").split(";") if ":" in part)
    for name, value in {**old, **style}.items():
        name, value = name.strip(), value.strip()
        if name == "id":
            node.set("id", prefix + value)
        elif name == _HREF or "url(#" in value:
            node.set("href" if name == _HREF else name, _LINK.sub(rf"#{prefix}\1", value))
        elif name != "font":  # the page's own
            node.set(name, value)


# In inches of 72 points: drawn for a phone's width, where text must stay readable.
WIDTH = 5.6


@dataclass(frozen=True)
class Histogram:
    """One mode's histogram and its counts."""

    mode: ModeSummary
    svg: Markup
    counts: list[int]
    """Of the ten bins; undetermined samples are in none."""


@dataclass(frozen=True)
class Plots:
    """All plots; None where there is nothing to draw."""

    histograms: list[Histogram]
    boxes: Markup | None
    boxes_caption: str
    partition: Markup | None


def plots(summary: Summary) -> Plots:
    with drawing():
        modes = list(shown(summary))
        boxed = [mode for mode in modes if mode.distribution]
        boxes = _boxes(boxed) if boxed else None
        partition = _partition(summary) if summary.partition.total else None
        histograms = [_histogram(mode) for mode in modes]
        return Plots(histograms, boxes, boxes_caption(boxed), partition)


def _histogram(mode: ModeSummary) -> Histogram:
    figure = Figure(figsize=(WIDTH, 3.2), layout="constrained")
    counts = histogram(figure.subplots(), mode, VARIABLES)
    svg = inline_svg(figure, f"histogram-{mode.mode}", histogram_words(mode, counts))
    return Histogram(mode, svg, counts)


def _boxes(modes: list[ModeSummary]) -> Markup:
    figure = Figure(figsize=(WIDTH, 0.75 + 0.75 * len(modes)), layout="constrained")
    box_plot(figure.subplots(), modes, VARIABLES)
    return inline_svg(figure, "boxes", box_words(modes))


def _partition(summary: Summary) -> Markup:
    figure = Figure(figsize=(WIDTH, 0.62))
    partition_bar(figure.add_axes((0, 0, 1, 1)), summary.partition, VARIABLES, percent=False)
    parts = (
        f"{KINDS[kind].name} {count}"
        for kind, count in summary.partition._asdict().items()
        if count
    )
    # Stretched to the page's width: it holds no text.
    label = f"Stacked bar of {summary.partition.total} claims by kind: {', '.join(parts)}."
    return inline_svg(figure, "partition", label, stretched=True)
