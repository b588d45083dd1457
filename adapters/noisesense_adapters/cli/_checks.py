"""What a command checks after it has shown its figures, and the exit statuses that say so."""

from __future__ import annotations

from noisesense import Summary, gate, gating
from noisesense.definitions import MODES, Mode
from noisesense_adapters.cli._output import console, show_lines
from noisesense_adapters.cli._summary import extent

__all__ = [
    "ABOVE",
    "SOME_FAILED",
    "UNANSWERED",
    "UNDECIDED",
    "check_answers",
    "check_gate",
    "check_limit",
    "tell",
    "worst",
]

# 2 is an error, 6 runs that cannot be paired, 130 an interrupt: see `main`.
ABOVE = 1
"""A mean is above the limit, or B is worse."""
SOME_FAILED = 3
"""Some samples failed, or some lines could not be read."""
UNDECIDED = 4
"""The data do not decide a check."""
UNANSWERED = 5
"""Too many verdicts have no answer."""

_GRAVEST_FIRST = (ABOVE, UNDECIDED, UNANSWERED, SOME_FAILED)


def worst(*statuses: int) -> int:
    """The gravest of the statuses; 0 if all are."""
    return min((each for each in statuses if each), key=_GRAVEST_FIRST.index, default=0)


def check_limit(limit: float | None) -> None:
    """Raise `InputError` if no score could be above or below it."""
    if limit is not None:
        gating.check_limit(limit, "--fail-above")


def check_gate(summary: Summary, limit: float | None, mode: Mode | None, name: str = "") -> int:
    """``--fail-above``: the exit status, and on stderr why it is not 0.

    By `noisesense.gate` on the range of each mean. A mean that is undefined is no pass.
    """
    if limit is None:
        return 0
    statuses: list[int] = []
    for each in MODES if mode is None else (mode,):
        figures = summary.mode(each)
        if figures is None and mode is None and summary.scored:
            continue  # the definition has no such mode
        bounds = None if figures is None else figures.bounds
        outcome, what = gate(bounds, limit), f"the {each} mean{name}"
        if outcome == "pass":
            continue
        statuses.append(ABOVE if outcome == "fail" else UNDECIDED)
        if bounds is None:
            tell(f"cannot be decided: {what} is undefined")
        elif outcome == "fail":
            tell(f"check failed: {what}, {extent(bounds)}, is above {limit:g}")
        else:
            tell(
                f"cannot be decided: {what} lies between {bounds[0]:.4f} and {bounds[1]:.4f}; "
                f"what the judge left open decides whether it is above {limit:g}"
            )
    return worst(*statuses)


def check_answers(summary: Summary, most: float, *, judged: bool, name: str = "") -> int:
    """``--max-unanswered``: the exit status, and on stderr why it is not 0.

    A model that found no claim in any response answered nothing, too.
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


def tell(line: str) -> None:
    """A line on stderr."""
    show_lines(console(stderr=True), [line])
