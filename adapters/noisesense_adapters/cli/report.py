"""``noisesense report``: results as a page."""

from __future__ import annotations

from pathlib import Path

import click

from noisesense_adapters.cli import options


@click.command("report")
@options.results
@click.option("--out", type=options.FILE, help="By default RESULTS with the ending .html.")
@options.definition
def command(results: Path, out: Path | None, definition: str | None) -> int:
    """Write the report of results: one .html file.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """
    page = results.with_suffix(".html") if out is None else out
    options.check_report(page, "--report" if out is None else "--out")
    reading = options.Reading(definition=definition)
    name = results.name
    options.write_report(page, reading.results(results), name, saved_as=name)
    return reading.status
