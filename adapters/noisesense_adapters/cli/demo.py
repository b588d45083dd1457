"""``noisesense demo``: the reference examples in every framework, or written as a recording."""

from __future__ import annotations

from collections.abc import Mapping
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
from noisesense_adapters.datasets.files import check_new
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
            _save(self.save, force=self.force)
            return 0
        required = [name for name in self.require.split(",") if name]
        with Console(stderr=True).status("computing in every framework that is installed"):
            report = run_demo(require=required)
        if self.as_json:
            show_json(report.to_dict())
        else:
            _show(report)
        return 0 if report.agrees else 1


def _save(path: Path, *, force: bool) -> None:
    """Write the examples as a recording. The same recording may be there already."""
    pairs = [(example.sample, example.verdicts) for example in reference_examples()]
    saved: list[tuple[Sample, Verdicts]] = []
    with suppress(InputError):  # no file, or another one
        saved = [(line.sample, line.verdicts) for line in read_recording(path)]
    if saved != pairs:
        check_new(path, force=force)
        write_recording(path, pairs)
    say(f"wrote {counted(len(pairs), 'sample')} with verdicts to {path}")


def _show(report: Report) -> None:
    rows: list[list[str]] = []
    for definition, group in groupby(report.rows, lambda row: row.definition):
        rows.append([f"definition {definition}"])
        for row in group:
            figures = [_documented(row), shown(row.expected), _computed(row)]
            rows.append([row.example, row.mode, *figures])
    show_table(["example", "mode", ">documented", ">by hand", "computed"], rows)
    versions: list[str] = []
    for place in report.places:
        if place.state == "compared":
            versions.append(f"{place.name} {place.detail}")
    computed = f"Computed by {', '.join(versions)}. Lower is better."
    say("", computed, *report.notes, report.verdict)


def _documented(row: Row) -> str:
    """The published figure, marked with ``!`` where it differs from the one by hand."""
    figure = row.figures.get(DOCUMENTED)
    if figure is None:
        return "-"
    mark = "" if row.agrees(DOCUMENTED) else "!"
    return f"{mark}{figure:.4g}"


def _computed(row: Row) -> str:
    """The frameworks whose figure differs from the one by hand, with that figure."""
    differing: list[str] = []
    for name, figure in row.figures.items():
        if name != DOCUMENTED and not row.agrees(name):
            differing.append(f"!{name} {shown(figure)}")
    return ", ".join(differing) or "the same"
