"""The loopback server's own figures, by which calls and rounds are counted elsewhere."""

from __future__ import annotations

import asyncio

import pytest

from noisesense.errors import JudgeError
from noisesense_adapters.openai import OpenAILLM
from support.request_log import longest_chain, most_at_once
from support.server import ScriptedServer


class Unsure:
    def answer(self, prompt: str) -> str:
        raise KeyError(prompt)


def test_chains_and_overlaps_by_hand() -> None:
    # a---a        d--d
    #   b----b  c-c  e---e
    spans = [(0, 4), (2, 7), (10, 12), (13, 16), (15, 19)]
    assert longest_chain(spans) == 3  # a, c, d
    assert most_at_once(spans) == 2


def ask(server: ScriptedServer) -> None:
    llm = OpenAILLM("m", base_url=server.base_url, api_key="k", max_retries=0)
    asyncio.run(llm.choose("Well?", ["yes", "no"]))


def test_a_mind_that_fails_fails_the_test() -> None:
    with (
        pytest.raises(AssertionError, match="mind failed"),
        ScriptedServer(Unsure()) as server,
        pytest.raises(JudgeError, match="HTTP 500"),
    ):
        ask(server)
