"""``noisesense trust``: a judge beside people's labels, and the sheets that hold them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click

import noisesense
from noisesense import Result, trust_results
from noisesense.errors import InputError
from noisesense.scoring.outcomes import check_between
from noisesense.scoring.scoring import NO_JUDGE
from noisesense.stats.labels import source_of_labels
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.options import Asking
from noisesense_adapters.cli.output import say, show_json, show_table, tell
from noisesense_adapters.cli.progress import RunProgress, spent
from noisesense_adapters.datasets.read import results_of
from noisesense_adapters.datasets.sheets import (
    LABEL,
    SheetLabels,
    is_label_sheet,
    read_labels,
    write_labels,
)
from noisesense_adapters.evaluate.tables import trust_tables
from noisesense_adapters.evaluate.wording import trust_sentences


@click.group("trust", invoke_without_command=True, no_args_is_help=False)
@click.option(
    "--on",
    type=options.FILE,
    metavar="LABELS",
    help="What people say: a sheet, a recording, or results.",
)
@click.option(
    "--for",
    "results",
    type=options.FILE,
    metavar="RESULTS",
    help="Results that LABELS are about.",
)
@click.option(
    "--judge", "judges", metavar="PROVIDER:MODEL", multiple=True, help="To ask. Repeatable."
)
@click.option(
    "--checked-by", metavar="NAME", help="Who gave LABELS, or checked those that a judge gave."
)
@options.asking
@options.definition
@click.option("--confidence", type=float, default=0.95, help="The confidence of each interval.")
@options.report
@options.as_json
@click.pass_context
def command(
    context: click.Context,
    on: Path | None,
    results: Path | None,
    judges: tuple[str, ...],
    checked_by: str | None,
    asking: Asking,
    definition: str | None,
    confidence: float,
    report: Path | None,
    as_json: bool,
) -> int:
    """Measure a judge by claims that people labeled.

    With --for, first the mean that people would find in your results; then the judge's false
    "yes" and false "no" for each kind of verdict. With --judge, asks judges about the labels and
    counts their errors, side by side.

    Exit status: 0 done; 2 an error; 3 done, but some labels or results could not be judged or
    read; 130 interrupted (with --store, rerun the command to resume).
    """
    if context.invoked_subcommand is not None:
        return 0
    labels_path = _labels_path(on, results, judges, report)
    options.check_report(report)
    check_between(confidence, "--confidence")  # before a judge is paid
    reading = options.Reading(definition=definition)
    judged = [] if results is None else list(reading.results(results))
    people = _people(labels_path, judged, reading)
    if is_label_sheet(labels_path):
        checked_by = checked_by or "people"
    named = source_of_labels(people, checked_by)
    trusts: list[noisesense.Trust] = []
    if results is not None:
        names = _judge_names(judged)
        trusts.append(
            trust_results(judged, people, judge=names, checked_by=named, confidence=confidence)
        )
    trusts += _ask_judges(judges, people, asking, confidence, labels_path, named)
    if as_json:
        _show_json(on, results, trusts)
    else:
        for trust in trusts:
            _show_judge(trust)
    if results is not None:
        shown = results_of(results, **reading.chosen)
        options.write_report(report, shown, results.name, saved_as=results.name, trust=trusts)
    if any(trust.failed for trust in trusts):
        return options.SOME_FAILED
    return reading.status


def _labels_path(
    on: Path | None, results: Path | None, judges: tuple[str, ...], report: Path | None
) -> Path:
    """Return the file of the labels. Raise `InputError` for options that do not fit."""
    if on is None:
        hint = '"noisesense trust export-labels RESULTS SHEET" writes a sheet to fill in'
        raise InputError("--on LABELS", "none", where="trust", hint=hint)
    if results is None:
        if not judges:
            expected = "--for RESULTS or --judge PROVIDER:MODEL"
            raise InputError(expected, "neither", where="trust")
        if report is not None:
            raise InputError("--for as well", "only --report", where="trust")
        if is_label_sheet(on):
            hint = f"{_command(on, 'RESULTS')}, those that the sheet was written from"
            raise InputError("--for RESULTS beside a sheet", "the sheet alone", hint=hint)
    return on


def _people(path: Path, judged: list[Result], reading: options.Reading) -> list[Result]:
    """Read what people say."""
    if not is_label_sheet(path):
        return list(reading.results(path))
    sheet = read_labels(path, judged, reading.tell)
    if sheet.unlabeled:
        tell(f"note: {_unlabeled(sheet)}")
    return sheet.results


def _show_json(on: Path | None, results: Path | None, trusts: list[noisesense.Trust]) -> None:
    judges: list[dict[str, Any]] = []
    for trust in trusts:
        judges.append({**trust.to_dict(), "sentences": list(trust_sentences(trust))})
    file = None if results is None else str(results)
    show_json({"labels": str(on), "results": file, "judges": judges})


def _ask_judges(
    models: tuple[str, ...],
    people: list[Result],
    asking: Asking,
    confidence: float,
    labels_path: Path,
    named: str | None,
) -> Iterator[noisesense.Trust]:
    """Ask each judge about the labels, and compare its verdicts with them."""
    from noisesense_adapters.datasets.labels import judge_labels  # it loads SQLite

    labeled = [result for result in people if result.score is not None]
    if models and not labeled:
        raise InputError("labeled claims", "none", where=str(labels_path))
    for model in models:
        judge: Any = asking.make_judge(model)
        with RunProgress(len(labeled), judge) as progress:
            judged = judge_labels(
                labeled,
                judge,
                concurrency=asking.concurrency,
                on_done=partial(progress.add, None),
            )
        yield noisesense.trust(
            model,
            judged.samples,
            labels_by=named,
            usage=judged.usage,
            confidence=confidence,
        )


def _unlabeled(sheet: SheetLabels) -> str:
    """Say how many questions of a sheet have no label, and what that means for their samples."""
    questions = counted(sheet.questions, "question")
    return (
        f"{sheet.unlabeled:,} of the sheet's {questions} have no label and stay open. Without any "
        f"label, and not counted: {counted(sheet.without, 'sample')}; labeled in part: "
        f"{sheet.in_part:,}."
    )


def _judge_names(judged: list[Result]) -> str:
    names: dict[str, None] = {}
    for result in judged:
        if result.judge not in (None, NO_JUDGE):
            names[result.judge] = None
    return " and ".join(names) or "the judge"


def _show_judge(trust: noisesense.Trust) -> None:
    parts = [counted(trust.samples, "labeled sample")]
    if trust.failed:
        parts.append(f"{trust.failed:,} failed")
    if trust.usage.calls:
        parts.append(spent(trust.usage))
    say(f"{trust.judge}: {', '.join(parts)}", *trust_sentences(trust), "")
    for table in trust_tables(trust):
        show_table(table)
        say("")
    tell(*(f"note: {warning}" for warning in trust.warnings))


def _command(sheet: Path, results: Path | str) -> str:
    """Return the command that measures the judge once the sheet is filled in."""
    return f"noisesense trust --on {shlex.quote(str(sheet))} --for {shlex.quote(str(results))}"


@command.command("export-labels")
@options.results
@click.argument("sheet", type=options.FILE)
@click.option("--samples", type=int, metavar="N", help="Draw so many at random; by default all.")
@click.option("--seed", type=int, default=0, help="The seed of the draw and the order.")
@options.force
def export_labels(results: Path, sheet: Path, samples: int | None, seed: int, force: bool) -> int:
    """Write a sheet for people's labels of a judge's claims: a new .csv or .tsv.

    Each row asks whether a source (the reference or a chunk) says what a statement (a claim)
    says. Write yes or no in the last column, from the top as far as you like, and give the sheet
    to "noisesense trust --for RESULTS --on SHEET". The samples are in random order: the first ones
    are a random choice.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """
    reading = options.Reading()
    written = write_labels(
        reading.results(results),
        sheet,
        samples=samples,
        seed=seed,
        force=force,
    )
    if written.left_out:
        tell(f"note: {counted(written.left_out, 'sample')} left out: without texts or claims")
    questions = counted(written.rows, "question")
    drawn = counted(written.samples, "sample")
    say(f"wrote {questions} on {drawn} to {sheet}")
    say(
        f"write yes or no into the column {LABEL!r}, from the top: the samples are in random "
        "order, so that the first ones are a random choice. What is left empty stays "
        "undetermined. Then:",
        f"   {_command(sheet, results)}",
    )
    return reading.status
