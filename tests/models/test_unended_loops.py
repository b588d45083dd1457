"""Loops that are not ended as `asyncio.run` does: by hand, or with nest_asyncio, as ragas has it.

The client's connections are not closed then; that is no reason to hang, nor to print anything.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.command import environment
from support.says import Says
from support.server import ScriptedServer

PROGRAM = """
import asyncio, gc, sys

import nest_asyncio
from openai import AsyncOpenAI
from noisesense.judging.prompts import Answer
from noisesense_adapters.openai import OpenAILLM

settings = {"base_url": sys.argv[1], "api_key": "k", "max_retries": 0}
patched = sys.argv[2] == "nest_asyncio"
llm = OpenAILLM("m", client=AsyncOpenAI(**settings)) if patched else OpenAILLM("m", **settings)

async def main():
    found = await asyncio.gather(*(llm.generate("Well?", Answer) for _ in range(3)))
    gc.collect()  # what is left of an earlier loop
    await asyncio.sleep(0)
    print(*(reply.answer for reply, _ in found))

async def outer():
    asyncio.run(main())

for _ in range(3):
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    if patched:
        nest_asyncio.apply(loop)
    loop.run_until_complete(outer() if patched else main())
    loop.close()
asyncio.set_event_loop(asyncio.new_event_loop())
if patched:
    nest_asyncio.apply()
asyncio.run(main())
"""


@pytest.mark.parametrize("loops", ["nest_asyncio", "plain"])
def test_loops_that_are_not_ended_leave_nothing_that_hangs_or_prints(loops: str) -> None:
    """With a client of the user's, and with our own."""
    with ScriptedServer(Says('{"answer": "yes"}'), api_key="k") as server:
        command = [sys.executable, "-c", PROGRAM, server.base_url, loops]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout == "yes yes yes\n" * 4
    assert len(server.log.requests) == 3 * 4
