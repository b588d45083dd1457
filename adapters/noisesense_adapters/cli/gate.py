"""The checks of a run, and the exit statuses that tell their outcome."""

from __future__ import annotations

from typing import ClassVar, cast

from noisesense import InputError, Summary, gate_run
from noisesense.scoring.definitions import MODES, Mode, check_mode
from noisesense.scoring.outcomes import check_between, check_limit
from noisesense.stats.gate import MAX_UNANSWERED, MAX_UNDEFINED, RunOutcome
from noisesense_adapters.cli.commands import COUNT, Options, option
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
    """The gravest of the statuses; 0 if all are 0."""
    for status in _GRAVEST_FIRST:
        if status in statuses:
            return status
    return 0


_LEADS = {
    ABOVE: "check failed",
    UNDECIDED: "cannot be decided",
    UNMEASURED: "not measured",
    0: "warning",
}


def explain(status: int, reason: str) -> int:
    """Say on stderr why a check has this status, and return the status."""
    tell(f"{_LEADS[status]}: {reason}")
    return status


class Gate(Options):
    """The checks of a run."""

    heading = "Checks"

    fail_above: float | None = option(
        "Exit with 1 if a mean is above X, with 4 if it may be.", "X"
    )
    confidence: float | None = option(
        "Of intervals. Fail only what is above X for certain; warn where an interval holds X.", "C"
    )
    fail_if_undecided: bool = option(
        "With --confidence, exit with 4 where there are too few samples to tell; else they pass "
        "with a warning."
    )
    mode: str | None = option("Check only this mode; by default both.", "relevant|irrelevant")
    max_unanswered: float = option(
        "Exit with 5 if more of the needed verdicts have no answer.",
        "SHARE",
        default=MAX_UNANSWERED,
    )
    max_undefined: float = option(
        "With --fail-above, exit with 5 if more of the samples have nothing to measure or failed.",
        "SHARE",
        default=MAX_UNDEFINED,
    )
    min_samples: int = option(
        "With --fail-above, exit with 5 if there are fewer samples.", "N", type=COUNT, default=0
    )

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_limit(self.max_unanswered, "--max-unanswered")
        check_limit(self.max_undefined, "--max-undefined")
        if self.fail_above is not None:
            check_limit(self.fail_above, "--fail-above")
        check_between(self.level, "--confidence")
        if self.mode is not None:
            check_mode(self.mode)
        if self.fail_if_undecided and not self.may_be_undecided:
            got = "only --fail-if-undecided"
            raise InputError(self.needed_to_be_undecided, got, where="checks")

    needed_to_be_undecided: ClassVar[str] = "--fail-above and --confidence as well"

    @property
    def may_be_undecided(self) -> bool:
        """Does the user ask for a check that too few samples leave undecided?"""
        return self.fail_above is not None and self.confidence is not None

    @property
    def level(self) -> float:
        """The confidence of the intervals."""
        return 0.95 if self.confidence is None else self.confidence

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes to check."""
        return MODES if self.mode is None else (check_mode(self.mode),)

    def status(self, summary: Summary, run: str = "") -> int:
        """The exit status of all checks. On stderr: why it is not 0, and of which ``run``."""
        is_gate = self.fail_above is not None
        gate = gate_run(
            summary,
            self.fail_above,
            mode=cast("Mode | None", self.mode),
            by_interval=self.confidence is not None,
            fail_undecided=self.fail_if_undecided,
            max_undefined=self.max_undefined if is_gate else 1.0,
            max_unanswered=self.max_unanswered,
            min_samples=self.min_samples if is_gate else 0,
        )
        prefix = f"{run}: " if run else ""
        suffix = "; this passes" if gate.passed else ""
        for finding in gate.findings:
            explain(_STATUSES[finding.outcome], f"{prefix}{finding.reason}{suffix}")
        return _STATUSES[gate.outcome]


_STATUSES: dict[RunOutcome, int] = {
    "fail": ABOVE,
    "undecided": UNDECIDED,
    "not measured": UNMEASURED,
    "warn": 0,
    "pass": 0,
}
