"""What became of the response claims, one by one, by kind and by mode; and what passes a gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from numbers import Real
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, cast

from noisesense.errors import InputError, describe
from noisesense.scoring.definitions import OUTCOMES, TRUTHS, Category, Mode, Outcome

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
        data: dict[str, Any] = as_data(self)
        return data


def as_data(value: Any) -> Any:
    """JSON-ready: dataclasses and named tuples become objects, numbers as keys become texts."""
    if isinstance(value, Range):
        return {"value": value.value, **value._asdict()}
    if is_dataclass(value):
        names = [*(field.name for field in fields(value)), *getattr(value, "_derived", ())]
        value = {name: getattr(value, name) for name in names}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        entries = cast("dict[object, object]", value)
        return {f"{k:g}" if isinstance(k, float) else k: as_data(v) for k, v in entries.items()}
    if isinstance(value, (tuple, list)):
        return tuple(map(as_data, cast("tuple[object, ...]", value)))
    return value


class BothModes(Generic[M]):
    """Base of the results that have a part for each mode."""

    relevant: M | None
    irrelevant: M | None

    def mode(self, mode: Mode) -> M | None:
        """One mode's part; None if the definition has no such mode, or nothing was scored."""
        return self.relevant if mode == "relevant" else self.irrelevant


_MAX_TEXT = 120
_WRONG = "is not supported by the reference"


class Partition(NamedTuple):
    """How many response claims are of each kind; the five add up to the number of claims.

    The partition does not depend on the definition.
    """

    correct: int
    relevant: int
    """Incorrect and entailed by a relevant chunk."""
    irrelevant: int
    """Incorrect, entailed by an irrelevant chunk and by no relevant one."""
    hallucination: int
    """Incorrect and entailed by no chunk."""
    undetermined: int
    """More than one of the above is still possible."""

    @staticmethod
    def of(outcomes: bytes) -> Partition:
        """Counts the claims by kind; a byte is a claim's number in `OUTCOMES`."""
        kinds = outcomes.translate(_PLACES["category"])
        return Partition(*map(kinds.count, range(len(Partition._fields))))

    @property
    def total(self) -> int:
        """The number of response claims."""
        return sum(self)

    def share(self, category: Category) -> float | None:
        """The part of all response claims that is of this kind; None without claims."""
        return getattr(self, category) / self.total if self.total else None


class Counts(NamedTuple):
    """What one mode counted: ``noisy <= determined <= total`` response claims."""

    noisy: int
    determined: int
    total: int

    @staticmethod
    def of(outcomes: bytes, what: Mode | Literal["from_a_chunk"]) -> Counts:
        """Counts the claims of which it holds; a byte is a claim's number in `OUTCOMES`."""
        holds = outcomes.translate(_PLACES[what])
        return Counts(holds.count(_TRUE), len(holds) - holds.count(_OPEN), len(holds))

    @property
    def undetermined(self) -> int:
        """Claims of which it is not known whether they count."""
        return self.total - self.determined

    @property
    def highest(self) -> int:
        """The claims counted if all that are undetermined count."""
        return self.noisy + self.undetermined

    @property
    def bounds(self) -> Range:
        """The lowest and the highest share; without claims they are 0, by convention."""
        noisy, determined, total = self
        if not total:
            return Range(0.0, 0.0)
        return Range(noisy / total, (noisy + total - determined) / total)


def _places(field: str) -> bytes:
    """For `bytes.translate`: from an outcome's number to the place of the field's value."""
    values: tuple[object, ...] = Partition._fields if field == "category" else TRUTHS
    return bytes(values.index(getattr(outcome, field)) for outcome in OUTCOMES).ljust(256)


_PLACES = {field: _places(field) for field in Outcome._fields}
_TRUE, _OPEN = TRUTHS.index(True), TRUTHS.index(None)


@dataclass(frozen=True)
class ClaimOutcome(Record):
    """What became of one response claim, with the chunks that explain it (zero-based)."""

    _derived = ("sentence",)

    index: int
    text: str
    category: Category
    correct: bool | None
    relevant: bool | None
    """Counted by the relevant mode of the score's definition? None: undetermined."""
    irrelevant: bool | None
    """Counted by the irrelevant mode? None: undetermined, or the definition has no such mode."""
    from_a_chunk: bool | None
    """Incorrect and entailed by a chunk, relevant or not? None: undetermined."""
    relevant_chunks: tuple[int, ...]
    """Relevant chunks that entail it."""
    irrelevant_chunks: tuple[int, ...]
    """Irrelevant chunks that entail it."""
    unlabelled_chunks: tuple[int, ...]
    """Chunks that entail it and whose relevance is undetermined."""
    undetermined_chunks: tuple[int, ...]
    """Chunks of which it is undetermined whether they entail it."""

    @property
    def sentence(self) -> str:
        """In words, e.g. ``Claim 1 "…" is supported by the reference.``"""
        return f"{_name(self)} {_outcome(self)}."


def _outcome(claim: ClaimOutcome) -> str:
    if claim.category == "correct":
        return "is supported by the reference"
    if claim.category == "hallucination":
        return f"{_WRONG}, and no retrieved chunk entails it"
    if claim.category == "irrelevant":
        return f"{_WRONG} and comes from irrelevant {_chunks(claim.irrelevant_chunks)}"
    if claim.category == "relevant":
        source = f"{_WRONG} and comes from relevant {_chunks(claim.relevant_chunks)}"
        also = claim.irrelevant_chunks
        return f"{source}, also from irrelevant {_chunks(also)}" if also else source
    gaps = [
        "whether the reference entails it" if claim.correct is None else "",
        _whether(claim.undetermined_chunks, "entails it", "entail it"),
        _whether(claim.unlabelled_chunks, "is relevant", "are relevant"),
    ]
    return f"is undetermined: there is no verdict on {' nor on '.join(filter(None, gaps))}"


def _whether(chunks: tuple[int, ...], one: str, many: str) -> str:
    return f"whether {_chunks(chunks)} {one if len(chunks) == 1 else many}" if chunks else ""


def _name(claim: ClaimOutcome) -> str:
    text = " ".join(claim.text.split())
    if len(text) > _MAX_TEXT:
        text = text[: _MAX_TEXT - 1] + "…"
    return f'Claim {claim.index} "{text}"' if text else f"Claim {claim.index}"


def _chunks(positions: tuple[int, ...]) -> str:
    if len(positions) == 1:
        return f"chunk {positions[0]}"
    return f"chunks {', '.join(map(str, positions[:-1]))} and {positions[-1]}"


GateOutcome = Literal["pass", "fail", "warn", "undecided", "undefined"]


def gate(
    bounds: tuple[float, float] | None, limit: float, *, interval: Sequence[Any] | None = None
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
    by_bounds = _side(bounds, limit)
    if interval is None or by_bounds is None:
        # An interval covers the bounds: what they do not decide, it does not either.
        return by_bounds or "undecided"
    return _side(interval, limit) or "warn"


def _side(ends: Sequence[Any], limit: float) -> Literal["pass", "fail"] | None:
    if ends[1] <= limit:
        return "pass"
    return "fail" if ends[0] > limit else None


def check_limit(limit: float, where: str = "limit") -> float:
    """The limit, if a score can be above or below it. Raises `InputError`."""
    if not isinstance(limit, Real) or isinstance(limit, bool) or not 0 <= limit <= 1:
        raise InputError("a number from 0 to 1", describe(limit), where=where)
    return limit
