"""A judge's errors: put into verdicts, and taken out of a score again.

A score is a polynomial of the true cells in which no cell has a higher power than one: a claim
counts with ``(1 − correct) · (1 − Π (1 − relevant(j) · entails(j)))``, and a chunk is relevant
with ``1 − Π (1 − entails(j, g))`` over the reference's claims. A judge that turns "no" into "yes"
with probability ``a`` and "yes" into "no" with ``b``, each cell on its own, says yes with
probability ``a + (1 − a − b) · truth``. So the expectation of ``(verdict − a) / (1 − a − b)`` is
the true cell, and that of the polynomial of these numbers the true score, whatever the tables look
like. In other words: these numbers stand for the (signed) probabilities of independent cells, and
the score's expectation under them estimates the true score. Its variance under them, times −1,
estimates how far the judge's errors scatter the estimate: the expectation of the estimate's square
is known, and that of the true score's square is estimated in the same way.

Sources: Rogan and Gladen (1978), Estimating prevalence from the results of a screening test,
American Journal of Epidemiology 107, for one cell; the product over independent cells is the
method of moments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from random import Random
from typing import Literal, NamedTuple

from noisesense.scoring.definitions import DefinitionName
from noisesense.stats.cells import CellKind, cell_of
from noisesense.stats.interval import Bounds
from noisesense.verdicts.verdicts import ReferenceClaim, ResponseClaim, Verdicts

NO, YES, OPEN = 0, 1, 2

Rates = tuple[float, float]
"""The share of "no" that becomes "yes", and of "yes" that becomes "no"."""

Within = Literal["claim", "chunk"]
"""What cells share whose errors are correlated."""

Pairs = Iterable[tuple[float, float]]
"""Of each chunk in turn: does it entail the claim and is relevant; and is irrelevant?"""


class Table(NamedTuple):
    """The cells of one sample.

    Attributes:
        cells: `NO`, `YES` or `OPEN`: ``R`` for "correct", then ``R`` rows of ``C`` for the
            response's claims, then ``G`` rows of ``C`` for the reference's.
        size: ``R``, ``G`` and ``C``.
        labels: of the chunks.
    """

    cells: bytes
    size: tuple[int, int, int]
    labels: tuple[bool | None, ...]

    @classmethod
    def of(cls, verdicts: Verdicts) -> Table:
        count = verdicts.chunk_count
        responses, references = verdicts.response_claims, verdicts.reference_claims
        claims: list[ResponseClaim | ReferenceClaim] = [*responses, *references]
        states = {None: OPEN, True: YES, False: NO}
        cells = [states[claim.correct] for claim in responses]
        cells += [states[cell_of(claim, j)] for claim in claims for j in range(count)]
        return cls(
            bytes(cells),
            (len(responses), len(references), count),
            tuple(chunk.relevant for chunk in verdicts.chunks or ()) or (None,) * count,
        )

    def flipped(
        self,
        random: Random,
        rates: Rates,
        groups: Sequence[Sequence[int]],
        correlation: float = 0.0,
    ) -> Table:
        """With errors at these rates in the cells of the groups.

        With probability ``correlation`` the cells of a group share one uniform number, and are
        wrong where it is below their rate; otherwise each has its own. So two cells of a group
        with the same verdict are wrong with exactly this correlation.
        """
        most = max(rates)
        if most <= 0:
            return self
        cells = bytearray(self.cells)
        for group in groups:
            if correlation and random.random() < correlation:
                drawn = random.random()
                for position in group if drawn < most else ():
                    if cells[position] != OPEN and drawn < rates[cells[position]]:
                        cells[position] ^= 1
                continue
            for hit in _hits(random, len(group), most):
                state = cells[group[hit]]
                # Hits come at the larger rate: of the cells with the other one some are spared.
                if state != OPEN and (
                    rates[state] == most or random.random() * most < rates[state]
                ):
                    cells[group[hit]] = state ^ 1
        return self._replace(cells=bytes(cells))

    @property
    def parts(self) -> tuple[slice, slice, slice]:
        """Where the cells of each kind are."""
        rows, _, columns = self.size
        middle = rows + rows * columns
        return slice(0, rows), slice(rows, middle), slice(middle, None)


@lru_cache(maxsize=4096)
def groups_of(
    size: tuple[int, int, int], kinds: tuple[CellKind, ...], within: Within | None
) -> tuple[tuple[int, ...], ...]:
    """Positions of the cells of these kinds: those of each claim, of each chunk, or all (None)."""
    rows, references, columns = size
    groups: dict[int | None, list[int]] = {}
    for row in range(rows + references):
        for column in range(-1 if row < rows else 0, columns):
            kind: CellKind = "reference" if row >= rows else "response"
            position = rows + row * columns + column
            if column < 0:
                kind, position = "correct", row
            if kind in kinds:
                # Whether the reference entails a claim has nothing in common with any chunk.
                chunk = column if column >= 0 else position - rows
                group = {"claim": row, "chunk": chunk, None: None}[within]
                groups.setdefault(group, []).append(position)
    return tuple(map(tuple, groups.values()))


def _hits(random: Random, count: int, rate: float) -> Iterator[int]:
    """Each of ``count`` positions with probability ``rate`` above 0, by the gaps between hits."""
    if rate >= 1:
        yield from range(count)
    else:
        scale = math.log1p(-rate)
        position = int(math.log(1 - random.random()) / scale)
        while position < count:
            yield position
            position += 1 + int(math.log(1 - random.random()) / scale)


class Corrected(NamedTuple):
    """What stands for a cell: the expectation of these over the judge's errors is the truth."""

    no: float = 0.0
    yes: float = 1.0

    @classmethod
    def at(cls, rates: Rates) -> Corrected:
        false_yes, false_no = rates
        kept = 1 - false_yes - false_no
        return cls(-false_yes / kept, (1 - false_yes) / kept)


EXACT = Corrected()

Kinds = tuple[Corrected, Corrected, Corrected]
"""For the cells of "correct", of the response's claims and of the reference's."""

AS_THEY_ARE: Kinds = (EXACT, EXACT, EXACT)


def _ragas(pairs: Pairs) -> Bounds:
    without_relevant = without_any = 1.0
    for relevant, irrelevant in pairs:
        without_relevant *= 1 - relevant
        without_any *= 1 - relevant - irrelevant
    return 1 - without_relevant, without_relevant - without_any


def _paper(pairs: Pairs) -> Bounds:
    without_relevant = without_irrelevant = 1.0
    for relevant, irrelevant in pairs:
        without_relevant *= 1 - relevant
        without_irrelevant *= 1 - irrelevant
    return 1 - without_relevant, 1 - without_irrelevant


def _promptfoo(pairs: Pairs) -> Bounds:
    found, before = 0.0, 1.0
    for relevant, irrelevant in pairs:
        found += before * irrelevant
        before *= 1 - relevant - irrelevant
    return 1.0, found


Chunks = Sequence[tuple[float, float, float]]
"""Of each chunk: is it relevant, does it entail one claim, does it entail another?"""


def _both_ragas(chunks: Chunks) -> Bounds:
    # The probability that no relevant chunk entails the one, the other, any; that no chunk does.
    one = other = no_relevant = no_chunk = one_alone = other_alone = 1.0
    for relevant, x, y in chunks:
        neither = (1 - x) * (1 - y)
        one *= 1 - relevant * x
        other *= 1 - relevant * y
        no_relevant *= 1 - relevant * (1 - neither)
        no_chunk *= neither
        one_alone *= (1 - y) * (1 - relevant * x)
        other_alone *= (1 - x) * (1 - relevant * y)
    return 1 - one - other + no_relevant, no_relevant - one_alone - other_alone + no_chunk


def _both_paper(chunks: Chunks) -> Bounds:
    turned = [(1 - relevant, x, y) for relevant, x, y in chunks]
    return _both_ragas(chunks)[0], _both_ragas(turned)[0]


def _both_promptfoo(chunks: Chunks) -> Bounds:
    neither, one, other, both = 1.0, 0.0, 0.0, 0.0
    for relevant, x, y in chunks:
        irrelevant = 1 - relevant
        both += (one * y + other * x + neither * x * y) * irrelevant
        one = one * (1 - y) + neither * x * (1 - y) * irrelevant
        other = other * (1 - x) + neither * (1 - x) * y * irrelevant
        neither *= (1 - x) * (1 - y)
    return 1.0, both


def _in_relevant(_: object) -> Bounds:
    """Every incorrect claim, in the relevant mode."""
    return 1.0, 0.0


OpenChunks = Sequence[tuple[float | None, Bounds]]
"""Of each chunk: does it entail the claim (None: open), and the ends of its relevance."""

# A score is linear in each open cell, and so it is lowest and highest where each is 0 or 1; which,
# depends on the other cells, as numbers below 0 or above 1 stand for some of them.


def _span(values: Iterable[float]) -> tuple[float, ...]:
    """The lowest and the highest; of none, none. Raises `OverflowError` where one is no number."""
    known = list(values)
    if not all(map(math.isfinite, known)):
        raise OverflowError
    return (min(known), max(known)) if known else ()


def _range_ragas(chunks: OpenChunks) -> tuple[Bounds, Bounds]:
    # That no relevant chunk entails the claim: where of the open ones none does, and where some
    # do. In the first case, that no chunk at all does; in the second some chunk does for certain.
    none_open: tuple[float, ...] = (1.0,)
    some_open: tuple[float, ...] = ()
    no_chunk = 1.0
    for x, ends in chunks:
        if x is None:
            now = (each * (1 - r) for each in (*none_open, *some_open) for r in ends)
            some_open = _span([*some_open, *now])
            continue
        no_chunk *= 1 - x
        factors = [1 - r * x for r in ends]
        none_open = _span(each * factor for each in none_open for factor in factors)
        some_open = _span(each * factor for each in some_open for factor in factors)
    relevant_low, relevant_high = _span(1 - each for each in (*none_open, *some_open))
    low, high = _span([*(each - no_chunk for each in none_open), *some_open])
    return (relevant_low, relevant_high), (low, high)


def _range_paper(chunks: OpenChunks) -> tuple[Bounds, Bounds]:
    turned = [(x, (1 - ends[0], 1 - ends[1])) for x, ends in chunks]
    return _range_ragas(chunks)[0], _range_ragas(turned)[0]


def _range_promptfoo(chunks: OpenChunks) -> tuple[Bounds, Bounds]:
    low = high = 0.0
    for x, ends in reversed(chunks):
        here, after = (0.0, 1.0) if x is None else (x,), (low, high)
        low, high = _span(e * (1 - r) + (1 - e) * f for e in here for r in ends for f in after)
    return (1.0, 1.0), (low, high)


def _range_in_relevant(_: object) -> tuple[Bounds, Bounds]:
    return (1.0, 1.0), (0.0, 0.0)


class _Rule(NamedTuple):
    """How a definition counts incorrect claims, in the relevant mode and in the irrelevant one.

    Attributes:
        one: does it count the claim?
        two: does it count both claims?
        between: between what the first lies where cells are open.
    """

    one: Callable[[Pairs], Bounds]
    two: Callable[[Chunks], Bounds]
    between: Callable[[OpenChunks], tuple[Bounds, Bounds]]


_RULES: dict[DefinitionName, _Rule] = {
    "ragas": _Rule(_ragas, _both_ragas, _range_ragas),
    "paper": _Rule(_paper, _both_paper, _range_paper),
    "promptfoo": _Rule(_promptfoo, _both_promptfoo, _range_promptfoo),
    "validmind": _Rule(_in_relevant, _in_relevant, _range_in_relevant),
}


def _relevance(table: Table, reference: Corrected) -> list[Bounds]:
    """Of each chunk, between two ends where verdicts are open."""
    _, references, columns = table.size
    cells = table.cells[table.parts[2]]
    relevance: list[Bounds] = []
    for j, label in enumerate(table.labels):
        low, high = (0.0, 1.0) if label is None else (float(label), float(label))
        if label is None and references:
            column = cells[j::columns]
            none = (1 - reference.yes) ** column.count(YES) * (1 - reference.no) ** column.count(
                NO
            )
            low = 1 - none
            high = 1.0 if OPEN in column else low
        relevance.append((low, high))
    return relevance


def expected_score(
    table: Table, kinds: Kinds, definition: DefinitionName
) -> tuple[Bounds, Bounds] | None:
    """Both modes' values, each between two bounds; None without response claims.

    With the cells `AS_THEY_ARE` these are the bounds of `noisesense.score`. Raises `OverflowError`
    where cells are open and others stand for numbers that are too large.
    """
    rows, _, columns = table.size
    if not rows:
        return None
    rule, (correct, response, reference) = _RULES[definition], kinds
    relevance = _relevance(table, reference)
    known = all(low == high for low, high in relevance)
    # By the cell's state.
    pairs = [[(x * r, x * (1 - r)) for x in response] for r, _ in relevance]
    numbers = (*response, None)
    lows, highs = [0.0, 0.0], [0.0, 0.0]
    part_correct, part_response, _ = table.parts
    cells = table.cells[part_response]
    for i, state in enumerate(table.cells[part_correct]):
        weight = 1 - (correct.yes if state == YES else correct.no)
        if not weight:
            continue
        row = cells[i * columns : (i + 1) * columns]
        if known and OPEN not in row:
            value = rule.one([by[cell] for by, cell in zip(pairs, row, strict=True)])
            ends = (value[0], value[0]), (value[1], value[1])
        else:
            ends = rule.between(
                [(numbers[cell], each) for cell, each in zip(row, relevance, strict=True)]
            )
        for mode, (low, high) in enumerate(ends):
            if state == OPEN:  # the claim counts, or it does not
                low, high = min(low, 0.0), max(high, 0.0)
            elif weight < 0:
                low, high = weight * high, weight * low
            else:
                low, high = weight * low, weight * high
            lows[mode] += low
            highs[mode] += high
    return (lows[0] / rows, highs[0] / rows), (lows[1] / rows, highs[1] / rows)


def error_variance(table: Table, kinds: Kinds, definition: DefinitionName) -> Bounds:
    """How far the judge's errors scatter `expected_score` of the table, for both modes.

    Its expectation is right, a single one may be below zero. Open cells count as "no".
    """
    rows, _, columns = table.size
    correct, response, reference = kinds
    part_correct, part_response, _ = table.parts
    weights = [1 - (*correct, 1.0)[state] for state in table.cells[part_correct]]
    cells = [(*response, 0.0)[state] for state in table.cells[part_response]]
    relevant = [low for low, _ in _relevance(table, reference)]
    claims = [cells[i * columns : (i + 1) * columns] for i in range(rows)]
    # What a claim of weight 0 would add may be infinite, and 0 times that is NaN.
    weighted = [(weight, claim) for weight, claim in zip(weights, claims, strict=True) if weight]
    count_one, count_two, _ = _RULES[definition]
    means = [0.0, 0.0]
    squares = [0.0, 0.0]
    for i, (weight, claim) in enumerate(weighted):
        alone = count_one([(r * x, (1 - r) * x) for r, x in zip(relevant, claim, strict=True)])
        for mode in (0, 1):
            means[mode] += weight * alone[mode]
            squares[mode] += weight * alone[mode]  # counted or not: its square is itself
        for other_weight, other in weighted[:i]:
            pair = count_two(list(zip(relevant, claim, other, strict=True)))
            for mode in (0, 1):
                squares[mode] += 2 * weight * other_weight * pair[mode]
    first, second = ((means[m] ** 2 - squares[m]) / rows**2 for m in (0, 1))
    return first, second
