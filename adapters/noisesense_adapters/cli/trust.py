"""``noisesense trust``: a judge beside people's labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from noisesense import Calibration, Result, trust_results
from noisesense import Trust as Found
from noisesense import trust as measure
from noisesense.errors import InputError
from noisesense.stats.labels_cells import CellKind
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.commands import Command, option
from noisesense_adapters.cli.output import extent, say, show_json, show_table, span, tell
from noisesense_adapters.cli.progress import RunProgress, spent
from noisesense_adapters.datasets.results import results_of
from noisesense_adapters.datasets.sheets import is_label_sheet, read_labels

_CELLS: dict[CellKind, str] = {
    "correct": "claim in reference",
    "response": "response claim in chunk",
    "reference": "reference claim in chunk",
}


class Trust(Command):
    """Measure a judge by claims that people labeled.

    With --for, first the mean that people would find in your results; then the judge's false
    "yes", false "no" and kappa for each kind of verdict. With --judge, asks judges about the
    labels and counts their errors, side by side; for a local judge (local:MODEL) and for a model
    that tells probabilities (--check each) it also finds thresholds.

    Exit status: 0 done; 2 an error; 3 done, but some labels or results could not be judged or
    read; 130 interrupted (with --store, the same command continues).
    """

    on: Path | None = option(
        "What people say: a sheet of export-labels, a recording, results, or what import-labels "
        "wrote.",
        "LABELS",
    )
    results: Path | None = option(
        "Your results, some of whose samples LABELS labels: what mean would people find?",
        "RESULTS",
        "--for",
    )
    judges: tuple[str, ...] = option(
        "A judge to ask about LABELS. Repeatable: side by side.", "PROVIDER:MODEL", "--judge"
    )
    asking: options.Asking
    local: options.Classifier
    scoring: options.Definition
    confidence: float = option("The confidence of each interval.", default=0.95)
    report: Path | None = options.REPORT
    as_json: bool = options.JSON

    def run(self) -> int:
        on, results = self.on, self.results
        if on is None:
            hint = '"noisesense trust export-labels RESULTS SHEET" writes a sheet to fill in'
            raise InputError("--on LABELS", "none", where="trust", hint=hint)
        if results is None and not self.judges:
            raise InputError("--for RESULTS or --judge PROVIDER:MODEL", "neither", where="trust")
        if self.report is not None and results is None:
            raise InputError("--for as well", "only --report", where="trust")
        options.check_pictures(self.report, None, on)
        definition = self.scoring.name_in(results)
        reading, found = options.Reading(definition), list[Found]()
        if results is not None:
            judged = list(reading.results(results))
            sheet = is_label_sheet(on)
            people = read_labels(on, judged, reading.tell) if sheet else reading.results(on)
            judges = dict.fromkeys(each.judge for each in judged if each.judge is not None)
            named = " and ".join(judges) or "the judge"
            found.append(
                trust_results(
                    judged,
                    people,
                    judge=named,
                    definition=definition,
                    confidence=self.confidence,
                )
            )
        if self.judges:
            labeled = [each for each in reading.results(on) if each.score is not None]
            if not labeled:
                raise InputError("labeled claims", "none", where=str(on))
            found += [self._asked(model, labeled) for model in self.judges]
        if self.as_json:
            show_json(
                {
                    "labels": str(on),
                    "results": results and str(results),
                    "judges": [each.to_dict() for each in found],
                    "sentence": found[0].sentence,
                }
            )
        else:
            _show(found)
        if results is not None:
            rows = results_of(results, definition=definition)
            said = [each.sentence for each in found]
            options.write_page(self.report, rows, results.name, trust=said)
        return options.SOME_FAILED if any(each.failed for each in found) else reading.status

    def _asked(self, model: str, labeled: list[Result]) -> Found:
        """Of several judges, each takes the settings of its kind."""
        from noisesense_adapters.datasets.labels import judge_labels  # it loads SQLite

        is_local = model.startswith("local:")
        settings = self.local.given if is_local else {"threshold": self.local.threshold}
        judge: Any = self.asking.make_judge(model, **settings)
        with RunProgress(len(labeled), judge) as progress:

            def done(failure: str | None) -> None:
                if failure is not None:
                    progress.fail(failure)
                progress.add(None)

            concurrency = self.asking.concurrency
            judged = judge_labels(labeled, judge, concurrency=concurrency, on_done=done)
        return measure(
            model,
            judged.samples,
            usage=judged.usage,
            probabilities=judged.probabilities,
            confidence=self.confidence,
        )


def _show(found: list[Found]) -> None:
    for each in found:
        for mode, mean in each.means.items():
            say(
                f"{mode} mean of all samples: {extent(mean.judge_mean)} by the judge, corrected "
                f"by {counted(mean.labelled, 'label')} {extent(mean.mean)} "
                f"(interval {span(mean.interval)})"
            )
        say(*([""] if each.means else []))
    titles = ["judge", "verdict", ">labels", ">no answer", ">false yes", "interval"]
    show_table(
        [*titles, ">false no", "interval", ">kappa", "interval"],
        [
            [
                each.judge,
                _CELLS[kind],
                f"{cells.counts.compared:,}",
                f"{cells.counts.judge_open:,}",
                _percent(cells.false_yes_rate),
                span(cells.false_yes_interval, ".1%"),
                _percent(cells.missed_rate),
                span(cells.missed_interval, ".1%"),
                "-" if cells.kappa is None else f"{cells.kappa:.3f}",
                span(cells.kappa_interval),
            ]
            for each in found
            for kind, cells in each.cells.items()
            if cells.counts.compared or cells.counts.judge_open
        ],
    )
    for each in found:
        parts = [counted(each.samples, "labeled sample")]
        if each.failed:
            parts.append(f"{each.failed:,} failed")
        if each.usage.calls:
            parts.append(spent(each.usage))
        if each.unmatched_claims:
            parts.append(f"{counted(each.unmatched_claims, 'claim')} on one side only")
        say("", f"{each.judge}: {', '.join(parts)}")
        if each.calibration is not None:
            say(*_thresholds(each.judge, each.calibration))
        tell(*(f"note: {warning}" for warning in each.warnings))
    say("", found[0].sentence)


def _thresholds(judge: str, found: Calibration) -> Iterator[str]:
    yield f"thresholds for {judge}, by these labels; measure the one you take on others:"
    for cut, what in ((found.balanced, "balances the rates"), (found.best_kappa, "best kappa")):
        rates = f"{cut.false_yes:.1%} false yes, {cut.false_no:.1%} false no"
        yield f"  --threshold {cut.threshold}  {what}: {rates}, kappa {cut.kappa:.3f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
