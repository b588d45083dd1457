"""LangSmith without a server: its client looks for one all the same, and says so."""

from __future__ import annotations

import logging

import pytest

# Not undone: the client sends from a thread of its own, after the test.
logging.getLogger("langsmith").setLevel(logging.CRITICAL + 1)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.setenv(name, "false")
    monkeypatch.setenv("LANGSMITH_API_KEY", "none")
    monkeypatch.setenv("LANGSMITH_ENDPOINT", "http://127.0.0.1:9")
