"""One gate for every host: what passes, what fails, and what the verdicts do not decide."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

from noisesense.errors import InputError, describe

GateOutcome = Literal["pass", "fail", "warn", "undecided", "undefined"]


def gate(
    bounds: tuple[float, float] | None,
    limit: float,
    *,
    interval: Sequence[Any] | None = None,
) -> GateOutcome:
    """Does a score, or the mean of many, stay within a limit? Lower is better.

    ``"pass"`` if ``high <= limit``, ``"fail"`` if ``low > limit``, else ``"undecided"``: some
    completions of the undetermined verdicts pass and others do not. Only ``"pass"`` is a pass.
    ``"undefined"`` where there is nothing to measure (no bounds).

    A mean near the limit passes and fails by turns, as other samples or another judging would put
    it. With its confidence interval the gate passes and fails only what the interval decides:
    ``"pass"`` if its upper end is within the limit, ``"fail"`` if its lower end is above, else
    ``"warn"``: the samples do not decide. What open verdicts leave open stays ``"undecided"``.

    Args:
        bounds: the lowest and the highest value, as `Score.bounds` gives them.
        limit: the highest value that passes, 0 to 1.
        interval: of the mean, low end first, e.g. `ModeSummary.interval`; by default the bounds
            alone count.

    Raises:
        InputError: a limit that is no number from 0 to 1.
    """
    check_limit(limit)
    if bounds is None:
        return "undefined"
    by_bounds = _side(bounds[0], bounds[1], limit)
    if interval is None or by_bounds is None:
        # An interval covers the bounds: what they do not decide, it does not either.
        return by_bounds or "undecided"
    return _side(interval[0], interval[1], limit) or "warn"


def _side(low: float, high: float, limit: float) -> Literal["pass", "fail"] | None:
    if high <= limit:
        return "pass"
    return "fail" if low > limit else None


def check_limit(limit: float, where: str = "limit") -> float:
    """The limit, if a score can be above or below it. Raises `InputError`."""
    if not isinstance(limit, Real) or isinstance(limit, bool) or not 0 <= limit <= 1:
        raise InputError("a number from 0 to 1", describe(limit), where=where)
    return limit
