"""``noisesense score``."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from noisesense import Judge, Summary, compare, stability
from noisesense.errors import InputError
from noisesense_adapters.cli import options
from noisesense_adapters.cli.gate import Gate, worst
from noisesense_adapters.cli.output import console, show_json, show_lines
from noisesense_adapters.cli.progress import RunProgress, show_summary
from noisesense_adapters.cli.stability import show as show_stability
from noisesense_adapters.datasets.results import results_of
from noisesense_adapters.datasets.write import scratch_folder
from noisesense_adapters.ragchecker import ragchecker_aggregates
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
    repeats: Annotated[
        int,
        options.judge_panel(
            min=1,
            metavar="K",
            help="Judge K times anew, into OUT-1, OUT-2, …, and show how far the judge agrees "
            "with itself, as stability does. Checks apply to each judging.",
        ),
    ] = 1,
    out: Annotated[Path | None, _output(metavar="FILE", help="Write the results: .jsonl.")] = None,
    report: options.ReportOption = None,
    baseline: Annotated[
        Path | None,
        _output(metavar="FILE", help="Earlier results: the report says what is worse since."),
    ] = None,
    png: options.PngOption = None,
    ragchecker: Annotated[
        bool,
        _output(
            "--ragchecker-aggregates",
            help="Also show the means as RAGChecker prints them: in percent, undefined as 0.",
        ),
    ] = False,
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
    pictures = bool(report or png)
    if baseline is not None:
        if report is None:
            raise InputError("--report as well", "only --baseline", where="score")
        next(results_of(baseline), None)  # before anything is judged
    if ragchecker and chosen["definition"] not in (None, "ragas"):
        got = repr(chosen["definition"])
        raise InputError("definition 'ragas'", got, where="--ragchecker-aggregates")
    if repeats > 1 and (pictures or ragchecker):
        hint = "give them one of the results files afterwards"
        got = "a report, plots or aggregates"
        raise InputError("--out or --json", got, where="--repeats", hint=hint)
    if judge is None:
        given = {**asking.of_model, **local.given}
        given |= {"repeats": repeats} if repeats > 1 else {}
        given |= {"store": asking.store} if asking.store else {}
        for name in given:
            raise InputError("--judge as well", f"only --{name.replace('_', '-')}", where="score")
    store = asking.store or (Path(f"{out}.db") if judge and out else None)

    def judge_of(repeat: int) -> Judge | None:
        if judge is None:
            return None
        return asking.judge(judge, plan=plan, store=store, repeat=repeat, **local.given)

    # What reads the results again reads them from a file.
    needs_file = out is None and (pictures or ragchecker or repeats > 1)
    aggregates = agreed = None
    chunks, judges = 0, dict[str, None]()
    with scratch_folder() if needs_file else nullcontext() as scratch:
        results = out if scratch is None else scratch / "results.jsonl"
        paths = [results] if repeats == 1 or results is None else _numbered(results, repeats)
        summaries: list[Summary] = []
        for number, path in enumerate(paths, start=1):
            model = judge_of(number)
            progress = RunProgress(dataset, model)
            if repeats > 1:
                progress.say(f"judging {number} of {repeats}")
            elif asking.check == "auto":
                progress.say("testing the judge on statements of known answer, then judging")
            try:
                with progress:
                    summary = score_dataset(
                        dataset,
                        **reading,
                        verdicts=verdicts,
                        judge=model,
                        **chosen,
                        out=path,
                        concurrency=asking.concurrency,
                        on_done=progress.add,
                        confidence=gate.level,
                    )
            except KeyboardInterrupt:
                if model is not None:
                    progress.say(_interrupted(progress.done - progress.failed, store))
                raise
            summaries.append(summary)
            chunks, judges = progress.chunks, progress.judges if model else {}
        if repeats > 1:
            agreed = stability((results_of(path) for path in paths if path), limit=gate.fail_above)
        elif results is not None:
            _write_pictures(results, report, png, dataset.name, baseline)
            aggregates = ragchecker_aggregates(results_of(results)) if ragchecker else None
    if as_json and agreed is not None:
        runs = [each.to_dict() for each in summaries]
        show_json({"input": str(dataset), "repeats": runs, "stability": agreed.to_dict()})
    elif as_json:
        extra = {} if aggregates is None else {"ragchecker_aggregates": aggregates}
        show_json({"input": str(dataset), **summaries[0].to_dict(), **extra})
    else:
        if agreed is not None:
            show_stability(console(), agreed)
        else:
            doubts = untested(judges)
            show_summary(console(), dataset.name, summaries[0], aggregates, chunks, doubts)
        written = [f"wrote {path}" for path in (*(paths if out else ()), report, png) if path]
        written += [f"every reply of the judge is kept in {store}"] if store and judges else []
        show_lines(console(), *([""] if written else []), *written)
    statuses = [options.SOME_FAILED if each.failed else 0 for each in summaries]
    for number, each in enumerate(summaries, start=1):
        name = f" of judging {number}" if agreed else ""
        statuses.append(gate.status(each, name, judged=bool(judge or store)))
    raise typer.Exit(worst(*statuses))


def _numbered(out: Path, repeats: int) -> list[Path | None]:
    return [out.with_name(f"{out.stem}-{i}{out.suffix}") for i in range(1, repeats + 1)]


def _interrupted(done: int, store: Path | None) -> str:
    if store is None:
        return "interrupted: nothing is kept without --out or --store"
    return (
        f"interrupted: {done:,} samples are done, and every reply is kept in {store}; "
        "the same command continues from there"
    )


def _write_pictures(
    results: Path, report: Path | None, png: Path | None, name: str, baseline: Path | None
) -> None:
    if report is None and png is None:
        return
    from noisesense_adapters.report import write_png, write_report

    if report is not None:
        title = f"Noise sensitivity: {name}"
        since = baseline and compare(results_of(baseline), results_of(results))
        write_report(results_of(results), report, title=title, baseline=since)
    if png is not None:
        write_png(results_of(results), png, title=f"Noise sensitivity: {name}")
