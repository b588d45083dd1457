"""What a run is checked for, and the exit statuses that say what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

from noisesense import InputError, Summary, gate
from noisesense.scoring.definitions import MODES, Mode, check_mode
from noisesense.scoring.outcomes import check_limit as check_bound
from noisesense_adapters.cli.options import SOME_FAILED
from noisesense_adapters.cli.output import extent, span, tell

_gate = partial(typer.Option, rich_help_panel="Checks")
FailAbove = Annotated[
    float | None,
    _gate(
        metavar="X",
        help="Exit with status 1 if a mean is above X, and with 4 if that cannot be decided: X "
        "lies inside the mean's range, or there is no mean.",
    ),
]
Confidence = Annotated[
    float | None,
    _gate(
        metavar="C",
        help="Let --fail-above fail only what is above X with this confidence, e.g. 0.95, and "
        "warn where the interval holds X. It is also the confidence of the intervals.",
    ),
]
ModeOption = Annotated[
    str | None,
    _gate(metavar="relevant|irrelevant", help="Check only this mode.  [default: both]"),
]
MaxUnanswered = Annotated[
    float,
    _gate(
        min=0,
        max=1,
        metavar="SHARE",
        help="Exit with status 5 if more than this share of the verdicts that the score needs "
        "have no answer.",
    ),
]

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


def check_limit(limit: float | None, confidence: float | None = None) -> None:
    """Raise `InputError` if the limit or the confidence is out of range."""
    if limit is not None:
        check_bound(limit, "--fail-above")
    if confidence is not None and not 0 < confidence < 1:
        raise InputError("a number between 0 and 1", f"{confidence:g}", where="--confidence")


def check_gate(
    summary: Summary,
    limit: float | None,
    mode: Mode | None,
    name: str = "",
    *,
    confident: bool = False,
) -> int:
    """``--fail-above``: the exit status, and on stderr why it is not 0, or what is doubtful.

    By `noisesense.gate` on the range of each mean, with ``confident`` on its interval. A mean
    that is undefined does not pass, nor one without an interval where that is asked for.
    """
    if limit is None:
        return 0
    statuses: list[int] = []
    for each in MODES if mode is None else (mode,):
        figures = summary.mode(each)
        if figures is None and mode is None and summary.scored:
            continue  # the definition has no such mode
        bounds = None if figures is None else figures.mean
        interval = figures.interval if figures is not None and confident else None
        outcome, mean = gate(bounds, limit, interval=interval), f"the {each} mean{name}"
        if confident and bounds is not None and interval is None:
            statuses.append(UNDECIDED)
            tell(f"cannot be decided: {mean} has no interval: it needs two samples or more")
            continue
        if outcome == "pass":
            continue
        between = "" if interval is None else f" (interval {span(interval)})"
        if outcome == "warn":
            tell(
                f"warning: {mean}, {extent(bounds)}{between}, is too near {limit:g} to say on "
                "which side it is; more samples would decide it"
            )
            continue
        statuses.append(ABOVE if outcome == "fail" else UNDECIDED)
        if bounds is None:
            tell(f"cannot be decided: {mean} is undefined")
        elif outcome == "fail":
            tell(f"check failed: {mean}, {extent(bounds)}{between}, is above {limit:g}")
        else:
            tell(
                f"cannot be decided: {mean} lies between {bounds[0]:.4f} and {bounds[1]:.4f}; "
                f"whether it is above {limit:g} depends on verdicts that the judge left open"
            )
    return worst(*statuses)


def check_answers(summary: Summary, most: float, *, judged: bool, name: str = "") -> int:
    """``--max-unanswered``: the exit status, and on stderr why it is not 0.

    A model that found no claim in any response has answered nothing either.
    """
    share = summary.unanswered_share
    if share is not None and share > most:
        tell(
            f"too many verdicts have no answer{name}: {summary.open_cells:,} of "
            f"{summary.needed_cells:,} that the score needs ({share:.1%}); "
            f"--max-unanswered allows {most:.1%}"
        )
        return UNANSWERED
    if judged and summary.scored and summary.empty == summary.scored:
        tell("the model found no claim in any response: nothing was measured")
        return UNANSWERED
    return 0


@dataclass(frozen=True)
class Gate:
    """What a run is checked for."""

    fail_above: FailAbove = None
    confidence: Confidence = None
    mode: ModeOption = None
    max_unanswered: MaxUnanswered = 0.05

    @property
    def level(self) -> float:
        """The confidence of the intervals."""
        return self.confidence or 0.95

    @property
    def checked(self) -> Mode | None:
        """The one mode to check. Raises `InputError`."""
        check_limit(self.fail_above, self.confidence)
        return None if self.mode is None else check_mode(self.mode)

    def status(self, summary: Summary, name: str = "", *, judged: bool = False) -> int:
        """The exit status of all checks; stderr says why it is not 0."""
        above = check_gate(
            summary, self.fail_above, self.checked, name, confident=self.confidence is not None
        )
        unanswered = check_answers(summary, self.max_unanswered, judged=judged, name=name)
        return worst(above, unanswered)
