"""``noisesense score``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from noisesense import Judge, Summary, compare, ragchecker_aggregates, stability
from noisesense.errors import InputError
from noisesense_adapters.cli import options
from noisesense_adapters.cli.output import console, show_json, show_lines
from noisesense_adapters.cli.progress import RunProgress, show_summary
from noisesense_adapters.cli.stability import show as show_stability
from noisesense_adapters.datasets.results import choices, results_of
from noisesense_adapters.datasets.write import scratch_folder

_output = partial(typer.Option, rich_help_panel="Output")


def score(
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            help="JSONL, CSV, Parquet, JSON (Promptfoo's, RAGChecker's) or a dataset's folder.",
        ),
    ],
    mapping: options.MapOption = None,
    split_contexts: options.SplitOption = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="The column with the samples' ids."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column with what samples share (a document, a user). Intervals resample "
            "these groups.",
        ),
    ] = None,
    definition: options.DefinitionOption = None,
    empty: options.EmptyOption = None,
    undetermined: options.UndeterminedOption = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(metavar="RECORDING", help="Take the verdicts from this recording."),
    ] = None,
    judge: Annotated[
        str | None,
        options.judge_panel(
            metavar="PROVIDER:MODEL", help="The model that judges, e.g. openai:gpt-4.1-mini."
        ),
    ] = None,
    base_url: options.BaseUrlOption = None,
    api_key_env: options.KeyNameOption = None,
    store: Annotated[
        Path | None,
        options.judge_panel(
            metavar="FILE",
            help="Store every call in this file, so that none is paid for twice. Without --judge: "
            "take the verdicts from this file.",
        ),
    ] = None,
    concurrency: options.ConcurrencyOption = 16,
    plan: Annotated[
        str,
        options.judge_panel(
            metavar="lazy|full",
            help="Ask for the verdicts that the score needs, or for every one.",
        ),
    ] = "lazy",
    votes: options.VotesOption = 1,
    temperature: options.TemperatureOption = None,
    repeats: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="K",
            rich_help_panel="Judge",
            help="Judge K times anew, into OUT-1, OUT-2, …, and show how far the judge agrees "
            "with itself, as stability does. Checks apply to each judging.",
        ),
    ] = 1,
    threshold: options.ThresholdOption = None,
    claims: options.ClaimsOption = None,
    device: options.DeviceOption = None,
    batch_size: options.BatchSizeOption = None,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="How many processes count recorded verdicts in JSON lines; for files of 100,000 "
            "samples and more.",
        ),
    ] = 1,
    out: Annotated[
        Path | None, _output(metavar="FILE", help="Write the results: .jsonl or .parquet.")
    ] = None,
    report: Annotated[
        Path | None, _output(metavar="FILE", help="Write a report: one .html file.")
    ] = None,
    baseline: Annotated[
        Path | None,
        _output(metavar="FILE", help="Earlier results: the report says what is worse since."),
    ] = None,
    png: Annotated[
        Path | None, _output(metavar="FILE", help="Write the plots: one .png file.")
    ] = None,
    ragchecker: Annotated[
        bool,
        _output(
            "--ragchecker-aggregates",
            help="Also show the means as RAGChecker prints them: in percent, undefined as 0.",
        ),
    ] = False,
    as_json: options.JsonOption = False,
    fail_above: options.FailAbove = None,
    confidence: options.Confidence = None,
    mode: options.ModeOption = None,
    max_unanswered: options.MaxUnanswered = 0.05,
) -> None:
    """Score a dataset.

    The verdicts come from the file, from a recording or from a model. With --judge and --out, the
    same command continues an interrupted run, and retries what failed in a finished one; with
    --repeats too.

    Where verdicts are missing, a figure is a range that holds for every way to fill them in.

    Exit status: 0 done; 1 a mean is above --fail-above; 2 an error; 3 done, but some samples
    failed (they are named on stderr and in the results); 4 whether a mean is above --fail-above
    cannot be decided; 5 more than --max-unanswered of the verdicts have no answer, or a model
    found no claim in any response; 130 interrupted. If several apply, the first of 1, 4, 5, 3.
    """
    # Here, since judging loads SQLite.
    from noisesense_adapters.datasets.model import model_judge
    from noisesense_adapters.datasets.score import score_dataset

    checked, chosen = options.as_mode(mode), choices(definition, empty, undetermined)
    options.check_limit(fail_above, confidence)
    options.check_pictures(report, png, dataset)
    if baseline is not None:
        if report is None:
            raise InputError("--report as well", "only --baseline", where="score")
        next(results_of(baseline), None)  # before anything is judged
    if ragchecker and chosen["definition"] not in (None, "ragas"):
        got = repr(definition)
        raise InputError("definition 'ragas'", got, where="--ragchecker-aggregates")
    columns = options.columns_of(mapping or [], id=id_column, cluster=cluster)
    local: dict[str, Any] = {"threshold": threshold, "claims": claims, "device": device}
    local["batch_size"] = batch_size
    asked: dict[str, Any] = {"base_url": base_url, "api_key_env": api_key_env}
    asked["temperature"] = temperature
    stored: Judge | None = None
    if judge is None:
        _refuse_without_judge({**asked, **local, "repeats": repeats if repeats > 1 else None})
        stored = None if store is None else _stored(store)

    def judge_of(repeat: int) -> Judge | None:
        if judge is None:
            return stored
        return model_judge(
            judge,
            plan=plan,
            votes=votes,
            concurrency=concurrency,
            store=store,
            repeat=repeat,
            **asked,
            **local,
        )

    if repeats > 1:
        _check_repeats(judge, claims, report, png, baseline, ragchecker)
    aggregates = None
    # What reads the results again reads them from a file.
    needs_file = out is None and (report or png or ragchecker or repeats > 1)
    with scratch_folder() if needs_file else nullcontext() as scratch:
        results = out if scratch is None else scratch / "results.jsonl"
        paths = [results] if repeats == 1 or results is None else _numbered(results, repeats)
        summaries: list[Summary] = []
        for number, path in enumerate(paths, start=1):
            model, progress = judge_of(number), RunProgress(dataset)
            if repeats > 1:
                progress.say(f"judging {number} of {repeats}")
            try:
                with progress:
                    summary = score_dataset(
                        dataset,
                        columns=columns,
                        split_contexts=options.unescaped(split_contexts),
                        verdicts=verdicts,
                        judge=model,
                        **chosen,
                        out=path,
                        concurrency=concurrency,
                        on_done=progress.add,
                        on_rows=progress.advance,
                        confidence=confidence or 0.95,
                        workers=workers,
                    )
            except KeyboardInterrupt:
                if model is not None:
                    _tell_interrupted(progress, path if out else None)
                raise
            without_claims = summary.failed - progress.failed
            if without_claims > 0:
                progress.say(
                    f"failed: {without_claims:,} responses without claims (--empty error)"
                )
            summaries.append(summary)
        agreed = None
        if repeats > 1:
            agreed = stability((results_of(path) for path in paths if path), limit=fail_above)
        elif results is not None:
            _write_pictures(results, report, png, dataset.name, baseline)
            if ragchecker:
                aggregates = ragchecker_aggregates(results_of(results))
    extra = {} if aggregates is None else {"ragchecker_aggregates": aggregates}
    if as_json and agreed is not None:
        runs = [each.to_dict() for each in summaries]
        show_json({"input": str(dataset), "repeats": runs, "stability": agreed.to_dict()})
    elif as_json:
        show_json({"input": str(dataset), **summaries[0].to_dict(), **extra})
    else:
        if agreed is not None:
            show_stability(console(), agreed)
        else:
            show_summary(console(), dataset.name, summaries[0], aggregates)
        written = [f"wrote {path}" for path in (*(paths if out else ()), report, png) if path]
        show_lines(console(), *([""] if written else []), *written)
    statuses = [
        status
        for i, each in enumerate(summaries, start=1)
        for status in (
            options.check_gate(
                each,
                fail_above,
                checked,
                f" of judging {i}" if agreed else "",
                confident=confidence is not None,
            ),
            options.check_answers(each, max_unanswered, judged=judge is not None or bool(store)),
            options.SOME_FAILED if each.failed else 0,
        )
    ]
    raise typer.Exit(options.worst(*statuses))


def _numbered(out: Path, repeats: int) -> list[Path | None]:
    return [out.with_name(f"{out.stem}-{i}{out.suffix}") for i in range(1, repeats + 1)]


def _check_repeats(judge: str | None, claims: str | None, *outputs: object) -> None:
    """Raises `InputError` for what has no sense with several judgings."""
    if any(outputs):
        hint = "give them one of the results files afterwards"
        raise InputError(
            "--out or --json", "a report, plots or aggregates", where="--repeats", hint=hint
        )
    if judge is not None and judge.startswith("local:") and claims is None:
        hint = "a local judge whose claims are sentences always says the same"
        raise InputError("another judge, or --claims", repr(judge), where="--repeats", hint=hint)


def _refuse_without_judge(settings: Mapping[str, object]) -> None:
    for name, value in settings.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise InputError("--judge as well", f"only {option}", where="score")


def _stored(path: Path) -> Judge:
    from noisesense import VerdictStore
    from noisesense.judging.batch import StoredJudge

    with VerdictStore(path, must_exist=True) as store:
        return StoredJudge(store)


def _tell_interrupted(progress: RunProgress, out: Path | None) -> None:
    from noisesense_adapters.datasets.score import partial_of

    if out is None:
        progress.say("interrupted: without --out no result is saved (a --store keeps the calls)")
    elif (partial := partial_of(out)).exists():
        done = progress.done - progress.failed
        progress.say(f"interrupted: {done:,} samples are done and saved in {partial};")
        progress.say("the same command continues from there")
    else:
        progress.say(f"interrupted before a sample was done: {out} is as it was")


def _write_pictures(
    results: Path, report: Path | None, png: Path | None, name: str, baseline: Path | None
) -> None:
    if report is None and png is None:
        return
    from noisesense_adapters.report import write_png, write_report

    if report is not None:
        title = f"Noise sensitivity: {name}"
        if baseline is None:
            write_report(results_of(results), report, title=title)
        else:
            comparison = compare(results_of(baseline), results_of(results))
            write_report(results_of(results), report, title=title, baseline=comparison)
    if png is not None:
        write_png(results_of(results), png)
