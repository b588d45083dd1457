"""DeepEval's ``evaluate()`` with the metrics of the page's pytest example."""

from __future__ import annotations

import os

import pytest

from gates.runners import by_deepeval, check
from gates.ways import WAYS, WORKING, honest
from support.deepeval_fixtures import loop, offline  # noqa: F401

# Read when DeepEval is imported.
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["DEEPEVAL_DISABLE_DOTENV"] = "1"

OF_THE_LIST_OF_CASES = {
    "half of the questions gone",
    "stopped after three",
    "stopped before the first",
}
"""What a gate of single cases cannot see: that there are fewer of them. They stand in the test
file, and DeepEval shows how many ran."""


def test_the_working_system_passes() -> None:
    assert by_deepeval(WORKING, honest).passed


@pytest.mark.parametrize("name", [name for name in WAYS if name not in OF_THE_LIST_OF_CASES])
def test_no_broken_system_passes_in_silence(name: str) -> None:
    check(name, by_deepeval)
