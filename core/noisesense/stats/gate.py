"""The one rule by which a run passes: was enough of it measured, and what did that give?"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal, cast, get_args

from noisesense.errors import InputError, check_choice, check_whole, describe
from noisesense.scoring.definitions import Mode, check_mode, chunk_modes
from noisesense.scoring.outcomes import (
    Partition,
    Record,
    check_limit,
    extent_beside,
    gate,
    percent_text,
)
from noisesense.stats.signs import SIGNS
from noisesense.stats.summarize import Summary, counted

MAX_UNDEFINED = 0.1
"""The share of the samples that may have nothing to measure, unless the caller says otherwise."""

MAX_UNANSWERED = 0.05
"""The share of the verdicts that may have no answer, likewise."""

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
    """Does a run pass, and if not, why? As a bool it is ``passed``.

    Attributes:
        findings: all that there are, the gravest first; none for a plain pass.
        unmeasured: as in `Summary`.
    """

    _derived = ("outcome", "passed")

    findings: tuple[Finding, ...]
    unmeasured: str

    @property
    def outcome(self) -> RunOutcome:
        """The gravest of the findings; ``"pass"`` without any."""
        return self.findings[0].outcome if self.findings else "pass"

    @property
    def passed(self) -> bool:
        """Is the outcome ``"pass"`` or ``"warn"``?"""
        return self.outcome in ("pass", "warn")

    def __bool__(self) -> bool:
        return self.passed

    @property
    def reason(self) -> str:
        """All findings, or else what was not measured, in words; empty if all was measured."""
        if not self.findings:
            return self.unmeasured
        return "; ".join(finding.reason for finding in self.findings)


def gate_run(
    summary: Summary,
    limit: float | None,
    *,
    mode: Mode | None = None,
    by_interval: bool = False,
    fail_undecided: bool = False,
    max_undefined: float = MAX_UNDEFINED,
    max_unanswered: float = MAX_UNANSWERED,
    min_samples: int = 0,
    min_correct: float | None = None,
    max_hallucinated: float | None = None,
    waive: Collection[str] = (),
) -> RunGate:
    """Decide whether a run stays within a limit. What was not measured does not pass.

    Each mode's mean is gated as in `noisesense.gate`: it passes, fails, or is *undecided*, where
    that depends on verdicts that the judge left open. The run is *not measured* where more than
    ``max_undefined`` of its samples have nothing to measure (also where ``empty="zero"`` makes a
    figure of them) or failed, where more than ``max_unanswered`` of the verdicts that its scores
    need have no answer, where there are too few samples, or no claims at all. Only ``"pass"`` and
    ``"warn"`` are a pass. With ``limit``, ``min_correct`` or ``max_hallucinated`` the summary's
    notes warn, too.

    Args:
        summary: the run, as `noisesense.summarize` gives it.
        limit: the highest mean that passes, 0 to 1; None asks only whether enough was measured.
        mode: check this mode only; by default all that the definition has, also where a host's
            metric shows one: a judged sample gives both.
        by_interval: fail only a mean whose whole interval is above the limit, and warn where the
            interval holds the limit. A mean without an interval is *undecided*.
        fail_undecided: with ``by_interval``, where the interval holds the limit, the run is
            *undecided*, and does not pass.
        max_undefined: the highest share of the samples without a figure, 0 to 1.
        max_unanswered: the highest share of `Summary.needed_cells` without an answer, 0 to 1.
        min_samples: how many samples there are at least. A run that stopped early has fewer.
        min_correct: the lowest share of correct claims that passes, 0 to 1.
        max_hallucinated: the highest share of claims that passes of those that neither the
            reference nor a chunk supports, 0 to 1.
        waive: names of signs of a broken run that are known and harmless, see `Sign`. Any other
            one makes the run *not measured*, with ``limit``, ``min_correct`` or
            ``max_hallucinated``.

    Raises:
        InputError: not a `Summary`, a limit or a share that is no number from 0 to 1, an unknown
            mode or sign, or a ``min_samples`` that is no whole number from 0.
    """
    if not isinstance(cast("object", summary), Summary):
        hint = "summarize(results) makes one"
        raise InputError("a Summary", describe(summary), where="summary", hint=hint)
    check_limit(max_undefined, "max_undefined")
    check_limit(max_unanswered, "max_unanswered")
    check_whole(min_samples, 0, "min_samples")
    for name in waive:
        check_choice(name, SIGNS, "waive")
    modes = _modes(summary, mode)
    limits = {"limit": limit, "min_correct": min_correct, "max_hallucinated": max_hallucinated}
    given = [check_limit(each, name) for name, each in limits.items() if each is not None]
    if not summary.partition.total:
        nothing = Finding("not measured", f"nothing was measured: {summary.unmeasured}")
        return RunGate((nothing,), summary.unmeasured)
    findings = [*_shares(summary.partition, min_correct, max_hallucinated)]
    findings += _enough(summary, modes, max_undefined, max_unanswered, min_samples)
    if given:
        findings += sign_findings(summary, waive)
    if limit is not None:
        unsure: RunOutcome = "undecided" if fail_undecided else "warn"
        for each in modes:
            findings += _value(summary, each, limit, by_interval=by_interval, unsure=unsure)
    if given:
        findings += [Finding("warn", note) for note in summary.notes]
    findings.sort(key=lambda finding: get_args(RunOutcome).index(finding.outcome))
    return RunGate(tuple(findings), summary.unmeasured)


def _modes(summary: Summary, mode: Mode | None) -> tuple[Mode, ...]:
    """Return the mode, or all that the definition has."""
    if mode is not None:
        return (check_mode(mode),)
    return tuple(each.mode for each in summary.modes)


def _enough(
    summary: Summary,
    modes: tuple[Mode, ...],
    max_undefined: float,
    max_unanswered: float,
    min_samples: int,
) -> Iterator[Finding]:
    """Yield a finding for each way in which too little was measured."""
    missing = _missing(summary, modes)
    if missing / summary.samples > max_undefined:
        yield _unmeasured(
            f"{missing:,} of {counted(summary.samples, 'sample')} have no figure "
            f"({summary.unmeasured}); at most {percent_text(max_undefined)} may do so",
            "max_undefined",
        )
    if summary.open_cells > max_unanswered * summary.needed_cells:
        yield _unmeasured(
            f"too many verdicts have no answer: {summary.open_cells:,} of "
            f"{summary.needed_cells:,} that the score needs; at most "
            f"{percent_text(max_unanswered)} may have none",
            "max_unanswered",
        )
    if summary.samples < min_samples:
        samples = counted(summary.samples, "sample")
        reason = f"only {samples}, and at least {min_samples:,} were expected"
        yield Finding("not measured", reason)


def sign_findings(summary: Summary, waive: Collection[str]) -> Iterator[Finding]:
    """Yield a finding for each sign of a broken run that is not waived."""
    for sign in summary.signs:
        if sign.name not in waive:
            hint = f"noisesense gate --waive {sign.name}, in Python waive=, lets it pass"
            yield Finding("not measured", f"a sign that the run is broken: {sign.reason} ({hint})")


def _missing(summary: Summary, modes: tuple[Mode, ...]) -> int:
    """Return how many samples failed, or have nothing to measure in the mode with most of those.

    Also where ``empty="zero"`` makes figures of them; but not what lacks claims and chunks under a
    definition that needs no chunks.
    """
    undefined = 0
    for mode in modes:
        figures = summary.mode(mode)
        if figures is not None:
            lacking = summary.nothing_claimed
            if summary.definition and mode in chunk_modes(summary.definition):
                lacking += summary.nothing_retrieved
            undefined = max(undefined, figures.undefined, lacking)
    return undefined + summary.failed


def _unmeasured(reason: str, option: str) -> Finding:
    """Return a finding that an option would let pass."""
    flag = option.replace("_", "-")
    hint = f"noisesense gate --{flag}, in Python {option}=, allows more"
    return Finding("not measured", f"{reason} ({hint})")


def _shares(claims: Partition, least: float | None, most: float | None) -> Iterator[Finding]:
    """Yield a finding for each share beyond its limit, or that open verdicts may bring there.

    ``least`` is the lowest share of correct claims, ``most`` the highest of hallucinated ones.
    """
    total = counted(claims.total, "claim")
    if least is not None:
        reason = (
            f"{claims.correct:,} of {total} are correct, and at least {percent_text(least)} "
            "have to be"
        )
        if (claims.correct + claims.undetermined) / claims.total < least:
            yield Finding("fail", reason)
        elif claims.correct / claims.total < least:
            yield Finding("undecided", reason)
    if most is not None:
        reason = (
            f"{claims.hallucination:,} of {total} are in neither the reference nor a chunk, and "
            f"at most {percent_text(most)} may be"
        )
        if claims.hallucination / claims.total > most:
            yield Finding("fail", reason)
        elif (claims.hallucination + claims.undetermined) / claims.total > most:
            yield Finding("undecided", reason)


def _value(
    summary: Summary, mode: Mode, limit: float, *, by_interval: bool, unsure: RunOutcome
) -> Iterator[Finding]:
    """Yield a finding unless the mean is within the limit.

    ``unsure`` is the outcome where the interval holds the limit.
    """
    figures = summary.mode(mode)
    if figures is None or figures.mean is None:
        yield Finding("not measured", f"the {mode} mean is undefined")
        return
    if by_interval and figures.interval is None:
        reason = f"the {mode} mean has no interval: it needs two samples or clusters"
        yield Finding("undecided", reason)
        return
    interval = figures.interval if by_interval else None
    outcome = gate(figures.mean, limit, interval=interval)
    mean = extent_beside(limit, figures.mean)
    if outcome == "fail":
        beside = "" if interval is None else f" (interval {extent_beside(limit, interval[:2])})"
        yield Finding("fail", f"the {mode} mean, {mean}{beside}, is above {limit:g}")
    elif outcome == "undecided":
        between = mean.replace(" to ", " and ")
        yield Finding(
            "undecided",
            f"the {mode} mean lies between {between}; whether it is above {limit:g} depends on "
            "verdicts that the judge left open",
        )
    elif outcome == "warn" and interval is not None:
        unit = "sample" if summary.clusters is None else "cluster"
        ends = extent_beside(limit, interval[:2])
        yield Finding(
            unsure,
            f"{counted(interval.units, unit)} are too few to tell whether the {mode} mean is "
            f"above {limit:g}: here it is {mean}, and its interval, {ends}, holds {limit:g}",
        )
