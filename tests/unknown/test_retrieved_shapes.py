"""The same retrieved thing is the same chunks in every host, or an error in every host."""

from __future__ import annotations

import pytest

from benchmarks.retrieved_shapes import DIFFERENT, HOSTS, SHAPES, expected, outcome


@pytest.mark.parametrize("host", HOSTS)
def test_every_shape(host: str) -> None:
    found = {shape: outcome(host, shape) for shape in SHAPES}
    assert found == {shape: expected(host, shape) for shape in SHAPES}


def test_there_are_many() -> None:
    assert len(SHAPES) >= 60


def test_every_difference_has_a_reason_and_is_one() -> None:
    for (host, shape), (result, reason) in DIFFERENT.items():
        assert host in HOSTS or host == "ValidMind"  # in its own environment
        assert result != SHAPES[shape].seen
        assert reason
