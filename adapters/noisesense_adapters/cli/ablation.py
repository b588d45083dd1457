"""``noisesense ablation``: plan, report and run."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, cast

import typer
from typer import Argument, Option

from noisesense.ablation import VARIANTS, Ablation, Answer, ablate, ablation, plan
from noisesense.errors import InputError
from noisesense.jsonl import json_lines, to_json, write_whole
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.options import Asking, Reading, ResultsPath
from noisesense_adapters.datasets.results import results_of

_Answered = Annotated[Path, Argument(metavar="ANSWERED", help="The rows, answered.")]
_Judge = Annotated[str, options.judge_panel(metavar="PROVIDER:MODEL", help="Judges the answers.")]
_Kept = Annotated[Path | None, Option(metavar="FILE", help="Keep answers, and go on from them.")]
_Same = Annotated[bool, Option(help="The same chunks always give the same response.")]
_Variants = Annotated[str, Option(metavar="NAMES", help="again, without, relevant-only, plus-K.")]
_Seed = Annotated[int, Option(min=0, help="Of the distractors and their places.")]
_ALL = ",".join(VARIANTS)

app = typer.Typer(help="Did the chunk do it? Ask your own system again.", no_args_is_help=True)


@dataclass(frozen=True)
class Shown:
    """What is shown of the results, and how."""

    report: options.ReportOption = None
    png: options.PngOption = None
    as_json: options.JsonOption = False

    def show(self, found: Ablation, results: Path) -> None:
        if self.png is not None:
            import_module("noisesense_adapters.report").write_growth(found, self.png)
        options.write_page(self.report, results_of(results), results.name, ablation=found)
        if self.as_json:
            output.show_json(found.to_dict())
            return
        out = output.console()
        output.show_lines(out, *found.sentences, "")
        columns = [output.Column("variant"), *output.numeric("samples", "noise", "interval")]
        noise = [
            [name or "as it was", str(size), output.extent((low, high)), output.span(interval)]
            for name, (low, high, interval, size) in found.noise.items()
        ]
        output.show_table(out, columns, noise)
        columns = [*output.numeric("claims", "caused"), output.Column("document")]
        causes = [
            [str(claims), output.extent((low, high), ".0f"), output.cut(document, 60)]
            for document, claims, low, high in found.causes[:10]
        ]
        if causes:
            output.show_lines(out, "")
            output.show_table(out, columns, causes)


@app.command("plan")
@options.grouped
def plan_rows(
    results: ResultsPath,
    out: Annotated[Path, Option(metavar="FILE", help="The rows: .jsonl.")],
    variants: _Variants = _ALL,
    seed: _Seed = 0,
    force: options.ForceOption = False,
) -> None:
    """Write what to ask your system: JSON lines with an empty `response` to fill in."""
    options.check_new(out, force=force)
    rows = plan(Reading().results(results), variants.split(","), seed)
    write_whole(out, map(to_json, rows))
    output.say(f"wrote {len(rows):,} rows to {out}: fill in `response`, then `ablation report`")


@app.command()
@options.grouped
def report(
    results: ResultsPath, answered: _Answered, judge: _Judge, asking: Asking, shown: Shown
) -> None:
    """Judge the answers and say what the chunks did."""
    options.check_pictures(shown.report, shown.png, results)
    reading, rows = Reading(), list(json_lines(answered))
    shown.show(ablation(reading.results(results), rows, asking.judge(judge)), results)
    raise typer.Exit(reading.status)


@app.command()
@options.grouped
def run(
    results: ResultsPath,
    answer: Annotated[str, Option(metavar="MODULE:FUNCTION", help="Your system.")],
    judge: _Judge,
    asking: Asking,
    shown: Shown,
    variants: _Variants = _ALL,
    seed: _Seed = 0,
    answers: _Kept = None,
    deterministic: _Same = False,
) -> None:
    """Ask your system and judge its answers, in one process.

    Your system is a function of the question and a list of texts, or an async one, that returns
    the response. It is looked for from the working directory.
    """
    options.check_pictures(shown.report, shown.png, results)
    reading, system = Reading(), _function(answer)
    how: dict[str, Any] = {"variants": variants.split(","), "seed": seed, "answers": answers}
    how |= {"deterministic": deterministic, "on_answer": _told}
    work = ablate(reading.results(results), system, asking.judge(judge), **how)
    try:
        found = asyncio.run(work)
    except KeyboardInterrupt:
        kept = f"the same command goes on from {answers}"
        output.tell(f"interrupted: {kept if answers else 'nothing is kept without --answers'}")
        raise
    shown.show(found, results)
    raise typer.Exit(reading.status)


def _told(done: int, of: int) -> None:
    if done * 20 // of > (done - 1) * 20 // of:  # some twenty lines, however many answers
        output.tell(f"{done:,} of {of:,} answers")


def _function(name: str) -> Answer:
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        found = error
    if not callable(found):
        raise InputError("MODULE:FUNCTION that can be imported", str(found), where="--answer")
    return cast("Answer", found)
