"""What open verdicts leave open over many samples, against every way they may fall."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisesense import (
    Matrices,
    Result,
    Score,
    Undetermined,
    Verdicts,
    compare,
    score,
    summarize,
)
from noisesense.scoring.definitions import MODES, Mode
from noisesense.scoring.outcomes import Range
from noisesense.stats.interval import Interval
from support.plain_definitions import by_words, completions
from support.tables import Shape, matrices, random_matrices

MOST = 5
"""Open verdicts a table; ten samples would have 2⁵⁰ completions, but few distinct values."""


Cell = tuple[str, int, int | None]
"""A table's name, the row and the column."""


def cells_of(table: Any) -> list[Cell]:
    found: list[Cell] = [
        ("reference_to_response", i, None) for i in range(len(table["reference_to_response"]))
    ]
    for name in ("chunks_to_response", "chunks_to_reference"):
        for i, row in enumerate(table[name]):
            found += [(name, i, j) for j in range(len(row))]
    return found


@st.composite
def partly_open(draw: st.DrawFn, *, responses: tuple[int, int] = (1, 3)) -> Matrices:
    """A small table with up to five verdicts taken out."""
    table: Any = draw(
        matrices(
            response_claims=responses, reference_claims=(1, 2), chunks=(1, 3), undetermined=False
        )
    )
    chosen = st.lists(st.sampled_from(cells_of(table)), unique=True, max_size=MOST)
    for name, row, column in draw(chosen):
        if column is None:
            table[name][row] = None
        else:
            table[name][row][column] = None
    return table


Tables = st.lists(partly_open(), min_size=1, max_size=4)


def scored(table: Matrices, undetermined: Undetermined = "none") -> Score:
    return score(Verdicts.from_matrices(**table), undetermined=undetermined)


def every_value(table: Matrices, mode: Mode) -> set[Fraction]:
    """What the mode's value can be, by the definition's words."""
    found = {by_words(completion, "ragas", mode) for completion in completions(table)}
    return {value for value in found if value is not None}


def every_run(tables: Sequence[Matrices], mode: Mode) -> list[tuple[Fraction, ...]]:
    """The samples' values, in every way all verdicts may fall."""
    return list(product(*(sorted(every_value(table, mode)) for table in tables)))


@given(Tables, st.sampled_from(MODES))
def test_ranges_are_those_of_every_completion(tables: list[Matrices], mode: Mode) -> None:
    ours = summarize(map(scored, tables)).mode(mode)
    runs = every_run(tables, mode)
    assert ours.mean == span(sum(run) / len(run) for run in runs)
    assert ours.claims.bounds == span(share_of_claims(run, tables) for run in runs)
    open_samples = sum(len(every_value(table, mode)) > 1 for table in tables)
    assert ours.determined == len(tables) - open_samples
    assert ours.undetermined == open_samples
    assert (ours.mean.value is None) == (open_samples > 0)
    check_that_it_holds(ours.interval, ours.mean)


def check_that_it_holds(interval: Interval | None, figure: Range) -> None:
    """Nobody has an interval of one sample."""
    if interval is not None:
        assert interval.low <= figure.low + 1e-12
        assert figure.high - 1e-12 <= interval.high


def span(values: Iterable[Fraction]) -> Any:
    """From the lowest to the highest."""
    numbers = [float(value) for value in values]
    return pytest.approx((min(numbers), max(numbers)), abs=1e-14)


def share_of_claims(run: Sequence[Fraction], tables: Sequence[Matrices]) -> Fraction:
    claims = [len(table["reference_to_response"]) for table in tables]
    noisy = sum(value * count for value, count in zip(run, claims, strict=True))
    return Fraction(noisy, sum(claims))


def run_of(tables: Sequence[Matrices], undetermined: Undetermined = "none") -> list[Result]:
    return [Result(str(i), scored(table, undetermined)) for i, table in enumerate(tables)]


@given(
    st.lists(st.tuples(partly_open(), partly_open()), min_size=1, max_size=3),
    st.sampled_from(MODES),
)
def test_a_comparison_agrees_with_every_completion(
    tables: list[tuple[Matrices, Matrices]], mode: Mode
) -> None:
    a = [first for first, _ in tables]
    b = [second for _, second in tables]
    ours = compare(run_of(a), run_of(b)).mode(mode)
    before = means_of(a, mode)
    after = means_of(b, mode)
    assert ours.mean_a == span(before)
    assert ours.mean_b == span(after)
    assert ours.difference == span((min(after) - max(before), max(after) - min(before)))
    assert (ours.difference.value is None) == (ours.undetermined > 0)
    assert (ours.interval is None) == (len(tables) < 2)
    check_that_it_holds(ours.interval, ours.difference)


def means_of(tables: Sequence[Matrices], mode: Mode) -> list[Fraction]:
    return [Fraction(sum(run), len(run)) for run in every_run(tables, mode)]


@pytest.mark.parametrize(("rate", "choice"), [(0.01, "none"), (0.05, "low"), (0.2, "high")])
def test_missing_verdicts_alone_are_no_difference(rate: float, choice: Undetermined) -> None:
    """The same answers, with some of B's cells missing: neither better nor worse, ever."""
    shape = Shape(response_claims=(1, 6), reference_claims=(1, 4), chunks=(1, 5))
    open_pairs = 0
    for seed in range(10):
        rng = random.Random(f"{rate}/{seed}")
        tables: list[Any] = [random_matrices(rng, shape) for _ in range(60)]
        whole = run_of(tables, choice)
        partial = run_of([with_gaps(table, rate, rng) for table in tables], choice)
        for found in (compare(whole, partial), compare(partial, whole)):
            for mode in MODES:
                ours = found.mode(mode)
                assert ours.difference.low <= 0 <= ours.difference.high
                assert ours.decision == "undecided"
                open_pairs += ours.undetermined
    assert open_pairs > 10


def with_gaps(table: Any, rate: float, rng: random.Random) -> Any:
    """A copy without some of the verdicts."""
    gaps = copy.deepcopy(table)
    for name, row, column in cells_of(table):
        if rng.random() >= rate:
            continue
        if column is None:
            gaps[name][row] = None
        else:
            gaps[name][row][column] = None
    return gaps
