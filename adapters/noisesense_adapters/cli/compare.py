"""``noisesense compare``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import cast

from noisesense import Comparison, compare
from noisesense.scoring.definitions import MODES, Category, Mode
from noisesense.stats.compare import ModeComparison, SampleChange
from noisesense.stats.interval import MIN_PAIRS
from noisesense.stats.pairing import PairedBy
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.commands import Command, argument, option
from noisesense_adapters.cli.gate import ABOVE, UNDECIDED, Gate, worst
from noisesense_adapters.cli.output import Heads, kind, modes_of, one_line, shown
from noisesense_adapters.datasets.read import results_of


class Worse(Gate):
    """What both versions are checked for."""

    fail_if_worse: bool = option("Exit with 1 if B is worse, with 4 if open verdicts decide that.")
    margin: float = option(
        "B is worse if it is by more than M, and the same if it surely is not.", "M", default=0.0
    )
    min_paired: float = option("Exit with 6 if fewer are in both runs.", "SHARE", default=0.9)


class Compare(Command):
    """Compare two versions over the same samples.

    Shows the paired difference of each mode with its interval, the samples that changed most and
    the claims whose kind changed. B is worse if the interval lies above zero; where the judge left
    verdicts open, it covers the lowest and the highest difference. With --margin B is worse if
    the interval lies above M, and the same if all of it is within M of zero; else there are too
    few pairs to say. Where nothing differs, --fail-if-worse calls one of the two modes worse in at
    most 5% of the comparisons. --fail-above and --max-unanswered check all of B.

    Exit status: 0 done; 1 B is worse, or a mean is above --fail-above; 2 an error; 3 done, but
    some samples failed or some lines could not be read; 4 a check cannot be decided; 5 more than
    --max-unanswered of B's verdicts have no answer; 6 fewer than --min-paired of the smaller
    run's samples are in both. If several apply, the first of 1, 4, 5, 3.
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
        gate, chosen, name = self.gate, self.scoring.given(), self.b.name
        gate.check()
        options.check_pictures(self.report)
        reading = options.Reading(**chosen)
        comparison = compare(
            reading.results(self.a),
            reading.tallied(self.b),
            pair_by=cast("PairedBy | None", self.pair_by),
            min_paired=gate.min_paired,
            margin=gate.margin,
            confidence=gate.level,
        )
        if self.as_json:
            output.show_json({"a": str(self.a), "b": str(self.b), **comparison.to_dict()})
        else:
            _show(comparison, self.top, reading.heads)
        since = f"{name}, since {self.a.name}"
        options.write_page(self.report, results_of(self.b, **chosen), since, baseline=comparison)
        worse = (_worse(comparison, mode, name, gate.mode) for mode in gate.modes)
        return worst(
            gate.status(reading.tally.summary(confidence=gate.level), name),
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
            f"mode (interval {shown(figures.interval)})"
        )
    else:
        return 0
    output.tell(f"{_BEGINS[status]}: {said}")
    return status


_BEGINS = {ABOVE: "check failed", UNDECIDED: "cannot be decided", 0: "warning"}


def _may_be_worse(mode: ModeComparison, margin: float) -> bool:
    """Could the open verdicts be such that B is worse?

    B may be worse if the highest difference lies above the margin by more than the interval
    reaches below the lowest difference, or above the highest.
    """
    if not mode.undetermined or mode.interval is None or mode.difference is None:
        return False
    low, high = mode.difference
    return high - min(low - mode.interval.low, mode.interval.high - high) > margin


def _show(comparison: Comparison, top: int, heads: Heads) -> None:
    by = "id" if comparison.paired_by == "id" else "question and reference"
    scored = f"definition {comparison.definition}, lower is better"
    pairs = f"{counted(comparison.pairs, 'sample')} in both, paired by {by}"
    output.say(f"{pairs}; {scored if comparison.definition else 'none has a score'}")
    modes = modes_of(comparison)
    if modes:
        output.say("")
        output.show_modes({mode.mode: _figures(mode, comparison.margin) for mode in modes})
    failed = ", ".join(heads[name] for name in comparison.failed[:5])
    output.section("failed in one or both:", [f"  {failed}"] if failed else [])
    kinds = Counter[tuple[Category | None, Category | None]](
        (c.before, c.after) for each in comparison.changes for c in each.claims
    )
    moved = [
        f"  {count:,} {kind(before)} -> {kind(after)}"
        for (before, after), count in kinds.items()
        if before != after
    ]
    output.section("claims whose kind changed (absent: not among that version's claims):", moved)
    changes = comparison.changes[:top]
    if changes:
        counts = f"({len(changes)} of {len(comparison.changes):,})"
        output.say("", f"samples that changed, largest change first {counts}:")
    for change in changes:
        output.say(f"  {heads[change.id]}: {_values(comparison, change)}")
        for claim in change.claims:
            output.say(
                f'    {kind(claim.before)} -> {kind(claim.after)}: "{one_line(claim.text)}"'
            )
    output.tell(*(f"note: {warning}" for warning in comparison.warnings))


def _figures(mode: ModeComparison, margin: float) -> dict[str, object]:
    return {
        "pairs": mode.pairs,
        "  undetermined": mode.undetermined,
        "  undefined": mode.undefined,
        "mean of A": mode.mean_a,
        "mean of B": mode.mean_b,
        "difference": shown(mode.difference, "+.4f"),
        "  its interval": mode.interval,
        "B is": _decision(mode, margin),
    }


def _decision(mode: ModeComparison, margin: float) -> str:
    if mode.decision == "same":
        return f"the same within {margin:g}"
    if mode.decision == "undecided":
        return "too few to say" if margin or mode.too_few else "not clearly different"
    return mode.decision


def _values(comparison: Comparison, change: SampleChange) -> str:
    moved = [
        f"{mode} {shown(change.a[mode])} -> {shown(change.b[mode])}"
        for mode in MODES
        if comparison.mode(mode) and change.a[mode] != change.b[mode]
    ]
    return ", ".join(moved) or "same values, other claims"
