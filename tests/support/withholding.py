"""Ways in which a judge withholds or spoils verdicts, and what must come of each in every host.

::

    with ScriptedServer(mind(), script=script) as server: ...
    for case in CASES: ...  # each sample under each way: the texts of a case name its way

One server misbehaves in every way at once, since the texts in a prompt say which case it is
about. What must come of a case is computed, never typed in: the verdicts that the judge does not
give are completed in every way that is possible, and each completion is scored by the words of
the definition (`support.plain_definitions`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

import pytest

from noisesense import Matrices, Mode, Sample, Verdicts
from support import misbehavior as bad
from support.mind import Mind, data_of, items_of, reply_of
from support.misbehavior import Misbehavior
from support.plain_definitions import by_words, completions
from support.tables import sample_of

LIMIT = 0.2
DEFINITION = "ragas"
_REFERENCE = -1  # in place of a chunk's position
Items = list[dict[str, Any]]


class Cell(NamedTuple):
    """One verdict: does the premise entail the claim?"""

    premise: int
    """A chunk's position, or `_REFERENCE`."""
    of: Literal["response", "reference"]
    claim: int
    holds: bool
    id: str
    """The same in every run."""

    @property
    def of_chunk(self) -> bool:
        return self.premise != _REFERENCE


@dataclass(frozen=True, eq=False)
class Way:
    """How verdicts stay away, whenever and however often they are asked for.

    Attributes:
        withholds: the verdicts that never come in a usable form.
        spoil: from a reply's true verdicts and from those of them that are withheld to what the
            model says; or what becomes of a reply in which any is withheld (then all are).
        lists: whose list of claims is unusable.
    """

    id: str
    withholds: Callable[[Cell], bool] = lambda cell: False
    spoil: Callable[[Items, Items], Items] | Misbehavior = bad.INVALID_JSON
    lists: frozenset[str] = frozenset()


def _left_out(items: Items, withheld: Items) -> Items:
    return [item for item in items if item not in withheld]


def _both_ways(items: Items, withheld: Items) -> Items:
    return [*items, *({**item, "entailed": not item["entailed"]} for item in withheld)]


def _null(items: Items, withheld: Items) -> Items:
    return [{**item, "entailed": None} if item in withheld else item for item in items]


def _shifted(items: Items, withheld: Items) -> Items:
    return [{**item, "id": item["id"] + 1} for item in items]


def _one_in_five(cell: Cell) -> bool:
    return hashlib.sha256(f"seed 9, {cell.id}".encode()).digest()[0] < 256 / 5


_PROSE = bad.says("As a language model I would rather talk about something else.")

NOTHING = "nothing usable"
WAYS: tuple[Way, ...] = (
    Way("garbage for chunks", lambda cell: cell.of_chunk, _PROSE),
    Way("refusals for chunks", lambda cell: cell.of_chunk, bad.REFUSAL),
    Way("cut replies for chunks", lambda cell: cell.of_chunk, bad.TRUNCATED),
    Way("only yes for chunks", lambda cell: cell.of_chunk and not cell.holds, _left_out),
    Way("only no for chunks", lambda cell: cell.of_chunk and cell.holds, _left_out),
    Way("both yes and no for chunks", lambda cell: cell.of_chunk, _both_ways),
    Way("null for chunks", lambda cell: cell.of_chunk, _null),
    Way("shifted ids for chunks", lambda cell: cell.of_chunk, _shifted),
    Way("garbage for one chunk", lambda cell: cell.premise == 0, _PROSE),
    Way("garbage for correctness", lambda cell: not cell.of_chunk, _PROSE),
    Way("garbage for the reference's claims", lists=frozenset({"reference"})),
    Way(
        "one verdict on a reference claim left out",
        lambda cell: cell[:3] == (0, "reference", 0),
        _left_out,
    ),
    Way("one verdict in five left out", _one_in_five, _left_out),
    Way(NOTHING, lambda cell: True, _PROSE, frozenset({"response", "reference"})),
)


def _table(correct: str, response: str, reference: str) -> Matrices:
    """From ones and zeros: a word for each claim with a digit for each chunk."""

    def cells(word: str) -> list[bool | None]:
        return [digit == "1" for digit in word]

    return {
        "reference_to_response": cells(correct),
        "chunks_to_response": [cells(word) for word in response.split()],
        "chunks_to_reference": [cells(word) for word in reference.split()],
        "relevant": [None for _ in response.split()[0]],
    }


# By hand, under the default definition and with every verdict given: (relevant, irrelevant).
_TABLES: dict[str, Matrices] = {
    # Chunk 0 is relevant, twice over; it makes claim 1 wrong, and chunk 1 claim 2. (1/3, 1/3)
    "both": _table("100", "10 11 01", "10 10"),
    # (1/2, 0)
    "relevant": _table("10", "1 1", "1"),
    # (0, 1/2), whether or not chunk 0 is relevant.
    "irrelevant": _table("10", "10 01", "10"),
    # Everything is correct: (0, 0), whatever the chunks entail.
    "clean": _table("11", "10 01", "10"),
    # Claim 1 is wrong and comes from nowhere: (0, 0), but only the chunk can say so.
    "invented": _table("10", "1 0", "1"),
    # (1/5, 0): within the limit, whatever becomes of the one wrong claim.
    "at the limit": _table("11110", "1 1 0 1 1", "1"),
}


@dataclass(frozen=True)
class Expected:
    """What one mode of a case must come to.

    Attributes:
        truth: with every verdict given.
        value: the number that every completion gives, if they give one.
        bounds: the lowest and the highest number of any completion.
        passes: every completion is within `LIMIT`.
    """

    truth: float
    value: float | None
    bounds: tuple[float, float]
    passes: bool


@dataclass(frozen=True)
class Case:
    """One sample under one way. Its id stands in all its texts."""

    way: Way
    table: str

    @property
    def id(self) -> str:
        return f"{self.table}, {self.way.id}"

    @property
    def usable(self) -> bool:
        """Does the judge say enough for a score, be it an undetermined one?"""
        return "response" not in self.way.lists

    @property
    def verdicts(self) -> Verdicts:
        """All of them."""
        truth = _TABLES[self.table]
        return Verdicts.from_matrices(
            **truth,
            response_claims=[
                f"Claim {i} of ({self.id})." for i in range(len(truth["reference_to_response"]))
            ],
            reference_claims=[
                f"Fact {i} of ({self.id})." for i in range(len(truth["chunks_to_reference"] or []))
            ],
            chunks=[f"Passage {j} on ({self.id})." for j in range(len(truth["relevant"] or []))],
        )

    @property
    def sample(self) -> Sample:
        return sample_of(self.verdicts, f"What of ({self.id})?")

    def cell(self, premise: int, of: Any, claim: int) -> Cell:
        truth = _TABLES[self.table]
        if premise == _REFERENCE:
            holds = truth["reference_to_response"][claim]
        elif of == "response":
            holds = truth["chunks_to_response"][claim][premise]
        else:
            holds = (truth["chunks_to_reference"] or [])[claim][premise]
        return Cell(premise, of, claim, bool(holds), f"{self.id}: {premise} {of} {claim}")

    def said(self) -> Matrices:
        """The table as far as the judge tells it."""
        truth = _TABLES[self.table]
        chunks = range(len(truth["relevant"] or []))

        def told(premise: int, of: str, claim: int) -> bool | None:
            cell = self.cell(premise, of, claim)
            return None if self.way.withholds(cell) else cell.holds

        claims = range(len(truth["reference_to_response"]))
        facts = range(len(truth["chunks_to_reference"] or []))
        if "reference" in self.way.lists:
            facts = range(0)
        return {
            "reference_to_response": [told(_REFERENCE, "response", i) for i in claims],
            "chunks_to_response": [[told(j, "response", i) for j in chunks] for i in claims],
            "chunks_to_reference": [[told(j, "reference", i) for j in chunks] for i in facts],
            "relevant": [None for _ in chunks],
        }

    def expected(self, mode: Mode) -> Expected:
        return _expected(self, mode)


@cache
def _expected(case: Case, mode: Mode) -> Expected:
    truth = by_words(_TABLES[case.table], DEFINITION, mode)
    assert truth is not None
    if not case.usable:  # not even the number of claims is known
        return Expected(float(truth), None, (0.0, 1.0), passes=False)
    values = {by_words(table, DEFINITION, mode) for table in completions(case.said())}
    found = sorted(float(value) for value in values if value is not None)
    assert float(truth) in found
    return Expected(
        truth=float(truth),
        value=found[0] if len(found) == 1 else None,
        bounds=(found[0], found[-1]),
        passes=all(value <= LIMIT for value in found),
    )


CASES: tuple[Case, ...] = tuple(Case(way, table) for way in WAYS for table in _TABLES)

SOME: tuple[Case, ...] = tuple(
    case for number, case in enumerate(CASES) if sum(divmod(number, len(_TABLES))) % 3 == 0
)
"""Each way with two of the tables, each table with every third way."""

few_or_all = pytest.mark.parametrize(
    "cases",
    [pytest.param(SOME, id="some"), pytest.param(CASES, id="all", marks=pytest.mark.broad)],
)
"""For what takes seconds; the core and a model in the same process see all of them each time."""


def mind() -> Mind:
    """It knows everything; the script sees to what becomes of that."""
    return Mind([(case.sample, case.verdicts) for case in CASES])


class _Place(NamedTuple):
    case: Case
    list_of: str = ""
    premise: int = 0


@cache
def _places() -> dict[tuple[str, str], _Place]:
    """What a prompt is about, by what it asks for and its text."""
    found: dict[tuple[str, str], _Place] = {}
    for case in CASES:
        sample = case.sample
        found["text", sample.response] = _Place(case, list_of="response")
        found["text", sample.reference] = _Place(case, list_of="reference")
        found["premise", sample.reference] = _Place(case, premise=_REFERENCE)
        for j, chunk in enumerate(sample.retrieved_contexts):
            found["premise", chunk.text] = _Place(case, premise=j)
    return found


def script(index: int, prompt: str) -> Misbehavior | None:
    """Of a server whose mind is `mind`."""
    data = data_of(prompt)
    if "asked" in data:  # whether a claim is on the question: that is answered
        return None
    form = "text" if "text" in data else "premise"
    place = _places()[form, data[form]]
    way = place.case.way
    if form == "text":
        return _PROSE if place.list_of in way.lists else None
    withheld = {
        int(number)
        for number, text in data["claims"].items()
        if way.withholds(_cell_of(place, text))
    }
    if not withheld:
        return None
    spoil = way.spoil
    if isinstance(spoil, Misbehavior):
        assert len(withheld) == len(data["claims"]), "a reply is spoiled as a whole"
        return spoil

    def mutate(text: str) -> str:
        items = items_of(text)
        return reply_of(spoil(items, [item for item in items if item["id"] in withheld]))

    return bad.mutated(way.id, mutate)


def _cell_of(place: _Place, claim: str) -> Cell:
    kind, number = claim.split()[:2]
    of = "response" if kind == "Claim" else "reference"
    return place.case.cell(place.premise, of, int(number))


class Reply(NamedTuple):
    """What a model says, for tests without a server."""

    text: str
    refusal: str | None = None
    finish_reason: str = "stop"


def reply(prompt: str) -> Reply:
    """Of the model behind the server, without the server."""
    fault = script(0, prompt)
    text = _mind().answer(prompt)
    if fault is None:
        return Reply(text)
    return Reply(fault.mutate(text) if fault.mutate else text, fault.refusal, fault.finish_reason)


@cache
def _mind() -> Mind:
    return mind()


def wrong_with(
    case: Case,
    mode: Mode,
    *,
    number: Any = ...,
    passed: bool | None = None,
    words: str | None = None,
) -> str:
    """What a host makes of a case that the judge's verdicts do not bear out; "" if nothing.

    Args:
        number: what it shows as the score, if that was looked at; None or NaN for none.
        passed: whether that passes a gate at `LIMIT`; None if no gate was asked.
        words: what a person sees beside it; None if nothing was looked at.
    """
    expected = case.expected(mode)
    found = _wrong_number(expected, number)
    if passed is not None and passed is not expected.passes:
        found.append(f"passed: {passed}, and the completions lie within {expected.bounds}")
    if words is not None and expected.value is None and not _said(case, words):
        found.append(f"does not say that it is undetermined: {words!r}")
    return "".join(f"{case.id}, {mode}: {what}\n" for what in found)


def _wrong_number(expected: Expected, number: Any) -> list[str]:
    if number is ...:
        return []
    shown = None if number is None or math.isnan(number) else number
    if shown is not None and abs(shown - expected.truth) > 1e-12:
        return [f"shows {shown}, and the truth is {expected.truth}"]
    if (shown is None) is not (expected.value is None):
        return [f"shows {shown}, and the completions give {expected.value}"]
    return []


def _said(case: Case, words: str) -> bool:
    return "undetermined" in words.lower() or (not case.usable and "no usable" in words)
