"""A fixture: no event loop was seen yet, as in a new process."""

from __future__ import annotations

import pytest

from noisesense_adapters.models import running


@pytest.fixture(autouse=True)
def no_loop_seen_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model's own clients serve the first loop that asks; others get clients of their own."""
    monkeypatch.setattr(running, "_first", None)
