from __future__ import annotations

import pytest

from noisesense_adapters.models import running


@pytest.fixture(autouse=True)
def _no_loop_seen_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_first", None)
