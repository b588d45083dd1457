"""Fixtures of every folder that runs DeepEval: offline, and with a loop that is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

_KEYS = ("OPENAI_API_KEY", "CONFIDENT_API_KEY", "LOCAL_MODEL_API_KEY", "DEEPEVAL_RESULTS_FOLDER")


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    # No pause between DeepEval's own attempts.
    monkeypatch.setenv("DEEPEVAL_RETRY_CAP_SECONDS", "0")
    # Nor one that a busy machine makes: by default an attempt ends after 88.5 seconds.
    monkeypatch.setenv("DEEPEVAL_PER_TASK_TIMEOUT_SECONDS_OVERRIDE", "3600")
    for name in _KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The thread's loop, which `evaluate()` uses and nobody would close."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield loop
    # What an error left behind would end in whichever test runs when it is collected.
    for task in asyncio.all_tasks(loop):
        task.cancel()
        loop.run_until_complete(asyncio.wait([task]))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    asyncio.set_event_loop(None)
