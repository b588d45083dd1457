"""``noisesense sensitivity``."""

from __future__ import annotations

from typing import Annotated, cast

import typer
from rich.console import Console

from noisesense import SensitivityBand, sensitivity_band
from noisesense.scoring.definitions import MODES, DefinitionName
from noisesense.stats.labels_cells import CellKind
from noisesense.stats.sensitivity import CELLS
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.output import extent
from noisesense_adapters.datasets.results import choices


def sensitivity(
    results: options.ResultsPath,
    false_yes: Annotated[
        float,
        typer.Option(metavar="SHARE", help="How often the judge says yes where no is true."),
    ] = 0.02,
    false_no: Annotated[
        float, typer.Option(metavar="SHARE", help="How often it says no where yes is true.")
    ] = 0.0,
    cells: Annotated[
        list[str] | None,
        typer.Option(
            metavar="correct|response|reference",
            help="Which verdicts may be wrong. Repeatable.  [default: all]",
        ),
    ] = None,
    definition: options.DefinitionOption = None,
    simulations: Annotated[int, typer.Option(min=1, help="How many simulations to run.")] = 200,
    as_json: options.JsonOption = False,
) -> None:
    """Show where a judge's errors would move the means.

    The recorded verdicts are taken as true, and errors are added at random. What a judge's errors
    did to your results is another question: label some of them, and ask "noisesense trust".

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """
    name = choices(definition)["definition"] or options.definition_in(results)
    reading = options.Reading(choices(name))
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
    else:
        _show(output.console(), band, name)
    raise typer.Exit(reading.status)


def _show(out: Console, band: SensitivityBand, definition: DefinitionName) -> None:
    failed = f" ({band.failed:,} more failed)" if band.failed else ""
    where = "all verdicts" if len(band.cells) == len(CELLS) else " and ".join(band.cells)
    output.show_lines(
        out,
        f"{counted(band.samples, 'sample')}{failed}; definition {definition}",
        f"{assumption(band)}, in {where}",
        "",
    )
    columns = [
        output.Column("mode"),
        *output.numeric("undetermined", "undefined", "mean", "moves to"),
        output.Column(f"{band.confidence:.0%} of the simulations"),
    ]
    rows = [
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
    ]
    output.show_table(out, columns, rows)


def assumption(band: SensitivityBand) -> str:
    """What the figures take for granted, in words."""
    wrong = f"{band.false_yes:.1%} of no said as yes, {band.false_no:.1%} of yes said as no"
    times = f"{band.simulations:,} times errors"
    return f"assumed: the verdicts are true; {times}: {wrong}, each verdict on its own"
