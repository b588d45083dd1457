"""``noisesense stability``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console

from noisesense import Interval, Stability
from noisesense import stability as measure
from noisesense.scoring.definitions import MODES
from noisesense.stats.pairing import PairedBy
from noisesense.stats.stability import ModeStability
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.output import figure, short
from noisesense_adapters.datasets.results import choices


def stability(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS...", help="The same samples, judged twice or more."),
    ],
    limit: Annotated[
        float | None,
        typer.Option(metavar="X", help="Which samples are above X in some repeats only?"),
    ] = None,
    pair_by: options.PairByOption = None,
    definition: options.DefinitionOption = None,
    top: Annotated[int, typer.Option(min=0, help="How many changed samples to show.")] = 10,
    as_json: options.JsonOption = False,
) -> None:
    """Show how far a judge agrees with itself.

    Of several judgings of the same samples: how much of a value is the judge's own variance, and
    which samples change (with --limit: change sides). Judge without --store, or with one for each
    run: a store gives the first answers again.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read; 6 too few samples
    are in all runs.
    """
    reading = options.Reading(choices(definition))
    found = measure(
        (reading.results(path) for path in runs),
        limit=limit,
        pair_by=cast("PairedBy | None", pair_by),
    )
    if as_json:
        output.show_json({"runs": [str(path) for path in runs], **found.to_dict()})
    else:
        show(output.console(), found, top)
    raise typer.Exit(reading.status)


def show(out: Console, found: Stability, top: int = 10) -> None:
    """Print how far the judgings agree."""
    output.show_lines(out, f"{counted(found.samples, 'sample')}, judged {found.repeats} times", "")
    columns = [
        output.Column("mode"),
        *output.numeric("samples", "left out", "lowest mean", "highest mean"),
        *output.numeric("judge's share\nof the variance"),
        output.Column("interval"),
        *output.numeric("scatter of\nthe mean", "changed"),
        *output.numeric(*([] if found.limit is None else [f"cross\n{found.limit:g}"])),
    ]
    modes = [each for mode in MODES if (each := found.mode(mode)) is not None]
    output.show_table(
        out,
        columns,
        [
            [
                mode.mode,
                f"{mode.samples:,}",
                f"{mode.left_out:,}",
                figure(min(mode.means, default=None)),
                figure(max(mode.means, default=None)),
                "-" if mode.judge_share is None else f"{mode.judge_share:.1%}",
                _percents(mode.judge_share_interval),
                figure(mode.mean_error),
                f"{len(mode.changed):,}",
                *([] if mode.crossing is None else [f"{mode.crossing:,}"]),
            ]
            for mode in modes
        ],
    )
    for mode in modes:
        _show_changed(out, mode, top)


def _show_changed(out: Console, mode: ModeStability, top: int) -> None:
    doubtful = len(mode.changed) if mode.crossing is None else mode.crossing
    if not doubtful:
        return
    one = "s" if doubtful == 1 else ""
    what = f"change{one}" if mode.crossing is None else f"cross{'es' if one else ''} the limit"
    output.show_lines(out, "", f"{mode.mode}: {counted(doubtful, 'sample')} {what}")
    for each in mode.changed[: min(top, doubtful)]:
        values = ", ".join(map(figure, each.values))
        output.show_lines(out, f"  {short(each.id)}: {values}")


def _percents(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval.low:.1%} to {interval.high:.1%}"
