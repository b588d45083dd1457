"""Tables: lists and numpy arrays, texts beside them, and nothing read as what it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from noisesense import InputError, Matrices, Verdicts, score
from support.tables import matrices


@given(matrices())
def test_numpy_arrays_are_read_as_lists_are(table: Matrices) -> None:
    arrays = {name: np.array(value, dtype=object) for name, value in table.items()}
    width = len(table["relevant"] or [])
    for name in ("chunks_to_response", "chunks_to_reference"):
        arrays[name] = arrays[name].reshape(-1, width) if arrays[name].size else arrays[name]
    assert Verdicts.from_matrices(**arrays) == Verdicts.from_matrices(**table)


def test_boolean_arrays_scalars_tuples_and_masked_cells_are_read() -> None:
    expected = Verdicts.from_matrices([True], [[True, None]], [[True, False]])
    row = np.ma.array([True, False], mask=[False, True])
    given: Any = [np.bool_(True)], [row], (np.array([True, False]),)
    assert Verdicts.from_matrices(*given) == expected


@pytest.mark.parametrize(
    "cells", [np.array([1.0, 0.0]), np.array(["yes", "no"]), np.array([[True], [False]]), [0, 1]]
)
def test_numbers_and_texts_are_no_verdicts(cells: Any) -> None:
    with pytest.raises(InputError, match="reference_to_response, cell 0: expected true, false or"):
        Verdicts.from_matrices(cells, [[True], [False]])


@pytest.mark.parametrize("value", [{True, False}, {0: True}, True, "10", iter([True])])
def test_a_set_a_dict_a_value_a_text_or_an_iterator_is_no_row(value: Any) -> None:
    with pytest.raises(InputError, match="chunks_to_response, row 1: expected a list, got"):
        Verdicts.from_matrices([True, False], [[True, False], value])


def test_texts_travel_beside_the_tables() -> None:
    texts: Any = {"response_claims": ["r"], "reference_claims": ["g"], "chunks": ["a", "b"]}
    verdicts = Verdicts.from_matrices([False], [[True, False]], [[False, True]], **texts)
    for name, expected in texts.items():
        assert [each.text for each in getattr(verdicts, name)] == expected
    assert score(verdicts).irrelevant == 1.0
