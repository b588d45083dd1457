"""Which samples changed from version A to version B."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from noisesense.scoring.definitions import MODES, Mode
from noisesense.scoring.outcomes import Range, Record


@dataclass(frozen=True)
class SampleChange(Record):
    """A sample with another value, or other open verdicts.

    Attributes:
        id: A's name for it.
        a: A's value in each mode; None where it is undefined.
        b: B's.
    """

    id: str
    a: dict[Mode, Range | None]
    b: dict[Mode, Range | None]

    def apart(self, mode: Mode) -> float:
        """How far the values are apart whichever way the open verdicts fall; 0 if one is None."""
        a = self.a[mode]
        b = self.b[mode]
        if a is None or b is None:
            return 0.0
        return b.minus(a).absolute.low


def largest_first(changes: Iterable[SampleChange]) -> tuple[SampleChange, ...]:
    """Return the samples in which something changed, those that changed most first."""
    changed = [change for change in changes if change.a != change.b]
    return tuple(sorted(changed, key=_rank))


def _rank(change: SampleChange) -> tuple[float, str]:
    return -max(map(change.apart, MODES)), change.id
