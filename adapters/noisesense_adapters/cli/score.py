"""``noisesense score``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import Any

import click

from noisesense import Summary
from noisesense.errors import InputError
from noisesense.scoring.definitions import check_definition
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.gate import NEEDED, UNMEASURED, Gate, gate, worst
from noisesense_adapters.cli.options import Asking, Source
from noisesense_adapters.cli.output import say, show_json, show_table, tell
from noisesense_adapters.cli.progress import FailureLines, RunProgress, spent
from noisesense_adapters.datasets.read import label_note, question_note, read_rows, results_of
from noisesense_adapters.datasets.rows import BadRow
from noisesense_adapters.evaluate.evaluator import skip_judging
from noisesense_adapters.evaluate.judges import judge_warnings
from noisesense_adapters.evaluate.wording import headline, mean_table, sample_table


@click.command("score")
@click.argument("dataset", type=options.FILE, metavar="INPUT")
@options.source
@options.definition
@click.option("--judge", metavar="PROVIDER:MODEL", help="Who judges, e.g. openai:gpt-4.1-mini.")
@click.option(
    "--plan",
    type=click.Choice(["lazy", "full"]),
    default="lazy",
    help="Ask for the verdicts that a score needs, or all.",
)
@options.asking
@click.option("--dry-run", is_flag=True, help="Only count the calls that this would take.")
@gate
@click.option("--out", type=options.FILE, help="Write the results: .jsonl.")
@options.report
@options.as_json
def command(
    dataset: Path,
    source: Source,
    definition: str | None,
    judge: str | None,
    plan: str,
    asking: Asking,
    dry_run: bool,
    gate: Gate,
    out: Path | None,
    report: Path | None,
    as_json: bool,
) -> int:
    """Score a dataset.

    INPUT is JSONL, CSV, Parquet or JSON (Promptfoo's, RAGChecker's, DeepEval's). The verdicts come
    from the file or from a model. With --judge and --out (or --store) every
    reply is kept in a file, OUT.db: rerun the command to resume; it asks only for what has no
    answer.

    Where verdicts are missing, a figure is a range that holds for every way to fill them in.

    Exit status: 0 done; 1 a mean is above --fail-above; 2 an error; 3 done, but some samples
    failed (they are named on stderr and in the results); 4 whether a mean is above --fail-above
    cannot be decided (too few samples pass with a warning, unless --fail-if-undecided is given); 5
    too little was measured: nothing at all, or with --fail-above fewer than --min-samples, or more
    than --max-undefined of them not, or more than --max-unanswered of the verdicts have no answer; 130 interrupted. If
    several apply, the first of 1, 4, 5, 3. With --dry-run: 0; 2; 3 some rows cannot be read; 5
    there is nothing to judge.
    """
    gate.check_undecided(NEEDED)
    options.check_report(report)
    notes = [label_note(dataset, source.reading()["columns"])]
    if judge is not None:
        notes.append(question_note(dataset, **source.reading()))
    if dry_run:
        if judge is None:
            raise InputError("--judge with a model", "none", where="--dry-run")
        tell(*filter(None, notes))
        return _dry_run(dataset, source, definition, plan, as_json=as_json)
    from noisesense_adapters.datasets.score import holds_something  # it loads SQLite

    if judge is None and asking.given():
        got = f"only --{asking.given()[0].replace('_', '-')}"
        raise InputError("--judge as well", got, where="score")
    asking = asking.keeping(None if out is None else Path(f"{out}.db"))
    judging = None if judge is None else asking.make_judge(judge, plan)
    had_results = out is not None and holds_something(out)
    progress = RunProgress(dataset, judging)
    for note in filter(None, notes):
        progress.say(note)
    if asking.check == "auto":
        progress.say("testing the judge on texts of known answer, then judging")
    needs_file = out is None and report is not None
    with TemporaryDirectory() if needs_file else nullcontext() as scratch:
        written = Path(scratch, "results.jsonl") if scratch else out
        settings = {
            **source.reading(),
            "judge": judging,
            "out": written,
            "concurrency": asking.concurrency,
            "confidence": gate.level,
            "definition": definition,
        }
        summary = _scored(dataset, progress, None if judge is None else asking, settings)
        kept = had_results and not summary.scored
        if written is not None and not kept:
            saved_as = {} if out is None else {"saved_as": out.name}
            options.write_report(report, results_of(written), dataset.name, **saved_as)
    if as_json:
        show_json({"input": str(dataset), **summary.to_dict()})
    else:
        _show_figures(dataset.name, summary, progress.chunks)
        _show_cost(summary, judging)
        has_results = out is None and judge is None and not source.mapped
        results = dataset if has_results else out
        store = asking.store if judge is not None and summary.scored else None
        _show_files(out, store, None if kept else _next_step(summary, results), kept=kept)
    status = options.SOME_FAILED if summary.failed else 0
    return worst(status, gate.status(summary))


def _scored(
    dataset: Path, progress: RunProgress, asking: Asking | None, settings: dict[str, Any]
) -> Summary:
    """Score the dataset. After an interrupt, say what is kept."""
    from noisesense_adapters.datasets.score import score_dataset  # it loads SQLite

    try:
        with progress:
            return score_dataset(dataset, on_done=progress.add, **settings)
    except KeyboardInterrupt:
        if asking is not None:
            done = progress.done - progress.failed
            progress.say(_interrupted(done, asking.store))
        raise


def _interrupted(done: int, store: Path | None) -> str:
    """Say what an interrupted run has kept."""
    if store is None:
        return "interrupted: nothing is kept without --out or --store"
    return (
        f"interrupted: {done:,} samples are done, and every reply is kept in {store}. "
        "Rerun the command to resume."
    )


def _dry_run(
    dataset: Path, source: Source, definition: str | None, plan: str, *, as_json: bool
) -> int:
    """Count the fewest and the most calls, from rows and chunks alone."""
    chosen = check_definition(definition or "ragas").name
    failures = FailureLines(tell)
    samples = 0
    asked = 0
    chunks = 0
    for row in read_rows(dataset, verdicts=False, **source.reading()):
        if isinstance(row, BadRow):
            failures.add(row.error)
        elif row.sample is None and row.verdicts is None:
            failures.add(InputError("texts to judge", "only verdicts", where=row.place))
        else:
            samples += 1
            if row.sample is not None and skip_judging(row.sample, chosen) is None:
                asked += 1
                chunks += len(row.sample.retrieved_contexts)
    failures.end()
    least = 3 * asked + (chunks if plan == "full" else 0)
    most = 8 * asked + chunks
    counts = {"samples": samples, "chunks": chunks, "unread": failures.count}
    if as_json:
        show_json({"input": str(dataset), **counts, "least": least, "most": most})
    else:
        parts = [counted(samples, "sample"), counted(chunks, "chunk")]
        if failures.count:
            parts.append(f"{counted(failures.count, 'row')} that cannot be read")
        say(f"{dataset.name}: {', '.join(parts)}")
        say(
            f"{least:,} to {most:,} calls: at least 3 a row, at most 8 and one for each chunk. "
            "Texts of more than 16,000 characters, and --check each, take more. Nothing was asked."
            if asked
            else "There is nothing to judge: it would ask nothing."
        )
    return worst(options.SOME_FAILED if failures.count else 0, 0 if asked else UNMEASURED)


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
    if not summary.modes:
        return
    message, rest = headline(summary)
    say("", f"{message}.", rest, "")
    show_table(mean_table(summary))
    samples = sample_table(summary)
    if any(advice for *_, advice in samples.rows):
        say("")
        show_table(samples)


def _show_cost(summary: Summary, judge: Any) -> None:
    """Print what judging cost, and what may be wrong with it."""
    doubts: list[str] = []
    if judge is not None and summary.scored:
        doubts = judge_warnings({judge.name: judge.form_reason})
    cost = spent(summary.usage)
    if cost:
        judged = "judged" if judge is not None else "judged earlier"
        say(". ".join([f"{judged} with {cost}", *doubts]))
    tell(*(f"note: {warning}" for warning in summary.warnings))


def _next_step(summary: Summary, results: Path | None) -> str | None:
    """Name the next question about the results; None without noise or without a file of them."""
    if results is None or not summary.from_chunks.noisy:
        return None
    return f"Next, which documents mislead: noisesense offenders {quote(str(results))}"


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
