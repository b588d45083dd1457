"""``noisesense agreement``: what it does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from noisesense import Agreement, InputError, PoweredMean, Result, agreement, prediction_powered
from noisesense.scoring.definitions import DefinitionName, Mode
from noisesense.stats.pairing import Named, name_of, pair
from noisesense.stats.summary import counted
from noisesense_adapters.cli.options import Reading, definition_in
from noisesense_adapters.cli.output import Column, console, show_lines, show_table
from noisesense_adapters.cli.summary import extent, figure, short, signed, span

__all__ = ["run_agreement"]

_CELLS = {
    "correct": "reference entails response claim",
    "response": "chunk entails response claim",
    "reference": "chunk entails reference claim",
}
_WORST = 5


def run_agreement(
    judge: Path, human: Path, definition: DefinitionName | None, *, as_json: bool
) -> int:
    """Compare and show. Returns the exit status."""
    definition = definition or definition_in(judge)
    reading = Reading(definition)
    judged, labelled = list(reading.results(judge)), list(reading.results(human))
    found = agreement(judged, labelled, definition=definition)
    labels = _labels(judged, labelled)
    powered = {mode: _powered(judged, labels, mode) for mode in found.errors}
    if as_json:
        plain = {mode: each and _plain(each) for mode, each in powered.items()}
        data = {"definition": definition, **found.to_dict(), "prediction_powered": plain}
        print(json.dumps(data, indent=2))
    else:
        _show(console(), found, powered, definition)
    return reading.status


class _Labelled(NamedTuple):
    name: Named
    result: Result


def _labels(judged: Sequence[Result], labelled: Sequence[Result]) -> list[Result]:
    """People's results on samples that the judge has."""
    ours, theirs = (
        [_Labelled(name_of(result), result) for result in results]
        for results in (judged, labelled)
    )
    paired = pair(ours, theirs, runs=("judge", "human"), same_first=True)
    return [label.result for _, label in paired.pairs]


def _powered(judged: list[Result], labels: list[Result], mode: Mode) -> PoweredMean | None:
    """The mean corrected by the labels; None where there is none, and stderr says why."""
    try:
        return prediction_powered(judged, labels, mode=mode)
    except InputError as error:
        line = f"note: {mode}: no mean corrected by the labels: {error}"
        show_lines(console(stderr=True), [line])
        return None


def _plain(powered: PoweredMean) -> dict[str, Any]:
    return {**asdict(powered), "interval": powered.interval._asdict()}


def _show(
    out: Console,
    found: Agreement,
    powered: dict[Mode, PoweredMean | None],
    definition: DefinitionName,
) -> None:
    show_lines(
        out,
        [
            f"{counted(found.samples, 'sample')} judged by both, "
            f"{found.only_judge:,} only by the judge, {found.only_human:,} only by people; "
            f"definition {definition}",
            "",
        ],
    )
    show_lines(console(stderr=True), [f"note: {warning}" for warning in found.warnings])
    _show_cells(out, found)
    if found.unmatched_claims:
        words = "claims that only one side has; their verdicts cannot be compared"
        show_lines(out, [f"{found.unmatched_claims:,} {words}"])
    out.print()
    _show_scores(out, found)
    _show_means(out, powered)
    worst = [
        f"  {short(each.name)}: {mode}, judge {extent(each.judge_bounds)}, "
        f"people {extent(each.human_bounds)}"
        for mode, errors in found.errors.items()
        for each in errors.samples[:_WORST]
        if each.absolute_bounds[0]
    ]
    if worst:
        show_lines(out, ["", "samples that are furthest off:", *worst])


def _show_cells(out: Console, found: Agreement) -> None:
    titles = (
        *("yes/yes", "missed", "false yes", "no/no", "judge open", "people open"),
        *("accuracy", "kappa"),
    )
    columns = [
        Column("verdict"),
        *(Column(title, numeric=True) for title in titles),
        Column("interval"),
    ]
    rows: list[list[Text]] = []
    for kind, cells in found.cells.items():
        counts = cells.counts
        shown = [
            *(f"{n:,}" for n in counts),
            figure(cells.accuracy),
            figure(cells.kappa),
            span(cells.kappa_interval),
        ]
        rows.append([Text(_CELLS[kind]), *map(Text, shown)])
    show_table(out, columns, rows)


def _show_scores(out: Console, found: Agreement) -> None:
    columns = [
        Column("score"),
        Column("samples", numeric=True),
        Column("undetermined", numeric=True),
        Column("undefined", numeric=True),
        Column("bias", numeric=True),
        Column("interval"),
        Column("mean error", numeric=True),
    ]
    rows = [
        [
            Text(mode),
            Text(f"{len(errors.samples):,}"),
            Text(f"{errors.undetermined:,}"),
            Text(f"{errors.undefined:,}"),
            Text(signed(errors.bias_bounds)),
            Text(span(errors.bias_interval)),
            Text(extent(errors.mean_absolute_bounds)),
        ]
        for mode, errors in found.errors.items()
    ]
    show_table(out, columns, rows)


def _show_means(out: Console, powered: dict[Mode, PoweredMean | None]) -> None:
    for mode, each in powered.items():
        if each is not None:
            line = (
                f"{mode} mean of all samples: {extent(each.judge_bounds)} by the judge, "
                f"corrected by the labels {extent(each.bounds)} "
                f"(interval {span(each.interval)})"
            )
            show_lines(out, ["", line])
            show_lines(console(stderr=True), [f"note: {mode}: {w}" for w in each.warnings])
