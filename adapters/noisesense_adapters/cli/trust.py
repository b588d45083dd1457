"""``noisesense trust``: a judge beside people's labels, and the sheets that hold them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import noisesense
from noisesense import Calibration, Result, trust_results
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
from noisesense_adapters.datasets.files import check_new
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
    labels and counts their errors, side by side; for a model that tells probabilities (--check
    each) it also finds thresholds.

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
    scoring: options.Definition
    confidence: float = option("The confidence of each interval.", default=0.95)
    report: Path | None = options.REPORT
    as_json: bool = options.JSON

    def run(self) -> int:
        labels_path = self._labels_path()
        scored_as = self.scoring.of_file(self.results)
        reading = options.Reading(**scored_as._asdict())
        judged: list[Result] = []
        if self.results is not None:
            judged += reading.results(self.results)
        weights: dict[str, float] | None = None
        if is_label_sheet(labels_path):
            sheet = read_labels(labels_path, judged, reading.tell)
            people = sheet.results
            weights = sheet.weights
            if sheet.unlabeled:
                tell(f"note: {_unlabeled(sheet)}")
        else:
            people = list(reading.results(labels_path))
        trusts: list[noisesense.Trust] = []
        if self.results is not None:
            trust = trust_results(
                judged,
                people,
                judge=_judge_names(judged),
                definition=scored_as.definition,
                weights=weights,
                confidence=self.confidence,
            )
            trusts.append(trust)
        trusts += self._ask_judges(people)
        self._show(trusts)
        if self.results is not None:
            results = results_of(self.results, **scored_as._asdict())
            name = self.results.name
            options.write_report(self.report, results, name, saved_as=name, trust=trusts)
        if any(trust.failed for trust in trusts):
            return options.SOME_FAILED
        return reading.status

    def _labels_path(self) -> Path:
        """The file of the labels. Raises `InputError` for options that do not fit."""
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

    def _show(self, trusts: list[noisesense.Trust]) -> None:
        if self.as_json:
            judges: list[dict[str, Any]] = []
            for trust in trusts:
                sentences = list(trust_sentences(trust))
                judges.append({**trust.to_dict(), "sentences": sentences})
            results = None if self.results is None else str(self.results)
            show_json({"labels": str(self.on), "results": results, "judges": judges})
            return
        for trust in trusts:
            _show_judge(trust)
        say(*trust_sentences(trusts[0]))

    def _ask_judges(self, people: list[Result]) -> list[noisesense.Trust]:
        """Ask each judge about the labels, and compare its verdicts with them."""
        labeled = [result for result in people if result.score is not None]
        if self.judges and not labeled:
            raise InputError("labeled claims", "none", where=str(self.on))
        return [self._ask_judge(model, labeled) for model in self.judges]

    def _ask_judge(self, model: str, labeled: list[Result]) -> noisesense.Trust:
        from noisesense_adapters.datasets.labels import judge_labels  # it loads SQLite

        judge: Any = self.asking.make_judge(model)
        with RunProgress(len(labeled), judge) as progress:
            judged = judge_labels(
                labeled,
                judge,
                concurrency=self.asking.concurrency,
                on_done=lambda failure: progress.add(None, failure),
            )
        return noisesense.trust(
            model,
            judged.samples,
            usage=judged.usage,
            probabilities=judged.probabilities,
            confidence=self.confidence,
        )


def _unlabeled(sheet: SheetLabels) -> str:
    """How many questions of a sheet have no label, and what that means for their samples."""
    questions = counted(sheet.questions, "question")
    clauses = [f"{sheet.unlabeled:,} of the sheet's {questions} have no label"]
    if sheet.without == 1:
        clauses.append("1 sample has none and counts as not labeled")
    elif sheet.without:
        clauses.append(f"{sheet.without:,} samples have none and count as not labeled")
    if sheet.in_part == 1:
        clauses.append("1 sample is labeled in part, and its other questions stay open")
    elif sheet.in_part:
        clauses.append(
            f"{sheet.in_part:,} samples are labeled in part, and their other questions stay open"
        )
    return f"{'; '.join(clauses)}."


def _judge_names(judged: list[Result]) -> str:
    names: dict[str, None] = {}
    for result in judged:
        if result.judge not in (None, NO_JUDGE):
            names[result.judge] = None
    return " and ".join(names) or "the judge"


def _show_judge(trust: noisesense.Trust) -> None:
    parts = [counted(trust.samples, "labeled sample")]
    if trust.failed:
        parts.append(f"{trust.failed:,} failed")
    if trust.usage.calls:
        parts.append(spent(trust.usage))
    if trust.unmatched_claims:
        parts.append(f"{counted(trust.unmatched_claims, 'claim')} on one side only")
    say(f"{trust.judge}: {', '.join(parts)}", "")
    if trust.means:
        show_modes({mode: _mean_rows(mean) for mode, mean in trust.means.items()})
        say("")
    columns: dict[str, dict[str, object]] = {}
    for kind, cells in trust.cells.items():
        if cells.counts.compared or cells.counts.judge_open:
            columns[_CELLS[kind]] = _agreement_rows(cells)
    show_modes(columns)
    say("")
    if trust.calibration is not None:
        say(_threshold(trust.judge, trust.calibration), "")
    tell(*(f"note: {warning}" for warning in trust.warnings))


def _mean_rows(mean: PPIMean) -> dict[str, object]:
    return {
        "mean by the judge": mean.judge_mean,
        "corrected by labels": mean.mean,
        "  interval": "exact" if is_exact(mean) else mean.interval,
        "labeled samples": mean.labeled,
    }


def _agreement_rows(cells: CellAgreement) -> dict[str, object]:
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
    if rate.interval is None:
        return value
    return f"{value} ({shown(rate.interval, form)})"


def _threshold(judge: str, best: Calibration) -> str:
    """The threshold with which the judge agrees best with the labels."""
    return (
        f"best threshold for {judge} by these labels (measure it on others): --threshold "
        f"{best.threshold}, {best.false_yes:.1%} false yes, {best.false_no:.1%} false no, kappa "
        f"{shown(best.kappa, '.3f')}"
    )


def _command(sheet: Path, results: Path | str) -> str:
    """The command that measures the judge once the sheet is filled in."""
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
        reading = options.Reading()
        sheet = write_labels(
            reading.results(self.results),
            self.sheet,
            samples=self.samples,
            seed=self.seed,
            by_score=self.by_score,
            force=self.force,
        )
        if sheet.left_out:
            tell(f"note: {counted(sheet.left_out, 'sample')} left out: without texts or claims")
        questions = counted(sheet.rows, "question")
        samples = counted(sheet.samples, "sample")
        say(f"wrote {questions} on {samples} to {self.sheet}")
        if sheet.not_asked:
            say(
                f"{sheet.not_asked:,} of them the judge was not asked, as its scores do not need "
                "them. People's scores may, so they are asked all the same; in the judge's errors "
                "they count after score --plan full."
            )
        say(
            f"write yes or no into the column {LABEL!r}, from the top: the samples are in random "
            "order, so that the first ones are a random choice. What is left empty stays "
            "undetermined. Then:",
            f"   {_command(self.sheet, self.results)}",
        )
        return reading.status


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
        check_new(self.out, force=self.force)
        imported = import_labels(self.download, self.out, sentences=self.sentences)
        say(
            f"wrote {counted(imported.samples, 'sample')} to {self.out}: {imported.yes:,} yes, "
            f"{imported.no:,} no, {imported.undecided:,} undecided"
        )
        return 0
