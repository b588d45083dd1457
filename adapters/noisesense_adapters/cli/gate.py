"""``noisesense gate``: the checks of a run, and the exit statuses that tell their outcome."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path

import click

from noisesense import InputError, Summary, gate_run
from noisesense.scoring.definitions import MODES, Mode
from noisesense.stats.gate import MAX_UNANSWERED, MAX_UNDEFINED, RunOutcome
from noisesense.stats.signs import SIGNS
from noisesense_adapters.cli import options
from noisesense_adapters.cli.options import SOME_FAILED
from noisesense_adapters.cli.output import tell

# 2 is an error, 6 runs that cannot be paired, 130 an interrupt: see `main`.
ABOVE = 1
"""A mean is above the limit, or B is worse."""
UNDECIDED = 4
"""The data do not decide a check."""
UNMEASURED = 5
"""Too many samples have nothing to measure, or too many verdicts no answer."""

_GRAVEST_FIRST = (ABOVE, UNDECIDED, UNMEASURED, SOME_FAILED)


def worst(*statuses: int) -> int:
    """Return the gravest of the statuses, the first of 1, 4, 5, 3 that is given; else 0."""
    for status in _GRAVEST_FIRST:
        if status in statuses:
            return status
    return 0


def failed_status(failed: int, *, is_checked: bool) -> int:
    """Return 3 if samples failed and nothing is checked, else 0: a check has its own limit."""
    return SOME_FAILED if failed and not is_checked else 0


_LEADS = {
    ABOVE: "check failed",
    UNDECIDED: "cannot be decided",
    UNMEASURED: "not measured",
    0: "warning",
}


def explain(status: int, reason: str) -> int:
    """Say on stderr why a check has this status (1, 4, 5; 0 is a warning), and return it."""
    tell(f"{_LEADS[status]}: {reason}")
    return status


@dataclass(frozen=True)
class Gate:
    """The checks of a run, as `gate_run` has them, and the confidence of the intervals."""

    limit: float | None
    confidence: float | None
    fail_undecided: bool
    mode: Mode | None
    min_samples: int
    max_undefined: float
    min_correct: float | None = None
    max_hallucinated: float | None = None
    max_unanswered: float = MAX_UNANSWERED
    waive: tuple[str, ...] = ()

    @property
    def is_check(self) -> bool:
        """Is a mean, the correct or hallucinated claims, or the number of samples limited?"""
        limits = (self.limit, self.min_correct, self.max_hallucinated)
        return limits != (None, None, None) or self.min_samples > 0

    @property
    def level(self) -> float:
        """The confidence of the intervals; 0.95 if none was chosen."""
        return 0.95 if self.confidence is None else self.confidence

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes to check; both if none was chosen."""
        return MODES if self.mode is None else (self.mode,)

    def tell_status(self, summary: Summary, run: str = "") -> int:
        """Say on stderr what all checks found, and return their exit status.

        If not `is_check`, any share of the samples may be undefined. ``run`` is named before each
        finding.
        """
        checks = {**vars(self)}
        del checks["confidence"]
        if not self.is_check:
            checks["max_undefined"] = 1.0
        by_interval = self.confidence is not None or self.fail_undecided
        gate = gate_run(summary, by_interval=by_interval, **checks)
        prefix = f"{run}: " if run else ""
        suffix = "; this passes" if gate.passed else ""
        for finding in gate.findings:
            if finding.reason in summary.notes:  # which the commands show with the figures
                continue
            explain(_STATUSES[finding.outcome], f"{prefix}{finding.reason}{suffix}")
        if self.limit is not None and gate.passed:
            read = "interval lies" if by_interval else "mean is"
            tell(f"{prefix}check passed: no {read} above {self.limit:g}")
        return _STATUSES[gate.outcome]


_STATUSES: dict[RunOutcome, int] = {
    "fail": ABOVE,
    "undecided": UNDECIDED,
    "not measured": UNMEASURED,
    "warn": 0,
    "pass": 0,
}

_CHECKS = (
    click.option(
        "--fail-above",
        "limit",
        type=options.SHARE,
        metavar="X",
        help="Exit with 1 if a mean is above X, with 4 if it may be.",
    ),
    click.option(
        "--confidence",
        type=options.SHARE,
        metavar="C",
        help="Of intervals. Fail only what is above X for certain; warn where an interval holds "
        "X.",
    ),
    click.option(
        "--fail-if-undecided",
        "fail_undecided",
        is_flag=True,
        help="Decide by the interval, and exit with 4 where there are too few samples to tell.",
    ),
    click.option(
        "--mode", type=click.Choice(MODES), help="Check only this mode; by default both."
    ),
    click.option(
        "--expect",
        "min_samples",
        type=options.COUNT,
        metavar="N",
        default=0,
        help="Exit with 5 if there are fewer samples.",
    ),
    click.option(
        "--max-undefined",
        type=options.SHARE,
        metavar="SHARE",
        default=MAX_UNDEFINED,
        help="With a check, exit with 5 if more of the samples have nothing to measure or failed.",
    ),
)
_MORE_CHECKS = (
    click.option(
        "--min-correct",
        type=options.SHARE,
        metavar="SHARE",
        help="Exit with 1 if fewer of the claims are correct.",
    ),
    click.option(
        "--max-hallucinated",
        type=options.SHARE,
        metavar="SHARE",
        help="Exit with 1 if more of the claims are in neither the reference nor a chunk.",
    ),
    click.option(
        "--max-unanswered",
        type=options.SHARE,
        metavar="SHARE",
        default=MAX_UNANSWERED,
        help="Exit with 5 if more of the needed verdicts have no answer.",
    ),
    click.option(
        "--waive",
        multiple=True,
        type=click.Choice(SIGNS),
        metavar="SIGN",
        help=f"Let a sign of a broken run pass: {', '.join(SIGNS)}. Repeatable.",
    ),
)
checks = options.taken_as("gate", Gate, *_CHECKS)
"""The options of the checks, as `Gate`."""
gate = options.taken_as("gate", Gate, *_CHECKS, *_MORE_CHECKS)
"""The same and more."""


@click.command("gate")
@options.results
@options.definition
@gate
def command(results: Path, definition: str | None, gate: Gate) -> int:
    """Check results, as with --fail-above 0.3, and say what was found.

    Exit status: as of "noisesense score".
    """
    if not gate.is_check:
        expected = "--fail-above, --min-correct, --max-hallucinated or --expect"
        raise InputError(expected, "no check", where="gate")
    reading = options.Reading(definition=definition)
    deque(reading.tallied(results), maxlen=0)
    summary = reading.tally.summary(confidence=gate.level)
    tell(*(f"note: {warning}" for warning in summary.warnings))
    return worst(gate.tell_status(summary), reading.status)
