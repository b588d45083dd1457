"""``noisesense demo``: the reference examples in every framework, or written as a recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.text import Text

from noisesense import write_recording
from noisesense.errors import InputError, describe
from noisesense.fixtures import reference_examples
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.commands import Command, option
from noisesense_adapters.cli.output import say, show_json, show_table
from noisesense_adapters.demo import FRAMEWORKS, run_demo
from noisesense_adapters.demo.compare import Place, Report, Row, as_documented, as_printed


class Demo(Command):
    """Compare documented examples in all frameworks.

    Computes six examples with published figures in every framework that is installed, and
    compares the figures. Needs no key and no network. With --save, writes the examples as a
    recording instead.

    Exit status: 0 all agree; 1 some differ; 2 an error.
    """

    promptfoo: Path | None = option(
        "The promptfoo command, if it is neither on PATH nor in ./node_modules/.bin."
    )
    require: tuple[str, ...] = option(
        "Frameworks that must be installed, e.g. ragas,deepeval,promptfoo."
    )
    save: Path | None = option(
        "Only write the examples with their verdicts as a recording: a .jsonl file.", "FILE"
    )
    force: bool = options.FORCE
    as_json: bool = options.JSON

    def run(self) -> int:
        if self.save is not None:
            options.check_new(self.save, force=self.force)
            examples = reference_examples()
            write_recording(self.save, ((each.sample, each.verdicts) for each in examples))
            say(f"wrote {counted(len(examples), 'sample')} with verdicts to {self.save}")
            return 0
        report = _run(self.promptfoo, _required(self.require))
        if self.as_json:
            show_json(report.to_dict())
        else:
            _show(report)
        return 0 if report.agrees else 1


def _required(given: Sequence[str]) -> list[str]:
    names = [name.strip() for each in given for name in each.split(",") if name.strip()]
    for name in names:
        if name not in FRAMEWORKS:
            expected = f"some of {', '.join(map(repr, FRAMEWORKS))}"
            raise InputError(expected, describe(name), where="--require")
    return names


def _run(promptfoo: Path | None, required: Sequence[str]) -> Report:
    # Made before the frameworks are silenced: its stderr stays the real one.
    err = Console(stderr=True, emoji=False)
    run = partial(run_demo, promptfoo=promptfoo, require=required)
    if not err.is_terminal:
        return run()
    with err.status("starting") as status:
        return run(progress=lambda name: status.update(f"computing in {name}"))


def _show(report: Report) -> None:
    shown = [place for place in report.places if place.state != "not installed"]
    names = ("documented", *(place.name.replace(" ", "\n") for place in shown))
    rows: list[list[Text]] = []
    for definition, group in groupby(report.rows, lambda row: row.definition):
        rows.append([Text(f"definition {definition}", style="italic")])
        rows += ([Text(row.example), Text(row.mode), *_cells(row, shown)] for row in group)
    show_table(["example", "mode", *(f">{name}" for name in names)], rows)
    compared = (p for p in report.places if p.state == "compared")
    versions = dict.fromkeys(f"{p.framework or p.name} {p.detail}" for p in compared)
    say("", f"Lower is better. {', '.join(versions)}.", *report.notes)
    say(report.verdict, style="bold green" if report.agrees else "bold red")


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
