"""``noisesense sensitivity``: what it does."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import cast

from rich.text import Text

from noisesense import sensitivity_band
from noisesense.scoring.definitions import MODES, DefinitionName
from noisesense.stats.cells import CellKind
from noisesense.stats.sensitivity import CELLS
from noisesense.stats.summary import counted
from noisesense_adapters.cli.options import Reading, definition_in
from noisesense_adapters.cli.output import Column, console, show_lines, show_table
from noisesense_adapters.cli.summary import extent, span

__all__ = ["run_sensitivity"]


def run_sensitivity(
    path: Path,
    *,
    false_yes: float,
    false_no: float,
    cells: list[str] | None,
    definition: DefinitionName | None,
    simulations: int,
    as_json: bool,
) -> int:
    """Simulate and show. Returns the exit status."""
    definition = definition or definition_in(path)
    reading = Reading(definition)
    found = sensitivity_band(
        reading.results(path),
        false_yes=false_yes,
        false_no=false_no,
        cells=cast("list[CellKind]", cells) or CELLS,
        definition=definition,
        simulations=simulations,
    )
    if as_json:
        print(json.dumps({"definition": definition, **asdict(found)}, indent=2))
        return reading.status
    out = console()
    failed = f" ({found.failed:,} more failed)" if found.failed else ""
    where = "all verdicts" if len(found.cells) == len(CELLS) else " and ".join(found.cells)
    show_lines(
        out,
        [
            f"{counted(found.samples, 'sample')}{failed}, "
            f"{counted(found.simulations, 'simulation')}: {false_yes:.1%} of the "
            f"no turned into yes, {false_no:.1%} of the yes into no, in {where}; "
            f"definition {definition}",
            "",
        ],
    )
    columns = [
        Column("mode"),
        Column("undetermined", numeric=True),
        Column("undefined", numeric=True),
        Column("mean", numeric=True),
        Column("moves to", numeric=True),
        Column("95% of the simulations"),
    ]
    rows = [
        [
            Text(band.mode),
            Text(f"{band.undetermined:,}"),
            Text(f"{band.undefined:,}"),
            Text(extent(band.bounds)),
            Text(extent(band.moved_bounds)),
            Text("-" if band.low is None or band.high is None else span((band.low, band.high))),
        ]
        for mode in MODES
        if (band := found.mode(mode)) is not None
    ]
    show_table(out, columns, rows)
    if found.open_cells:
        note = f"note: {found.open_cells:,} verdicts were never given; errors in them do not show."
        show_lines(console(stderr=True), [f"{note} Judge with --plan full where they are many."])
    return reading.status
