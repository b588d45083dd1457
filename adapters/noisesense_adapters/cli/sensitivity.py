"""``noisesense sensitivity``."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from noisesense import SensitivityBand, sensitivity_band
from noisesense.scoring.definitions import MODES
from noisesense.stats.labels_cells import CellKind
from noisesense.stats.sensitivity import CELLS
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.commands import Command, option
from noisesense_adapters.cli.output import extent, say, show_json, show_table


class Sensitivity(Command):
    """Show where a judge's errors would move the means.

    The recorded verdicts are taken as true, and errors are added at random. What a judge's errors
    did to your results is another question: label some of them, and ask "noisesense trust".

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """

    results: Path = options.RESULTS
    scoring: options.Definition
    false_yes: float = option(
        "How often the judge says yes where no is true.", "SHARE", default=0.02
    )
    false_no: float = option("How often it says no where yes is true.", "SHARE", default=0.0)
    cells: tuple[str, ...] = option(
        "Which verdicts may be wrong; by default all. Repeatable.", "correct|response|reference"
    )
    simulations: int = option("How many simulations to run.", default=200)
    as_json: bool = options.JSON

    def run(self) -> int:
        definition = self.scoring.name_in(self.results)
        reading = options.Reading(definition)
        band = sensitivity_band(
            reading.results(self.results),
            false_yes=self.false_yes,
            false_no=self.false_no,
            cells=cast("tuple[CellKind, ...]", self.cells) or CELLS,
            definition=definition,
            simulations=self.simulations,
        )
        if self.as_json:
            show_json({"definition": definition, **band.to_dict()})
        else:
            _show(band, definition)
        return reading.status


def _show(band: SensitivityBand, definition: str) -> None:
    failed = f" ({band.failed:,} more failed)" if band.failed else ""
    where = "all verdicts" if len(band.cells) == len(CELLS) else " and ".join(band.cells)
    say(
        f"{counted(band.samples, 'sample')}{failed}; definition {definition}",
        f"assumed: the verdicts are true; {band.simulations:,} times errors: "
        f"{band.false_yes:.1%} of no said as yes, {band.false_no:.1%} of yes said as no, each "
        f"verdict on its own, in {where}",
        "",
    )
    spread = f"{band.confidence:.0%} of the simulations"
    show_table(
        ["mode", ">undetermined", ">undefined", ">mean", ">moves to", spread],
        [
            [
                mode.mode,
                f"{mode.undetermined:,}",
                f"{mode.undefined:,}",
                extent(mode.mean),
                extent(mode.moved),
                extent(mode.band),
            ]
            for mode in map(band.mode, MODES)
            if mode is not None
        ],
    )
