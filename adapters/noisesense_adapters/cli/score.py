"""``noisesense score``."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from noisesense.errors import InputError
from noisesense_adapters.cli import options
from noisesense_adapters.cli.gate import Gate, worst
from noisesense_adapters.cli.output import console, show_json, show_lines
from noisesense_adapters.cli.progress import RunProgress, show_summary
from noisesense_adapters.datasets.results import results_of
from noisesense_adapters.datasets.write import scratch_folder
from noisesense_adapters.toolbox.judges import untested

_output = partial(typer.Option, rich_help_panel="Output")


@options.grouped
def score(
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            help="JSONL, CSV, Parquet, JSON (Promptfoo's, RAGChecker's) or a dataset's folder.",
        ),
    ],
    source: options.Input,
    scoring: options.Scoring,
    asking: options.Asking,
    local: options.Local,
    gate: Gate,
    verdicts: Annotated[
        Path | None,
        options.input_panel(metavar="RECORDING", help="Take the verdicts from this recording."),
    ] = None,
    judge: Annotated[
        str | None,
        options.judge_panel(
            metavar="PROVIDER:MODEL", help="The model that judges, e.g. openai:gpt-4.1-mini."
        ),
    ] = None,
    plan: Annotated[
        str,
        options.judge_panel(
            metavar="lazy|full",
            help="Ask for the verdicts that the score needs, or for every one.",
        ),
    ] = "lazy",
    out: Annotated[Path | None, _output(metavar="FILE", help="Write the results: .jsonl.")] = None,
    report: options.ReportOption = None,
    png: options.PngOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Score a dataset.

    The verdicts come from the file, from a recording or from a model. With --judge and --out (or
    --store) every reply is kept in a file, OUT.db: the same command continues an interrupted run,
    and asks again only for what has no answer.

    Where verdicts are missing, a figure is a range that holds for every way to fill them in.

    Exit status: 0 done; 1 a mean is above --fail-above; 2 an error; 3 done, but some samples
    failed (they are named on stderr and in the results); 4 whether a mean is above --fail-above
    cannot be decided; 5 more than --max-unanswered of the verdicts have no answer, or a model
    found no claim in any response; 130 interrupted. If several apply, the first of 1, 4, 5, 3.
    """
    # Here, since judging loads SQLite.
    from noisesense_adapters.datasets.score import score_dataset

    chosen, reading, _ = scoring.choices, source.reading(), gate.checked
    options.check_pictures(report, png, dataset)
    if judge is None:
        given = {**asking.of_model, **local.given}
        given |= {"store": asking.store} if asking.store else {}
        for name in given:
            raise InputError("--judge as well", f"only --{name.replace('_', '-')}", where="score")
    store = asking.store or (Path(f"{out}.db") if judge and out else None)
    model = judge and asking.judge(judge, plan=plan, store=store, **local.given)
    # A report reads the results again: from a file.
    needs_file = out is None and bool(report or png)
    with scratch_folder() if needs_file else nullcontext() as scratch:
        results = out if scratch is None else scratch / "results.jsonl"
        progress = RunProgress(dataset, model)
        if asking.check == "auto":
            progress.say("testing the judge on statements of known answer, then judging")
        try:
            with progress:
                summary = score_dataset(
                    dataset,
                    **reading,
                    verdicts=verdicts,
                    judge=model or None,
                    **chosen,
                    out=results,
                    concurrency=asking.concurrency,
                    on_done=progress.add,
                    confidence=gate.level,
                )
        except KeyboardInterrupt:
            if model:
                progress.say(_interrupted(progress.done - progress.failed, store))
            raise
        if results is not None:
            _write_pictures(results, report, png, dataset.name)
    judges = progress.judges if model else {}
    if as_json:
        show_json({"input": str(dataset), **summary.to_dict()})
    else:
        show_summary(console(), dataset.name, summary, progress.chunks, untested(judges))
        written = [f"wrote {path}" for path in (out, report, png) if path]
        written += [f"every reply of the judge is kept in {store}"] if store and judges else []
        show_lines(console(), *([""] if written else []), *written)
    status = options.SOME_FAILED if summary.failed else 0
    raise typer.Exit(worst(status, gate.status(summary, judged=bool(judge or store))))


def _interrupted(done: int, store: Path | None) -> str:
    if store is None:
        return "interrupted: nothing is kept without --out or --store"
    return (
        f"interrupted: {done:,} samples are done, and every reply is kept in {store}; "
        "the same command continues from there"
    )


def _write_pictures(results: Path, report: Path | None, png: Path | None, name: str) -> None:
    if report is None and png is None:
        return
    from noisesense_adapters.report import write_png, write_report

    if report is not None:
        write_report(results_of(results), report, title=f"Noise sensitivity: {name}")
    if png is not None:
        write_png(results_of(results), png, title=f"Noise sensitivity: {name}")
