"""``noisesense compare``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

from noisesense import Comparison, compare
from noisesense.errors import InputError
from noisesense.scoring.definitions import MODES, Category, modes_of
from noisesense.scoring.outcomes import extent_beside, percent_text
from noisesense.stats.changes import SampleChange
from noisesense.stats.figures import Figure, FigureComparison
from noisesense.stats.gate import MAX_UNDEFINED
from noisesense.stats.pairing import PairedBy
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.commands import Command, argument, option
from noisesense_adapters.cli.gate import ABOVE, UNDECIDED, UNMEASURED, Gate, explain, worst
from noisesense_adapters.cli.output import Heads, kind, one_line, shown
from noisesense_adapters.datasets.read import results_of
from noisesense_adapters.evaluate.compare_wording import (
    NAMES,
    by_more,
    comparison_sentences,
    seen,
    standing,
    undecided_sentence,
)

FIGURES: tuple[Figure, ...] = get_args(Figure)
_ALL_MODES = "both modes"
"""The value of ``--fail-if-worse`` where the user gives none."""


class Worse(Gate):
    """The checks of two versions."""

    fail_if_worse: str | None = option(
        "Exit with 1 if B is worse, with 4 if that cannot be decided, by any of these figures; "
        "without a value by both modes. any: all claims from chunks; correct: correct claims.",
        "relevant,irrelevant,any,correct",
        is_flag=False,
        flag_value=_ALL_MODES,
    )
    fail_if_undecided: bool = option(
        "With --margin or --confidence, exit with 4 where there are too few samples to tell; else "
        "they pass with a warning."
    )
    margin: float = option(
        "B is worse if it is by more than M, and the same if it surely is not; of correct claims "
        "M is a share of A's.",
        "M",
        default=0.0,
    )
    min_paired: float = option("Exit with 6 if B has fewer of A's samples.", "SHARE", default=0.9)
    max_undefined: float = option(
        "Exit with 5 if more samples have nothing to measure in one run only (with "
        "--fail-if-worse), or nothing to measure or failed in B (with --fail-above).",
        "SHARE",
        default=MAX_UNDEFINED,
    )

    needed_to_be_undecided = "--fail-if-worse and --margin (or --fail-above and --confidence)"

    @property
    def may_be_undecided(self) -> bool:
        """Does the user ask for a check that too few samples leave undecided?"""
        return super().may_be_undecided or bool(self.fail_if_worse and self.margin)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures in which B may not be worse. Raises `InputError`."""
        if self.fail_if_worse is None:
            return ()
        if self.fail_if_worse == _ALL_MODES:
            return self.modes
        names = self.fail_if_worse.split(",")
        for name in names:
            if name not in FIGURES:
                expected = f"some of {', '.join(FIGURES)}, with commas between"
                hint = "without a value it must not stand before a file"
                raise InputError(expected, repr(name), where="--fail-if-worse", hint=hint)
            if name in MODES and name not in self.modes:
                got = f"--mode {self.mode} beside it"
                raise InputError(f"a check of {name}", got, where="--fail-if-worse")
        return tuple(name for name in FIGURES if name in names)

    @property
    def names_figures(self) -> bool:
        """Did the user name the figures? If not, a mode that the definition lacks is not meant."""
        return self.mode is not None or self.fail_if_worse != _ALL_MODES


class Compare(Command):
    """Compare two versions over the same samples.

    Shows the paired difference of each mode, of all claims from chunks and of correct claims, with
    intervals, the samples that changed most and the claims whose kind changed. B is worse if the
    interval lies above zero (of correct claims: below); where the judge left verdicts open, it
    holds for every way to fill them in. With --margin B is worse if the interval lies above M,
    and the same if all of it is within M of zero; else there are too few pairs to say. Where
    nothing differs, B is called worse in each figure in about 2.5% of the comparisons.
    --fail-above and --max-unanswered check all of B.

    Exit status: 0 done; 1 B is worse, or a mean is above --fail-above; 2 an error; 3 done, but
    some samples failed or some lines could not be read; 4 a check cannot be decided; 5 more than
    --max-unanswered of B's verdicts have no answer, more than --max-undefined of the samples have
    nothing to measure in one run only, or a check names a mode that the definition lacks; 6 fewer
    than --min-paired of A's samples are in B. If several apply, the first of 1, 4, 5, 3.
    """

    a: Path = argument("Results of the version before: the baseline.")
    b: Path = argument("Results of the version after.")
    scoring: options.Scoring
    gate: Worse
    pair_by: str | None = options.PAIR_BY
    top: int = options.TOP
    report: Path | None = options.REPORT
    as_json: bool = options.JSON

    def run(self) -> int:
        gate = self.gate
        gate.check()
        figures = gate.figures
        options.check_report(self.report)
        scoring = self.scoring.values()
        reading = options.Reading(**scoring)
        comparison = compare(
            reading.results(self.a),
            reading.tallied(self.b),
            pair_by=cast("PairedBy | None", self.pair_by),
            min_paired=gate.min_paired,
            margin=gate.margin,
            confidence=gate.level,
        )
        name = self.b.name
        if self.as_json:
            sentences = list(comparison_sentences(comparison))
            files = {"a": str(self.a), "b": str(self.b)}
            output.show_json({**files, "sentences": sentences, **comparison.to_dict()})
        else:
            _show(comparison, self.top, reading.heads)
        options.write_report(
            self.report,
            results_of(self.b, **scoring),
            f"{name}, since {self.a.name}",
            saved_as=name,
            baseline=comparison,
        )
        if comparison.definition and not gate.names_figures:
            figures = modes_of(comparison.definition)
        unsure = UNDECIDED if gate.fail_if_undecided else 0
        statuses = [_check_worse(comparison, figure, name, unsure) for figure in figures]
        if figures:
            statuses.append(_check_undefined(comparison, gate.max_undefined))
        statuses.append(gate.status(reading.tally.summary(confidence=gate.level), name))
        statuses.append(options.SOME_FAILED if comparison.failed else reading.status)
        return worst(*statuses)


def _check_undefined(comparison: Comparison, limit: float) -> int:
    """The exit status of ``--max-undefined``. On stderr it says why it is not 0."""
    share = comparison.undefined_share
    if share is None or share <= limit:
        return 0
    in_a = len(comparison.undefined_in_a)
    in_b = len(comparison.undefined_in_b)
    scored = comparison.pairs - len(comparison.failed)
    output.tell(
        f"too many samples have nothing to measure in one run only: {in_a:,} in A, {in_b:,} in B, "
        f"of {scored:,}; --max-undefined allows {percent_text(limit)}"
    )
    return UNMEASURED


def _check_worse(comparison: Comparison, name: Figure, b: str, unsure: int) -> int:
    """The exit status of ``--fail-if-worse`` by one figure. On stderr it says why it is not 0.

    Where the pairs do not show that B is not worse by more than the margin, the status is
    ``unsure``, with a warning if that is 0.
    """
    figure: FigureComparison | None = getattr(comparison, name)
    where = NAMES[name]
    if figure is None:
        return _not_compared(comparison, where)
    claim = f"{b} is worse{by_more(figure, comparison.margin)} in {where}"
    if figure.decision == "worse":
        return explain(ABOVE, claim)
    pairs = counted(figure.pairs, "pair")
    if figure.too_few:
        amount = f"{pairs} in {where}"
        if comparison.clusters is not None:
            amount += f", in clusters that say as much as {figure.effective:.1f} of equal size"
        reason = f"{amount}, and fewer than {figure.fewest} never tell whether {claim}"
        return explain(UNDECIDED, reason)
    if figure.left_open:
        reason = f"whether {claim} depends on verdicts that the judge left open"
        return explain(UNDECIDED, reason)
    if figure.margin and _may_be_worse(figure):
        return _explain_unsure(unsure, f"{pairs} are too few to tell whether {claim}", figure)
    return 0


def _not_compared(comparison: Comparison, where: str) -> int:
    """The exit status where the comparison lacks a figure."""
    if comparison.definition:
        reason = f"the definition {comparison.definition} has no such figure as {where}"
        return explain(UNMEASURED, reason)
    return explain(UNDECIDED, f"there is nothing to compare in {where}")


def _explain_unsure(status: int, reason: str, figure: FigureComparison) -> int:
    """Add to the reason how far the pairs are from a decision."""
    if figure.interval is not None:
        interval = extent_beside(figure.margin, figure.interval[:2])
        reason += f" (interval of the difference {interval})"
    detectable = seen(figure)
    if not figure.differing:
        reason += "; no pair differs"
    elif detectable is not None:
        reason += f"; {detectable}"
    if not status:
        reason += "; this passes (with --fail-if-undecided it ends with 4)"
    return explain(status, reason)


def _may_be_worse(figure: FigureComparison) -> bool:
    """Does the interval reach beyond the margin, to the side on which B is worse?"""
    return figure.worsening is not None and figure.worsening[1] > figure.margin


def _show(comparison: Comparison, top: int, heads: Heads) -> None:
    output.say(*comparison_sentences(comparison))
    by = "id" if comparison.paired_by == "id" else "question and reference"
    pairs = f"{counted(comparison.pairs, 'sample')} in both, paired by {by}"
    scored = "none has a score"
    if comparison.definition:
        scored = f"definition {comparison.definition}, lower is better"
    output.say(f"{pairs}; {scored}")
    if comparison.figures:
        output.say("")
        output.show_modes({figure.figure: _rows(figure) for figure in comparison.figures})
        output.say(
            "",
            "correct is how many claims of an answer are correct, and higher is better; the other "
            "figures are shares of its claims.",
        )
        _show_undecided(comparison.figures)
    _show_names("failed in one or both:", comparison.failed, heads)
    _show_names("nothing to measure in A only:", comparison.undefined_in_a, heads)
    _show_names("nothing to measure in B only:", comparison.undefined_in_b, heads)
    _show_kinds(comparison)
    _show_changes(comparison, top, heads)
    output.tell(*(f"note: {warning}" for warning in comparison.warnings))


def _show_undecided(figures: Sequence[FigureComparison]) -> None:
    """Print what the pairs do not tell. Figures with the same sentence share a line."""
    undecided: dict[str, list[str]] = {}
    for figure in figures:
        sentence = undecided_sentence(figure)
        if sentence is not None:
            undecided.setdefault(sentence, []).append(NAMES[figure.figure])
    lines = [f"  {', '.join(names)}: {sentence}" for sentence, names in undecided.items()]
    output.section("what these pairs do not tell:", lines)


def _show_kinds(comparison: Comparison) -> None:
    """Print how many claims went from which kind to which."""
    kinds = Counter[tuple[Category | None, Category | None]]()
    for change in comparison.changes:
        kinds.update((claim.before, claim.after) for claim in change.claims)
    lines: list[str] = []
    for (before, after), count in kinds.items():
        if before != after:
            lines.append(f"  {count:,} {kind(before)} -> {kind(after)}")
    output.section("claims whose kind changed (absent: not among that version's claims):", lines)


def _show_changes(comparison: Comparison, top: int, heads: Heads) -> None:
    """Print the samples that changed most, each with the claims that changed."""
    changes = comparison.changes[:top]
    if changes:
        counts = f"({len(changes):,} of {len(comparison.changes):,})"
        output.say("", f"samples that changed, largest change first {counts}:")
    for change in changes:
        output.say(f"  {heads[change.id]}: {_values(comparison, change)}")
        for claim in change.claims:
            kinds = f"{kind(claim.before)} -> {kind(claim.after)}"
            output.say(f'    {kinds}: "{one_line(claim.text)}"')


_SHOWN_NAMES = 5


def _show_names(head: str, names: Sequence[str], heads: Heads) -> None:
    """Print the names of the first samples, and how many more there are."""
    if not names:
        return
    listed = [heads[name] for name in names[:_SHOWN_NAMES]]
    if len(names) > _SHOWN_NAMES:
        listed.append(f"{len(names) - _SHOWN_NAMES:,} more")
    output.section(head, [f"  {', '.join(listed)}"])


def _rows(figure: FigureComparison) -> dict[str, object]:
    return {
        "pairs": figure.pairs,
        "  undetermined": figure.undetermined,
        "  undefined": figure.undefined,
        "mean of A": figure.mean_a,
        "mean of B": figure.mean_b,
        "difference": shown(figure.difference, "+.4f"),
        "  its interval": figure.interval,
        "B against A": standing(figure),
    }


def _values(comparison: Comparison, change: SampleChange) -> str:
    """The values of a sample that changed, before and after."""
    changes: list[str] = []
    for mode in MODES:
        before = change.a[mode]
        after = change.b[mode]
        if comparison.mode(mode) and before != after:
            changes.append(f"{mode} {shown(before)} -> {shown(after)}")
    return ", ".join(changes) or "same values, other claims"
