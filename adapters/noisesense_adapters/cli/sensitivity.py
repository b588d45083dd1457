"""``noisesense sensitivity``."""

from __future__ import annotations

import re
from typing import Annotated, cast

import typer
from rich.console import Console

from noisesense import SensitivityBand, sensitivity_band
from noisesense.errors import InputError, describe
from noisesense.scoring.definitions import MODES, DefinitionName
from noisesense.stats.cells import CellKind
from noisesense.stats.judge_errors import Within
from noisesense.stats.sensitivity import CELLS, Direction, ErrorRate
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.output import extent, span
from noisesense_adapters.datasets.results import choices

_COUNTED = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9})")


def sensitivity(
    results: options.ResultsPath,
    direction: Annotated[
        str,
        typer.Option(
            metavar="stress|truth",
            help="stress: where would such errors move the means, if the verdicts were true? "
            "truth: which true means do the verdicts allow, if the judge makes such errors?",
        ),
    ] = "stress",
    false_yes: Annotated[
        str,
        typer.Option(
            metavar="SHARE",
            help="How often the judge says yes where no is true: 0.02, or 3/150 if 3 of 150 "
            "labeled verdicts were wrong. Counts make the truth's range wider, the more so the "
            "fewer labels there are.",
        ),
    ] = "0.02",
    false_no: Annotated[
        str,
        typer.Option(metavar="SHARE", help="How often it says no where yes is true; likewise."),
    ] = "0",
    cells: Annotated[
        list[str] | None,
        typer.Option(
            metavar="correct|response|reference",
            help="Which verdicts may be wrong. Repeatable.  [default: all]",
        ),
    ] = None,
    correlation: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="stress: the correlation of errors within a claim or chunk."
        ),
    ] = 0.0,
    within: Annotated[
        str, typer.Option(metavar="claim|chunk", help="Within which errors are correlated.")
    ] = "claim",
    definition: options.DefinitionOption = None,
    simulations: Annotated[int, typer.Option(min=1, help="How many simulations to run.")] = 200,
    as_json: options.JsonOption = False,
) -> None:
    """Show what a judge's errors do to the means.

    Two directions. "stress" takes the recorded verdicts as true and adds errors. "truth" takes
    errors out that they hold already: between which ends the true means lie.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """
    name = choices(definition)["definition"] or options.definition_in(results)
    reading = options.Reading(choices(name))
    band = sensitivity_band(
        reading.results(results),
        direction=cast("Direction", direction),
        false_yes=error_rate(false_yes, "--false-yes"),
        false_no=error_rate(false_no, "--false-no"),
        cells=cast("list[CellKind]", cells) or CELLS,
        correlation=correlation,
        within=cast("Within", within),
        definition=name,
        simulations=simulations,
    )
    if as_json:
        output.show_json({"definition": name, **band.to_dict()})
    else:
        _show(output.console(), band, name)
    raise typer.Exit(reading.status)


def error_rate(text: str, where: str) -> ErrorRate:
    """``0.02``, or ``3/150``. Raises `InputError`."""
    if match := _COUNTED.fullmatch(text.strip()):
        return int(match[1]), int(match[2])
    try:
        return float(text)
    except ValueError:
        expected = "a share such as 0.02, or errors of labels such as 3/150"
        raise InputError(expected, describe(text), where=where) from None


def _show(out: Console, band: SensitivityBand, definition: DefinitionName) -> None:
    failed = f" ({band.failed:,} more failed)" if band.failed else ""
    where = "all verdicts" if len(band.cells) == len(CELLS) else " and ".join(band.cells)
    output.show_lines(
        out,
        f"{counted(band.samples, 'sample')}{failed}; definition {definition}",
        f"{assumption(band)}, in {where}",
        "",
    )
    stress = band.direction == "stress"
    columns = [
        output.Column("mode"),
        *output.numeric("undetermined", "undefined", "mean"),
        *output.numeric("moves to" if stress else "without errors"),
        output.Column(
            f"{band.confidence:.0%} of the simulations" if stress else "the truth lies between"
        ),
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
            if stress
            else f"note: {band.open_cells:,} verdicts are missing, and what they might be makes "
            "the range wider. --plan full asks for them."
        )


def assumption(band: SensitivityBand) -> str:
    """What the figures take for granted, in words."""
    wrong = f"{band.false_yes:.1%} of no said as yes, {band.false_no:.1%} of yes said as no"
    if band.direction == "truth":
        return f"assumed: the verdicts hold errors, {wrong}, each verdict on its own"
    each = f"correlated by {band.correlation:g} within a {band.within}"
    each = each if band.correlation else "each verdict on its own"
    return f"assumed: the verdicts are true; {band.simulations:,} times errors: {wrong}, {each}"
