"""The one rule by which a run passes: was enough of it measured, and what did that give?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from noisesense.scoring.definitions import MODES, Mode, check_mode, modes_of
from noisesense.scoring.outcomes import Range, Record, check_limit, extent, gate
from noisesense.stats.interval import Interval
from noisesense.stats.summarize import Summary, counted

MAX_UNDEFINED = 0.1
"""The share of the samples that may have nothing to measure, unless the caller says otherwise."""

RunOutcome = Literal["fail", "undecided", "not measured", "warn", "pass"]
"""The gravest first."""


@dataclass(frozen=True)
class Finding(Record):
    """Something that keeps a run from passing, or a warning.

    Attributes:
        outcome: what it alone would make of the run.
        reason: in words.
    """

    outcome: RunOutcome
    reason: str


@dataclass(frozen=True)
class RunGate(Record):
    """Does a run pass, and if not, why?

    Attributes:
        findings: all that there are; none for a plain pass.
        unmeasured: as in `Summary`.
    """

    _derived = ("outcome", "passed")

    findings: tuple[Finding, ...]
    unmeasured: str

    @property
    def outcome(self) -> RunOutcome:
        """The gravest of the findings."""
        found = {each.outcome for each in self.findings}
        return next((each for each in get_args(RunOutcome) if each in found), "pass")

    @property
    def passed(self) -> bool:
        """Passed, perhaps with a warning."""
        return self.outcome in ("pass", "warn")

    @property
    def reason(self) -> str:
        """All findings, or else what was not measured, in words."""
        return "; ".join(each.reason for each in self.findings) or self.unmeasured


def gate_run(
    summary: Summary,
    limit: float,
    *,
    mode: Mode | None = None,
    by_interval: bool = False,
    max_undefined: float = MAX_UNDEFINED,
    min_samples: int = 0,
) -> RunGate:
    """Does a run stay within a limit? Lower is better. What was not measured does not pass.

    Each mode's mean is gated as in `noisesense.gate`: it passes, fails, or is *undecided*, where
    that depends on verdicts that the judge left open. The run is *not measured* where more than
    ``max_undefined`` of its samples have nothing to measure or failed, or where there are too few
    of them. Only ``"pass"`` and, with intervals, ``"warn"`` are a pass.

    Args:
        summary: the run, as `noisesense.summarize` gives it.
        limit: the highest mean that passes, 0 to 1.
        mode: check this mode only; by default all that the definition has.
        by_interval: fail only a mean whose whole interval is above the limit, and warn where the
            interval holds the limit.
        max_undefined: the highest share of the samples without a figure, 0 to 1.
        min_samples: how many samples there are at least. A run that stopped early has fewer.

    Raises:
        InputError: a limit or a share that is no number from 0 to 1, or an unknown mode.
    """
    check_limit(limit)
    check_limit(max_undefined, "max_undefined")
    modes = modes_of(summary.definition) if summary.definition else MODES
    if mode is not None:
        modes = (check_mode(mode),)
    findings = [*_coverage(summary, modes, max_undefined, min_samples)]
    for each in modes:
        figures = summary.mode(each)
        if figures is not None and figures.mean is not None:
            interval = figures.interval if by_interval else None
            if by_interval and interval is None:
                said = f"the {each} mean has no interval: it needs two samples or more"
                findings.append(Finding("undecided", said))
            else:
                findings += _side(each, figures.mean, interval, limit)
        elif not findings:
            findings.append(Finding("not measured", f"the {each} mean is undefined"))
    return RunGate(tuple(findings), summary.unmeasured)


def _coverage(
    summary: Summary, modes: tuple[Mode, ...], max_undefined: float, min_samples: int
) -> Iterator[Finding]:
    """Was enough measured?"""
    samples = summary.samples
    if samples < max(min_samples, 1):
        there = f"{'are' if samples != 1 else 'is'} {counted(samples, 'sample')}"
        expected = f", and at least {min_samples:,} were expected" if min_samples else ""
        yield Finding("not measured", f"there {there}{expected}")
    figures = [summary.mode(mode) for mode in modes]
    undefined = max((each.undefined for each in figures if each), default=0)
    missing = undefined + summary.failed
    if samples and missing / samples > max_undefined:
        said = f"{missing:,} of {counted(samples, 'sample')} not measured ({summary.unmeasured})"
        yield Finding("not measured", f"{said}; at most {max_undefined:.1%} may be")


def _side(mode: Mode, mean: Range, interval: Interval | None, limit: float) -> Iterator[Finding]:
    """On which side of the limit is the mean?"""
    outcome = gate(mean, limit, interval=interval)
    value = f"the {mode} mean, {extent(mean, '.4f')}"
    if interval is not None:
        value += f" (interval {extent((interval.low, interval.high), '.4f')})"
    if outcome == "fail":
        yield Finding("fail", f"{value}, is above {limit:g}")
    elif outcome == "undecided":
        between = f"{mean.low:.4f} and {mean.high:.4f}"
        yield Finding(
            "undecided",
            f"the {mode} mean lies between {between}; whether it is above {limit:g} depends on "
            "verdicts that the judge left open",
        )
    elif outcome == "warn":
        yield Finding(
            "warn",
            f"{value}, is too near {limit:g} to say on which side it is; more samples would "
            "decide it",
        )
