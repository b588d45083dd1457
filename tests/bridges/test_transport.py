"""What must not travel, and what must not hang: redirects, keys in addresses, other loops."""

from __future__ import annotations

import asyncio
import socket
import time
import warnings
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI

from noisesense.errors import JudgeError
from noisesense.judging.prompts import Claims
from noisesense_adapters.models.identity import endpoint
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.openai.client import ChatClient
from support import misbehavior as bad
from support.langchain_models import run
from support.says import Says
from support.server import ScriptedServer

WHOLE = '{"claims": ["One."]}'
SIGNATURE = "AbCdEf0123456789AbCdEf0123456789"


def _ask(llm: Any) -> Any:
    return run(llm.generate("Which claims?", Claims))


def _ours(url: str, key: str = "k", **options: Any) -> list[OpenAILLM]:
    made = AsyncOpenAI(
        base_url=url, api_key=key, max_retries=0, default_headers={"X-Api-Key": key}
    )
    return [
        OpenAILLM("m", base_url=url, api_key=key, max_retries=0, **options),
        OpenAILLM("m", client=made),
        OpenAILLM("m", client=ChatClient(base_url=url, api_key=key, max_retries=0)),
    ]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_is_followed(status: int) -> None:
    with ScriptedServer(Says(WHOLE)) as other:
        moved = bad.Misbehavior(
            "moved", status, {"location": f"{other.base_url}/chat/completions"}
        )
        with ScriptedServer(Says(WHOLE), script=bad.always(moved)) as server:
            for llm in _ours(server.base_url):
                with pytest.raises(JudgeError, match="check the base URL"):
                    _ask(llm)
            assert server.log.calls == 3
        assert other.log.calls == 0


def test_a_key_in_an_address_is_in_no_name() -> None:
    url = f"https://gateway.example/v1/{SIGNATURE}/openai"
    params = {"extra_query": {"sig": SIGNATURE[:9], "other": SIGNATURE, "api-version": "2024-10"}}
    for llm in _ours(url, params=params)[:1] + _ours(url)[1:]:
        assert SIGNATURE[:9] not in llm.name + llm.identity + repr(llm)
    # Two accounts are two endpoints; what only looks long is shown.
    assert endpoint(url) != endpoint(url.replace("AbC", "XyZ"))
    deployment = "a.example/openai/deployments/gpt-4o-mini-2024-07-18"
    assert endpoint(f"https://{deployment}") == deployment


def test_a_client_of_another_loop_is_named() -> None:
    """One with an HTTP client of the user's, which cannot be copied."""
    with warnings.catch_warnings(), ScriptedServer(Says(WHOLE)) as server:
        warnings.simplefilter("ignore", ResourceWarning)
        options = {"base_url": server.base_url, "api_key": "k", "max_retries": 0}
        llm = OpenAILLM("m", client=AsyncOpenAI(http_client=httpx.AsyncClient(), **options))
        asyncio.run(llm.generate("Which claims?", Claims))
        with pytest.raises(JudgeError, match="opened in another event loop") as caught:
            asyncio.run(llm.generate("Which claims?", Claims))
    assert "address" not in str(caught.value)


def test_an_address_that_drops_packets_is_given_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full queue of connections, which drops the next, as a firewall does."""
    monkeypatch.setattr("noisesense_adapters.openai._CONNECT_SECONDS", 0.3)
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        url = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
        waiting = [socket.socket() for _ in range(8)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        start = time.monotonic()
        with pytest.raises(JudgeError, match="cannot be reached"):
            _ask(_ours(url)[0])
        assert time.monotonic() - start < 60  # of 600 for a reply
        for each in waiting:
            each.close()
