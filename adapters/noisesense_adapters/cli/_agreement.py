"""``noisesense agreement``: what it does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from noisesense import Agreement, PoweredMean, Result, agreement, prediction_powered_mean
from noisesense.definitions import MODES, DefinitionName, Mode
from noisesense.stats._warnings import counted
from noisesense_adapters.cli._output import Column, console, show_lines, show_table
from noisesense_adapters.cli._reading import Reading, definition_in
from noisesense_adapters.cli._summary import figure, short, span

__all__ = ["run_agreement"]

_CELLS = {
    "correct": "reference entails response claim",
    "response": "chunk entails response claim",
    "reference": "chunk entails reference claim",
}
_WORST = 5
_Values = dict[str, dict[Mode, float | None]]


def run_agreement(
    judge: Path, human: Path, definition: DefinitionName | None, *, as_json: bool
) -> int:
    """Compare and show. Returns the exit status."""
    definition = definition or definition_in(judge)
    reading = Reading(definition)
    judged: _Values = {}
    labelled: _Values = {}
    found = agreement(
        _noted(reading.results(judge), judged),
        _noted(reading.results(human), labelled),
        definition=definition,
    )
    powered: dict[Mode, PoweredMean | None] = {
        mode: _powered(judged, labelled, mode) for mode in found.errors
    }
    if as_json:
        plain = {mode: each and _plain(each) for mode, each in powered.items()}
        data = {"definition": definition, **found.to_dict(), "prediction_powered": plain}
        print(json.dumps(data, indent=2))
    else:
        _show(console(), found, powered, definition)
    return reading.status


def _noted(results: Iterable[Result], values: _Values) -> Iterator[Result]:
    """The results; their values are kept by the content of the sample."""
    for result in results:
        if result.score is not None:
            key = result.id if result.sample is None else result.sample.key
            values[key] = {mode: result.score.value(mode) for mode in MODES}
        yield result


def _powered(judged: _Values, labelled: _Values, mode: Mode) -> PoweredMean | None:
    """The mean corrected by the labels; None where there are too few of either."""
    others = [
        value
        for key, values in judged.items()
        if key not in labelled and (value := values[mode]) is not None
    ]
    both = [
        (value, label)
        for key, labels in labelled.items()
        if key in judged
        and (value := judged[key][mode]) is not None
        and (label := labels[mode]) is not None
    ]
    if len(others) < 2 or len(both) < 2:
        return None
    return prediction_powered_mean(others, [v for v, _ in both], [label for _, label in both])


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
    _show_cells(out, found)
    if found.unmatched_claims:
        words = "claims that only one side has; their verdicts cannot be compared"
        show_lines(out, [f"{found.unmatched_claims:,} {words}"])
    out.print()
    _show_scores(out, found)
    _show_means(out, powered)
    worst = [
        f"  {short(each.name)}: {mode}, judge {figure(each.judge)}, people {figure(each.human)}"
        for mode, errors in found.errors.items()
        for each in errors.samples[:_WORST]
        if each.error
    ]
    if worst:
        show_lines(out, ["", "samples that are furthest off:", *worst])


def _show_cells(out: Console, found: Agreement) -> None:
    titles = ("yes/yes", "missed", "false yes", "no/no", "accuracy", "kappa")
    columns = [
        Column("verdict"),
        *(Column(title, numeric=True) for title in titles),
        Column("interval"),
    ]
    rows: list[list[Text]] = []
    for kind, cells in found.cells.items():
        counts = cells.counts
        shown = [
            *(
                f"{n:,}"
                for n in (counts.both_yes, counts.missed, counts.false_yes, counts.both_no)
            ),
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
        Column("bias", numeric=True),
        Column("interval"),
        Column("mean error", numeric=True),
    ]
    rows = [
        [
            Text(mode),
            Text(f"{len(errors.samples):,}"),
            Text("-" if errors.bias is None else f"{errors.bias:+.4f}"),
            Text(span(errors.bias_interval)),
            Text(figure(errors.mean_absolute)),
        ]
        for mode, errors in found.errors.items()
    ]
    show_table(out, columns, rows)


def _show_means(out: Console, powered: dict[Mode, PoweredMean | None]) -> None:
    for mode, each in powered.items():
        if each is not None:
            line = (
                f"{mode} mean of all samples: {figure(each.judge_mean)} by the judge, "
                f"corrected by the labels {figure(each.mean)} ({span(each.interval)})"
            )
            show_lines(out, ["", line])
            show_lines(console(stderr=True), [f"note: {mode}: {w}" for w in each.warnings])
