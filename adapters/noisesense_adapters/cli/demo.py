"""``noisesense demo``: the reference examples in every framework, or written as a recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from noisesense import write_recording
from noisesense.errors import InputError, describe
from noisesense.fixtures import reference_examples
from noisesense.stats.summary import counted
from noisesense_adapters.cli import output
from noisesense_adapters.cli.options import ForceOption, JsonOption, check_new
from noisesense_adapters.demo import FRAMEWORKS, notes, run_demo, to_dict, verdict
from noisesense_adapters.demo.compare import Place, Report, Row, as_documented, as_printed


def demo(
    promptfoo: Annotated[
        Path | None,
        typer.Option(
            help="The promptfoo command, if it is neither on PATH nor in ./node_modules/.bin."
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(help="Frameworks that must be installed, e.g. ragas,deepeval,promptfoo."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Only write the examples with their verdicts as a recording: a .jsonl file.",
        ),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare documented examples in all frameworks.

    Computes six examples with published figures in every framework that is installed, and
    compares the figures. Needs no key and no network. With --save, writes the examples as a
    recording instead.

    Exit status: 0 all agree; 1 some differ; 2 an error.
    """
    if save is not None:
        check_new(save, force=force)
        examples = reference_examples()
        write_recording(save, ((example.sample, example.verdicts) for example in examples))
        output.say(f"wrote {counted(len(examples), 'sample')} with verdicts to {save}")
        return
    report = _run(promptfoo, _required(require or []))
    if as_json:
        output.show_json(to_dict(report))
    else:
        _show(output.console(), report)
    raise typer.Exit(0 if report.agrees else 1)


def _required(options: Sequence[str]) -> list[str]:
    names = [name.strip() for option in options for name in option.split(",") if name.strip()]
    for name in names:
        if name not in FRAMEWORKS:
            expected = f"some of {', '.join(map(repr, FRAMEWORKS))}"
            raise InputError(expected, describe(name), where="--require")
    return names


def _run(promptfoo: Path | None, required: Sequence[str]) -> Report:
    # Made before the frameworks are silenced: its stderr stays the real one.
    err = output.console(stderr=True)
    run = partial(run_demo, promptfoo=promptfoo, require=required)
    if not err.is_terminal:
        return run()
    with err.status("starting") as status:
        return run(progress=lambda name: status.update(f"computing in {name}"))


def _show(out: Console, report: Report) -> None:
    columns, rows = _table(report, repeat=not out.is_terminal)
    if out.is_terminal and output.table_width(columns, rows) > out.width:
        columns, rows = _table(report, stacked=True)
    output.show_table(out, columns, rows)
    out.print()
    compared = {p.framework or "core": p.detail for p in report.places if p.state == "compared"}
    versions = ", ".join(f"{name} {version}" for name, version in compared.items())
    output.show_lines(out, f"Lower is better. {versions}.", *notes(report))
    output.show_lines(out, verdict(report), style="bold green" if report.agrees else "bold red")


def _table(
    report: Report, *, repeat: bool = False, stacked: bool = False
) -> tuple[list[output.Column], list[list[Text]]]:
    """A row for each example and mode; ``repeat`` names the example in each of them.

    ``stacked`` is narrower: each example has a line of its own.
    """
    rows: list[list[Text]] = []
    for definition, example, row in _groups(report):
        if definition:
            rows.append([Text(definition, style="italic")])
        if stacked and example:
            rows.append([Text(example)])
        name = row.example if repeat else example
        names = [Text(f"  {row.mode}")] if stacked else [Text(name), Text(row.mode)]
        rows.append([*names, *_cells(report, row)])
    titles = ["  mode"] if stacked else ["example", "mode"]
    return [*map(output.Column, titles), *_columns(report)], rows


def _groups(report: Report) -> Iterator[tuple[str, str, Row]]:
    """Each row, with the definition and the example where they change."""
    before: Row | None = None
    for row in report.rows:
        other = before is None or row.definition != before.definition
        changed = other or (before is not None and row.example != before.example)
        definition = f"definition {row.definition}" if other else ""
        yield definition, row.example if changed else "", row
        before = row


def _columns(report: Report) -> list[output.Column]:
    return output.numeric(
        "documented", *(place.name.replace(" ", "\n") for place in _present(report))
    )


def _cells(report: Report, row: Row) -> list[Text]:
    return [_documented(row), *(_figure(row, place) for place in _present(report))]


def _present(report: Report) -> list[Place]:
    """The columns: what is not installed is said below the table."""
    return [place for place in report.places if place.state != "not installed"]


def _documented(row: Row) -> Text:
    shown = as_documented(row.documented)
    if row.documented_agrees is None:
        return Text(shown if row.documented is None else f"({shown})", style="dim")
    return _compared(shown, row.documented_agrees)


def _figure(row: Row, place: Place) -> Text:
    cell = row.cells[place.name]
    if cell.agrees is None:
        return Text({"compared": "n/a", "failed": "failed"}.get(place.state, "-"), style="dim")
    return _compared(as_printed(cell.value), cell.agrees)


def _compared(shown: str, agrees: bool) -> Text:
    return Text(shown) if agrees else Text(f"!{shown}", style="bold red")
