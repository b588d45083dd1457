"""``noisesense ablation``: plan, report and run."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from pkgutil import resolve_name
from shlex import quote
from typing import TYPE_CHECKING, cast

from noisesense.ablation import VARIANTS, Ablation, ablation, plan
from noisesense.errors import InputError
from noisesense.jsonl import parse_line, read_lines, to_json, write_whole
from noisesense_adapters.cli import options
from noisesense_adapters.cli.commands import Command, Options, argument, option
from noisesense_adapters.cli.output import say, show_json, show_table, tell
from noisesense_adapters.cli.progress import LINE_EVERY, spent
from noisesense_adapters.datasets.answering import Answer, ablate
from noisesense_adapters.datasets.files import check_new
from noisesense_adapters.datasets.read import results_of
from noisesense_adapters.datasets.score import check_not_dataset
from noisesense_adapters.evaluate.ablation_wording import ablation_sentences, ablation_tables

if TYPE_CHECKING:
    from noisesense.judging.plan import PlannedJudge


class Variants(Options):
    """The variants to ask."""

    variants: str = option(
        "Of again, without, without-other, relevant-only and plus-K.",
        "NAMES",
        default=",".join(VARIANTS),
    )
    seed: int = option("Of the chunks that come or go by chance.", default=0)

    @property
    def names(self) -> list[str]:
        return self.variants.split(",")


class Judging(Options):
    """The judge of the answers, and how the outcome is shown."""

    judge: str = option("Judges the answers.", "PROVIDER:MODEL", required=True)
    asking: options.Asking
    report: Path | None = options.REPORT
    as_json: bool = options.JSON

    def make_judge(self) -> PlannedJudge:
        return self.asking.make_judge(self.judge)

    def show(self, effect: Ablation, results: Path, judge: PlannedJudge) -> None:
        options.write_report(self.report, results_of(results), results.name, ablation=effect)
        sentences = list(ablation_sentences(effect))
        if self.as_json:
            show_json(effect.to_dict() | {"sentences": sentences})
            return
        say(*sentences)
        for table in ablation_tables(effect):
            say("", f"{table.caption}:")
            name, *figures = table.titles
            titles = [f">{title}" for title in figures]
            show_table([f"…{name}", *titles], table.rows)
        cost = spent(judge.usage)
        if cost:
            say("", f"judged with {cost}")


class Plan(Command):
    """Write what to ask your system: JSON lines with an empty `response` to fill in."""

    results: Path = options.RESULTS
    out: Path = option("The rows: .jsonl.", "FILE", required=True)
    variants: Variants
    judge: str | None = option(
        "For relevant-only: says which chunks are relevant, where nobody did.", "PROVIDER:MODEL"
    )
    asking: options.Asking
    force: bool = options.FORCE

    def run(self) -> int:
        check_new(self.out, force=self.force)
        check_not_dataset(self.out, self.results)
        reading = options.Reading()
        judge = None if self.judge is None else self.asking.make_judge(self.judge)
        results = reading.results(self.results)
        rows = plan(results, self.variants.names, self.variants.seed, judge)
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
    judging: Judging

    def run(self) -> int:
        judging = self.judging
        reading = options.Reading()
        options.check_report(judging.report)
        rows = [row for _, row in read_lines(self.answered, parse_line)]
        judge = judging.make_judge()
        effect = ablation(reading.results(self.results), rows, judge)
        judging.show(effect, self.results, judge)
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
    variants: Variants
    judging: Judging

    def run(self) -> int:
        judging = self.judging
        reading = options.Reading()
        system = _imported_system(self.answer)
        options.check_report(judging.report)
        judge = judging.make_judge()
        run = ablate(
            reading.results(self.results),
            system,
            judge,
            variants=self.variants.names,
            seed=self.variants.seed,
            answers=self.answers,
            deterministic=self.deterministic,
            on_answer=_AnswerProgress(),
        )
        try:
            effect = asyncio.run(run)
        except KeyboardInterrupt:
            consequence = "nothing is kept without --answers"
            if self.answers is not None:
                consequence = f"the same command goes on from {self.answers}"
            tell(f"interrupted: {consequence}")
            raise
        judging.show(effect, self.results, judge)
        if self.deterministic:
            tell(
                "note: `again` is the responses of the results (--deterministic); it was not asked"
            )
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
