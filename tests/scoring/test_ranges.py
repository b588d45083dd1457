"""How far a figure is written out beside a limit."""

from __future__ import annotations

import pytest

from noisesense.scoring.outcomes import extent_beside


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
