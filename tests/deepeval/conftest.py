"""DeepEval offline: no telemetry, no .env, no key, and its files in a folder of the test's."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Iterator

import pytest

from support.deepeval_fixtures import loop, offline

__all__ = ["loop", "offline"]

# Read when DeepEval is imported.
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["DEEPEVAL_DISABLE_DOTENV"] = "1"


@pytest.fixture
def unclosed_clients(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """DeepEval makes a client for each call and closes none: for tests that let it.

    They close when they are collected, the asynchronous ones only inside a running loop. Mark
    such a test with ``filterwarnings("ignore:unclosed:ResourceWarning")``.
    """

    async def collect() -> None:
        gc.collect()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    gc.disable()  # else one may be collected in the server's thread, and closes in its loop
    yield
    loop.run_until_complete(collect())
    gc.enable()
