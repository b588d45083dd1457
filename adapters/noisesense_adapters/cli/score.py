"""``noisesense score``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import Any

import click

from noisesense import ModeSummary, Summary
from noisesense.errors import InputError
from noisesense.scoring.definitions import check_definition
from noisesense.scoring.outcomes import percent_text
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.commands import Command, Options, argument, option
from noisesense_adapters.cli.gate import UNMEASURED, Gate, worst
from noisesense_adapters.cli.output import say, show_json, show_modes, tell
from noisesense_adapters.cli.progress import FailureLines, RunProgress, spent
from noisesense_adapters.datasets.read import read_rows, results_of
from noisesense_adapters.evaluate.judges import judge_warnings
from noisesense_adapters.evaluate.wording import headline


class Verdicts(Options):
    """The source of the verdicts."""

    heading = "Judge"

    verdicts: Path | None = option("Take the verdicts from this recording.", "RECORDING")
    judge: str | None = option("Who judges, e.g. openai:gpt-4.1-mini.", "PROVIDER:MODEL")
    claims: str | None = option("Finds a local judge's claims; else sentences.", "PROVIDER:MODEL")
    plan: str = options.PLAN


class Counting(Options):
    """The estimate of the costs."""

    heading = "Before it is paid"

    dry_run: bool = option("Only count the calls and tokens that this would take.")
    rate: int = option("Calls a minute, for --dry-run.", type=click.IntRange(min=1), default=100)


class Output(Options):
    """The files to write."""

    heading = "Output"

    out: Path | None = option("Write the results: .jsonl.", "FILE")
    report: Path | None = options.REPORT
    png: Path | None = options.PNG
    as_json: bool = options.JSON

    @property
    def needs_file(self) -> bool:
        """Must the results be written to a scratch file, for the report to read them again?"""
        return self.out is None and (self.report is not None or self.png is not None)

    def write_pages(self, results: Path, name: str) -> None:
        """Write the report and the plots that the user wants of the results in a file."""
        saved_as = {} if self.out is None else {"saved_as": self.out.name}
        options.write_report(self.report, results_of(results), name, **saved_as)
        options.write_plots(self.png, results_of(results), name)


class Score(Command):
    """Score a dataset.

    The verdicts come from the file, from a recording or from a model. With --judge and --out (or
    --store) every reply is kept in a file, OUT.db: the same command continues an interrupted run,
    and asks again only for what has no answer.

    Where verdicts are missing, a figure is a range that holds for every way to fill them in.

    Exit status: 0 done; 1 a mean is above --fail-above; 2 an error; 3 done, but some samples
    failed (they are named on stderr and in the results); 4 whether a mean is above --fail-above
    cannot be decided (too few samples pass with a warning, unless --fail-if-undecided is given); 5
    too little was measured: nothing at all, or with --fail-above fewer than --min-samples, or more
    than --max-undefined of them not, or more than --max-unanswered of the verdicts have no answer;
    130 interrupted. If several apply, the first of 1, 4, 5, 3. With --dry-run: 0; 2; 3 some rows
    cannot be read; 5 there is nothing to judge.
    """

    dataset: Path = argument(
        "JSONL, CSV, Parquet or JSON (Promptfoo's, RAGChecker's, DeepEval's).", "INPUT"
    )
    source: options.Input
    scoring: options.Scoring
    judging: Verdicts
    counting: Counting
    asking: options.Asking
    local: options.Local
    gate: Gate
    output: Output

    def run(self) -> int:
        output = self.output
        self.gate.check()
        options.check_pictures(output.report, output.png)
        if self.counting.dry_run:
            return self._dry_run()
        from noisesense_adapters.datasets.score import holds_something  # it loads SQLite

        judge = self._judge()
        had_results = output.out is not None and holds_something(output.out)
        progress = RunProgress(self.dataset, judge)
        if self.asking.check == "auto":
            progress.say("testing the judge on texts of known answer, then judging")
        with TemporaryDirectory() if output.needs_file else nullcontext() as scratch:
            results = Path(scratch, "results.jsonl") if scratch else output.out
            summary = self._scored(judge, results, progress)
            kept = had_results and not summary.scored
            if results is not None and not kept:
                output.write_pages(results, self.dataset.name)
        if output.as_json:
            show_json({"input": str(self.dataset), **summary.to_dict()})
        else:
            self._show(summary, judge, progress.chunks, kept=kept)
        status = options.SOME_FAILED if summary.failed else 0
        return worst(status, self.gate.status(summary))

    def _show(self, summary: Summary, judge: Any, chunks: int, *, kept: bool) -> None:
        _show_figures(self.dataset.name, summary, chunks)
        doubts: list[str] = []
        store = None
        if judge is not None and summary.scored:
            doubts = judge_warnings({judge.name: judge.form_reason})
            store = self.asking.store
        cost = spent(summary.usage)
        if cost:
            judged = "judged" if judge is not None else "judged earlier"
            say(". ".join([f"{judged} with {cost}", *doubts]))
        tell(*(f"note: {warning}" for warning in summary.warnings))
        next_step = None if kept else self._next_step(summary)
        _show_files(self.output.out, store, next_step, kept=kept)

    def _next_step(self, summary: Summary) -> str | None:
        """The next question about the results, or about a file of verdicts; None without noise."""
        path = self.output.out
        judging = self.judging
        if path is None and not (judging.judge or judging.verdicts or self.source.map):
            path = self.dataset
        if path is None or not summary.from_chunks.noisy:
            return None
        return f"Next, which documents mislead: noisesense offenders {quote(str(path))}"

    @property
    def _store(self) -> Path | None:
        """The store of the model's replies, by default beside the results; None without one."""
        if self.asking.store is None and self.output.out is not None:
            return Path(f"{self.output.out}.db")
        return self.asking.store

    def _judge(self) -> Any:
        """The judge over a model; None without one. Raises `InputError` for options of a judge."""
        asking = self.asking
        judging = self.judging
        settings = self.local.values() | judging.values("verdicts", "judge", "plan")
        if judging.judge is not None:
            asking.store = self._store
            return asking.make_judge(judging.judge, plan=judging.plan, **settings)
        useless = [*asking.values("store", "concurrency"), *settings]
        if asking.store is not None:
            useless.append("store")
        if useless:
            got = f"only --{useless[0].replace('_', '-')}"
            raise InputError("--judge as well", got, where="score")
        return None

    def _scored(self, judge: Any, results: Path | None, progress: RunProgress) -> Summary:
        """Score the dataset. After an interrupt, say what is kept."""
        from noisesense_adapters.datasets.score import score_dataset  # it loads SQLite

        try:
            with progress:
                return score_dataset(
                    self.dataset,
                    **self.source.reading(),
                    **self.scoring.values(),
                    verdicts=self.judging.verdicts,
                    judge=judge,
                    on_note=progress.say,
                    out=results,
                    concurrency=self.asking.concurrency,
                    on_done=progress.add,
                    confidence=self.gate.level,
                )
        except KeyboardInterrupt:
            if judge is not None:
                done = progress.done - progress.failed
                progress.say(_interrupted(done, self.asking.store))
            raise

    def _dry_run(self) -> int:
        from noisesense import VerdictStore
        from noisesense_adapters.cli import dry_run

        model = self.judging.judge
        if model is None or model.startswith("local:"):
            got = "a local judge" if model else "none"
            raise InputError("--judge with a model that is asked", got, where="--dry-run")
        failures = FailureLines(tell)
        rows = read_rows(self.dataset, verdicts=False, **self.source.reading(), on_note=tell)
        definition = check_definition(self.scoring.definition or "ragas").name
        path = self._store
        llm = None
        opened: Any = nullcontext()
        if path is not None and path.is_file():
            llm = self.asking.model(model)
            opened = VerdictStore(path, must_exist=True)
        with opened as store:
            request = dry_run.Request(
                check=self.asking.check or "list",
                plan=self.judging.plan,
                votes=self.asking.votes or 1,
                text_chars=self.asking.text_chars,
                keeps=path is not None,
                model=llm,
                store=store,
            )
            estimate = dry_run.estimate(rows, request, definition, failures.add)
        failures.end()
        if self.output.as_json:
            show_json({"input": str(self.dataset), **estimate.to_dict(self.counting.rate)})
        else:
            say(*estimate.sentences(self.dataset.name, self.counting.rate))
        status = options.SOME_FAILED if estimate.unread else 0
        return worst(status, 0 if estimate.has_something else UNMEASURED)


def _interrupted(done: int, store: Path | None) -> str:
    """What an interrupted run has kept."""
    if store is None:
        return "interrupted: nothing is kept without --out or --store"
    return (
        f"interrupted: {done:,} samples are done, and every reply is kept in {store}; "
        "the same command continues from there"
    )


def _show_figures(name: str, summary: Summary, chunks: int) -> None:
    """Print what a run measured, and its figures in both modes."""
    parts = [counted(summary.samples, "sample")]
    if summary.measured != summary.samples:
        parts.append(f"{summary.measured:,} measured")
    if summary.failed:
        parts.append(f"{summary.failed:,} failed")
    parts.append(counted(chunks, "chunk"))
    if summary.clusters is not None:
        parts.append(counted(summary.clusters, "cluster"))
    scored = f"; definition {summary.definition}, lower is better" if summary.definition else ""
    say(f"{name}: {', '.join(parts)}{scored}")
    if summary.modes:
        message, rest = headline(summary)
        say("", f"{message}.", rest, "")
        show_modes({mode.mode: _figures(mode, summary.confidence) for mode in summary.modes})


def _show_files(
    out: Path | None, store: Path | None, next_step: str | None, *, kept: bool
) -> None:
    """Print where the results and the judge's replies are, and what to ask next."""
    files: list[str] = []
    if out is not None:
        files.append(f"{'kept the earlier results in' if kept else 'wrote'} {out}")
    if store is not None:
        files.append(f"every reply of the judge is kept in {store}")
    sentences: list[str] = []
    if files:
        sentences.append("; ".join(files))
    if next_step is not None:
        sentences.append(next_step)
    if sentences:
        say(". ".join(sentences))


def _figures(mode: ModeSummary, confidence: float) -> dict[str, object]:
    """The figures of one mode by label. The report and --json have more."""
    return {
        "mean": mode.mean,
        f"  {percent_text(confidence)} interval": mode.interval,
        "samples undetermined": mode.undetermined,
        "samples undefined": mode.undefined,
    }
