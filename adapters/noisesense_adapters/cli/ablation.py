"""``noisesense ablation``: plan, report and run."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from pkgutil import resolve_name
from shlex import quote
from typing import TYPE_CHECKING, Any, cast

from noisesense.ablation import VARIANTS, Ablation, ablation, plan
from noisesense.errors import InputError
from noisesense.jsonl import parse_line, read_lines, to_json, write_whole
from noisesense_adapters.cli import options
from noisesense_adapters.cli.commands import Command, Options, argument, option
from noisesense_adapters.cli.output import say, show_json, show_table, tell
from noisesense_adapters.cli.progress import LINE_EVERY, spent
from noisesense_adapters.datasets.answering import Answer, ablate
from noisesense_adapters.datasets.read import results_of
from noisesense_adapters.evaluate.ablation_wording import ablation_sentences, ablation_tables

if TYPE_CHECKING:
    from noisesense.judging.plan import PlannedJudge


class Variants(Options):
    """What is asked."""

    variants: str = option(
        "Of again, without, without-other, relevant-only and plus-K.",
        "NAMES",
        default=",".join(VARIANTS),
    )
    seed: int = option("Of the chunks that come or go by chance.", default=0)


class Judged(Options):
    """Who judges the answers, and what is shown of them."""

    judge: str = option("Judges the answers.", "PROVIDER:MODEL", required=True)
    asking: options.Asking
    report: Path | None = options.REPORT
    png: Path | None = options.PNG
    as_json: bool = options.JSON

    def show(self, found: Ablation, results: Path, judge: PlannedJudge) -> None:
        options.write_page(self.png, found, results.name, "write_png")
        options.write_page(self.report, results_of(results), results.name, ablation=found)
        said = [*ablation_sentences(found)]
        if self.as_json:
            show_json(found.to_dict() | {"sentences": said})
            return
        say(*said)
        for table in ablation_tables(found):
            say("", f"{table.caption}:")
            titles = [f"…{table.titles[0]}", *(f">{title}" for title in table.titles[1:])]
            show_table(titles, table.rows)
        if cost := spent(judge.usage):
            say("", f"judged with {cost}")


class Plan(Command):
    """Write what to ask your system: JSON lines with an empty `response` to fill in."""

    results: Path = options.RESULTS
    out: Path = option("The rows: .jsonl.", "FILE", required=True)
    asked: Variants
    judge: str | None = option(
        "For relevant-only: says which chunks are relevant, where nobody did.", "PROVIDER:MODEL"
    )
    asking: options.Asking
    force: bool = options.FORCE

    def run(self) -> int:
        options.check_new(self.out, force=self.force)
        asked = self.asked
        reading = options.Reading()
        judge = None
        if self.judge is not None:
            judge = self.asking.make_judge(self.judge, **self.asking.of_model)
        variants = asked.variants.split(",")
        rows = plan(reading.results(self.results), variants, asked.seed, judge)
        write_whole(self.out, map(to_json, rows))
        files = f"{quote(str(self.results))} {quote(str(self.out))}"
        say(
            f"wrote {len(rows):,} rows to {self.out}. Fill in `response`, then:",
            f"  noisesense ablation report {files} --judge PROVIDER:MODEL",
        )
        return reading.status


class Report(Command):
    """Judge the answers and say what the chunks did."""

    results: Path = options.RESULTS
    answered: Path = argument("The rows, answered.")
    judged: Judged

    def run(self) -> int:
        judged = self.judged
        reading = options.Reading()
        options.check_pictures(judged.report, judged.png)
        rows = [row for _, row in read_lines(self.answered, parse_line)]
        judge = judged.asking.make_judge(judged.judge, **judged.asking.of_model)
        judged.show(ablation(reading.results(self.results), rows, judge), self.results, judge)
        return reading.status


class Run(Command):
    """Ask your system and judge its answers, in one process.

    Your system is a function of the question and a list of texts, or an async one, that returns
    the response. It is looked for from the working directory.
    """

    results: Path = options.RESULTS
    answer: str = option("Your system.", "MODULE:FUNCTION", required=True)
    answers: Path | None = option("Keep answers, and go on from them.", "FILE")
    deterministic: bool = option(
        "`again` is not asked: the same chunks always give the same response."
    )
    asked: Variants
    judged: Judged

    def run(self) -> int:
        judged = self.judged
        reading = options.Reading()
        system = _imported_system(self.answer)
        options.check_pictures(judged.report, judged.png)
        how: dict[str, Any] = {"variants": self.asked.variants.split(","), "seed": self.asked.seed}
        how |= {"answers": self.answers, "deterministic": self.deterministic}
        how["on_answer"] = _AnswerProgress()
        judge = judged.asking.make_judge(judged.judge, **judged.asking.of_model)
        try:
            found = asyncio.run(ablate(reading.results(self.results), system, judge, **how))
        except KeyboardInterrupt:
            kept = f"the same command goes on from {self.answers}"
            tell(f"interrupted: {kept if self.answers else 'nothing is kept without --answers'}")
            raise
        judged.show(found, self.results, judge)
        if self.deterministic:
            tell(
                "note: `again` is the responses of the results (--deterministic); it was not asked"
            )
        return reading.status


class _AnswerProgress:
    """Says how many answers there are: the last one, and else one line a minute at most."""

    def __init__(self) -> None:
        self._last_line = time.monotonic()

    def __call__(self, done: int, of: int) -> None:
        now = time.monotonic()
        if done == of or now - self._last_line >= LINE_EVERY:
            self._last_line = now
            tell(f"{done:,} of {of:,} answers")


def _imported_system(name: str) -> Answer:
    """The user's system, by its MODULE:FUNCTION. Raises `InputError`."""
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
