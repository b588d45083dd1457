"""``noisesense demo``: the report as a table, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from noisesense.errors import InputError, describe
from noisesense_adapters.cli.output import Column, console, show_lines, show_table, table_width
from noisesense_adapters.demo import (
    FRAMEWORKS,
    Place,
    Report,
    Row,
    as_documented,
    as_printed,
    notes,
    run_demo,
    to_dict,
    verdict,
)

__all__ = ["show_demo"]


def show_demo(promptfoo: Path | None, require: Sequence[str], *, as_json: bool) -> int:
    """Run the demo and print it. Returns the exit status: 0 if everything agrees, else 1."""
    required = _required(require)
    report = _run(promptfoo, required)
    if as_json:
        print(json.dumps(to_dict(report), indent=2))
    else:
        _show(console(), report)
    return 0 if report.agrees else 1


def _required(given: Sequence[str]) -> list[str]:
    names = [name.strip() for item in given for name in item.split(",") if name.strip()]
    for name in names:
        if name not in FRAMEWORKS:
            options = ", ".join(map(repr, FRAMEWORKS))
            raise InputError(f"some of {options}", describe(name), where="--require")
    return names


def _run(promptfoo: Path | None, required: Sequence[str]) -> Report:
    # Made before the frameworks are silenced: its stderr stays the real one.
    err = console(stderr=True)
    if not err.is_terminal:
        return run_demo(promptfoo=promptfoo, require=required)
    with err.status("starting") as status:
        return run_demo(
            promptfoo=promptfoo,
            require=required,
            progress=lambda name: status.update(f"computing in {name}"),
        )


def _show(out: Console, report: Report) -> None:
    columns, rows = _table(report, repeat=not out.is_terminal)
    if out.is_terminal and table_width(columns, rows) > out.width:
        columns, rows = _stacked(report)
    show_table(out, columns, rows)
    out.print()
    show_lines(out, [*_versions(report), *notes(report)])
    show_lines(out, [verdict(report)], style="bold green" if report.agrees else "bold red")


def _versions(report: Report) -> list[str]:
    answered = {p.framework or "core": p.detail for p in report.places if p.state == "compared"}
    return ["Lower is better. " + ", ".join(f"{k} {v}" for k, v in answered.items()) + "."]


def _table(report: Report, *, repeat: bool) -> tuple[list[Column], list[list[Text]]]:
    """A row for each example and mode; ``repeat`` names the example in each of them."""
    rows: list[list[Text]] = []
    for definition, example, row in _groups(report):
        if definition:
            rows.append([Text(definition, style="italic")])
        name = row.example if repeat else example
        rows.append([Text(name), Text(row.mode), *_cells(report, row)])
    return [Column("example"), Column("mode"), *_columns(report)], rows


def _stacked(report: Report) -> tuple[list[Column], list[list[Text]]]:
    """The same, narrower: each example on a line of its own."""
    rows: list[list[Text]] = []
    for definition, example, row in _groups(report):
        rows += [[Text(definition, style="italic")]] if definition else []
        rows += [[Text(example)]] if example else []
        rows.append([Text(f"  {row.mode}"), *_cells(report, row)])
    return [Column("  mode"), *_columns(report)], rows


def _groups(report: Report) -> Iterator[tuple[str, str, Row]]:
    """Each row, with the definition and the example where they are others than before."""
    before: Row | None = None
    for row in report.rows:
        other = before is None or row.definition != before.definition
        changed = other or (before is not None and row.example != before.example)
        definition = f"definition {row.definition}" if other else ""
        yield definition, row.example if changed else "", row
        before = row


def _columns(report: Report) -> list[Column]:
    titles = ["documented", *(place.name.replace(" ", "\n") for place in report.places)]
    return [Column(title, numeric=True) for title in titles]


def _cells(report: Report, row: Row) -> list[Text]:
    return [_documented(row), *(_figure(row, place) for place in report.places)]


def _documented(row: Row) -> Text:
    shown = as_documented(row.documented)
    if row.documented_agrees is None:
        return Text(shown if row.documented is None else f"({shown})", style="dim")
    return Text(shown) if row.documented_agrees else Text(f"!{shown}", style="bold red")


def _figure(row: Row, place: Place) -> Text:
    cell = row.cells[place.name]
    if cell.agrees is None:
        return Text({"compared": "n/a", "failed": "failed"}.get(place.state, "-"), style="dim")
    shown = as_printed(cell.value)
    return Text(shown) if cell.agrees else Text(f"!{shown}", style="bold red")
