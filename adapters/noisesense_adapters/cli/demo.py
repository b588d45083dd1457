"""``noisesense demo``: the reference examples in every framework, or written as a recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
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
from noisesense_adapters.demo import FRAMEWORKS, run_demo
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
        output.show_json(report.to_dict())
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
    shown = [place for place in report.places if place.state != "not installed"]
    titles = ("documented", *(place.name.replace(" ", "\n") for place in shown))
    columns = [*map(output.Column, ("example", "mode")), *output.numeric(*titles)]
    rows: list[list[Text]] = []
    for definition, group in groupby(report.rows, lambda row: row.definition):
        rows.append([Text(f"definition {definition}", style="italic")])
        rows += ([Text(row.example), Text(row.mode), *_cells(row, shown)] for row in group)
    output.show_table(out, columns, rows)
    out.print()
    compared = (p for p in report.places if p.state == "compared")
    versions = dict.fromkeys(f"{p.framework or p.name} {p.detail}" for p in compared)
    lines = (f"Lower is better. {', '.join(versions)}.", *report.notes)
    output.show_lines(out, *lines)
    output.show_lines(out, report.verdict, style="bold green" if report.agrees else "bold red")


def _cells(row: Row, places: Sequence[Place]) -> Iterator[Text]:
    documented = as_documented(row.documented)
    if row.documented_agrees is None:
        yield Text(documented if row.documented is None else f"({documented})", style="dim")
    else:
        yield _compared(documented, row.documented_agrees)
    for place in places:
        if place.state == "failed":
            yield Text("failed", style="dim")
        else:
            yield _compared(as_printed(row.figures[place.name]), row.agrees[place.name])


def _compared(shown: str, agrees: bool) -> Text:
    return Text(shown) if agrees else Text(f"!{shown}", style="bold red")
