"""``noisesense demo``: the reference examples in every framework, or written as a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from rich.console import Console

from noisesense import InputError, Sample, Verdicts, read_recording, write_recording
from noisesense.fixtures import reference_examples
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.commands import Command, option
from noisesense_adapters.cli.output import say, show_json, show_table
from noisesense_adapters.demo import run_demo
from noisesense_adapters.demo.compare import DOCUMENTED, Report, Row, shown


class Demo(Command):
    """Compare documented examples in all frameworks.

    Computes six examples with published figures in every framework that is installed, and
    compares the figures. Needs no key and no network. With --save, writes the examples as a
    recording instead.

    Exit status: 0 all agree; 1 some differ; 2 an error.
    """

    parts: ClassVar[Mapping[str, str]] = {"catch": "catch:Catch"}

    require: str = option(
        "Frameworks that must be installed, e.g. ragas,deepeval,promptfoo.", "NAMES", default=""
    )
    save: Path | None = option(
        "Only write the examples with their verdicts as a recording: a .jsonl file.", "FILE"
    )
    force: bool = options.FORCE
    as_json: bool = options.JSON

    def run(self) -> int:
        if self.save is not None:
            examples = reference_examples()
            pairs = [(each.sample, each.verdicts) for each in examples]
            if not _holds(self.save, pairs):
                options.check_new(self.save, force=self.force)
                write_recording(self.save, pairs)
            say(f"wrote {counted(len(examples), 'sample')} with verdicts to {self.save}")
            return 0
        with Console(stderr=True).status("computing in every framework that is installed"):
            report = run_demo(require=[name for name in self.require.split(",") if name])
        if self.as_json:
            show_json(report.to_dict())
        else:
            _show(report)
        return 0 if report.agrees else 1


def _holds(path: Path, pairs: Sequence[tuple[Sample, Verdicts]]) -> bool:
    """Is it a recording of just these?"""
    with suppress(InputError):
        return [(each.sample, each.verdicts) for each in read_recording(path)] == pairs
    return False


def _show(report: Report) -> None:
    rows: list[list[str]] = []
    for definition, group in groupby(report.rows, lambda row: row.definition):
        rows.append([f"definition {definition}"])
        for row in group:
            figures = [_documented(row), shown(row.expected), _computed(row)]
            rows.append([row.example, row.mode, *figures])
    show_table(["example", "mode", ">documented", ">by hand", "computed"], rows)
    compared = [place for place in report.places if place.state == "compared"]
    versions = ", ".join(f"{place.name} {place.detail}" for place in compared)
    say("", f"Computed by {versions}. Lower is better.", *report.notes, report.verdict)


def _documented(row: Row) -> str:
    figure = row.figures.get(DOCUMENTED)
    if figure is None:
        return "-"
    return f"{figure:.4g}" if row.agrees(DOCUMENTED) else f"!{figure:.4g}"


def _computed(row: Row) -> str:
    """Where another value comes out than by hand, and which."""
    differing: list[str] = []
    for name, figure in row.figures.items():
        if name != DOCUMENTED and not row.agrees(name):
            differing.append(f"!{name} {shown(figure)}")
    return ", ".join(differing) or "the same"
