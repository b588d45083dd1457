"""``noisesense trust``: a judge beside people's labels, and the sheets that hold them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from noisesense import Calibration, Interval, Result, Trust, trust_results
from noisesense import trust as measure
from noisesense.errors import InputError
from noisesense.judging.protocol import EntailmentJudge
from noisesense.scoring.definitions import DefinitionName
from noisesense.stats.labels_cells import CellKind
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.options import ForceOption, Reading, ResultsPath, check_new
from noisesense_adapters.cli.output import extent, span
from noisesense_adapters.cli.progress import RunProgress
from noisesense_adapters.datasets.results import choices, results_of
from noisesense_adapters.datasets.sheets import LABEL, is_label_sheet, read_labels, write_labels


def export_labels(
    results: ResultsPath,
    sheet: Annotated[Path, typer.Argument(metavar="SHEET", help="A new file: .csv or .tsv.")],
    samples: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Draw N samples, in proportion from those with noise, without, and undetermined "
            "ones.  [default: all]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the draw.")] = 0,
    show_verdicts: Annotated[
        bool,
        typer.Option(
            "--show-verdicts",
            help="Add what the judge said, with which people tend to agree.  [default: left out]",
        ),
    ] = False,
    force: ForceOption = False,
) -> None:
    """Write a sheet for people's labels of a judge's claims.

    Each row asks whether a source (the reference or a chunk) says what a statement (a claim)
    says. Write yes or no in the last column, in as many rows as you like, and give the sheet to
    "noisesense trust --for RESULTS --on SHEET".

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """
    check_new(sheet, force=force)
    reading = Reading()
    written = write_labels(
        reading.results(results),
        sheet,
        samples=samples,
        seed=seed,
        show_verdicts=show_verdicts,
    )
    if written.left_out:
        output.tell(
            f"note: {counted(written.left_out, 'sample')} left out: without texts or claims"
        )
    rows, chosen = counted(written.rows, "question"), counted(written.samples, "sample")
    output.say(
        f"wrote {rows} on {chosen} to {sheet}",
        f"write yes or no into the column {LABEL!r}; what is left empty stays undetermined",
    )
    raise typer.Exit(reading.status)


def import_labels(
    source: Annotated[str, typer.Argument(metavar="wice")],
    download: Annotated[
        Path, typer.Argument(metavar="DOWNLOAD", help="A file such as claim/dev.jsonl.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")],
    sentences: Annotated[int, typer.Option(min=1, help="Of the evidence, in a chunk.")] = 8,
    sha256: Annotated[
        str | None,
        typer.Option(metavar="HEX", help="The checksum that the download must have."),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Turn a download of labels into a file for trust.

    WiCE is yours to download, under its license.
    """
    from noisesense_adapters.datasets.labels import import_labels as convert  # it loads SQLite

    if source != "wice":
        hint = "turn other labels into results or a recording, or use export-labels"
        raise InputError("wice", repr(source), where="import-labels", hint=hint)
    check_new(out, force=force)
    imported = convert(download, out, sentences=sentences, sha256=sha256)
    output.say(
        f"wrote {counted(imported.samples, 'sample')} to {out}: {imported.yes:,} yes, "
        f"{imported.no:,} no, {imported.undecided:,} undecided",
        f"SHA-256 of the download: {imported.sha256}",
    )


_CELLS: dict[CellKind, str] = {
    "correct": "claim in reference",
    "response": "response claim in chunk",
    "reference": "reference claim in chunk",
}


_OF_MODELS: dict[str, Any] = {
    **dict.fromkeys(("base_url", "api_key_env", "temperature", "max_tokens", "timeout", "check")),
    "votes": 1,
}

app = typer.Typer()
app.command()(export_labels)
app.command()(import_labels)


@app.callback(invoke_without_command=True)
@options.grouped
def trust(
    ctx: typer.Context,
    *,
    on: Annotated[
        Path | None,
        typer.Option(
            metavar="LABELS",
            help="What people say: a sheet of export-labels, a recording, results, or what "
            "import-labels wrote.  [required]",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--for",
            metavar="RESULTS",
            help="Your results, some of whose samples LABELS labels: what mean would people find?",
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        options.judge_panel(
            metavar="PROVIDER:MODEL",
            help="A judge to ask about LABELS. Repeatable: side by side.",
        ),
    ] = None,
    asking: options.Asking,
    threshold: options.ThresholdOption = None,
    device: options.DeviceOption = None,
    batch_size: options.BatchSizeOption = None,
    confidence: Annotated[float, typer.Option(help="The confidence of each interval.")] = 0.95,
    definition: options.DefinitionOption = None,
    report: options.ReportOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Measure a judge by claims that people labeled.

    With --for, first the mean that people would find in your results; then the judge's false
    "yes", false "no" and kappa for each kind of verdict. With --judge, asks judges about the
    labels and counts their errors, side by side; for a local judge (local:MODEL) and for a model
    that tells probabilities (--check each) it also finds thresholds.

    Exit status: 0 done; 2 an error; 3 done, but some labels or results could not be judged or
    read; 130 interrupted (with --store, the same command continues).
    """
    if ctx.invoked_subcommand is not None:
        return
    if on is None:
        hint = '"noisesense trust export-labels RESULTS SHEET" writes a sheet to fill in'
        raise InputError("--on LABELS", "none", where="trust", hint=hint)
    if results is None and not judge:
        raise InputError("--for RESULTS or --judge PROVIDER:MODEL", "neither", where="trust")
    if report is not None and results is None:
        raise InputError("--for as well", "only --report", where="trust")
    options.check_pictures(report, None, on)
    name: DefinitionName = choices(definition)["definition"] or (
        "ragas" if results is None else options.definition_in(results)
    )
    local: dict[str, Any] = {"device": device, "batch_size": batch_size}
    given = ", ".join(name for name, value in local.items() if value is not None)
    if given and not any(model.startswith("local:") for model in judge or ()):
        raise InputError("--judge local:MODEL as well", f"only {given}", where="trust")
    reading, trusts = options.Reading(choices(name)), list[Trust]()
    if results is not None:
        judged = list(reading.results(results))
        sheet = is_label_sheet(on)
        people = read_labels(on, judged, reading.tell) if sheet else list(reading.results(on))
        judges = {each.judge: None for each in judged if each.judge is not None}
        named = " and ".join(judges) or "the judge"
        trusts.append(
            trust_results(judged, people, judge=named, definition=name, confidence=confidence)
        )
    if judge:
        labeled = [each for each in reading.results(on) if each.score is not None]
        if not labeled:
            raise InputError("labeled claims", "none", where=str(on))
        for model in judge:
            # Of several judges, each takes the settings of its kind.
            is_local = model.startswith("local:")
            its = replace(asking, **_OF_MODELS) if is_local else asking
            made: Any = its.judge(model, threshold=threshold, **(local if is_local else {}))
            trusts.append(_asked(model, made, labeled, asking.concurrency, confidence))
    if as_json:
        output.show_json(
            {
                "labels": str(on),
                "results": results and str(results),
                "judges": [each.to_dict() for each in trusts],
                "sentence": trusts[0].sentence,
            }
        )
    else:
        _show(output.console(), trusts)
    if results is not None:
        said = [each.sentence for each in trusts]
        rows = results_of(results, definition=name)
        options.write_page(report, rows, results.name, trust=said)
    failed = any(each.failed for each in trusts)
    raise typer.Exit(options.SOME_FAILED if failed else reading.status)


def _asked(
    model: str, judge: EntailmentJudge, labeled: list[Result], concurrency: int, confidence: float
) -> Trust:
    from noisesense_adapters.datasets.labels import judge_labels  # here, since it loads SQLite

    with RunProgress(len(labeled), judge) as progress:

        def done(failure: str | None) -> None:
            if failure is not None:
                progress.fail(failure)
            progress.add(None)

        judged = judge_labels(labeled, judge, concurrency=concurrency, on_done=done)
    return measure(
        model,
        judged.samples,
        usage=judged.usage,
        probabilities=judged.probabilities,
        confidence=confidence,
    )


def _show(out: Console, trusts: list[Trust]) -> None:
    for each in trusts:
        for mode, mean in each.means.items():
            output.show_lines(
                out,
                f"{mode} mean of all samples: {extent(mean.judge_mean)} by the judge, corrected "
                f"by {counted(mean.labelled, 'label')} {extent(mean.mean)} "
                f"(interval {span(mean.interval)})",
            )
        if each.means:
            out.print()
    columns = [
        output.Column("judge"),
        output.Column("verdict"),
        *output.numeric("labels", "no answer", "false yes"),
        output.Column("interval"),
        *output.numeric("false no"),
        output.Column("interval"),
        *output.numeric("kappa"),
        output.Column("interval"),
    ]
    rows = [
        [
            each.judge,
            _CELLS[kind],
            f"{cells.counts.compared:,}",
            f"{cells.counts.judge_open:,}",
            _percent(cells.false_yes_rate),
            _between(cells.false_yes_interval),
            _percent(cells.missed_rate),
            _between(cells.missed_interval),
            "-" if cells.kappa is None else f"{cells.kappa:.3f}",
            span(cells.kappa_interval),
        ]
        for each in trusts
        for kind, cells in each.cells.items()
        if cells.counts.compared or cells.counts.judge_open
    ]
    output.show_table(out, columns, rows)
    for each in trusts:
        parts = [counted(each.samples, "labeled sample")]
        if each.failed:
            parts.append(f"{each.failed:,} failed")
        if each.usage.calls:
            tokens = f"{each.usage.input_tokens:,} + {each.usage.output_tokens:,} tokens"
            parts.append(f"{counted(each.usage.calls, 'call')}, {tokens}")
        if each.unmatched_claims:
            parts.append(f"{counted(each.unmatched_claims, 'claim')} on one side only")
        output.show_lines(out, "", f"{each.judge}: {', '.join(parts)}")
        if each.calibration is not None:
            output.show_lines(out, *_thresholds(each.judge, each.calibration))
        output.tell(*(f"note: {warning}" for warning in each.warnings))
    output.show_lines(out, "", trusts[0].sentence)


def _thresholds(judge: str, found: Calibration) -> Iterator[str]:
    yield f"thresholds for {judge}, by these labels; measure the one you take on others:"
    for cut, what in ((found.balanced, "balances the rates"), (found.best_kappa, "best kappa")):
        rates = f"{cut.false_yes:.1%} false yes, {cut.false_no:.1%} false no"
        yield f"  --threshold {cut.threshold}  {what}: {rates}, kappa {cut.kappa:.3f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _between(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval[0]:.1%} to {interval[1]:.1%}"
