"""``noisesense agreement``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console

from noisesense import Agreement, InputError, PoweredMean, Result, prediction_powered
from noisesense import agreement as compare_with_people
from noisesense.scoring.definitions import DefinitionName, Mode
from noisesense.stats.pairing import Named, name_of, pair
from noisesense.stats.summary import counted
from noisesense_adapters.cli import output
from noisesense_adapters.cli.options import DefinitionOption, JsonOption, Reading, definition_in
from noisesense_adapters.cli.output import extent, figure, short, signed, span
from noisesense_adapters.datasets.results import choices
from noisesense_adapters.datasets.sheets import is_label_sheet, read_labels

_CELLS = {
    "correct": "reference entails response claim",
    "response": "chunk entails response claim",
    "reference": "chunk entails reference claim",
}
_WORST = 5


def agreement(
    judge: Annotated[Path, typer.Argument(metavar="JUDGE", help="Results of the judge.")],
    human: Annotated[
        Path,
        typer.Argument(
            metavar="HUMAN",
            help="The same samples, labeled by people: results, a recording, or a sheet of "
            "export-labels.",
        ),
    ],
    definition: DefinitionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a judge's verdicts with people's.

    Verdict by verdict (confusion, Cohen's kappa) and score by score. Where people labeled some of
    many judged samples, also each mean corrected by their labels (prediction-powered). Samples
    and claims are matched by their texts. Of a sheet, what is empty is undetermined.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """
    name = choices(definition)["definition"] or definition_in(judge)
    reading = Reading(choices(name))
    judged = list(reading.results(judge))
    if is_label_sheet(human):
        labeled = read_labels(human, judged, reading.tell)
    else:
        labeled = list(reading.results(human))
    result = compare_with_people(judged, labeled, definition=name)
    labels = _labels(judged, labeled)
    powered: dict[Mode, PoweredMean | None] = {
        mode: _powered(judged, labels, mode) for mode in result.errors
    }
    if as_json:
        means = {mode: mean and mean.to_dict() for mode, mean in powered.items()}
        output.show_json({"definition": name, **result.to_dict(), "prediction_powered": means})
    else:
        _show(output.console(), result, powered, name)
    raise typer.Exit(reading.status)


class _NamedResult(NamedTuple):
    name: Named
    result: Result


def _labels(judged: Sequence[Result], labeled: Sequence[Result]) -> list[Result]:
    ours, theirs = (
        [_NamedResult(name_of(result), result) for result in run] for run in (judged, labeled)
    )
    paired = pair(ours, theirs, runs=("judge", "human"), same_first=True)
    return [label.result for _, label in paired.pairs]


def _powered(judged: list[Result], labels: list[Result], mode: Mode) -> PoweredMean | None:
    """The mean corrected by the labels; None where there is none, and stderr says why."""
    try:
        return prediction_powered(judged, labels, mode=mode)
    except InputError as error:
        output.tell(f"note: {mode}: no mean corrected by the labels: {error}")
        return None


def _show(
    out: Console,
    result: Agreement,
    powered: dict[Mode, PoweredMean | None],
    definition: DefinitionName,
) -> None:
    output.show_lines(
        out,
        f"{counted(result.samples, 'sample')} judged by both, "
        f"{result.only_judge:,} only by the judge, {result.only_human:,} only by people; "
        f"definition {definition}",
        "",
    )
    output.tell(*(f"note: {warning}" for warning in result.warnings))
    _show_cells(out, result)
    if result.unmatched_claims:
        claims = "claims that only one side has; their verdicts cannot be compared"
        output.show_lines(out, f"{result.unmatched_claims:,} {claims}")
    out.print()
    _show_scores(out, result)
    for mode, mean in powered.items():
        if mean is not None:
            output.show_lines(
                out,
                "",
                f"{mode} mean of all samples: {extent(mean.judge_bounds)} by the judge, "
                f"corrected by the labels {extent(mean.bounds)} (interval {span(mean.interval)})",
            )
            output.tell(*(f"note: {mode}: {warning}" for warning in mean.warnings))
    worst = [
        f"  {short(sample.name)}: {mode}, judge {extent(sample.judge_bounds)}, "
        f"people {extent(sample.human_bounds)}"
        for mode, errors in result.errors.items()
        for sample in errors.samples[:_WORST]
        if sample.absolute_bounds[0]
    ]
    if worst:
        output.show_lines(out, "", "samples with the largest errors:", *worst)


def _show_cells(out: Console, result: Agreement) -> None:
    counts = ("yes/yes", "missed", "false yes", "no/no", "judge open", "people open")
    columns = [
        output.Column("verdict"),
        *output.numeric(*counts, "accuracy", "kappa"),
        output.Column("interval"),
    ]
    rows = [
        [
            _CELLS[kind],
            *(f"{count:,}" for count in cells.counts),
            figure(cells.accuracy),
            figure(cells.kappa),
            span(cells.kappa_interval),
        ]
        for kind, cells in result.cells.items()
    ]
    output.show_table(out, columns, rows)
    out.print()
    rates = [
        [
            _CELLS[kind],
            figure(cells.false_yes_rate),
            span(cells.false_yes_interval),
            figure(cells.missed_rate),
            span(cells.missed_interval),
        ]
        for kind, cells in result.cells.items()
    ]
    columns = [output.Column("judge's errors")]
    for rate in ("false yes", "missed"):
        columns += [*output.numeric(rate), output.Column("interval")]
    output.show_table(out, columns, rates)


def _show_scores(out: Console, result: Agreement) -> None:
    columns = [
        output.Column("score"),
        *output.numeric("samples", "undetermined", "undefined", "bias"),
        output.Column("interval"),
        *output.numeric("mean error"),
    ]
    rows = [
        [
            mode,
            f"{len(errors.samples):,}",
            f"{errors.undetermined:,}",
            f"{errors.undefined:,}",
            signed(errors.bias_bounds),
            span(errors.bias_interval),
            extent(errors.mean_absolute_bounds),
        ]
        for mode, errors in result.errors.items()
    ]
    output.show_table(out, columns, rows)
