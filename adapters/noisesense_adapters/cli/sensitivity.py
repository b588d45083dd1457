"""``noisesense sensitivity``."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from noisesense import sensitivity_band
from noisesense.scoring.definitions import MODES
from noisesense.stats.cells import CellKind
from noisesense.stats.sensitivity import CELLS
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.output import extent, span
from noisesense_adapters.datasets.results import choices


def sensitivity(
    results: options.ResultsPath,
    false_yes: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="The share of no verdicts to turn into yes."
        ),
    ] = 0.02,
    false_no: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="The share of yes verdicts to turn into no."
        ),
    ] = 0.0,
    cells: Annotated[
        list[str] | None,
        typer.Option(
            metavar="correct|response|reference",
            help="Which verdicts to change. Repeatable.  [default: all]",
        ),
    ] = None,
    definition: options.DefinitionOption = None,
    simulations: Annotated[int, typer.Option(min=1, help="How many simulations to run.")] = 200,
    as_json: options.JsonOption = False,
) -> None:
    """Show how the means would move if the judge were wrong.

    Simulates the judge's errors on the recorded verdicts.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """
    name = choices(definition)["definition"] or options.definition_in(results)
    reading = options.Reading(name)
    band = sensitivity_band(
        reading.results(results),
        false_yes=false_yes,
        false_no=false_no,
        cells=cast("list[CellKind]", cells) or CELLS,
        definition=name,
        simulations=simulations,
    )
    if as_json:
        output.show_json({"definition": name, **band.to_dict()})
        raise typer.Exit(reading.status)
    out = output.console()
    failed = f" ({band.failed:,} more failed)" if band.failed else ""
    where = "all verdicts" if len(band.cells) == len(CELLS) else " and ".join(band.cells)
    output.show_lines(
        out,
        f"{counted(band.samples, 'sample')}{failed}, "
        f"{counted(band.simulations, 'simulation')}: {false_yes:.1%} of the no turned into yes, "
        f"{false_no:.1%} of the yes into no, in {where}; definition {name}",
        "",
    )
    columns = [
        output.Column("mode"),
        *output.numeric("undetermined", "undefined", "mean", "moves to"),
        output.Column("95% of the simulations"),
    ]
    rows = [
        [
            mode.mode,
            f"{mode.undetermined:,}",
            f"{mode.undefined:,}",
            extent(mode.bounds),
            extent(mode.moved_bounds),
            "-" if mode.low is None or mode.high is None else span((mode.low, mode.high)),
        ]
        for mode in map(band.mode, MODES)
        if mode is not None
    ]
    output.show_table(out, columns, rows)
    if band.open_cells:
        output.tell(
            f"note: {band.open_cells:,} verdicts are missing, and errors in them do not show. If "
            "they are many, judge with --plan full."
        )
    raise typer.Exit(reading.status)
