"""One client per event loop: its open connections belong to the loop that made them."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any

from noisesense.errors import JudgeError
from noisesense_adapters._extras import needs_extra
from noisesense_adapters._threads import in_thread

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

__all__ = ["Send", "sender"]

Send = Callable[[dict[str, Any]], Awaitable[object]]
_Key = tuple[asyncio.AbstractEventLoop, Hashable]

_lock = threading.RLock()  # letting go of a lifetime may end it there and then
_open: dict[_Key, tuple[AsyncOpenAI, AsyncGenerator[AsyncOpenAI, None]]] = {}


def sender(client: AsyncOpenAI | OpenAI | None, **settings: Any) -> Send:
    """What sends a request: through the user's client, or one made from the settings.

    A sync client works in threads. An async one is copied for each loop, so that it works in
    several; with an HTTP client of the user's (a proxy, certificates), which a copy would lack,
    it is used as it is.
    """
    if client is None:
        return _through(lambda: _settled(settings), lambda: _new_client(settings))
    with needs_extra("openai"):
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient
    if not isinstance(client, AsyncOpenAI):
        create: Callable[..., object] = client.chat.completions.create
        return lambda request: in_thread(partial(create, **request))
    if type(getattr(client, "_client", None)).__name__ != "AsyncHttpxClientWrapper":
        return _through_one(client)
    return _through(lambda: client, lambda: client.copy(http_client=DefaultAsyncHttpxClient()))


def _through(what: Callable[[], Hashable], make: Callable[[], AsyncOpenAI]) -> Send:
    async def send(request: dict[str, Any]) -> object:
        return await _through_one(await _client(what(), make))(request)

    return send


def _through_one(client: AsyncOpenAI) -> Send:
    create: Any = client.chat.completions.create
    return lambda request: create(**request)


async def _client(what: Hashable, make: Callable[[], AsyncOpenAI]) -> AsyncOpenAI:
    """The running loop's client for ``what``, closed with the loop; made if it is not there."""
    key = asyncio.get_running_loop(), what
    with _lock:
        held = _open.get(key)
    if held is not None:
        return held[0]
    # A generator left suspended is closed by whoever ends the loop (`asyncio.run` does, in
    # `shutdown_asyncgens`): the one moment at which connections can still be closed. It is kept
    # here and not by the model object, which may be gone by then.
    lifetime = _lifetime(key, make())
    client = await anext(lifetime)
    with _lock:
        for other in [other for other in _open if other[0].is_closed()]:
            del _open[other]
        _open[key] = client, lifetime
    return client


async def _lifetime(key: _Key, client: AsyncOpenAI) -> AsyncGenerator[AsyncOpenAI, None]:
    try:
        yield client
    finally:
        with _lock:
            _open.pop(key, None)
        # Where nobody ended the loop (nest_asyncio never does), this is the collector's doing:
        # nothing can be awaited any more, and the connections go with the process.
        if _running() is key[0]:
            await client.close()


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _settled(settings: dict[str, Any]) -> Hashable:
    """The settings, with those that the client takes from the environment."""
    from_environment = (os.environ.get(name) for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"))
    return (*settings.items(), *from_environment)


def _new_client(settings: dict[str, Any]) -> AsyncOpenAI:
    with needs_extra("openai"):
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient, OpenAIError
    try:
        # The client's own, once collected, would close itself in whichever loop runs by then.
        return AsyncOpenAI(**settings, http_client=DefaultAsyncHttpxClient())
    except OpenAIError:
        pass
    raise JudgeError(
        "no API key. Hint: set the environment variable OPENAI_API_KEY or give api_key; "
        "an endpoint without keys takes any text"
    )
