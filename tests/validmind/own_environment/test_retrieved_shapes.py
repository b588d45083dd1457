"""The table of `tests/unknown`, in ValidMind."""

from __future__ import annotations

from benchmarks.retrieved_shapes import HOSTS, SHAPES, expected, outcome


def test_validmind_reads_each_shape_as_the_other_hosts_do() -> None:
    assert list(HOSTS) == ["ValidMind"]
    found = {shape: outcome("ValidMind", shape) for shape in SHAPES}
    assert found == {shape: expected("ValidMind", shape) for shape in SHAPES}
