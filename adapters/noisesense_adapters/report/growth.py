"""How noise grows with distractors: one picture."""

from __future__ import annotations

import os
from pathlib import Path

from matplotlib.figure import Figure

from noisesense.ablation import Ablation
from noisesense.errors import InputError
from noisesense.jsonl import as_path
from noisesense_adapters.report import plots

# matplotlib's own types leave its keyword arguments open:
# pyright: reportUnknownMemberType=false


def write_growth(found: Ablation, path: str | os.PathLike[str]) -> Path:
    """Write the mean noise by the number of distractors, with its intervals as a band.

    Raises:
        InputError: no ``plus-K`` was answered, or the picture cannot be written.
    """
    target = as_path(path)
    curve = [
        (int(name.removeprefix("plus-") or 0), each)
        for name, each in found.noise.items()
        if name != "relevant-only"
    ]
    if len(curve) < 2:
        raise InputError("answers of a variant plus-K", "none", where=str(target))
    at = [count for count, _ in curve]
    with plots.drawing():
        figure = Figure(figsize=(6, 3.6), layout="constrained", facecolor="white")
        ax, color = figure.subplots(), plots.PAPER.irrelevant
        for ends in (
            [(e.low, e.high) for _, e in curve],
            [e.interval or (e.low, e.high) for _, e in curve],
        ):
            ax.fill_between(
                at,
                [e[0] for e in ends],
                [e[1] for e in ends],
                color=color,
                alpha=0.18,
                linewidth=0,
            )
        ax.plot(at, [(e.low + e.high) / 2 for _, e in curve], "o-", color=color)
        ax.set(xlabel="distractors added", ylabel="noise sensitivity", ylim=(0, None), xticks=at)
        try:
            figure.savefig(target, format="png", dpi=200, metadata={"Software": None})
        except OSError as error:
            got = error.strerror or type(error).__name__
            raise InputError("a file that can be written", got, where=str(target)) from error
    return target
