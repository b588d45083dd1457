"""``noisesense stability``."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from noisesense import Stability as Found
from noisesense import stability
from noisesense.scoring.definitions import MODES
from noisesense.stats.pairing import PairedBy
from noisesense.stats.stability import ModeStability
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.commands import Command, argument, option
from noisesense_adapters.cli.output import figure, say, short, show_json, show_table, span


class Stability(Command):
    """Show how far a judge agrees with itself.

    Of several judgings of the same samples: how much of a value is the judge's own variance, and
    which samples change (with --limit: change sides). Judge into another --out each time: a store
    gives the first answers again.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read; 6 too few samples
    are in all runs.
    """

    runs: tuple[Path, ...] = argument("The same samples, judged twice or more.", "RESULTS...")
    limit: float | None = option("Which samples are above X in some repeats only?", "X")
    pair_by: str | None = options.PAIR_BY
    scoring: options.Definition
    top: int = options.TOP
    as_json: bool = options.JSON

    def run(self) -> int:
        reading = options.Reading(self.scoring.definition)
        found = stability(
            (reading.results(path) for path in self.runs),
            limit=self.limit,
            pair_by=cast("PairedBy | None", self.pair_by),
        )
        if self.as_json:
            show_json({"runs": [str(path) for path in self.runs], **found.to_dict()})
        else:
            _show(found, self.top)
        return reading.status


def _show(found: Found, top: int) -> None:
    say(f"{counted(found.samples, 'sample')}, judged {found.repeats} times", "")
    modes = [each for mode in MODES if (each := found.mode(mode)) is not None]
    titles = ["mode", ">samples", ">left out", ">lowest mean", ">highest mean"]
    titles += [">judge's share\nof the variance", "interval", ">scatter of\nthe mean", ">changed"]
    crossing = [] if found.limit is None else [f">cross\n{found.limit:g}"]
    show_table(
        [*titles, *crossing],
        [
            [
                mode.mode,
                f"{mode.samples:,}",
                f"{mode.left_out:,}",
                figure(min(mode.means, default=None)),
                figure(max(mode.means, default=None)),
                "-" if mode.judge_share is None else f"{mode.judge_share:.1%}",
                span(mode.judge_share_interval, ".1%"),
                figure(mode.mean_error),
                f"{len(mode.changed):,}",
                *([] if mode.crossing is None else [f"{mode.crossing:,}"]),
            ]
            for mode in modes
        ],
    )
    for mode in modes:
        _show_changed(mode, top)


def _show_changed(mode: ModeStability, top: int) -> None:
    doubtful = len(mode.changed) if mode.crossing is None else mode.crossing
    if not doubtful:
        return
    what = "whose value changes" if mode.crossing is None else "on both sides of the limit"
    say("", f"{mode.mode}: {counted(doubtful, 'sample')} {what}")
    for each in mode.changed[: min(top, doubtful)]:
        say(f"  {short(each.id)}: {', '.join(map(figure, each.values))}")
