"""Figures that open verdicts may leave open, as numbers, texts and JSON: by hand."""

from __future__ import annotations

import pytest

from noisesense import Range
from noisesense.scoring.outcomes import extent, extent_beside

OPEN = Range(0.25, 0.5)
SHUT = Range(0.5, 0.5)


def test_arithmetic_covers_every_completion() -> None:
    # 0.25 to 0.5 less 0.1 to 0.3: at least 0.25 - 0.3, at most 0.5 - 0.1.
    assert OPEN.minus(Range(0.1, 0.3)) == pytest.approx((-0.05, 0.4))
    assert Range(-0.5, 1.0).over(4) == (-0.125, 0.25)
    # From -0.5 to 0.25 the absolute value is 0 to 0.5; from -0.5 to -0.25 it is 0.25 to 0.5.
    assert Range(-0.5, 0.25).absolute == (0.0, 0.5)
    assert Range(-0.5, -0.25).absolute == (0.25, 0.5)
    assert Range(-0.25, 0.5).absolute == (0.0, 0.5)
    assert OPEN.absolute == OPEN
    assert extent(OPEN) == "0.250 to 0.500"
    assert extent(SHUT, "+.1f") == "+0.5"
    # What rounds to 0 has no minus.
    assert extent((-0.5, -0.00004), ".4f") == "-0.5000 to 0.0000"
    assert extent((-0.00004, -0.00005), "+.4f") == "+0.0000 to -0.0001"
    assert extent((-0.004, 0.004), ".0%") == "0% to 0%"


@pytest.mark.parametrize(
    ("limit", "ends", "text"),
    [
        (0.5, (0.25, 0.5), "0.2500 to 0.5000"),
        (0.5, (0.500004, 0.500004), "0.500004"),
        (0.05, (-0.05302, 0.05302), "-0.0530 to 0.0530"),
        (0.05, (-0.05000002, 0.1), "-0.05000002 to 0.10000000"),
    ],
)
def test_what_is_not_the_limit_does_not_look_like_it(
    limit: float, ends: tuple[float, float], text: str
) -> None:
    assert extent_beside(limit, ends) == text
