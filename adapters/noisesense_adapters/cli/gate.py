"""What a run is checked for, and the exit statuses that say what came of it."""

from __future__ import annotations

from noisesense import InputError, Summary, gate
from noisesense.scoring.definitions import MODES, Mode, check_mode
from noisesense.scoring.outcomes import check_limit
from noisesense_adapters.cli.commands import Options, option
from noisesense_adapters.cli.options import SOME_FAILED
from noisesense_adapters.cli.output import shown, tell

# 2 is an error, 6 runs that cannot be paired, 130 an interrupt: see `main`.
ABOVE = 1
"""A mean is above the limit, or B is worse."""
UNDECIDED = 4
"""The data do not decide a check."""
UNANSWERED = 5
"""Too many verdicts have no answer."""

_GRAVEST_FIRST = (ABOVE, UNDECIDED, UNANSWERED, SOME_FAILED)


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
    mode: str | None = option("Check only this mode; by default both.", "relevant|irrelevant")
    max_unanswered: float = option(
        "Exit with 5 if more of the needed verdicts have no answer.", "SHARE", default=0.05
    )

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_limit(self.max_unanswered, "--max-unanswered")
        if self.fail_above is not None:
            check_limit(self.fail_above, "--fail-above")
        if not 0 < self.level < 1:
            raise InputError("a number between 0 and 1", f"{self.level:g}", where="--confidence")
        if self.mode is not None:
            check_mode(self.mode)

    @property
    def level(self) -> float:
        """The confidence of the intervals."""
        return 0.95 if self.confidence is None else self.confidence

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Those to check."""
        return MODES if self.mode is None else (check_mode(self.mode),)

    def status(self, summary: Summary, name: str = "", *, judged: bool = False) -> int:
        """The exit status of all checks; stderr says why it is not 0."""
        above = 0 if self.fail_above is None else self._above(summary, self.fail_above, name)
        return worst(above, self._unanswered(summary, name, judged=judged))

    def _above(self, summary: Summary, limit: float, name: str) -> int:
        """By `noisesense.gate` on the range of each mean, or with a confidence on its interval.

        A mean that is undefined does not pass, nor one without an interval where that is needed.
        """
        statuses: list[int] = []
        for each in self.modes:
            figures = summary.mode(each)
            if figures is None and self.mode is None and summary.scored:
                continue  # the definition has no such mode
            bounds = None if figures is None else figures.mean
            interval = figures.interval if figures and self.confidence is not None else None
            outcome: str = gate(bounds, limit, interval=interval)
            if bounds and self.confidence is not None and interval is None:
                outcome = "no interval"
            mean = f"the {each} mean{name}"
            between = f" (interval {shown(interval)})" if interval else ""
            value = f"{mean}, {shown(bounds)}{between},"
            told = {
                "fail": f"check failed: {value} is above {limit:g}",
                "warn": f"warning: {value} is too near {limit:g} to say on which side it is; more "
                "samples would decide it",
                "undefined": f"cannot be decided: {mean} is undefined",
                "no interval": f"cannot be decided: {mean} has no interval: it needs two samples "
                "or more",
                "undecided": f"cannot be decided: {mean} lies between "
                f"{' and '.join(map(shown, bounds or ()))}; whether it is above {limit:g} "
                "depends on verdicts that the judge left open",
            }
            if outcome in told:
                tell(told[outcome])
            statuses.append({"pass": 0, "warn": 0, "fail": ABOVE}.get(outcome, UNDECIDED))
        return worst(*statuses)

    def _unanswered(self, summary: Summary, name: str, *, judged: bool) -> int:
        """A run with nothing to measure in any sample has answered nothing either."""
        share = summary.unanswered_share
        if share is not None and share > self.max_unanswered:
            tell(
                f"too many verdicts have no answer{name}: {summary.open_cells:,} of "
                f"{summary.needed_cells:,} that the score needs ({share:.1%}); "
                f"--max-unanswered allows {self.max_unanswered:.1%}"
            )
            return UNANSWERED
        if judged and summary.scored and summary.empty == summary.scored:
            tell("no sample has anything to measure: nothing was measured")
            return UNANSWERED
        return 0
