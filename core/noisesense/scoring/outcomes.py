"""The outcome of each response claim, counts of outcomes, and the gate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Real
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, cast

from noisesense.errors import InputError, describe
from noisesense.scoring.definitions import Category, Mode, Outcome
from noisesense.verdicts.form import ChunkForm

M = TypeVar("M")


class Range(NamedTuple):
    """What a figure may be, however the undetermined verdicts fall.

    Attributes:
        low: the lowest possible value.
        high: the highest.
    """

    low: float
    high: float

    def __str__(self) -> str:
        return extent(self)

    @property
    def value(self) -> float | None:
        """The figure if both ends are equal, else None."""
        return self.low if self.low == self.high else None

    def minus(self, other: Range) -> Range:
        """Range of the difference, if both vary freely: ``r.minus(r)`` is not always 0."""
        return Range(self.low - other.high, self.high - other.low)

    def over(self, parts: float) -> Range:
        """Both ends divided by a number above 0."""
        return Range(self.low / parts, self.high / parts)

    @property
    def absolute(self) -> Range:
        """Range of the absolute value."""
        return Range(max(0.0, self.low, -self.high), max(self.high, -self.low))


def extent(ends: tuple[float, float], form: str = ".3f") -> str:
    """Return a range as text; one number if both ends are equal, two if they only look so."""
    low, high = ends
    text = number_text(low, form)
    if low == high:
        return text
    return f"{text} to {number_text(high, form)}"


def extent_beside(limit: float, ends: tuple[float, float]) -> str:
    """Return a range with 4 decimals, or as many, up to 12, as show that an end is not the limit.

    The limit is compared with the size of an end, without its sign.
    """
    decimals = 4
    for end in ends:
        size = abs(end)
        while size != limit and round(size, decimals) == limit and decimals < 12:
            decimals += 1
    return extent(ends, f".{decimals}f")


def number_text(value: float, form: str) -> str:
    """Return a number as text; what rounds to 0 has no minus."""
    text = f"{value:{form}}"
    is_zero = not text.strip("+-0.%")
    return f"{0.0:{form}}" if is_zero else text


def percent_text(share: float) -> str:
    """Return a share in percent, with up to ten digits: 0.995 is ``99.5%`` and 0.5 is ``50%``."""
    return f"{100 * share:.10g}%"


class Record:
    """Base of the results."""

    _derived: ClassVar[tuple[str, ...]] = ()
    """Properties that `to_dict` adds to the fields."""

    def to_dict(self) -> dict[str, Any]:
        """Return the public fields, and derived figures, as JSON-ready data."""
        data: dict[str, Any] = as_data(self)
        return data


def as_data(value: Any) -> Any:
    """Return data with dataclasses and named tuples as dicts, and lists as tuples, at any depth.

    A `Range` gets its ``value``, too; a `Record` what it derives; a dataclass loses its private
    fields. All else is returned as it is.
    """
    if isinstance(value, Range):
        return {"value": value.value, **value._asdict()}
    if is_dataclass(value):
        value = _public_fields(value)
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        entries = cast("dict[object, object]", value)
        return {key: as_data(entry) for key, entry in entries.items()}
    if isinstance(value, (tuple, list)):
        return tuple(map(as_data, cast("tuple[object, ...]", value)))
    return value


def _public_fields(record: Any) -> dict[str, Any]:
    """Return a dataclass's public fields, and the properties that ``_derived`` names."""
    names = [each.name for each in fields(record)]
    names += getattr(record, "_derived", ())
    public: dict[str, Any] = {}
    for name in names:
        if not name.startswith("_"):
            public[name] = getattr(record, name)
    return public


class BothModes(Generic[M]):
    """Base of the results that have a part for each mode."""

    relevant: M | None
    irrelevant: M | None

    def mode(self, mode: Mode) -> M | None:
        """Return one mode's part; None without such a mode, or if nothing was scored.

        The name is not checked: any other than ``"relevant"`` gives the irrelevant part.
        """
        return self.relevant if mode == "relevant" else self.irrelevant

    @property
    def modes(self) -> tuple[M, ...]:
        """The parts (not the names) of the modes that have one, the relevant mode's first."""
        return tuple(part for part in (self.relevant, self.irrelevant) if part is not None)


_MAX_TEXT = 120
_WRONG = "is not supported by the reference"


class Partition(NamedTuple):
    """How many response claims are of each kind, whatever the definition.

    The five counts add up to the number of response claims.
    """

    correct: int
    relevant: int
    """Incorrect and entailed by a relevant chunk."""
    irrelevant: int
    """Incorrect, entailed by an irrelevant chunk and by no relevant one."""
    hallucination: int
    """Incorrect and entailed by no chunk."""
    undetermined: int
    """Several of the above are possible."""

    @staticmethod
    def of(outcomes: Iterable[Outcome]) -> Partition:
        """Count the claims by kind."""
        categories: list[str] = [outcome.category for outcome in outcomes]
        counts = [categories.count(category) for category in Partition._fields]
        return Partition(*counts)

    @property
    def total(self) -> int:
        """The number of response claims."""
        return sum(self)

    def share(self, category: Category) -> float | None:
        """Return the share of the response claims of this kind, 0 to 1; None without claims."""
        return getattr(self, category) / self.total if self.total else None


Counted = Mode | Literal["from_a_chunk"]
"""What may be counted of claims: a field of `Outcome`."""


class Counts(NamedTuple):
    """What one mode counted: ``noisy <= determined <= total`` response claims."""

    noisy: int
    determined: int
    total: int

    @staticmethod
    def of(outcomes: Iterable[Outcome], what: Counted) -> Counts:
        """Count the claims of which ``what`` is True, those of which it is not None, and all."""
        truths = [getattr(outcome, what) for outcome in outcomes]
        total = len(truths)
        return Counts(truths.count(True), total - truths.count(None), total)

    @property
    def undetermined(self) -> int:
        """How many claims may or may not count."""
        return self.total - self.determined

    @property
    def highest(self) -> int:
        """How many claims count if all that are undetermined do."""
        return self.noisy + self.undetermined

    @property
    def bounds(self) -> Range:
        """The lowest and the highest share; without claims they are 0, by convention."""
        if not self.total:
            return Range(0.0, 0.0)
        low = self.noisy / self.total
        if self.determined == self.total:
            return Range(low, low)
        return Range(low, self.highest / self.total)


@dataclass(frozen=True)
class ClaimOutcome(Record):
    """The outcome of one response claim, with the chunks that explain it (zero-based)."""

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
    unlabeled_chunks: tuple[int, ...]
    """Chunks that entail it and whose relevance is undetermined."""
    undetermined_chunks: tuple[int, ...]
    """Chunks of which it is undetermined whether they entail it."""
    _chunks: Sequence[ChunkForm] = field(default=(), repr=False, compare=False)
    """Those retrieved, whose documents the sentence names; empty if they are not listed."""

    @property
    def sentence(self) -> str:
        """In words, e.g. ``Claim 0 "…" is supported by the reference.``

        It says the category, whatever the definition counts. A text is cut to 120 characters; an
        empty one is left out. Claims and chunks are counted from 0. A chunk with an id is named by
        it, too: ``irrelevant chunk 1 (policies_2021.pdf)``.
        """
        text = f' "{_short(self.text)}"' if self.text.strip() else ""
        return f"Claim {self.index}{text} {self._outcome()}."

    def _outcome(self) -> str:
        """Return the end of the sentence: what became of the claim."""
        if self.category == "correct":
            return "is supported by the reference"
        if self.category == "hallucination":
            return f"{_WRONG}, and no retrieved chunk entails it"
        if self.category == "irrelevant":
            return f"{_WRONG} and comes from irrelevant {self._named(self.irrelevant_chunks)}"
        if self.category == "relevant":
            source = f"{_WRONG} and comes from relevant {self._named(self.relevant_chunks)}"
            if not self.irrelevant_chunks:
                return source
            return f"{source}, also from irrelevant {self._named(self.irrelevant_chunks)}"
        missing: list[str] = []
        if self.correct is None:
            missing.append("whether the reference entails it")
        if self.undetermined_chunks:
            missing.append(f"whether it comes from {self._named(self.undetermined_chunks)}")
        if self.unlabeled_chunks:
            missing.append(f"the relevance of {self._named(self.unlabeled_chunks)}")
        return f"is undetermined: there is no verdict on {' nor on '.join(missing)}"

    def _named(self, positions: tuple[int, ...]) -> str:
        """Return e.g. ``chunks 0 and 2 (old.pdf)``: at least one position, each with its id."""
        names = [_chunk_name(position, self._chunks) for position in positions]
        if len(names) == 1:
            return f"chunk {names[0]}"
        return f"chunks {', '.join(names[:-1])} and {names[-1]}"


def _chunk_name(position: int, chunks: Sequence[ChunkForm]) -> str:
    """Return a chunk's position, and its id in brackets, if it has one."""
    document = chunks[position].id if chunks else None
    return f"{position} ({_short(document)})" if document else str(position)


def _short(text: str) -> str:
    """Return the text in one line, cut to 120 characters."""
    text = " ".join(text.split())
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"


GateOutcome = Literal["pass", "fail", "warn", "undecided", "undefined"]


def gate(
    bounds: tuple[float, float] | None, limit: float, *, interval: Sequence[Any] | None = None
) -> GateOutcome:
    """Decide whether a score, or the mean of many, stays within a limit. Lower is better.

    ``"pass"`` if ``high <= limit``, ``"fail"`` if ``low > limit``, else ``"undecided"``: the
    undetermined verdicts decide. Only ``"pass"`` is a pass. ``"undefined"`` without bounds: there
    is nothing to measure.

    Other samples, or another judging, can move a mean across the limit. With its confidence
    interval the gate decides only what the interval decides: ``"pass"`` if its upper end is
    within the limit, ``"fail"`` if its lower end is above, else ``"warn"``. What the bounds leave
    open stays ``"undecided"``.

    Args:
        bounds: the lowest and the highest value, as `Score.bounds` gives them.
        limit: the highest value that passes, 0 to 1.
        interval: the confidence interval of the mean, low end first, e.g.
            `ModeSummary.interval`; by default the bounds alone decide.

    Raises:
        InputError: a limit that is no number from 0 to 1.
    """
    check_limit(limit)
    if bounds is None:
        return "undefined"
    by_bounds = _side(bounds, limit)
    if by_bounds is None:
        # The interval covers the bounds, so it does not decide either.
        return "undecided"
    if interval is None:
        return by_bounds
    by_interval = _side(interval, limit)
    return "warn" if by_interval is None else by_interval


def _side(ends: Sequence[Any], limit: float) -> Literal["pass", "fail"] | None:
    """Return on which side of the limit both ends are; None if it is between them."""
    if ends[1] <= limit:
        return "pass"
    return "fail" if ends[0] > limit else None


def check_between(number: float, where: str) -> None:
    """Raise `InputError` unless it is a number between 0 and 1, and neither of them."""
    if not isinstance(number, Real) or not 0 < number < 1:
        raise InputError("a number above 0 and below 1", describe(number), where=where)


def check_limit(limit: float, where: str = "limit") -> float:
    """Return the limit, if it is a number from 0 to 1. Raises `InputError`."""
    if not isinstance(limit, Real) or isinstance(limit, bool) or not 0 <= limit <= 1:
        raise InputError("a number from 0 to 1", describe(limit), where=where)
    return limit
