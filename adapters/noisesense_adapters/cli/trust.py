"""``noisesense trust`` and ``noisesense import-labels``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from noisesense import Calibration, Interval, Trust
from noisesense import trust as measure
from noisesense.errors import InputError
from noisesense.scoring.definitions import DefinitionName
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.output import one_line
from noisesense_adapters.cli.score import check_pictures
from noisesense_adapters.datasets.results import choices, results_of

_MOST_FAILURES = 5


def trust(
    judge: Annotated[
        list[str],
        typer.Option(
            metavar="PROVIDER:MODEL", help="The judge to measure. Repeatable: side by side."
        ),
    ],
    on: Annotated[
        Path,
        typer.Option(
            "--on",
            metavar="LABELS",
            help="Claims that people labeled: a recording, results, or what import-labels wrote.",
        ),
    ],
    results: Annotated[
        Path | None,
        typer.Option(
            "--for", metavar="RESULTS", help="Your results: which true means do they allow?"
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="The endpoint, if not the provider's own.")
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The environment variable that holds the key."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Store every call in this file, so that none is paid for twice."
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="How many calls to make at once.")] = 16,
    votes: Annotated[int, typer.Option(min=1, help="Ask for each verdict this many times.")] = 1,
    temperature: Annotated[
        float | None,
        typer.Option(min=0, help="The model's temperature.  [default: the model's own]"),
    ] = None,
    threshold: options.ThresholdOption = None,
    device: options.DeviceOption = None,
    batch_size: options.BatchSizeOption = None,
    confidence: Annotated[
        float, typer.Option(help="Of both rates together, and of both modes' ranges.")
    ] = 0.95,
    definition: options.DefinitionOption = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a report of --for that says it: one .html file."),
    ] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Measure how far a judge can be trusted.

    Asks it about claims that people labeled, counts its false "yes" and false "no", and, with
    --for, says which true means your results allow. The last line says it in one sentence, for
    the judge that made the results, else for the first. For a local judge (local:MODEL) it also
    finds thresholds.

    Exit status: 0 done; 2 an error; 3 done, but some labels or results could not be judged or
    read; 130 interrupted (with --store, the same command continues).
    """
    # Here, since judging loads SQLite.
    from noisesense_adapters.datasets.labels import judge_labels
    from noisesense_adapters.datasets.model import model_judge

    if report is not None and results is None:
        raise InputError("--for as well", "only --report", where="trust")
    check_pictures(report, None, on)
    reading = options.Reading()
    labeled = [result for result in reading.results(on) if result.score is not None]
    if not labeled:
        raise InputError("labeled claims", "none", where=str(on))
    name: DefinitionName = choices(definition)["definition"] or (
        "ragas" if results is None else options.definition_in(results)
    )
    local: dict[str, Any] = {"device": device, "batch_size": batch_size, "threshold": threshold}
    remote: dict[str, Any] = {"base_url": base_url, "api_key_env": api_key_env, "votes": votes}
    remote["temperature"] = temperature
    given = ", ".join(name for name, value in local.items() if value is not None)
    if given and not any(model.startswith("local:") for model in judge):
        raise InputError("--judge local:MODEL as well", f"only {given}", where="trust")
    found: list[Trust] = []
    names: list[str] = []
    for model in judge:
        asked = model_judge(
            model,
            concurrency=concurrency,
            store=store,
            **(local if model.startswith("local:") else remote),
        )
        names.append(asked.model)
        with _Asking(model, len(labeled)) as asking:
            judged = judge_labels(labeled, asked, concurrency=concurrency, on_done=asking.add)
        mine = None if results is None else options.Reading(name).results(results)
        found.append(
            measure(
                model,
                judged.samples,
                results=mine,
                usage=judged.usage,
                probabilities=judged.probabilities,
                definition=name,
                confidence=confidence,
            )
        )
    made = [_made(each, name) for each, name in zip(found, names, strict=True)]
    told = found[made.index(True)] if True in made else found[0]
    if as_json:
        output.show_json(
            {
                "labels": str(on),
                "results": results and str(results),
                "judges": [each.to_dict() for each in found],
                "sentence": told.sentence,
            }
        )
    else:
        _show(output.console(), found, told, len(labeled))
    if told.results_by and True not in made:
        output.tell(
            f"note: the results were judged by {', '.join(told.results_by)}; the rates are those "
            f"of {told.judge}."
        )
    if report is not None and results is not None:
        from noisesense_adapters.report import write_report

        sentences = [each.sentence for each in found]
        mine = results_of(results, definition=name)
        write_report(mine, report, title=f"Noise sensitivity: {results.name}", trust=sentences)
        output.tell(f"wrote {report}")
    failed = any(each.failed for each in found)
    raise typer.Exit(options.SOME_FAILED if failed else reading.status)


def _made(trusted: Trust, model: str) -> bool:
    """Did this judge make the results? They name the model, its plan and prompts."""
    return any(by == model or by.startswith(f"{model},") for by in trusted.results_by)


class _Asking:
    """A bar on a terminal's stderr, and the first failures."""

    def __init__(self, judge: str, total: int) -> None:
        self._console = output.console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task(one_line(judge), total=total)
        self._failures = 0

    def __enter__(self) -> _Asking:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def add(self, failure: str | None) -> None:
        self._bar.advance(self._task)
        if failure is not None:
            self._failures += 1
            if self._failures <= _MOST_FAILURES:
                output.show_lines(self._console, one_line(f"failed: {failure}"))


def _show(out: Console, found: list[Trust], told: Trust, labeled: int) -> None:
    output.show_lines(out, f"{counted(labeled, 'labeled sample')}", "")
    columns = [
        output.Column("judge"),
        *output.numeric("calls", "input\ntokens", "output\ntokens", "errors", "no answer"),
        *output.numeric("false yes"),
        output.Column("interval"),
        *output.numeric("false no"),
        output.Column("interval"),
        *output.numeric("kappa"),
    ]
    rows = [
        [
            each.judge,
            f"{each.usage.calls:,}",
            f"{each.usage.input_tokens:,}",
            f"{each.usage.output_tokens:,}",
            f"{each.failed:,}",
            f"{each.counts.judge_open:,}",
            _percent(each.false_yes),
            _between(each.false_yes_interval),
            _percent(each.false_no),
            _between(each.false_no_interval),
            "-" if each.kappa is None else f"{each.kappa:.3f}",
        ]
        for each in found
    ]
    output.show_table(out, columns, rows)
    for each in found:
        if each.calibration is not None:
            output.show_lines(out, "", *_thresholds(each.judge, each.calibration))
    if told.band is not None:
        output.show_lines(
            out,
            "",
            "assumed: the judge errs on the results as on the labels, in each verdict on its own",
        )
        for each in found:
            if each is not told:
                output.show_lines(out, each.sentence)
    output.show_lines(out, "", told.sentence)


def _thresholds(judge: str, found: Calibration) -> Iterator[str]:
    yield f"thresholds for {judge}, by these labels; measure the one you take on others:"
    for cut, what in ((found.balanced, "balances the rates"), (found.best_kappa, "best kappa")):
        rates = f"{cut.false_yes:.1%} false yes, {cut.false_no:.1%} false no"
        kappa = "" if cut.kappa is None else f", kappa {cut.kappa:.3f}"
        yield f"  --threshold {cut.threshold}  {what}: {rates}{kappa}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _between(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval[0]:.1%} to {interval[1]:.1%}"


def import_labels(
    source: Annotated[str, typer.Argument(metavar="wice|refchecker|ragtruth")],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="DOWNLOAD... OUT",
            help="The downloaded files, then the file to write. wice: claim/dev.jsonl; "
            "refchecker: human annotations and contexts; ragtruth: response.jsonl and "
            "source_info.jsonl.",
        ),
    ],
    sentences: Annotated[
        int, typer.Option(min=1, help="wice: sentences of the evidence in a chunk.")
    ] = 8,
    sha256: Annotated[
        str | None,
        typer.Option(metavar="HEX", help="The checksum that the downloaded files must have."),
    ] = None,
    force: options.ForceOption = False,
) -> None:
    """Turn a download of labels into a file for trust.

    WiCE, RefChecker's human annotations and RAGTruth are yours to download, under their licenses.
    """
    from noisesense_adapters.datasets.labels import Source
    from noisesense_adapters.datasets.labels import import_labels as convert

    if len(files) < 2:
        raise InputError("the downloaded files and a file to write", "one file", where=source)
    *paths, out = files
    options.check_new(out, force=force)
    done = convert(cast("Source", source), paths, out, sentences=sentences, sha256=sha256)
    output.say(
        f"wrote {counted(done.samples, 'sample')} to {out}: {done.yes:,} yes, {done.no:,} no, "
        f"{done.undecided:,} undecided",
        f"SHA-256 of the download: {done.sha256}",
    )
