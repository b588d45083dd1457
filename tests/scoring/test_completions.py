"""Undetermined verdicts: every way they may fall is tried, and nothing else is claimed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noisesense import InputError, Matrices, Mode, Score, Verdicts, gate, score
from noisesense.scoring.definitions import DEFINITIONS, MODES
from support.plain_definitions import category_by_words, completions, counted_by_words, open_cells
from support.tables import matrices

# Up to ten open cells, labels among them: each table has up to 1,024 completions.
PARTLY_OPEN = matrices(response_claims=(0, 3), reference_claims=(0, 2), chunks=(0, 3)).filter(
    lambda table: len(open_cells(table)) <= 10
)


# Two claims, each from a chunk of its own whose relevance is unknown.
APART: Matrices = {
    "reference_to_response": [False, False],
    "chunks_to_response": [[True, False], [False, True]],
    "chunks_to_reference": [],
    "relevant": [None, None],
}


def test_every_definition_is_written_a_second_time() -> None:
    names = {name for name, _ in counted_by_words(APART)}
    assert names == set(DEFINITIONS), "add it to tests/support/plain_definitions.py"


LIMITS = (0, 0.2, 0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1)


cases = given(PARTLY_OPEN, st.sampled_from(list(DEFINITIONS)), st.sampled_from(MODES))


@dataclass(frozen=True)
class Completed:
    """A mode's score, and what every completion counts of each claim."""

    result: Score
    counted: list[list[bool]]

    @property
    def values(self) -> list[float]:
        return sorted(sum(each) / len(each) for each in self.counted)


def completed(table: Matrices, name: Any, mode: Mode) -> Completed:
    result = score(Verdicts.from_matrices(**table), definition=name)
    every = [counted_by_words(completion) for completion in completions(table)]
    counted = [found[name, mode] for found in every if (name, mode) in found]
    return Completed(result, counted)


@settings(max_examples=100)
@example(APART, "ragas", "relevant")
@example(APART, "ragas", "irrelevant")
@cases
def test_bounds_and_gates_are_those_of_the_completions(
    table: Matrices, name: Any, mode: Mode
) -> None:
    found = completed(table, name, mode)
    result = found.result
    if not found.counted:
        assert result.value(mode) is result.bounds(mode) is None
        assert result.status(mode) == result.gate(mode, 1) == "undefined"
        return
    low = found.values[0]
    high = found.values[-1]
    assert result.bounds(mode) == (low, high)
    assert result.status(mode) == ("determined" if low == high else "undetermined")
    for limit in LIMITS:
        assert result.gate(mode, limit) == gate_by_ends(low, high, limit)
    for i, claim in enumerate(result.claims):
        assert getattr(claim, mode) is the_only({each[i] for each in found.counted})


@settings(max_examples=50)
@cases
def test_a_value_is_what_all_completions_give_or_the_end_that_was_asked_for(
    table: Matrices, name: Any, mode: Mode
) -> None:
    found = completed(table, name, mode)
    if not found.counted:
        return
    low = found.values[0]
    high = found.values[-1]
    known = low if low == high else None
    for choice, expected in (("none", known), ("low", low), ("high", high)):
        verdicts = found.result.verdicts
        chosen: Any = score(verdicts, definition=name, undetermined=choice)
        assert chosen.value(mode) == expected
        robust = chosen.robustness(mode)
        assert robust == (None if expected is None else pytest.approx(1 - expected))


def the_only(answers: set[Any]) -> Any:
    """Known iff all completions agree."""
    return answers.pop() if len(answers) == 1 else None


def gate_by_ends(low: float, high: float, limit: float) -> str:
    if high <= limit:
        return "pass"
    return "fail" if low > limit else "undecided"


@settings(max_examples=100)
@given(PARTLY_OPEN)
def test_a_category_is_given_iff_no_other_is_possible(table: Matrices) -> None:
    result = score(Verdicts.from_matrices(**table))
    every = completions(table)
    for i, claim in enumerate(result.claims):
        possible = {category_by_words(completion, i) for completion in every}
        assert claim.category == (next(iter(possible)) if len(possible) == 1 else "undetermined")
        # Incorrect and from a chunk, whatever its relevance.
        sourced = {category in ("relevant", "irrelevant") for category in possible}
        assert claim.from_a_chunk is (sourced.pop() if len(sourced) == 1 else None)
    kinds = [claim.category for claim in result.claims]
    assert result.partition == tuple(map(kinds.count, result.partition._fields))
    found = [claim.from_a_chunk for claim in result.claims]
    assert result.from_chunks == (found.count(True), len(found) - found.count(None), len(found))


@pytest.mark.parametrize(
    ("bounds", "interval", "outcome"),
    [
        ((0.0, 0.2), None, "pass"),  # at most the limit passes
        ((0.1, 0.3), None, "undecided"),
        ((0.2, 0.3), None, "undecided"),  # 0.2 itself would pass
        ((0.25, 1.0), None, "fail"),
        (None, None, "undefined"),
        # With an interval, only what the interval decides.
        ((0.1, 0.1), (0.05, 0.2), "pass"),
        ((0.1, 0.1), (0.05, 0.21), "warn"),
        ((0.3, 0.3), (0.2, 0.4), "warn"),
        ((0.3, 0.3), (0.21, 0.4), "fail"),
        ((0.1, 0.25), (0.05, 0.3), "undecided"),
        ((0.1, 0.15), (0.05, 0.3), "warn"),
    ],
)
def test_a_gate_goes_by_the_bounds_and_then_by_the_interval(
    bounds: tuple[float, float] | None, interval: tuple[float, float] | None, outcome: str
) -> None:
    assert gate(bounds, 0.2, interval=interval) == outcome


def test_limits_are_numbers_from_0_to_1() -> None:
    assert gate((1.0, 1.0), 1) == gate((0.0, 0.0), 0) == "pass"
    for limit in (-0.1, 1.1, float("nan"), True, "0.2", None):
        with pytest.raises(InputError, match="limit: expected a number from 0 to 1"):
            gate((0.0, 0.1), limit)  # type: ignore[arg-type]
