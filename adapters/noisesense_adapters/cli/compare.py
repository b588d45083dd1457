"""``noisesense compare``: what it does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.text import Text

from noisesense import Comparison, Result, Tally, compare
from noisesense.scoring.definitions import MODES, DefinitionName, Mode
from noisesense.scoring.scoring import Empty, Undetermined
from noisesense.stats.comparison import ClaimChange, ModeComparison, PairedBy, SampleChange
from noisesense.stats.summary import counted
from noisesense_adapters.cli.options import (
    ABOVE,
    SOME_FAILED,
    UNDECIDED,
    Reading,
    check_answers,
    check_gate,
    check_limit,
    tell,
    worst,
)
from noisesense_adapters.cli.output import Column, console, show_lines, show_table
from noisesense_adapters.cli.summary import extent, kind, short, signed, span

__all__ = ["CompareOptions", "run_compare"]

_NAMED = 5


@dataclass(frozen=True)
class CompareOptions:
    """What the command was given."""

    definition: DefinitionName | None
    empty: Empty | None
    undetermined: Undetermined | None
    pair_by: str | None
    top: int
    as_json: bool
    fail_above: float | None
    fail_if_worse: bool
    mode: Mode | None
    min_paired: float
    max_unanswered: float


def run_compare(a: Path, b: Path, options: CompareOptions) -> int:
    """Compare, show, check. Returns the exit status."""
    check_limit(options.fail_above)
    reading, tally = Reading(options.definition, options.empty, options.undetermined), Tally()

    def tallied() -> Iterator[Result]:
        for result in reading.results(b):
            tally.add(result)
            yield result

    found = compare(
        reading.results(a),
        tallied(),
        pair_by=cast("PairedBy | None", options.pair_by),
        min_paired=options.min_paired,
    )
    if options.as_json:
        print(json.dumps({"a": str(a), "b": str(b), **found.to_dict()}, indent=2))
    else:
        _show(console(), found, options.top)
    summary = tally.summary()
    of_b = f" of {b.name}"
    return worst(
        check_gate(summary, options.fail_above, options.mode, of_b),
        _check_worse(found, options.mode, b.name) if options.fail_if_worse else 0,
        check_answers(summary, options.max_unanswered, judged=False, name=of_b),
        SOME_FAILED if found.failed else reading.status,
    )


def _check_worse(found: Comparison, mode: Mode | None, b: str) -> int:
    """``--fail-if-worse``: the exit status, and on stderr why it is not 0."""
    statuses: list[int] = []
    for each in MODES if mode is None else (mode,):
        figures = found.mode(each)
        if figures is None:
            if mode is not None or not found.definition:
                tell(f"cannot be decided: there is nothing to compare in the {each} mode")
                statuses.append(UNDECIDED)
        elif figures.decision == "worse":
            tell(f"check failed: {b} is worse in the {each} mode")
            statuses.append(ABOVE)
        elif _may_be_worse(figures):
            tell(
                f"cannot be decided: what the judge left open decides whether {b} is worse in "
                f"the {each} mode"
            )
            statuses.append(UNDECIDED)
    return worst(*statuses)


def _may_be_worse(mode: ModeComparison) -> bool:
    """Could the open verdicts fall so that B is worse?

    The interval is as far below the lowest difference as sampling alone puts it; B may be worse
    if one as wide, around the highest difference, lies above zero.
    """
    if not mode.undetermined or mode.interval is None or mode.difference_bounds is None:
        return False
    low, high = mode.difference_bounds
    return high - (low - mode.interval.low) > 0


def _show(out: Console, found: Comparison, top: int) -> None:
    by = "id" if found.paired_by == "id" else "question and reference"
    show_lines(
        out,
        [
            f"{counted(found.pairs, 'sample')} in both, paired by {by}; "
            f"definition {found.definition}, lower is better"
        ],
    )
    modes = [each for mode in MODES if (each := found.mode(mode)) is not None]
    if modes:
        out.print()
        _show_modes(out, modes)
    unpaired = {
        "only in A": found.only_a,
        "only in B": found.only_b,
        "failed in one or both": found.failed,
    }
    left_out = [f"{what}: {_named(ids)}" for what, ids in unpaired.items() if ids]
    if left_out:
        show_lines(out, ["", *left_out])
    moved = {pair: count for pair, count in found.transitions.items() if pair[0] != pair[1]}
    if moved:
        parts = (
            f"{count:,} {kind(before)} → {kind(after)}" for (before, after), count in moved.items()
        )
        show_lines(out, ["", f"claims that changed: {', '.join(parts)}"])
    if found.changes[:top]:
        _show_changes(out, found, top)
    show_lines(console(stderr=True), [f"note: {warning}" for warning in found.warnings])


def _show_modes(out: Console, modes: list[ModeComparison]) -> None:
    columns = [
        Column("mode"),
        Column("pairs", numeric=True),
        Column("undetermined", numeric=True),
        Column("undefined", numeric=True),
        Column("mean A", numeric=True),
        Column("mean B", numeric=True),
        Column("difference", numeric=True),
        Column("interval"),
        Column("B is"),
    ]
    rows = [
        [
            Text(mode.mode),
            Text(f"{mode.pairs:,}"),
            Text(f"{mode.undetermined:,}"),
            Text(f"{mode.undefined:,}"),
            Text(extent(mode.bounds_a)),
            Text(extent(mode.bounds_b)),
            Text(signed(mode.difference_bounds)),
            Text(span(mode.interval)),
            Text(
                mode.decision,
                style={"worse": "bold red", "better": "green"}.get(mode.decision, ""),
            ),
        ]
        for mode in modes
    ]
    show_table(out, columns, rows)


def _show_changes(out: Console, found: Comparison, top: int) -> None:
    shown = found.changes[:top]
    counted = f"({len(shown)} of {len(found.changes):,})"
    show_lines(out, ["", f"samples that changed, most first {counted}:"])
    for change in shown:
        show_lines(out, [f"  {short(change.id)}: {_values(found, change)}"])
        show_lines(out, [f"    {_claim(claim)}" for claim in change.claims])


def _values(found: Comparison, change: SampleChange) -> str:
    return (
        ", ".join(
            f"{mode} {extent(change.bounds_a[mode])} → {extent(change.bounds_b[mode])}"
            for mode in MODES
            if found.mode(mode) is not None and change.bounds_a[mode] != change.bounds_b[mode]
        )
        or "same values, other claims"
    )


def _claim(claim: ClaimChange) -> str:
    text = " ".join(claim.text.split())
    return f'{kind(claim.before)} → {kind(claim.after)}: "{text}"'


def _named(ids: tuple[str, ...]) -> str:
    more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
    return ", ".join(map(short, ids[:_NAMED])) + more
