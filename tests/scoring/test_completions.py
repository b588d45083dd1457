"""Undetermined verdicts: every way they may fall is tried, and nothing else is claimed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings

from noisesense import InputError, Matrices, Mode, Verdicts, gate, score
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


@settings(max_examples=100)
@example(APART)
@given(PARTLY_OPEN)
def test_bounds_are_the_lowest_and_the_highest_completion(table: Matrices) -> None:
    results = {
        name: score(Verdicts.from_matrices(**table), definition=name) for name in DEFINITIONS
    }
    every = [counted_by_words(completion) for completion in completions(table)]
    claims = len(table["reference_to_response"])
    for name, result in results.items():
        for mode in MODES:
            counted = [found[name, mode] for found in every if (name, mode) in found]
            if not counted:
                assert result.value(mode) is result.bounds(mode) is None
                assert result.status(mode) == result.gate(mode, 1) == "undefined"
                continue
            totals = [Fraction(sum(each), claims) for each in counted]
            assert result.bounds(mode) == (float(min(totals)), float(max(totals)))
            for i, claim in enumerate(result.claims):
                answers = {each[i] for each in counted}
                # Known iff all completions agree.
                assert getattr(claim, mode) is (answers.pop() if len(answers) == 1 else None)
            _check_value(table, name, mode, set(totals))


def _check_value(table: Matrices, definition: Any, mode: Mode, totals: set[Fraction]) -> None:
    """A value iff every completion gives it; the two ends on request; gates by all completions."""
    verdicts = Verdicts.from_matrices(**table)
    ends = {"low": float(min(totals)), "high": float(max(totals))}
    only = float(min(totals)) if len(totals) == 1 else None
    for choice, expected in {"none": only, **ends}.items():
        chosen: Any = choice
        result = score(verdicts, definition=definition, undetermined=chosen)
        assert result.value(mode) == expected
        assert result.status(mode) == ("undetermined" if only is None else "determined")
        robust = result.robustness(mode)
        assert robust is None if expected is None else robust == pytest.approx(1 - expected)
        for limit in (0, 0.2, 0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1):
            passing = {float(total) <= limit for total in totals}
            assert result.gate(mode, limit) == (
                "undecided" if len(passing) == 2 else "pass" if passing == {True} else "fail"
            )


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
def test_gate(
    bounds: tuple[float, float] | None, interval: tuple[float, float] | None, outcome: str
) -> None:
    assert gate(bounds, 0.2, interval=interval) == outcome


def test_limits_are_numbers_from_0_to_1() -> None:
    assert gate((1.0, 1.0), 1) == gate((0.0, 0.0), 0) == "pass"
    for limit in (-0.1, 1.1, float("nan"), True, "0.2", None):
        with pytest.raises(InputError, match="limit: expected a number from 0 to 1"):
            gate((0.0, 0.1), limit)  # type: ignore[arg-type]
