"""``noisesense compare``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console
from rich.text import Text

from noisesense import Comparison, Result, Tally
from noisesense import compare as compare_results
from noisesense.scoring.definitions import MODES, Mode
from noisesense.stats.compare import ModeComparison, SampleChange
from noisesense.stats.interval import MIN_PAIRS
from noisesense.stats.pairing import PairedBy
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.gate import ABOVE, UNDECIDED, Gate, worst
from noisesense_adapters.cli.output import extent, kind, one_line, span
from noisesense_adapters.datasets.results import results_of


@options.grouped
def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="Results of the version before.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Results of the version after.")],
    scoring: options.Scoring,
    gate: Gate,
    pair_by: options.PairByOption = None,
    top: Annotated[int, typer.Option(min=0, help="How many changed samples to show.")] = 10,
    report: options.ReportOption = None,
    as_json: options.JsonOption = False,
    fail_if_worse: Annotated[
        bool,
        typer.Option(
            "--fail-if-worse",
            help="Exit with status 1 if B is worse than A, and with 4 if that depends on verdicts "
            "that the judge left open. Where nothing differs, one of the two modes is called "
            "worse in at most 5% of the comparisons.",
        ),
    ] = False,
    margin: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            metavar="M",
            help="How much does not matter: B is worse if it is by more than M, and the same if "
            "the whole interval is within M of zero; else there are too few pairs to say.",
        ),
    ] = 0.0,
    min_paired: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            metavar="SHARE",
            help="Exit with status 6 if less than this share of the smaller run's samples is also "
            "in the other run.",
        ),
    ] = 0.9,
) -> None:
    """Compare two versions over the same samples.

    Shows the paired difference of each mode with its interval, the samples that changed most and
    the claims whose kind changed. B is worse if the interval lies above zero; it covers every
    answer to the verdicts that the judge left open. --fail-above and --max-unanswered check all
    of B.

    Exit status: 0 done; 1 B is worse, or a mean is above --fail-above; 2 an error; 3 done, but
    some samples failed or some lines could not be read; 4 a check cannot be decided; 5 more than
    --max-unanswered of B's verdicts have no answer; 6 fewer than --min-paired of the samples are
    in both runs. If several apply, the first of 1, 4, 5, 3.
    """
    checked, chosen, heads = gate.checked, scoring.choices, output.Heads()
    options.check_pictures(report, None, b)
    reading, tally = options.Reading(chosen), Tally()

    def tallied() -> Iterator[Result]:
        for result in reading.results(b):
            tally.add(result)
            yield heads.note(result)

    comparison = compare_results(
        map(heads.note, reading.results(a)),
        tallied(),
        pair_by=cast("PairedBy | None", pair_by),
        min_paired=min_paired,
        margin=margin,
        confidence=gate.level,
    )
    if as_json:
        output.show_json({"a": str(a), "b": str(b), **comparison.to_dict()})
    else:
        _show(output.console(), comparison, top, heads)
    since = f"{b.name}, since {a.name}"
    options.write_page(report, results_of(b, **chosen), since, baseline=comparison)
    raise typer.Exit(
        worst(
            gate.status(tally.summary(confidence=gate.level), f" of {b.name}"),
            _check_worse(comparison, checked, b.name) if fail_if_worse else 0,
            options.SOME_FAILED if comparison.failed else reading.status,
        )
    )


def _check_worse(comparison: Comparison, mode: Mode | None, b: str) -> int:
    """``--fail-if-worse``: the exit status, and on stderr why it is not 0."""
    statuses: list[int] = []
    for each in MODES if mode is None else (mode,):
        figures = comparison.mode(each)
        if figures is None:
            if mode is not None or not comparison.definition:
                output.tell(f"cannot be decided: there is nothing to compare in the {each} mode")
                statuses.append(UNDECIDED)
        elif figures.decision == "worse":
            by = f" by more than {comparison.margin:g}" if comparison.margin else ""
            output.tell(f"check failed: {b} is worse{by} in the {each} mode")
            statuses.append(ABOVE)
        elif figures.too_few:
            output.tell(
                f"cannot be decided: {counted(figures.pairs, 'pair')} in the {each} mode, and "
                f"fewer than {MIN_PAIRS} never tell whether {b} is worse; some 40 usually do"
            )
            statuses.append(UNDECIDED)
        elif _may_be_worse(figures, comparison.margin):
            output.tell(
                f"cannot be decided: whether {b} is worse in the {each} mode depends on verdicts "
                "that the judge left open"
            )
            statuses.append(UNDECIDED)
        elif comparison.margin and figures.interval and figures.interval.high > comparison.margin:
            output.tell(
                f"warning: too few pairs to say whether {b} is worse by more than "
                f"{comparison.margin:g} in the {each} mode (interval {span(figures.interval)})"
            )
    return worst(*statuses)


def _may_be_worse(mode: ModeComparison, margin: float) -> bool:
    """Could the open verdicts be such that B is worse?

    The interval is as far below the lowest difference as sampling alone puts it; B may be worse
    if one as wide, around the highest difference, lies above the margin.
    """
    if not mode.undetermined or mode.interval is None or mode.difference is None:
        return False
    low, high = mode.difference
    return high - (low - mode.interval.low) > margin


def _show(out: Console, comparison: Comparison, top: int, heads: output.Heads) -> None:
    by = "id" if comparison.paired_by == "id" else "question and reference"
    scored = f"definition {comparison.definition}, lower is better"
    pairs = f"{counted(comparison.pairs, 'sample')} in both, paired by {by}"
    output.show_lines(out, f"{pairs}; {scored if comparison.definition else 'none has a score'}")
    modes = [each for mode in MODES if (each := comparison.mode(mode)) is not None]
    if modes:
        out.print()
        output.show_modes(out, {mode.mode: _figures(mode, comparison.margin) for mode in modes})
    unpaired = {
        "only in A": comparison.only_a,
        "only in B": comparison.only_b,
        "failed in one or both": comparison.failed,
    }
    lines = [f"{where}: {_first_ids(ids, heads)}" for where, ids in unpaired.items() if ids]
    if lines:
        output.show_lines(out, "", *lines)
    moved = [
        f"  {count:,} {kind(before)} → {kind(after)}"
        for (before, after), count in comparison.transitions.items()
        if before != after
    ]
    if moved:
        about = "claims whose kind changed (absent: not among that version's claims):"
        output.show_lines(out, "", about, *moved)
    changes = comparison.changes[:top]
    if changes:
        counts = f"({len(changes)} of {len(comparison.changes):,})"
        output.show_lines(out, "", f"samples that changed, largest change first {counts}:")
    for change in changes:
        output.show_lines(out, f"  {heads[change.id]}: {_values(comparison, change)}")
        for claim in change.claims:
            before, after = kind(claim.before), kind(claim.after)
            output.show_lines(out, f'    {before} → {after}: "{one_line(claim.text)}"')
    output.tell(*(f"note: {warning}" for warning in comparison.warnings))


_STYLES = {"worse": "bold red", "better": "green"}


def _figures(mode: ModeComparison, margin: float) -> dict[str, Text | str]:
    return {
        "pairs": f"{mode.pairs:,}",
        "  undetermined": f"{mode.undetermined:,}",
        "  undefined": f"{mode.undefined:,}",
        "mean of A": extent(mode.mean_a),
        "mean of B": extent(mode.mean_b),
        "difference": extent(mode.difference, "+.4f"),
        "  its interval": span(mode.interval),
        "B is": Text(_decision(mode, margin), style=_STYLES.get(mode.decision, "")),
    }


def _decision(mode: ModeComparison, margin: float) -> str:
    """With a margin, or below 6 pairs, an answer is missing for one reason only."""
    if mode.decision == "same":
        return f"the same within {margin:g}"
    if mode.decision == "undecided":
        return "too few to say" if margin or mode.too_few else "not clearly different"
    return mode.decision


def _values(comparison: Comparison, change: SampleChange) -> str:
    return (
        ", ".join(
            f"{mode} {extent(change.a[mode])} → {extent(change.b[mode])}"
            for mode in MODES
            if comparison.mode(mode) and change.a[mode] != change.b[mode]
        )
        or "same values, other claims"
    )


def _first_ids(ids: tuple[str, ...], heads: output.Heads, most: int = 5) -> str:
    more = f" and {len(ids) - most:,} more" if len(ids) > most else ""
    return ", ".join(heads[name] for name in ids[:most]) + more
