"""One gate for every host: what passes, what fails, and what the verdicts do not decide."""

from __future__ import annotations

from numbers import Real
from typing import Literal

from noisesense.errors import InputError, describe

GateOutcome = Literal["pass", "fail", "undecided", "undefined"]


def gate(bounds: tuple[float, float] | None, limit: float) -> GateOutcome:
    """Does a score, or the mean of many, stay within a limit? Lower is better.

    ``"pass"`` if ``high <= limit``, ``"fail"`` if ``low > limit``, else ``"undecided"``: some
    completions of the undetermined verdicts pass and others do not. Only ``"pass"`` is a pass.
    ``"undefined"`` where there is nothing to measure (no bounds).

    Args:
        bounds: the lowest and the highest value, as `Score.bounds` gives them.
        limit: the highest value that passes, 0 to 1.

    Raises:
        InputError: a limit that is no number from 0 to 1.
    """
    check_limit(limit)
    if bounds is None:
        return "undefined"
    low, high = bounds
    if high <= limit:
        return "pass"
    return "fail" if low > limit else "undecided"


def check_limit(limit: float, where: str = "limit") -> float:
    """The limit, if a score can be above or below it. Raises `InputError`."""
    if not isinstance(limit, Real) or isinstance(limit, bool) or not 0 <= limit <= 1:
        raise InputError("a number from 0 to 1", describe(limit), where=where)
    return limit
