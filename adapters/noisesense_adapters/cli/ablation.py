"""``noisesense ablation``: plan, report and run."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from shlex import quote
from typing import TYPE_CHECKING, cast

import click

from noisesense.ablation import VARIANTS, Ablation, ablation, plan
from noisesense.errors import InputError
from noisesense.jsonl import parse_line, read_lines, to_json, write_whole
from noisesense_adapters.cli import options
from noisesense_adapters.cli.options import Asking
from noisesense_adapters.cli.output import say, show_json, show_table, tell
from noisesense_adapters.cli.progress import LINE_EVERY, spent
from noisesense_adapters.datasets.answering import Answer, ablate
from noisesense_adapters.datasets.files import check_new
from noisesense_adapters.datasets.read import results_of
from noisesense_adapters.datasets.score import check_not_dataset
from noisesense_adapters.evaluate.tables import ablation_tables
from noisesense_adapters.evaluate.wording import ablation_sentences

if TYPE_CHECKING:
    from noisesense.judging.plan import PlannedJudge


@click.group("ablation", no_args_is_help=False)
def command() -> None:
    """Ask your own system again: did the document do it?"""


variants = click.option(
    "--variants",
    metavar="NAMES",
    default=",".join(VARIANTS),
    help="Of again, without, without-other, relevant-only and plus-K.",
)
leave_out = click.option(
    "--leave-out",
    type=options.COUNT,
    default=0,
    metavar="N",
    help="Ask for at most so many more answers, to leave out one document at a time: those that "
    "say no wrong claim, and were retrieved most often where an answer has one of its own.",
)
judge = click.option(
    "--judge", metavar="PROVIDER:MODEL", required=True, help="Judges the answers."
)


@dataclass(frozen=True)
class Output:
    """How the outcome is shown."""

    report: Path | None
    as_json: bool

    def show(self, effect: Ablation, results: Path, judge: PlannedJudge) -> None:
        """Print what the ablation found, and write the report."""
        options.write_report(self.report, results_of(results), results.name, ablation=effect)
        sentences = list(ablation_sentences(effect))
        if self.as_json:
            show_json(effect.to_dict() | {"sentences": sentences})
            return
        say(*sentences)
        for table in ablation_tables(effect):
            say("")
            show_table(table)
        cost = spent(judge.usage)
        if cost:
            say("", f"judged with {cost}")


output = options.taken_as("output", Output, options.report, options.as_json)


@command.command("plan")
@options.results
@click.option("--out", type=options.FILE, required=True, help="The rows: .jsonl.")
@variants
@leave_out
@options.force
def write_plan(
    results: Path,
    out: Path,
    variants: str,
    leave_out: int,
    force: bool,
) -> int:
    """Write what to ask your system: JSON lines with an empty `response` to fill in."""
    check_new(out, force=force)
    check_not_dataset(out, results)
    reading = options.Reading()
    rows = plan(reading.results(results), variants.split(","), leave_out)
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
@judge
@options.asking
@output
def report(results: Path, answered: Path, judge: str, asking: Asking, output: Output) -> int:
    """Judge the answers and say what the documents did."""
    reading = options.Reading()
    options.check_report(output.report)
    rows = [row for _, row in read_lines(answered, parse_line)]
    judging = asking.make_judge(judge)
    effect = ablation(reading.results(results), rows, judging)
    output.show(effect, results, judging)
    return reading.status


@command.command("run")
@options.results
@click.option("--answer", metavar="MODULE:FUNCTION", required=True, help="Your system.")
@click.option("--answers", type=options.FILE, help="Keep answers, and go on from them.")
@click.option(
    "--deterministic",
    is_flag=True,
    help="`again` is not asked: the same documents always give the same response.",
)
@variants
@leave_out
@judge
@options.asking
@output
def run(
    results: Path,
    answer: str,
    answers: Path | None,
    deterministic: bool,
    variants: str,
    leave_out: int,
    judge: str,
    asking: Asking,
    output: Output,
) -> int:
    """Ask your system and judge its answers, in one process.

    Your system is a function of the question and a list of texts, or an async one, that returns
    the response. It is looked for from the working directory.
    """
    reading = options.Reading()
    system = _imported_system(answer)
    options.check_report(output.report)
    judging = asking.make_judge(judge)
    task = ablate(
        reading.results(results),
        system,
        judging,
        variants=variants.split(","),
        leave_out=leave_out,
        answers=answers,
        deterministic=deterministic,
        on_answer=_AnswerProgress(),
    )
    try:
        effect = asyncio.run(task)
    except KeyboardInterrupt:
        if answers is None:
            tell("interrupted: nothing is kept without --answers")
        else:
            tell(f"interrupted: answers are kept in {answers}. Rerun the command to resume.")
        raise
    output.show(effect, results, judging)
    if deterministic:
        tell("note: `again` is the responses of the results (--deterministic); it was not asked")
    return reading.status


class _AnswerProgress:
    """Says how many answers there are: at most one line a minute, and one at the end."""

    def __init__(self) -> None:
        self._last_line = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done == total or now - self._last_line >= LINE_EVERY:
            self._last_line = now
            tell(f"{done:,} of {total:,} answers")


def _imported_system(name: str) -> Answer:
    """Import the user's system, by its MODULE:FUNCTION. Raise `InputError`."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        system = resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        got = str(error)
    else:
        if callable(system):
            return cast("Answer", system)
        got = str(system)
    raise InputError("MODULE:FUNCTION that can be imported", got, where="--answer")
