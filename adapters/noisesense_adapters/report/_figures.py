"""The plots of the page, with their text alternatives."""

# matplotlib's own types leave its keyword arguments open:
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.figure import Figure

from noisesense import ModeSummary, Summary
from noisesense_adapters.report._plots import (
    box_plot,
    drawing,
    histogram,
    partition_bar,
    shown,
)
from noisesense_adapters.report._svg import VARIABLES, inline_svg
from noisesense_adapters.report._words import (
    KINDS,
    box_words,
    boxes_caption,
    histogram_words,
)

__all__ = ["Histogram", "Plots", "plots"]

# In inches at 72 to the inch: drawn for a phone's width, where text must stay readable.
_WIDTH = 5.6


@dataclass(frozen=True)
class Histogram:
    """One mode's histogram and its counts."""

    mode: ModeSummary
    svg: Markup
    counts: list[int]
    """Of its ten bins; what is undetermined is in none."""


@dataclass(frozen=True)
class Plots:
    """All plots; None where there is nothing to draw."""

    histograms: list[Histogram]
    boxes: Markup | None
    boxes_caption: str
    partition: Markup | None


def plots(summary: Summary) -> Plots:
    """Draw them."""
    with drawing():
        modes = list(shown(summary))
        boxed = [mode for mode in modes if mode.distribution]
        boxes = _boxes(boxed) if boxed else None
        partition = _partition(summary) if summary.partition.total else None
        histograms = [_histogram(mode) for mode in modes]
        return Plots(histograms, boxes, boxes_caption(boxed), partition)


def _histogram(mode: ModeSummary) -> Histogram:
    figure = Figure(figsize=(_WIDTH, 3.2), layout="constrained")
    counts = histogram(figure.subplots(), mode, VARIABLES)
    svg = inline_svg(figure, f"histogram-{mode.mode}", histogram_words(mode, counts))
    return Histogram(mode, svg, counts)


def _boxes(modes: list[ModeSummary]) -> Markup:
    figure = Figure(figsize=(_WIDTH, 0.75 + 0.75 * len(modes)), layout="constrained")
    box_plot(figure.subplots(), modes, VARIABLES)
    return inline_svg(figure, "boxes", box_words(modes))


def _partition(summary: Summary) -> Markup:
    figure = Figure(figsize=(_WIDTH, 0.62))
    partition_bar(figure.add_axes((0, 0, 1, 1)), summary.partition, VARIABLES, percent=False)
    parts = (
        f"{KINDS[kind].name} {count}"
        for kind, count in summary.partition._asdict().items()
        if count
    )
    # Stretched to the page's width: it holds no text.
    label = f"Stacked bar of {summary.partition.total} claims by kind: {', '.join(parts)}."
    return inline_svg(figure, "partition", label, stretched=True)
