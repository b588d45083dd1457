"""What a run is checked for, and the exit statuses that say what came of it."""

from __future__ import annotations

from typing import ClassVar

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
    """The gravest of the statuses; 0 if all are."""
    return min((each for each in statuses if each), key=_GRAVEST_FIRST.index, default=0)


class Gate(Options):
    """What a run is checked for."""

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
        """Is there a check that too few samples leave undecided?"""
        return self.fail_above is not None and self.confidence is not None

    @property
    def level(self) -> float:
        """The confidence of the intervals."""
        return 0.95 if self.confidence is None else self.confidence

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Those to check."""
        return MODES if self.mode is None else (check_mode(self.mode),)

    def status(self, summary: Summary, run: str = "") -> int:
        """The exit status of all checks; stderr says why it is not 0, and of which ``run``."""
        is_gate = self.fail_above is not None
        found = gate_run(
            summary,
            self.fail_above,
            mode=None if self.mode is None else check_mode(self.mode),
            by_interval=self.confidence is not None,
            fail_undecided=self.fail_if_undecided,
            max_undefined=self.max_undefined if is_gate else 1.0,
            max_unanswered=self.max_unanswered,
            min_samples=self.min_samples if is_gate else 0,
        )
        prefix = f"{run}: " if run else ""
        for each in found.findings:
            passes = "; this passes" if found.passed else ""
            tell(f"{_BEGINS[each.outcome]}: {prefix}{each.reason}{passes}")
        return _STATUSES[found.outcome]


_BEGINS = {
    "fail": "check failed",
    "warn": "warning",
    "undecided": "cannot be decided",
    "not measured": "not measured",
}
_STATUSES: dict[RunOutcome, int] = {
    "fail": ABOVE,
    "undecided": UNDECIDED,
    "not measured": UNMEASURED,
    "warn": 0,
    "pass": 0,
}
