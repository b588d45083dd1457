"""``noisesense score``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import Any

import click

from noisesense import Summary
from noisesense.errors import InputError, describe
from noisesense.scoring.definitions import check_definition
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.gate import UNMEASURED, Gate, checks, failed_status, worst
from noisesense_adapters.cli.options import Asking
from noisesense_adapters.cli.output import Failures, say, show_json, show_table, tell
from noisesense_adapters.cli.progress import RunProgress, spent
from noisesense_adapters.datasets.read import read_rows, results_of
from noisesense_adapters.datasets.rows import BadRow
from noisesense_adapters.datasets.tables import MAPPED
from noisesense_adapters.evaluate.evaluator import skip_judging
from noisesense_adapters.evaluate.tables import mean_table, sample_table
from noisesense_adapters.evaluate.wording import changed_claims, headline


@click.command("score")
@click.argument("dataset", type=options.FILE, metavar="INPUT")
@click.option(
    "--map",
    "mapped",
    metavar="FIELD=COLUMN",
    multiple=True,
    help=f"The column, or dotted path, of a field: {', '.join(MAPPED)}. Repeatable.",
)
@click.option(
    "--split-contexts",
    metavar="SEP",
    help=r"What stands between contexts, and their ids, in a cell without a list: '|' or '\n'.",
)
@click.option(
    "--guess",
    is_flag=True,
    help="Take the columns that are proposed where names do not settle them.",
)
@click.option("--provider", help="Of Promptfoo's results: whose, if several answered.")
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
@checks
@click.option("--out", type=options.FILE, help="Write the results: .jsonl.")
@options.report
@options.as_json
def command(
    dataset: Path,
    mapped: tuple[str, ...],
    split_contexts: str | None,
    guess: bool,
    provider: str | None,
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

    INPUT is JSONL, CSV, Parquet or JSON (Promptfoo's, DeepEval's). The verdicts come
    from the file or from a model. With --judge and --out (or --store) every reply is kept in a
    file, OUT.db: rerun the command to resume; it asks only for what has no answer.

    Where verdicts are missing, a figure is a range that holds for every way to fill them in.

    Exit status: 0 done; 1 a mean is above --fail-above; 2 an error; 3 some samples failed without
    a check (they are named on stderr and in the results); 4 whether a mean is above --fail-above
    cannot be decided (too few samples pass with a warning, unless --fail-if-undecided is given); 5
    too little was measured: nothing at all, fewer samples than --expect, more than 5% of the
    verdicts without an answer; with a check also more of the samples than --max-undefined failed
    or have nothing to measure, or a sign that the run is broken ("noisesense gate" can let such
    pass); 130 interrupted. If several apply, the first of 1, 4, 5, 3. With --dry-run: 0; 2; 3 some
    rows cannot be read; 5 there is nothing to judge.
    """
    options.check_report(report)
    reading: dict[str, Any] = {
        "columns": _columns(mapped),
        "split_contexts": _separator(split_contexts),
        "provider": provider,
        "guess": guess,
    }
    if dry_run:
        return _dry_run(dataset, reading, definition, plan, as_json=as_json)
    judging = None
    store = None
    if judge is not None:
        store = _store(asking, out, dataset)
        judging = asking.make_judge(judge, plan=plan, store=store)
        if store is None:
            tell("note: the judge's verdicts are not kept without --out RESULTS.jsonl")
    progress = RunProgress(dataset, judging)
    with TemporaryDirectory() as scratch:
        # For the report to read.
        written = Path(scratch, "results.jsonl") if report is not None and out is None else out
        settings = {**reading, "definition": definition, "confidence": gate.level}
        settings |= {"judge": judging, "concurrency": asking.concurrency, "out": written}
        summary = _scored(dataset, progress, store, settings)
        if written is not None and summary.scored:  # else earlier results may still be there
            saved_as = (out or dataset).name
            options.write_report(report, results_of(written), dataset.name, saved_as=saved_as)
    if as_json:
        show_json({"input": str(dataset), **summary.to_dict()})
    else:
        _show_figures(dataset.name, summary, progress.chunks)
        _show_cost(summary)
        _show_files(summary, out, store)
        _show_next_step(summary, out or dataset, is_scored=judging is None or out is not None)
    status = failed_status(summary.failed, is_checked=gate.is_check)
    return worst(status, gate.tell_status(summary))


def _store(asking: Asking, out: Path | None, dataset: Path) -> Path | None:
    """Return the file for the replies, if any. Raises `InputError` for a bad ``out``."""
    from noisesense_adapters.datasets.score import check_output  # it loads SQLite

    if out is not None:
        check_output(out, dataset)
    return asking.store_beside(out)


def _columns(mapped: tuple[str, ...]) -> dict[str, str]:
    """Return by field the column. Raises `InputError` for no pair, or a field twice."""
    columns: dict[str, str] = {}
    for pair in mapped:
        field, _, column = pair.partition("=")
        if not (field and column):
            raise InputError("FIELD=COLUMN", describe(pair), where="--map")
        if field in columns:
            raise InputError("each field once", describe(field), where="--map")
        columns[field] = column
    return columns


def _separator(typed: str | None) -> str | None:
    """Return what was typed, with a line end or tab for its escape."""
    return typed and typed.replace(r"\n", "\n").replace(r"\t", "\t")


def _scored(
    dataset: Path, progress: RunProgress, store: Path | None, settings: dict[str, Any]
) -> Summary:
    """Score the dataset. Say what is kept after an interrupt, which is passed on."""
    from noisesense_adapters.datasets.score import score_dataset  # it loads SQLite

    try:
        with progress:
            return score_dataset(dataset, on_done=progress.add, on_note=progress.say, **settings)
    except KeyboardInterrupt:
        kept = "nothing is kept without --judge and --out"
        if store is not None:
            done = progress.done - progress.failed
            kept = (
                f"{counted(done, 'sample')} done, and every reply is kept in {store}. "
                "Rerun the command to resume."
            )
        progress.say(f"interrupted: {kept}")
        raise


@dataclass
class Counts:
    """What a dataset holds.

    Attributes:
        samples: how many can be read.
        asked: those that a judge is asked about: something was retrieved.
        chunks: how many those have.
        unread: rows that cannot be read.
    """

    samples: int = 0
    asked: int = 0
    chunks: int = 0
    unread: int = 0


def _counts(dataset: Path, reading: dict[str, Any], definition: str | None) -> Counts:
    """Count the rows of a dataset, and name those that cannot be read."""
    chosen = check_definition(definition or "ragas").name
    counts = Counts()
    failures = Failures()
    for row in read_rows(dataset, verdicts=False, on_note=tell, **reading):
        if isinstance(row, BadRow):
            failures.add(row.error)
        elif row.sample is not None:
            counts.samples += 1
            if skip_judging(row.sample, chosen) is None:
                counts.asked += 1
                counts.chunks += len(row.sample.retrieved_contexts)
        elif row.verdicts is not None:  # Promptfoo's, without texts: nothing was retrieved
            counts.samples += 1
        else:
            failures.add(InputError("texts to judge", "only verdicts", where=row.place))
    counts.unread = failures.count
    return counts


def _dry_run(
    dataset: Path, reading: dict[str, Any], definition: str | None, plan: str, *, as_json: bool
) -> int:
    """Say how many calls judging would take, by the rows and chunks; return the exit status."""
    from noisesense.judging.placebos import COUNT  # it loads asyncio

    counts = _counts(dataset, reading, definition)
    least = 3 * counts.asked
    if plan == "full":
        least += counts.chunks
    most = 8 * counts.asked + counts.chunks
    if counts.asked >= COUNT:
        most += COUNT
    if as_json:
        show_json({"input": str(dataset), **vars(counts), "least": least, "most": most})
    else:
        parts = [counted(counts.samples, "sample"), counted(counts.chunks, "chunk")]
        if counts.unread:
            parts.append(f"{counted(counts.unread, 'row')} that cannot be read")
        say(f"{dataset.name}: {', '.join(parts)}")
        calls = "There is nothing to judge: it would ask nothing."
        if counts.asked:
            calls = (
                f"{least:,} to {most:,} calls: at least 3 a row, at most 8 and 1 for each chunk, "
                f"and {COUNT} that test the judge. Texts of more than 16,000 characters, and "
                "--check each, take more; rows that share texts take fewer. Nothing was asked."
            )
        say(calls)
    status = options.SOME_FAILED if counts.unread else 0
    return worst(status, 0 if counts.asked else UNMEASURED)


def _show_figures(name: str, summary: Summary, chunks: int) -> None:
    """Print what a run measured, and its figures in both modes."""
    parts = [counted(summary.samples, "sample")]
    if summary.measured != summary.samples:
        parts.append(f"{summary.measured:,} measured")
    if summary.failed:
        parts.append(f"{summary.failed:,} failed")
    parts.append(counted(chunks, "chunk"))
    if summary.clusters is not None:
        parts.append(summary.grouped)
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


def _show_cost(summary: Summary) -> None:
    """Print what judging cost, and what may be wrong with it."""
    cost = spent(summary.usage)
    if cost:
        say(f"judging: {cost}")
    changed = changed_claims(summary)
    if changed:
        say(changed)
    if summary.placebos.asked:
        say(str(summary.placebos))
    tell(*(f"note: {warning}" for warning in summary.warnings))


def _show_files(summary: Summary, out: Path | None, store: Path | None) -> None:
    """Print where the results and the judge's replies are."""
    if not summary.scored:
        if out is not None:
            tell(f"note: nothing has a score, which replaces no earlier results in {out}")
        return
    files: list[str] = []
    if out is not None:
        files.append(f"wrote {out}")
    if store is not None:
        files.append(f"every reply of the judge is kept in {store}")
    if files:
        say("; ".join(files))


def _show_next_step(summary: Summary, results: Path, *, is_scored: bool) -> None:
    """Print the next question about the results, if the file holds them."""
    if summary.from_chunks.noisy and is_scored:
        say(f"Next, which documents mislead: noisesense offenders {quote(str(results))}")
