"""``noisesense trust export-labels`` and ``import-labels``: what people say of claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from noisesense.errors import InputError
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
    seed: Annotated[int, typer.Option(help="The seed of the draw.")] = 0,
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
    says. Write yes or no in the last column, in as many rows as you like, and give the sheet to
    "noisesense trust --for RESULTS --on SHEET".

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


def import_labels(
    source: Annotated[str, typer.Argument(metavar="wice|refchecker|ragtruth")],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="DOWNLOAD... OUT",
            help="The downloaded files, then the file to write. wice: claim/dev.jsonl; "
            "refchecker: human annotations and contexts; ragtruth: response.jsonl and "
            "source_info.jsonl.",
        ),
    ],
    sentences: Annotated[
        int, typer.Option(min=1, help="wice: sentences of the evidence in a chunk.")
    ] = 8,
    sha256: Annotated[
        str | None,
        typer.Option(metavar="HEX", help="The checksum that the downloaded files must have."),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Turn a download of labels into a file for trust.

    WiCE, RefChecker's human annotations and RAGTruth are yours to download, under their licenses.
    """
    from noisesense_adapters.datasets.labels import Source  # here, since judging loads SQLite
    from noisesense_adapters.datasets.labels import import_labels as convert

    if len(files) < 2:
        raise InputError("the downloaded files and a file to write", "one file", where=source)
    *paths, out = files
    check_new(out, force=force)
    imported = convert(cast("Source", source), paths, out, sentences=sentences, sha256=sha256)
    output.say(
        f"wrote {counted(imported.samples, 'sample')} to {out}: {imported.yes:,} yes, "
        f"{imported.no:,} no, {imported.undecided:,} undecided",
        f"SHA-256 of the download: {imported.sha256}",
    )
