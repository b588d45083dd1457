"""Loops that are not ended as `asyncio.run` does: by hand, or with nest_asyncio, as ragas has it.

The client's connections can then not be closed; that is no reason to hang, nor to print anything.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.command import ROOTS, environment
from support.server import ScriptedServer
from support.sizes import by_turns, named

PROGRAM = """
import asyncio, gc, sys

from openai import AsyncOpenAI
from pydantic import BaseModel
from noisesense_adapters.openai import OpenAILLM

address, patched, given = sys.argv[1], sys.argv[2] == "nest_asyncio", sys.argv[3] == "given"
settings = {"base_url": address, "api_key": "k", "max_retries": 0}

class Answer(BaseModel):
    text: str

if patched:
    import nest_asyncio
    nest_asyncio.apply()

llm = OpenAILLM("m", client=AsyncOpenAI(**settings)) if given else OpenAILLM("m", **settings)

async def main():
    found = await asyncio.gather(*(llm.generate("Well?", Answer) for _ in range(3)))
    gc.collect()  # what is left of an earlier loop
    await asyncio.sleep(0)
    return [answer.text for answer, _ in found]

async def outer():
    return asyncio.run(main())

for _ in range(3):
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    if patched:
        nest_asyncio.apply(loop)
    print(*loop.run_until_complete(main()))
    loop.close()
if patched:
    asyncio.set_event_loop(asyncio.new_event_loop())
    nest_asyncio.apply()
    print(*asyncio.run(outer()))
print(*asyncio.run(main()))
"""


class Yes:
    def answer(self, prompt: str) -> str:
        return '{"text": "yes"}'


@pytest.mark.parametrize(
    ("patch", "client"), by_turns(named(["nest_asyncio", "plain"]), named(["given", "own"]))
)
def test_nothing_hangs_and_nothing_is_printed(patch: str, client: str, tmp_path: Path) -> None:
    with ScriptedServer(Yes(), api_key="k") as server:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, server.base_url, patch, client],
            env=environment(ROOTS),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    rounds = 5 if patch == "nest_asyncio" else 4
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "yes yes yes\n" * rounds
    assert len(server.log.requests) == 3 * rounds
