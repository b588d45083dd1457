"""An option: how many samples a cluster counts."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--samples", type=int, default=500, help="that a cluster counts")
