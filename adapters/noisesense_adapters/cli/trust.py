"""``noisesense trust``: a judge beside people's labels, and the sheets that hold them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from noisesense import Calibration, Result, trust_results
from noisesense import Trust as Found
from noisesense import trust as measure
from noisesense.errors import InputError
from noisesense.scoring.outcomes import check_between
from noisesense.scoring.scoring import NO_JUDGE
from noisesense.stats.labels_cells import CellAgreement, CellKind, Rate
from noisesense.stats.powered_mean import PPIMean
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.commands import Command, argument, option
from noisesense_adapters.cli.output import say, show_json, show_modes, shown, tell
from noisesense_adapters.cli.progress import RunProgress, spent
from noisesense_adapters.datasets.read import results_of
from noisesense_adapters.datasets.sheets import (
    LABEL,
    SheetLabels,
    is_label_sheet,
    read_labels,
    write_labels,
)
from noisesense_adapters.evaluate.wording import is_exact, trust_sentences

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

    parts: ClassVar[Mapping[str, str]] = {
        "export-labels": "trust:ExportLabels",
        "import-labels": "trust:ImportLabels",
    }

    on: Path | None = option("What people say: a sheet, a recording, or results.", "LABELS")
    results: Path | None = option("Results that LABELS are about.", "RESULTS", "--for")
    judges: tuple[str, ...] = option("To ask. Repeatable.", "PROVIDER:MODEL", "--judge")
    asking: options.Asking
    local: options.Local
    scoring: options.Definition
    confidence: float = option("The confidence of each interval.", default=0.95)
    report: Path | None = options.REPORT
    as_json: bool = options.JSON

    def run(self) -> int:
        on = self._checked()
        scored_as = self.scoring.of_file(self.results)
        reading = options.Reading(**scored_as._asdict())
        judged: list[Result] = []
        if self.results is not None:
            judged += reading.results(self.results)
        people: list[Result]
        weights: dict[str, float] | None = None
        if is_label_sheet(on):
            sheet = read_labels(on, judged, reading.tell)
            people = sheet.results
            weights = sheet.weights
            if sheet.unlabeled:
                tell(f"note: {_unlabeled(sheet)}")
        else:
            people = [*reading.results(on)]
        found: list[Found] = []
        if self.results is not None:
            of_results = trust_results(
                judged,
                people,
                judge=_names(judged),
                definition=scored_as.definition,
                weights=weights,
                confidence=self.confidence,
            )
            found.append(of_results)
        found += self._of_judges(people)
        self._tell(found)
        if self.results is not None:
            rows = results_of(self.results, **scored_as._asdict())
            name = self.results.name
            options.write_page(self.report, rows, name, saved_as=name, trust=found)
        return options.SOME_FAILED if any(each.failed for each in found) else reading.status

    def _checked(self) -> Path:
        """Where the labels are. Raises `InputError` for options that do not fit."""
        if self.on is None:
            hint = '"noisesense trust export-labels RESULTS SHEET" writes a sheet to fill in'
            raise InputError("--on LABELS", "none", where="trust", hint=hint)
        if self.results is None:
            if not self.judges:
                expected = "--for RESULTS or --judge PROVIDER:MODEL"
                raise InputError(expected, "neither", where="trust")
            if self.report is not None:
                raise InputError("--for as well", "only --report", where="trust")
            if is_label_sheet(self.on):
                hint = f"{_command(self.on, 'RESULTS')}, those that the sheet was written from"
                raise InputError("--for RESULTS beside a sheet", "the sheet alone", hint=hint)
        options.check_pictures(self.report)
        check_between(self.confidence, "--confidence")  # before a judge is paid
        return self.on

    def _tell(self, found: list[Found]) -> None:
        if not self.as_json:
            _show(found)
            return
        judges = [each.to_dict() | {"sentences": [*trust_sentences(each)]} for each in found]
        results = None if self.results is None else str(self.results)
        show_json({"labels": str(self.on), "results": results, "judges": judges})

    def _of_judges(self, people: list[Result]) -> list[Found]:
        """Each judge that is asked about the labels."""
        labeled = [each for each in people if each.score is not None]
        if self.judges and not labeled:
            raise InputError("labeled claims", "none", where=str(self.on))
        return [self._asked(model, labeled) for model in self.judges]

    def _asked(self, model: str, labeled: list[Result]) -> Found:
        from noisesense_adapters.datasets.labels import judge_labels  # it loads SQLite

        judge: Any = self.asking.make_judge(model, **self.asking.of_model, **self.local.given())
        with RunProgress(len(labeled), judge) as progress:
            judged = judge_labels(
                labeled,
                judge,
                concurrency=self.asking.concurrency,
                on_done=lambda failure: progress.add(None, failure),
            )
        return measure(
            model,
            judged.samples,
            usage=judged.usage,
            probabilities=judged.probabilities,
            confidence=self.confidence,
        )


def _unlabeled(sheet: SheetLabels) -> str:
    """What people left empty, and what comes of it."""
    said = [
        f"{sheet.unlabeled:,} of the sheet's {counted(sheet.questions, 'question')} have no label"
    ]
    if sheet.without == 1:
        said.append("1 sample has none and counts as not labeled")
    elif sheet.without:
        said.append(f"{sheet.without:,} samples have none and count as not labeled")
    if sheet.in_part == 1:
        said.append("1 sample is labeled in part, and its other questions stay open")
    elif sheet.in_part:
        said.append(
            f"{sheet.in_part:,} samples are labeled in part, and their other questions stay open"
        )
    return f"{'; '.join(said)}."


def _names(judged: list[Result]) -> str:
    """Who judged the results."""
    names: dict[str, None] = {}
    for each in judged:
        if each.judge not in (None, NO_JUDGE):
            names[each.judge] = None
    return " and ".join(names) or "the judge"


def _show(found: list[Found]) -> None:
    for each in found:
        _show_judge(each)
    say(*trust_sentences(found[0]))


def _show_judge(found: Found) -> None:
    parts = [counted(found.samples, "labeled sample")]
    if found.failed:
        parts.append(f"{found.failed:,} failed")
    if found.usage.calls:
        parts.append(spent(found.usage))
    if found.unmatched_claims:
        parts.append(f"{counted(found.unmatched_claims, 'claim')} on one side only")
    say(f"{found.judge}: {', '.join(parts)}", "")
    if found.means:
        show_modes({mode: _mean(mean) for mode, mean in found.means.items()})
        say("")
    counts: dict[str, dict[str, object]] = {}
    for kind, cells in found.cells.items():
        if cells.counts.compared or cells.counts.judge_open:
            counts[_CELLS[kind]] = _agreement(cells)
    show_modes(counts)
    say("")
    if found.calibration is not None:
        say(_threshold(found.judge, found.calibration), "")
    tell(*(f"note: {warning}" for warning in found.warnings))


def _mean(mean: PPIMean) -> dict[str, object]:
    return {
        "mean by the judge": mean.judge_mean,
        "corrected by labels": mean.mean,
        "  interval": "exact" if is_exact(mean) else mean.interval,
        "labeled samples": mean.labeled,
    }


def _agreement(cells: CellAgreement) -> dict[str, object]:
    return {
        "labeled verdicts": cells.counts.compared,
        "no answer": cells.counts.judge_open - cells.counts.not_asked,
        "not asked": cells.counts.not_asked,
        "false yes": _rate(cells.false_yes, ".1%"),
        "false no": _rate(cells.false_no, ".1%"),
        "kappa": _rate(cells.kappa, ".3f"),
    }


def _rate(rate: Rate, form: str) -> str:
    value = shown(rate.value, form)
    return value if rate.interval is None else f"{value} ({shown(rate.interval, form)})"


def _threshold(judge: str, best: Calibration) -> str:
    return (
        f"best threshold for {judge} by these labels (measure it on others): --threshold "
        f"{best.threshold}, {best.false_yes:.1%} false yes, {best.false_no:.1%} false no, kappa "
        f"{shown(best.kappa, '.3f')}"
    )


def _command(sheet: Path, results: Path | str) -> str:
    """What measures the judge once the sheet is filled in."""
    return f"noisesense trust --on {shlex.quote(str(sheet))} --for {shlex.quote(str(results))}"


class ExportLabels(Command):
    """Write a sheet for people's labels of a judge's claims.

    Each row asks whether a source (the reference or a chunk) says what a statement (a claim)
    says.
    Write yes or no in the last column, from the top as far as you like, and give the sheet to
    "noisesense trust --for RESULTS --on SHEET". The samples are in random order: the first ones
    are a random choice. With --by-score few labels tell more where noise is rare; each row holds
    the weight that makes up for it.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """

    results: Path = options.RESULTS
    sheet: Path = argument("A new file: .csv or .tsv.")
    samples: int | None = option("Draw so many at random; by default all.", "N")
    seed: int = option("The seed of the draw and the order.", default=0)
    by_score: bool = option("Draw half from where the judge finds noise, half from the rest.")
    force: bool = options.FORCE

    def run(self) -> int:
        options.check_new(self.sheet, force=self.force)
        reading = options.Reading()
        results = reading.results(self.results)
        how: Any = {"samples": self.samples, "seed": self.seed, "by_score": self.by_score}
        written = write_labels(results, self.sheet, **how)
        if written.left_out:
            tell(f"note: {counted(written.left_out, 'sample')} left out: without texts or claims")
        rows = counted(written.rows, "question")
        chosen = counted(written.samples, "sample")
        say(
            f"wrote {rows} on {chosen} to {self.sheet}",
            *_of_lazy_plans(written.not_asked),
            f"write yes or no into the column {LABEL!r}, from the top: the samples are in random "
            "order, so that the first ones are a random choice. What is left empty stays "
            "undetermined. Then:",
            f"   {_command(self.sheet, self.results)}",
        )
        return reading.status


def _of_lazy_plans(not_asked: int) -> Iterator[str]:
    if not_asked:
        yield (
            f"{not_asked:,} of them the judge was not asked, as its scores do not need them. "
            "People's scores may, so they are asked all the same; in the judge's errors they "
            "count after score --plan full."
        )


class ImportLabels(Command):
    """Turn a download of labels into a file for trust.

    WiCE is yours to download, under its license.
    """

    source: str = argument("Whose labels they are.", "wice")
    download: Path = argument("A file such as claim/dev.jsonl.")
    out: Path = argument("The file to write.")
    sentences: int = option("Of the evidence, in a chunk.", default=8)
    force: bool = options.FORCE

    def run(self) -> int:
        from noisesense_adapters.datasets.labels import import_labels  # it loads SQLite

        if self.source != "wice":
            hint = "turn other labels into results or a recording, or use export-labels"
            raise InputError("wice", repr(self.source), where="import-labels", hint=hint)
        options.check_new(self.out, force=self.force)
        imported = import_labels(self.download, self.out, sentences=self.sentences)
        say(
            f"wrote {counted(imported.samples, 'sample')} to {self.out}: {imported.yes:,} yes, "
            f"{imported.no:,} no, {imported.undecided:,} undecided"
        )
        return 0
