"""Results are frozen dataclasses: one `to_dict` for all of them, and both modes by name."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast

from noisesense.scoring.definitions import Mode

M = TypeVar("M")


class Range(NamedTuple):
    """A figure that open verdicts may leave open: whichever way they fall, it lies between.

    Attributes:
        low: the lowest value that it can have.
        high: the highest.
    """

    low: float
    high: float

    @property
    def value(self) -> float | None:
        """The figure, where the two ends meet; None where they do not."""
        return self.low if self.low == self.high else None

    def minus(self, other: Range) -> Range:
        """Between what the difference lies."""
        return Range(self.low - other.high, self.high - other.low)

    def over(self, parts: float) -> Range:
        """Between what one of so many parts lies."""
        return Range(self.low / parts, self.high / parts)

    @property
    def absolute(self) -> Range:
        """Between what the absolute value lies."""
        return Range(max(0.0, self.low, -self.high), max(self.high, -self.low))


def extent(ends: tuple[float, float], form: str = ".3f") -> str:
    """A figure between two ends as text: one number where they meet."""
    low, high = (f"{end:{form}}" for end in ends)
    return low if ends[0] == ends[1] else f"{low} to {high}"


class Record:
    """Base of the results."""

    _derived: ClassVar[tuple[str, ...]] = ()
    """Properties that `to_dict` gives beside the fields."""

    def to_dict(self) -> dict[str, Any]:
        """Everything above as plain JSON-ready data."""
        names = [*(field.name for field in fields(cast(Any, self))), *self._derived]
        return {name: as_data(getattr(self, name)) for name in names}


def as_data(value: Any) -> Any:
    """JSON-ready: dataclasses and named tuples become objects, numbers as keys become texts."""
    if isinstance(value, Record):
        return value.to_dict()
    if is_dataclass(value):
        return {field.name: as_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        entries = cast("dict[object, object]", value)
        return {f"{k:g}" if isinstance(k, float) else k: as_data(v) for k, v in entries.items()}
    if isinstance(value, Range):
        return {"value": value.value, "low": value.low, "high": value.high}
    if isinstance(value, tuple):
        items = tuple(map(as_data, cast("tuple[object, ...]", value)))
        names: Any = getattr(cast(object, value), "_fields", None)
        return items if names is None else dict(zip(names, items, strict=True))
    return value


class BothModes(Generic[M]):
    """Base of the results that have a part for each mode."""

    relevant: M | None
    irrelevant: M | None

    def mode(self, mode: Mode) -> M | None:
        """One mode's part; None if the definition has no such mode, or nothing was scored."""
        return self.relevant if mode == "relevant" else self.irrelevant
