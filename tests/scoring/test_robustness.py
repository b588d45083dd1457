"""Robustness: one minus the value, without the rounding of the subtraction."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given

from noisesense import Verdicts, score
from noisesense.scoring.definitions import DEFINITIONS, MODES
from support.tables import verdicts


@given(verdicts())
def test_it_is_the_nearest_float_to_one_minus_the_exact_value(given: Verdicts) -> None:
    for definition in DEFINITIONS:
        found = score(given, definition=definition)
        for mode in MODES:
            counts, value = found.counts(mode), found.value(mode)
            if value is None:
                assert found.robustness(mode) is None
            else:
                assert counts is not None
                exact = 1 - Fraction(counts.noisy, counts.determined)
                assert found.robustness(mode) == float(exact)


def test_nine_of_ten_leave_a_tenth() -> None:
    table = Verdicts.from_matrices([False] * 9 + [True], [[True]] * 10, [[True]])

    assert score(table).robustness("relevant") == 0.1 != 1 - 0.9


def test_no_claims() -> None:
    empty = Verdicts(response_claims=())

    assert score(empty).robustness("relevant") is None
    assert score(empty, empty="zero").robustness("relevant") == 1.0
    assert score(empty, definition="validmind", empty="zero").robustness("irrelevant") is None
