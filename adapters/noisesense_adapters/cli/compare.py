"""``noisesense compare``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import click

from noisesense import Comparison, Summary, compare
from noisesense.errors import InputError
from noisesense.scoring.definitions import modes_of
from noisesense.scoring.outcomes import extent_beside, percent_text
from noisesense.stats.figures import Figure, FigureComparison
from noisesense.stats.gate import sign_findings
from noisesense.stats.pairing import PairedBy
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.gate import (
    ABOVE,
    UNDECIDED,
    UNMEASURED,
    Gate,
    explain,
    failed_status,
    gate,
    worst,
)
from noisesense_adapters.cli.output import Heads
from noisesense_adapters.datasets.read import results_of
from noisesense_adapters.evaluate.tables import comparison_table
from noisesense_adapters.evaluate.wording import FIGURE_NAMES, by_more

FIGURES: tuple[Figure, ...] = get_args(Figure)
_ALL_MODES = "both modes"
"""The value of ``--fail-if-worse`` where the user gives none."""


@click.command("compare")
@click.argument("a", type=options.FILE)
@click.argument("b", type=options.FILE)
@options.definition
@click.option(
    "--fail-if-worse",
    metavar="FIGURES",
    is_flag=False,
    flag_value=_ALL_MODES,
    help="Exit with 1 if B is worse, with 4 if that cannot be decided, by any of these figures "
    "(relevant,irrelevant,any,correct); without a value by both modes. any: all claims from "
    "documents; correct: correct claims.",
)
@click.option(
    "--margin",
    type=float,
    default=0.0,
    metavar="M",
    help="B is worse if it is by more than M, and the same if it surely is not; of correct claims "
    "M is a share of A's.",
)
@gate
@click.option(
    "--min-paired",
    type=float,
    default=0.9,
    metavar="SHARE",
    help="Exit with 6 if B has fewer of A's samples.",
)
@click.option(
    "--pair-by",
    type=click.Choice(["id", "question"]),
    help="What identifies a sample: its id, if it was given one, else the question and the "
    "reference.",
)
@options.report
@options.as_json
def command(
    a: Path,
    b: Path,
    definition: str | None,
    fail_if_worse: str | None,
    margin: float,
    gate: Gate,
    min_paired: float,
    pair_by: PairedBy | None,
    report: Path | None,
    as_json: bool,
) -> int:
    """Compare B with A, the baseline, over the same samples.

    Shows the paired difference of each mode, of all claims from documents and of correct claims,
    with intervals. B is worse if the interval lies above zero (of correct claims: below); where
    the judge left verdicts open, it holds for every way to fill them in. With --margin B is worse
    if the interval lies above M, and the same if all of it is within M of zero, also if half a
    pair more differed by 1; else they are not clearly different.
    --fail-above and --max-unanswered check all of B.

    Exit status: 0 done; 1 B is worse, or a mean is above --fail-above; 2 an error; 3 some samples
    failed without a check, or some lines could not be read; 4 a check cannot be decided; 5 more
    than --max-unanswered of B's verdicts have no answer, more than --max-undefined of the samples
    failed or have nothing to measure in one run only, a check names a mode that the definition
    lacks, or there is a sign that B is broken; 6 fewer than --min-paired of A's samples are in B.
    If several apply, the first of 1, 4, 5, 3.
    """
    figures = _figures(fail_if_worse, gate)
    options.check_report(report)
    reading = options.Reading(definition=definition)
    comparison = compare(
        reading.results(a),
        reading.tallied(b),
        pair_by=pair_by,
        min_paired=min_paired,
        margin=margin,
        confidence=gate.level,
    )
    name = b.name
    if as_json:
        output.show_json({"a": str(a), "b": str(b), **comparison.to_dict()})
    else:
        _show(comparison, reading.heads)
    options.write_report(
        report,
        results_of(b, **reading.chosen),
        f"{name}, since {a.name}",
        saved_as=name,
        baseline=comparison,
    )
    names_figures = gate.mode is not None or fail_if_worse != _ALL_MODES
    if comparison.definition and not names_figures:
        figures = modes_of(comparison.definition)
    unsure = UNDECIDED if gate.fail_undecided else 0
    summary = reading.tally.summary(confidence=gate.level)
    output.tell(*(f"note: {name}: {note}" for note in summary.notes))
    statuses = [_check_worse(comparison, figure, name, unsure) for figure in figures]
    if figures:
        statuses.append(_check_undefined(comparison, gate.max_undefined))
        statuses.append(_check_signs(summary, gate, name))
        if not any(statuses):
            names = ", ".join(figures)
            output.tell(f"check passed ({names}): {name} is not shown to be worse")
    statuses.append(gate.tell_status(summary, name))
    statuses.append(reading.status)
    is_checked = bool(figures) or gate.is_check
    statuses.append(failed_status(len(comparison.failed), is_checked=is_checked))
    return worst(*statuses)


def _figures(fail_if_worse: str | None, gate: Gate) -> tuple[Figure, ...]:
    """Return the figures in which B may not be worse. Raises `InputError` for an unknown one."""
    if fail_if_worse is None:
        return ()
    if fail_if_worse == _ALL_MODES:
        return gate.modes
    names = fail_if_worse.split(",")
    for name in names:
        if name not in FIGURES:
            expected = f"some of {', '.join(FIGURES)}, with commas between"
            hint = "without a value it must not stand before a file"
            raise InputError(expected, repr(name), where="--fail-if-worse", hint=hint)
    return tuple(name for name in FIGURES if name in names)


def _check_undefined(comparison: Comparison, limit: float) -> int:
    """Return the exit status of ``--max-undefined``. Say on stderr why it is not 0."""
    in_a = len(comparison.undefined_in_a)
    in_b = len(comparison.undefined_in_b)
    failed = len(comparison.failed)
    if not comparison.figures or in_a + in_b + failed <= limit * comparison.pairs:
        return 0
    reason = (
        f"too many samples have nothing to measure in one run only ({in_a:,} in A, {in_b:,} in B) "
        f"or failed ({failed:,}), of {comparison.pairs:,}; --max-undefined allows "
        f"{percent_text(limit)}"
    )
    return explain(UNMEASURED, reason)


def _check_signs(summary: Summary, gate: Gate, b: str) -> int:
    """Return the exit status of the signs that B is broken, unless its own checks say them."""
    status = 0
    if not gate.is_check:
        for finding in sign_findings(summary, gate.waive):
            status = explain(UNMEASURED, f"{b}: {finding.reason}")
    return status


def _check_worse(comparison: Comparison, name: Figure, b: str, unsure: int) -> int:
    """Return the exit status of ``--fail-if-worse`` by one figure. Say on stderr why it is not 0.

    Where the pairs do not show that B is not worse by more than the margin, the status is
    ``unsure``, with a warning if that is 0.
    """
    figure: FigureComparison | None = getattr(comparison, name)
    where = FIGURE_NAMES[name]
    if figure is None:
        return _not_compared(comparison, where)
    claim = f"{b} is worse{by_more(figure)} in {where}"
    if figure.decision == "worse":
        return explain(ABOVE, claim)
    if figure.too_few or figure.worsening is None:
        reason = (
            f"{figure.pairs:,} pairs in {where} say as much as {figure.effective:.3g} questions, "
            f"and fewer than {figure.fewest} never tell whether {claim}"
        )
        return explain(UNDECIDED, reason)
    if figure.left_open:
        reason = f"whether {claim} depends on verdicts that the judge left open"
        return explain(UNDECIDED, reason)
    is_asked = figure.margin or unsure
    if figure.worsening[1] <= figure.margin or not is_asked:
        return 0
    interval = extent_beside(figure.margin, figure.worsening)
    reason = f"{figure.pairs:,} pairs are too few to tell whether {claim} (interval {interval})"
    return explain(unsure, reason if unsure else f"{reason}; this passes")


def _not_compared(comparison: Comparison, where: str) -> int:
    """Return the exit status where the comparison lacks a figure."""
    if comparison.definition:
        reason = f"the definition {comparison.definition} has no such figure as {where}"
        return explain(UNMEASURED, reason)
    return explain(UNDECIDED, f"there is nothing to compare in {where}")


def _show(comparison: Comparison, heads: Heads) -> None:
    by = "id" if comparison.paired_by == "id" else "question and reference"
    pairs = f"{counted(comparison.pairs, 'sample')} in both, paired by {by}"
    scored = "none has a score"
    if comparison.definition:
        scored = f"definition {comparison.definition}, lower is better"
    output.say(f"{pairs}; {scored}")
    if comparison.figures:
        output.say("")
        output.show_table(comparison_table(comparison))
    of_pairs = f"{len(comparison.failed):,} of {counted(comparison.pairs, 'sample')}"
    _show_names(f"{of_pairs} failed in one or both:", comparison.failed, heads)
    _show_names("nothing to measure in A only:", comparison.undefined_in_a, heads)
    _show_names("nothing to measure in B only:", comparison.undefined_in_b, heads)
    output.tell(*(f"note: {warning}" for warning in comparison.warnings))


_SHOWN_NAMES = 5


def _show_names(title: str, names: Sequence[str], heads: Heads) -> None:
    """Print the names of the first samples, and how many more there are."""
    if not names:
        return
    listed = [heads[name] for name in names[:_SHOWN_NAMES]]
    if len(names) > _SHOWN_NAMES:
        listed.append(f"{len(names) - _SHOWN_NAMES:,} more")
    output.section(title, [f"  {', '.join(listed)}"])
