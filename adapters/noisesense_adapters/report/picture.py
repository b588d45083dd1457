"""The picture: a run's plots in one PNG, for papers and slides."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from noisesense import Partition, Summary, summarize
from noisesense.jsonl import as_path
from noisesense.scoring.outcomes import extent
from noisesense_adapters.report import plots
from noisesense_adapters.report.page import Results, opened, source_name
from noisesense_adapters.report.samples import KINDS, NO_VALUES, boxes_caption

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# matplotlib's own types leave its keyword arguments open:
# pyright: reportUnknownMemberType=false


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
        title: above the plots; by default it names the file of the results.
        confidence: of the intervals shown beside the means.
        dpi: dots per inch; the picture is 8 inches wide.

    Raises:
        InputError: results of several definitions, a number out of range, or a picture that
            cannot be written.
        RecordingError: a file that cannot be read.
    """
    target, name = as_path(path), source_name(results)
    title = title or (f"Noise sensitivity: {name}" if name else None)
    summary = summarize(opened(results), confidence=confidence)
    with plots.drawing():
        return plots.save_png(_figure(summary, title), target, dpi)


def _figure(summary: Summary, title: str | None) -> Figure:
    modes = list(plots.shown(summary))
    figure = Figure(figsize=(8, 6.2 if modes else 2.2), layout="constrained", facecolor="white")
    if title:
        figure.suptitle(title, color=plots.PAPER.ink, weight="bold", parse_math=False)
    if not modes:
        figure.text(0.5, 0.5, NO_VALUES, ha="center", color=plots.PAPER.ink)
        return figure
    top, middle, bottom = figure.subfigures(3, 1, squeeze=False, height_ratios=[3, 1.9, 1.3])[:, 0]
    axes = top.subplots(1, len(modes), squeeze=False)[0]
    for ax, mode in zip(axes, modes, strict=True):
        plots.histogram(ax, mode, plots.PAPER)
        about = f"mean {extent(mode.mean)}" if mode.mean else "no mean"
        if mode.interval:
            low, high, level, *_ = mode.interval
            about += f", {level:.0%} interval {low:.3f} to {high:.3f}"
        ax.set_title(f"{mode.mode}\n{about}", color=plots.PAPER.ink, fontsize=10)
    boxed = [mode for mode in modes if mode.distribution]
    if boxed:
        boxes = middle.subplots()
        plots.box_plot(boxes, boxed, plots.PAPER)
        boxes.set_title(boxes_caption(boxed), color=plots.PAPER.ink, fontsize=10, wrap=True)
    else:
        middle.text(0.5, 0.5, NO_VALUES, ha="center", color=plots.PAPER.ink)
    _with_legend(bottom.subplots(), summary.partition)
    return figure


def _with_legend(ax: Axes, partition: Partition) -> None:
    plots.partition_bar(ax, partition, plots.PAPER)
    handles = [
        Patch(
            facecolor="none" if kind == "undetermined" else getattr(plots.PAPER, kind),
            edgecolor=getattr(plots.PAPER, kind),
            hatch="////" if kind == "undetermined" else None,
            label=f"{KINDS[kind].name} {count:,}",
        )
        for kind, count in partition._asdict().items()
        if count
    ]
    ax.set_title(f"{partition.total:,} response claims", color=plots.PAPER.ink, fontsize=10)
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=len(handles),
        frameon=False,
        fontsize=8.5,
    )
