"""``noisesense ablation``: plan and report."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from noisesense.ablation import VARIANTS, ablation, plan
from noisesense.jsonl import parse_line, read_lines, to_json, write_whole
from noisesense_adapters.cli import options
from noisesense_adapters.cli.options import Asking
from noisesense_adapters.cli.output import say, show_json, show_table
from noisesense_adapters.cli.progress import spent
from noisesense_adapters.datasets.files import check_new
from noisesense_adapters.datasets.read import results_of
from noisesense_adapters.evaluate.tables import ablation_tables
from noisesense_adapters.evaluate.wording import ablation_sentences


@click.group("ablation", no_args_is_help=False)
def command() -> None:
    """Ask your own system again: did the document do it?"""


@command.command("plan")
@options.results
@click.option("--out", type=options.FILE, required=True, help="The rows: .jsonl.")
@click.option(
    "--variants",
    metavar="NAMES",
    default=",".join(VARIANTS),
    help="Of again, without, without-other, relevant-only and plus-K.",
)
@click.option(
    "--leave-out",
    type=options.COUNT,
    default=0,
    metavar="N",
    help="Ask for at most so many more answers, to leave out one document at a time, of those "
    "that support no wrong claim: the ones whose answers most often have one.",
)
def write_plan(
    results: Path,
    out: Path,
    variants: str,
    leave_out: int,
) -> int:
    """Write what to ask your system: JSON lines with an empty `response` to fill in.

    OUT is a new file. If there is nothing to ask, that is said, and none is written.
    """
    check_new(out)
    reading = options.Reading()
    rows = plan(reading.results(results), variants.split(","), leave_out)
    if not rows:
        say("there is nothing to ask: no sample has the chunks that these variants need")
        return reading.status
    write_whole(out, map(to_json, rows))
    files = f"{quote(str(results))} {quote(str(out))}"
    say(
        f"wrote {len(rows):,} rows to {out}. Fill in `response`, then:",
        f"  noisesense ablation report {files} --judge PROVIDER:MODEL",
    )
    return reading.status


@command.command("report")
@options.results
@click.argument("answered", type=options.FILE)
@click.option("--judge", metavar="PROVIDER:MODEL", required=True, help="Judges the answers.")
@options.asking
@options.report
@options.as_json
def report(
    results: Path,
    answered: Path,
    judge: str,
    asking: Asking,
    report: Path | None,
    as_json: bool,
) -> int:
    """Judge the answers and say what the documents did."""
    reading = options.Reading()
    options.check_report(report)
    rows = [row for _, row in read_lines(answered, parse_line)]
    judging = asking.make_judge(judge)
    effect = ablation(reading.results(results), rows, judging)
    options.write_report(report, results_of(results), results.name, ablation=effect)
    if as_json:
        show_json(effect.to_dict())
        return reading.status
    say(*ablation_sentences(effect))
    for table in ablation_tables(effect):
        say("")
        show_table(table)
    cost = spent(judging.usage)
    if cost:
        say("", f"judging: {cost}")
    return reading.status
