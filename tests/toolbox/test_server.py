"""The loopback server itself: real clients understand it, and its figures are right."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel

from support import misbehavior as bad
from support.request_log import longest_chain, most_at_once
from support.server import ScriptedServer


class Answer(BaseModel):
    text: str


class Echo:
    def answer(self, prompt: str) -> str:
        return json.dumps({"text": prompt[::-1]})


async def _say(client: AsyncOpenAI, prompt: str, **options: Any) -> Any:
    messages: Any = [{"role": "user", "content": prompt}]
    return await client.chat.completions.create(model="m", messages=messages, **options)


def _with_client(
    server: ScriptedServer, use: Callable[[AsyncOpenAI], Awaitable[Any]], **options: Any
) -> Any:
    async def main() -> Any:
        async with AsyncOpenAI(base_url=server.base_url, api_key="k-1", **options) as client:
            return await use(client)

    return asyncio.run(main())


def test_every_form_carries_the_minds_answer() -> None:
    async def use(client: AsyncOpenAI) -> list[str]:
        plain = await _say(client, "abc")
        several = await _say(client, "abc", n=2)
        tool = {"name": "Answer", "parameters": Answer.model_json_schema()}
        tools = await _say(client, "abc", tools=[{"type": "function", "function": tool}])
        messages: Any = [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]
        form: Any = {"name": "Answer", "schema": Answer.model_json_schema()}
        formed = await client.chat.completions.create(
            model="m",
            messages=messages,
            response_format={"type": "json_schema", "json_schema": form},
        )
        models = await client.models.list()
        assert plain.usage.total_tokens == 1 + 4  # 3 and 15 characters
        return [
            plain.choices[0].message.content,
            several.choices[1].message.content,
            tools.choices[0].message.tool_calls[0].function.arguments,
            formed.choices[0].message.content or "",
            models.data[0].id,
        ]

    with ScriptedServer(Echo()) as server:
        said = _with_client(server, use)
    assert said == ['{"text": "cba"}'] * 3 + [json.dumps({"text": "b\na"}), "scripted"]
    assert [r.form for r in server.log.requests] == ["text", "text", "tools", "json_schema"]
    assert {r.key for r in server.log.requests} == {"k-1"}
    assert {r.headers["authorization"] for r in server.log.requests} == {"***"}


def test_rounds_and_concurrency_are_counted_from_the_requests() -> None:
    async def use(client: AsyncOpenAI) -> None:
        await _say(client, "first")
        await asyncio.gather(*(_say(client, f"side by side {i}") for i in range(50)))
        await _say(client, "last")

    with ScriptedServer(Echo(), together={"side by side": 50}) as server:
        _with_client(server, use)
    assert (server.log.calls, server.log.rounds) == (52, 3)
    assert server.log.concurrency == 50
    assert server.log.prompt_chars == sum(map(len, server.log.prompts))


def test_chains_and_overlaps_by_hand() -> None:
    # a---a        d--d
    #   b----b  c-c  e---e
    spans = [(0, 4), (2, 7), (10, 12), (13, 16), (15, 19)]
    assert longest_chain(spans) == 3  # a, c, d
    assert most_at_once(spans) == 2


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (bad.RATE_LIMITED, openai.RateLimitError),
        (bad.SERVER_ERROR, openai.InternalServerError),
        (bad.HANG, openai.APITimeoutError),
        (bad.CUT_MID_REPLY, openai.APIConnectionError),
        (bad.CUT_BEFORE_REPLY, openai.APIConnectionError),
    ],
    ids=lambda case: getattr(case, "name", ""),
)
def test_faults_reach_the_client_and_pass(fault: bad.Misbehavior, error: type[Exception]) -> None:
    async def use(client: AsyncOpenAI) -> str:
        with pytest.raises(error):
            await _say(client.with_options(timeout=0.5), "abc")
        return str((await _say(client, "abc")).choices[0].message.content)

    with ScriptedServer(Echo(), script=bad.first(1, fault)) as server:
        assert _with_client(server, use, max_retries=0) == '{"text": "cba"}'
    assert [r.fault for r in server.log.requests] == [fault.name, ""]
    assert server.log.requests[0].aborted is fault.hang


def test_a_mind_that_fails_fails_the_test() -> None:
    class Lost:
        def answer(self, prompt: str) -> str:
            raise KeyError(prompt)

    with (
        pytest.raises(AssertionError, match="mind failed"),
        ScriptedServer(Lost()) as server,
        pytest.raises(openai.InternalServerError),
    ):
        _with_client(server, lambda client: _say(client, "abc"), max_retries=0)
