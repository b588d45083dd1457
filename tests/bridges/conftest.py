"""All hosts' models in one process, quiet and offline."""

from __future__ import annotations

import os
import warnings

import pytest

from noisesense_adapters.models import running
from support.deepeval_fixtures import loop, offline

__all__ = ["loop", "offline"]

# Read when they are imported.
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["DEEPEVAL_DISABLE_DOTENV"] = "1"
os.environ["RAGAS_DO_NOT_TRACK"] = "true"

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from ragas._analytics import get_userid

    get_userid()  # it leaves a file open when it is first called


@pytest.fixture(autouse=True)
def _no_loop_seen_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_first", None)
