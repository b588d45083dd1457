"""``noisesense compare``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

from rich.text import Text

from noisesense import Comparison, Result, Tally, compare
from noisesense.scoring.definitions import MODES, Mode
from noisesense.stats.compare import ModeComparison, SampleChange
from noisesense.stats.interval import MIN_PAIRS
from noisesense.stats.pairing import PairedBy
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.commands import Command, argument, option
from noisesense_adapters.cli.gate import ABOVE, UNDECIDED, Gate, worst
from noisesense_adapters.cli.output import (
    Heads,
    extent,
    kind,
    one_line,
    say,
    show_json,
    show_modes,
    span,
    tell,
)
from noisesense_adapters.datasets.results import results_of


class Worse(Gate):
    """What both versions are checked for."""

    fail_if_worse: bool = option(
        "Exit with status 1 if B is worse than A, and with 4 if that depends on open verdicts. "
        "Where nothing differs, one of the modes is called worse in at most 5% of the comparisons."
    )
    margin: float = option(
        "How much does not matter: B is worse if it is by more than M, and the same if the whole "
        "interval is within M of zero; else there are too few pairs to say.",
        "M",
        default=0.0,
    )
    min_paired: float = option(
        "Exit with status 6 if fewer of the smaller run's samples are also in the other run.",
        "SHARE",
        default=0.9,
    )


class Compare(Command):
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

    a: Path = argument("Results of the version before.")
    b: Path = argument("Results of the version after.")
    scoring: options.Scoring
    gate: Worse
    pair_by: str | None = options.PAIR_BY
    top: int = options.TOP
    report: Path | None = options.REPORT
    as_json: bool = options.JSON

    def run(self) -> int:
        gate, chosen, name = self.gate, self.scoring.choices, self.b.name
        gate.check()
        options.check_pictures(self.report, None, self.b)
        reading, tally, heads = options.Reading(chosen), Tally(), Heads()

        def tallied() -> Iterator[Result]:
            for result in reading.results(self.b):
                tally.add(result)
                yield heads.note(result)

        comparison = compare(
            map(heads.note, reading.results(self.a)),
            tallied(),
            pair_by=cast("PairedBy | None", self.pair_by),
            min_paired=gate.min_paired,
            margin=gate.margin,
            confidence=gate.level,
        )
        if self.as_json:
            show_json({"a": str(self.a), "b": str(self.b), **comparison.to_dict()})
        else:
            _show(comparison, self.top, heads)
        since = f"{name}, since {self.a.name}"
        options.write_page(self.report, results_of(self.b, **chosen), since, baseline=comparison)
        worse = (_worse(comparison, mode, name, gate.mode) for mode in gate.modes)
        return worst(
            gate.status(tally.summary(confidence=gate.level), f" of {name}"),
            *(worse if gate.fail_if_worse else ()),
            options.SOME_FAILED if comparison.failed else reading.status,
        )


def _worse(comparison: Comparison, mode: Mode, b: str, asked: str | None) -> int:
    """``--fail-if-worse`` in one mode: the exit status, and on stderr why it is not 0."""
    figures, margin = comparison.mode(mode), comparison.margin
    if figures is None:
        if comparison.definition and asked is None:
            return 0  # the definition has no such mode
        status, said = UNDECIDED, f"there is nothing to compare in the {mode} mode"
    elif figures.decision == "worse":
        by = f" by more than {margin:g}" if margin else ""
        status, said = ABOVE, f"{b} is worse{by} in the {mode} mode"
    elif figures.too_few:
        status = UNDECIDED
        said = (
            f"{counted(figures.pairs, 'pair')} in the {mode} mode, and fewer than {MIN_PAIRS} "
            f"never tell whether {b} is worse; some 40 usually do"
        )
    elif _may_be_worse(figures, margin):
        status = UNDECIDED
        said = (
            f"whether {b} is worse in the {mode} mode depends on verdicts that the judge left open"
        )
    elif margin and figures.interval and figures.interval.high > margin:
        status = 0
        said = (
            f"too few pairs to say whether {b} is worse by more than {margin:g} in the {mode} "
            f"mode (interval {span(figures.interval)})"
        )
    else:
        return 0
    tell(f"{_BEGINS[status]}: {said}")
    return status


_BEGINS = {ABOVE: "check failed", UNDECIDED: "cannot be decided", 0: "warning"}


def _may_be_worse(mode: ModeComparison, margin: float) -> bool:
    """Could the open verdicts be such that B is worse?

    The interval is as far below the lowest difference as sampling alone puts it; B may be worse
    if one as wide, around the highest difference, lies above the margin.
    """
    if not mode.undetermined or mode.interval is None or mode.difference is None:
        return False
    low, high = mode.difference
    return high - (low - mode.interval.low) > margin


def _show(comparison: Comparison, top: int, heads: Heads) -> None:
    by = "id" if comparison.paired_by == "id" else "question and reference"
    scored = f"definition {comparison.definition}, lower is better"
    pairs = f"{counted(comparison.pairs, 'sample')} in both, paired by {by}"
    say(f"{pairs}; {scored if comparison.definition else 'none has a score'}")
    modes = [each for mode in MODES if (each := comparison.mode(mode)) is not None]
    if modes:
        say("")
        show_modes({mode.mode: _figures(mode, comparison.margin) for mode in modes})
    unpaired = {
        "only in A": comparison.only_a,
        "only in B": comparison.only_b,
        "failed in one or both": comparison.failed,
    }
    lines = [f"{where}: {_first_ids(ids, heads)}" for where, ids in unpaired.items() if ids]
    say(*([""] if lines else []), *lines)
    moved = [
        f"  {count:,} {kind(before)} → {kind(after)}"
        for (before, after), count in comparison.transitions.items()
        if before != after
    ]
    if moved:
        say("", "claims whose kind changed (absent: not among that version's claims):", *moved)
    changes = comparison.changes[:top]
    if changes:
        counts = f"({len(changes)} of {len(comparison.changes):,})"
        say("", f"samples that changed, largest change first {counts}:")
    for change in changes:
        say(f"  {heads[change.id]}: {_values(comparison, change)}")
        for claim in change.claims:
            say(f'    {kind(claim.before)} → {kind(claim.after)}: "{one_line(claim.text)}"')
    tell(*(f"note: {warning}" for warning in comparison.warnings))


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
    moved = [
        f"{mode} {extent(change.a[mode])} → {extent(change.b[mode])}"
        for mode in MODES
        if comparison.mode(mode) and change.a[mode] != change.b[mode]
    ]
    return ", ".join(moved) or "same values, other claims"


def _first_ids(ids: tuple[str, ...], heads: Heads, most: int = 5) -> str:
    more = f" and {len(ids) - most:,} more" if len(ids) > most else ""
    return ", ".join(heads[name] for name in ids[:most]) + more
