"""Loops that are not ended as `asyncio.run` does: by hand, or with nest_asyncio, as ragas has it.

The client's connections are not closed then; that is no reason to hang, nor to print anything.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.command import environment
from support.server import ScriptedServer

PROGRAM = """
import asyncio, gc, sys

import nest_asyncio
from openai import AsyncOpenAI
from pydantic import BaseModel
from noisesense_adapters.openai import OpenAILLM

address, patched, given = sys.argv[1], sys.argv[2] == "nest_asyncio", sys.argv[3] == "given"
settings = {"base_url": address, "api_key": "k", "max_retries": 0}

class Answer(BaseModel):
    text: str

llm = OpenAILLM("m", client=AsyncOpenAI(**settings)) if given else OpenAILLM("m", **settings)

async def main():
    found = await asyncio.gather(*(llm.generate("Well?", Answer) for _ in range(3)))
    gc.collect()  # what is left of an earlier loop
    await asyncio.sleep(0)
    print(*(answer.text for answer, _ in found))

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


class Yes:
    def answer(self, prompt: str) -> str:
        return '{"text": "yes"}'


@pytest.mark.parametrize(("patch", "client"), [("nest_asyncio", "given"), ("plain", "own")])
def test_nothing_hangs_and_nothing_is_printed(patch: str, client: str) -> None:
    with ScriptedServer(Yes(), api_key="k") as server:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, server.base_url, patch, client],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "yes yes yes\n" * 4
    assert len(server.log.requests) == 3 * 4
