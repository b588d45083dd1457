"""LangChain's ChatOpenAI against the loopback server, without the connections it leaves behind."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any, TypeVar

from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from support.server import ScriptedServer

T = TypeVar("T")

_made: list[ChatOpenAI] = []
_counter = itertools.count()


class InWords(ChatOpenAI):
    """A chat model without structured output, and with a real client."""

    def with_structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def chat_openai(
    server: ScriptedServer,
    kind: type[ChatOpenAI] = ChatOpenAI,
    *,
    key: str = "k-1",
    **options: Any,
) -> ChatOpenAI:
    """A ChatOpenAI at the server, which retries nothing unless told."""
    # LangChain shares clients between models of the same address and timeout, and a port may
    # come again after its client was closed: no two models here have the same timeout.
    options["timeout"] = options.get("timeout", 30) + next(_counter) * 1e-6
    model = kind(
        model="gpt-4o-mini",
        base_url=server.base_url,
        api_key=SecretStr(key),
        **{"max_retries": 0, **options},
    )
    _made.append(model)
    return model


def run(work: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, which at its end closes the models' async clients.

    LangChain keeps their connections for good; the garbage collector would warn of them in the
    middle of some other test.
    """

    async def main() -> T:
        try:
            return await work
        finally:
            while _made:
                await _made.pop().root_async_client.close()

    return asyncio.run(main())
