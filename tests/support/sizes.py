"""How much of a test runs each time, and what only where the broad tests run."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet


def few_or_many(few: int, many: int) -> pytest.MarkDecorator:
    """Runs the test with ``count=few``, and with ``count=many`` where the broad tests run."""
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.broad)])


def by_turns(cases: Mapping[str, Any], *ways: Mapping[str, Any]) -> list[ParameterSet]:
    """Each case in each way, named by their keys; each time only so many that none is left out.

    Args:
        cases: what is tested.
        ways: how, such as clients and APIs; a way is a combination of them.

    Returns:
        Parameters ``(case, *way)``. Case 0 takes the first way, case 1 the second, and so on.
    """
    combined = [list(zip(*each, strict=True)) for each in product(*(way.items() for way in ways))]
    turns = range(max(len(cases), len(combined)))
    usual = {(number % len(cases), number % len(combined)) for number in turns}
    return [
        pytest.param(
            case,
            *values,
            id="-".join([name, *names]),
            marks=[] if (number, turn) in usual else [pytest.mark.broad],
        )
        for number, (name, case) in enumerate(cases.items())
        for turn, (names, values) in enumerate(combined)
    ]
