"""``noisesense trust``: a judge beside people's labels, and the sheets that hold them."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from noisesense import Result, Trust, trust_results
from noisesense.errors import InputError
from noisesense.scoring.scoring import NO_JUDGE
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.output import say, show_json, show_table, tell
from noisesense_adapters.datasets.read import results_of
from noisesense_adapters.datasets.sheets import LABEL, read_labels, write_labels
from noisesense_adapters.evaluate.tables import trust_tables
from noisesense_adapters.evaluate.wording import trust_sentence


@click.group("trust", invoke_without_command=True, no_args_is_help=False)
@click.option(
    "--on", type=options.FILE, metavar="LABELS", help="What people say: a sheet, or results."
)
@click.option(
    "--for",
    "results",
    type=options.FILE,
    metavar="RESULTS",
    help="Results that LABELS are about.",
)
@click.option(
    "--checked-by", metavar="NAME", help="Who gave LABELS, or checked those that a judge gave."
)
@options.definition
@click.option(
    "--confidence",
    type=options.SHARE,
    default=0.95,
    help="The confidence of each interval.",
)
@options.report
@options.as_json
@click.pass_context
def command(
    context: click.Context,
    on: Path | None,
    results: Path | None,
    checked_by: str | None,
    definition: str | None,
    confidence: float,
    report: Path | None,
    as_json: bool,
) -> int:
    """Measure a judge by claims that people labeled.

    First the mean that people would find in your results; then the judge's false "yes" and false
    "no" for each kind of verdict.

    Exit status: 0 done; 2 an error; 3 done, but some labels or results could not be read.
    """
    if context.invoked_subcommand is not None:
        return 0
    if on is None or results is None:
        hint = '"noisesense trust export-labels RESULTS SHEET" writes a sheet to fill in'
        raise InputError("--on LABELS and --for RESULTS", "one or none", where="trust", hint=hint)
    options.check_report(report)
    reading = options.Reading(definition=definition)
    judged = list(reading.results(results))
    if on.suffix == ".csv":
        people = _read_sheet(on, judged, reading)
        checked_by = checked_by or "people"
    else:
        people = list(reading.results(on))
        if checked_by is None:
            tell("note: nothing says that a person gave these labels; --checked-by NAME does")
    trust = trust_results(
        judged, people, judge=_judge_names(judged), checked_by=checked_by, confidence=confidence
    )
    if as_json:
        show_json({"labels": str(on), "results": str(results), **trust.to_dict()})
    else:
        _show(trust)
    shown = results_of(results, **reading.chosen)
    options.write_report(report, shown, results.name, saved_as=results.name, trust=[trust])
    return options.SOME_FAILED if trust.failed else reading.status


def _read_sheet(path: Path, judged: list[Result], reading: options.Reading) -> list[Result]:
    """Return the results in a sheet of labels. Say how many of its questions have none."""
    sheet = read_labels(path, judged, reading.tell)
    if sheet.unlabeled:
        questions = counted(sheet.questions, "question")
        tell(f"note: {sheet.unlabeled:,} of the sheet's {questions} have no label and stay open")
    return sheet.results


def _show(trust: Trust) -> None:
    samples = counted(trust.samples, "labeled sample")
    if trust.failed:
        samples += f", {trust.failed:,} failed"
    say(f"{trust.judge}: {samples}", trust_sentence(trust), "")
    for table in trust_tables(trust):
        show_table(table)
        say("")
    tell(*(f"note: {warning}" for warning in trust.warnings))


def _judge_names(judged: list[Result]) -> str:
    names: dict[str, None] = {}
    for result in judged:
        if result.judge not in (None, NO_JUDGE):
            names[result.judge] = None
    return " and ".join(names) or "the judge"


@command.command("export-labels")
@options.results
@click.argument("sheet", type=options.FILE)
@click.option("--samples", type=int, metavar="N", help="Draw so many at random; by default all.")
def export_labels(results: Path, sheet: Path, samples: int | None) -> int:
    """Write a sheet for people's labels of a judge's claims: a new .csv.

    Each row asks whether a source (the reference or a chunk) says what a statement (a claim)
    says. Write yes or no in the last column, from the top as far as you like, and give the sheet
    to "noisesense trust --for RESULTS --on SHEET". The samples are in random order: the first ones
    are a random choice.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """
    reading = options.Reading()
    written = write_labels(reading.results(results), sheet, samples=samples)
    questions = counted(written.questions, "question")
    drawn = counted(written.samples, "sample")
    files = f"--on {shlex.quote(str(sheet))} --for {shlex.quote(str(results))}"
    say(
        f"wrote {questions} on {drawn} to {sheet}",
        f"write yes or no into the column {LABEL!r}, from the top: the samples are in random "
        "order, so that the first ones are a random choice. What is left empty stays "
        "undetermined. Then:",
        f"   noisesense trust {files}",
    )
    return reading.status
