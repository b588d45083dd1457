"""A path, a dict or nothing useful in place of results: one clear error each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from noisesense import (
    InputError,
    Tally,
    compare,
    offenders,
    prediction_powered,
    summarize,
    trust_results,
)
from support.simulated import result_of

GOOD = [result_of(0, (1, 2))]


@pytest.mark.parametrize(
    "function",
    [
        summarize,
        Tally().add,
        offenders,
        partial(compare, GOOD),
        lambda items: compare(items, GOOD),
        partial(prediction_powered, GOOD, mode="relevant"),
        lambda items: prediction_powered(items, GOOD, mode="relevant"),
        partial(trust_results, GOOD),
        lambda items: trust_results(items, GOOD),
    ],
)
@pytest.mark.parametrize("items", ["results.jsonl", [{"id": "a"}], [None]])
def test_what_is_no_result_is_said(function: Callable[[Any], object], items: object) -> None:
    with pytest.raises(InputError, match=r"expected results, got .*read_results\(path\)"):
        function(items)
