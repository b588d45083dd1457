"""``noisesense export-labels``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noisesense.stats.summary import counted
from noisesense_adapters.cli import output
from noisesense_adapters.cli.options import ForceOption, Reading, ResultsPath, check_new
from noisesense_adapters.datasets.sheets import LABEL, write_labels


def export_labels(
    results: ResultsPath,
    sheet: Annotated[Path, typer.Argument(metavar="SHEET", help="A new file: .csv or .tsv.")],
    samples: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Draw N samples, in proportion from those with noise, without, and undetermined "
            "ones.  [default: all]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0,
    show_verdicts: Annotated[
        bool,
        typer.Option(
            "--show-verdicts",
            help="Add what the judge said, with which people tend to agree.  [default: left out]",
        ),
    ] = False,
    force: ForceOption = False,
) -> None:
    """Write a sheet for people's labels of a judge's claims.

    Each row asks whether a source (the reference or a chunk) says what a statement (a claim)
    says. Write yes or no into the last column, as far as you come, and give the sheet to
    "noisesense agreement RESULTS SHEET".

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """
    check_new(sheet, force=force)
    reading = Reading()
    written = write_labels(
        reading.results(results),
        sheet,
        samples=samples,
        seed=seed,
        show_verdicts=show_verdicts,
    )
    if written.left_out:
        output.tell(
            f"note: {counted(written.left_out, 'sample')} left out: without texts or claims"
        )
    rows, chosen = counted(written.rows, "question"), counted(written.samples, "sample")
    output.say(
        f"wrote {rows} on {chosen} to {sheet}",
        f"write yes or no into the column {LABEL!r}; what is left empty stays undetermined",
    )
    raise typer.Exit(reading.status)
