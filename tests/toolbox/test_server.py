"""The loopback server's own figures, by which calls and rounds are counted elsewhere."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest

from support.request_log import longest_chain, most_at_once
from support.server import ScriptedServer


class Echo:
    def answer(self, prompt: str) -> str:
        if prompt == "unknown":
            raise KeyError(prompt)
        return prompt[::-1]


def say(server: ScriptedServer, *rounds: list[str]) -> None:
    async def main() -> None:
        settings: Any = {"base_url": server.base_url, "api_key": "k", "max_retries": 0}
        async with openai.AsyncOpenAI(**settings) as client:
            create: Any = client.chat.completions.create
            for prompts in rounds:
                asked = ([{"role": "user", "content": prompt}] for prompt in prompts)
                await asyncio.gather(*(create(model="m", messages=each) for each in asked))

    asyncio.run(main())


def test_rounds_and_concurrency_are_counted_from_the_requests() -> None:
    together = [f"side by side {i}" for i in range(50)]
    with ScriptedServer(Echo(), together={"side by side": 50}) as server:
        say(server, ["first"], together, ["last"])
    assert (server.log.calls, server.log.rounds) == (52, 3)
    assert server.log.concurrency == 50
    assert {request.headers["authorization"] for request in server.log.requests} == {"***"}


def test_chains_and_overlaps_by_hand() -> None:
    # a---a        d--d
    #   b----b  c-c  e---e
    spans = [(0, 4), (2, 7), (10, 12), (13, 16), (15, 19)]
    assert longest_chain(spans) == 3  # a, c, d
    assert most_at_once(spans) == 2


def test_a_mind_that_fails_fails_the_test() -> None:
    with (
        pytest.raises(AssertionError, match="mind failed"),
        ScriptedServer(Echo()) as server,
        pytest.raises(openai.InternalServerError),
    ):
        say(server, ["unknown"])
