"""How many random cases a test tries."""

from __future__ import annotations

import pytest


def few_or_many(few: int, many: int) -> pytest.MarkDecorator:
    """Runs the test with ``count=few``, and with ``count=many`` where the broad tests run."""
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.broad)])
