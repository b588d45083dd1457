"""How noise grows with distractors: one plot, as a PNG and in the page."""

from __future__ import annotations

import os
from pathlib import Path

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from noisesense.ablation import Ablation
from noisesense.errors import InputError
from noisesense.jsonl import as_path
from noisesense.scoring.outcomes import extent
from noisesense.stats.interval import Estimate
from noisesense_adapters.report import plots

# matplotlib's own types leave its keyword arguments open:
# pyright: reportUnknownMemberType=false


def write_growth(found: Ablation, path: str | os.PathLike[str]) -> Path:
    """Write the mean noise by the number of distractors, with its intervals as a band.

    Raises:
        InputError: no ``plus-K`` was answered, or the picture cannot be written.
    """
    target, curve = as_path(path), _curve(found)
    if len(curve) < 2:
        raise InputError("answers of a variant plus-K", "none", where=str(target))
    with plots.drawing():
        figure = Figure(figsize=(6, 3.6), layout="constrained", facecolor="white")
        _draw(figure.subplots(), curve, plots.PAPER)
        return plots.save_png(figure, target)


def growth_svg(found: Ablation) -> Markup | None:
    """The same for the page; None if no ``plus-K`` was answered."""
    curve = _curve(found)
    if len(curve) < 2:
        return None
    values = (f"with {count} {extent(each[:2], '.2f')}" for count, each in curve)
    with plots.drawing():
        figure = Figure(figsize=(plots.WIDTH, 3.2), layout="constrained")
        _draw(figure.subplots(), curve, plots.VARIABLES)
        label = f"Mean noise by the number of distractors: {', '.join(values)}."
        return plots.inline_svg(figure, "growth", label)


def _curve(found: Ablation) -> list[tuple[int, Estimate]]:
    """By the number of distractors, from none on."""
    return [
        (int(name.removeprefix("plus-") or 0), each)
        for name, each in found.noise.items()
        if name != "relevant-only"
    ]


def _draw(ax: Axes, curve: list[tuple[int, Estimate]], colors: plots.Colors) -> None:
    at, means = [count for count, _ in curve], [each for _, each in curve]
    bands = ([e[:2] for e in means], [e.interval[:2] if e.interval else e[:2] for e in means])
    for ends in bands:
        lows, highs = zip(*ends, strict=True)
        ax.fill_between(at, lows, highs, color=colors.irrelevant, alpha=0.18, linewidth=0)
    ax.plot(at, [(e.low + e.high) / 2 for e in means], "o-", color=colors.irrelevant)
    ax.set(ylim=(0, None), xticks=at)
    ax.set_xlabel("distractors added", color=colors.faint)
    ax.set_ylabel("noise sensitivity", color=colors.faint)
    plots.quiet(ax, colors, grid="y")
