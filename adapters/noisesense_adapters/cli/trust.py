"""``noisesense trust``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

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
from noisesense_adapters.datasets.results import choices, results_of

_MOST_FAILURES = 5


def trust(
    judge: Annotated[
        list[str],
        options.judge_panel(
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
    base_url: options.BaseUrlOption = None,
    api_key_env: options.KeyNameOption = None,
    store: Annotated[
        Path | None,
        options.judge_panel(
            metavar="FILE", help="Store every call in this file, so that none is paid for twice."
        ),
    ] = None,
    concurrency: options.ConcurrencyOption = 16,
    votes: options.VotesOption = 1,
    temperature: options.TemperatureOption = None,
    threshold: options.ThresholdOption = None,
    device: options.DeviceOption = None,
    batch_size: options.BatchSizeOption = None,
    confidence: Annotated[
        float,
        typer.Option(help="The confidence of both rates together, and of both modes' ranges."),
    ] = 0.95,
    definition: options.DefinitionOption = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a report of --for with these sentences: one .html file."
        ),
    ] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Measure how far a judge can be trusted.

    Asks it about claims that people labeled, counts its false "yes" and false "no", and, with
    --for, says which true means your results allow. The last line sums it up in one sentence: for
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
    options.check_pictures(report, None, on)
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
    trusts: list[Trust] = []
    names: list[str] = []
    for model in judge:
        measured = model_judge(
            model,
            concurrency=concurrency,
            store=store,
            **(local if model.startswith("local:") else remote),
        )
        names.append(measured.model)
        with _Progress(model, len(labeled)) as progress:
            judged = judge_labels(labeled, measured, concurrency=concurrency, on_done=progress.add)
        trusts.append(
            measure(
                model,
                judged.samples,
                results=None
                if results is None
                else options.Reading(choices(name)).results(results),
                usage=judged.usage,
                probabilities=judged.probabilities,
                definition=name,
                confidence=confidence,
            )
        )
    own = [_judged_results(each, of) for each, of in zip(trusts, names, strict=True)]
    headline = trusts[own.index(True)] if True in own else trusts[0]
    if as_json:
        output.show_json(
            {
                "labels": str(on),
                "results": results and str(results),
                "judges": [each.to_dict() for each in trusts],
                "sentence": headline.sentence,
            }
        )
    else:
        _show(output.console(), trusts, headline, len(labeled))
    if headline.results_by and True not in own:
        output.tell(
            f"note: the results were judged by {', '.join(headline.results_by)}; the rates are "
            f"those of {headline.judge}."
        )
    if report is not None and results is not None:
        from noisesense_adapters.report import write_report

        write_report(
            results_of(results, definition=name),
            report,
            title=f"Noise sensitivity: {results.name}",
            trust=[each.sentence for each in trusts],
        )
        output.tell(f"wrote {report}")
    failed = any(each.failed for each in trusts)
    raise typer.Exit(options.SOME_FAILED if failed else reading.status)


def _judged_results(trust: Trust, model: str) -> bool:
    """Are the results this judge's? They name its model, its plan and its prompts."""
    # A local model goes by its own name, whatever folder it was loaded from.
    names = {model, trust.judge.partition(":")[2]}
    return any(by.partition(",")[0] in names for by in trust.results_by)


class _Progress:
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

    def __enter__(self) -> _Progress:
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


def _show(out: Console, trusts: list[Trust], headline: Trust, labeled: int) -> None:
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
        for each in trusts
    ]
    output.show_table(out, columns, rows)
    for each in trusts:
        if each.calibration is not None:
            output.show_lines(out, "", *_thresholds(each.judge, each.calibration))
    if headline.band is not None:
        output.show_lines(
            out,
            "",
            "assumed: the judge errs on the results as on the labels, in each verdict on its own",
        )
        for each in trusts:
            if each is not headline:
                output.show_lines(out, each.sentence)
    output.show_lines(out, "", headline.sentence)


def _thresholds(judge: str, found: Calibration) -> Iterator[str]:
    yield f"thresholds for {judge}, by these labels; measure the one you take on others:"
    for cut, what in ((found.balanced, "balances the rates"), (found.best_kappa, "best kappa")):
        rates = f"{cut.false_yes:.1%} false yes, {cut.false_no:.1%} false no"
        yield f"  --threshold {cut.threshold}  {what}: {rates}, kappa {cut.kappa:.3f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _between(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval[0]:.1%} to {interval[1]:.1%}"
