"""Any OpenAI-compatible endpoint as the judge's model: ``LLMJudge(OpenAILLM("gpt-4o-mini"))``.

Needs the extra ``openai``; the client library is imported when the model is first asked.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, SecretStr

from noisesense.errors import InputError, JudgeSetupError, kind_of
from noisesense_adapters.extras import needs_extra
from noisesense_adapters.models.bridge import Bridge, Reply, completion_reply
from noisesense_adapters.models.failures import BUSY
from noisesense_adapters.models.identity import (
    check_address,
    endpoint,
    identity,
    is_local,
    patience,
)
from noisesense_adapters.models.replies import json_form
from noisesense_adapters.models.running import in_thread
from noisesense_adapters.openai.client import OPENAI, ChatClient

if TYPE_CHECKING:
    from ssl import SSLContext

    from openai import AsyncOpenAI, OpenAI

__all__ = ["OpenAILLM"]

_LIMITS = ("max_tokens", "max_completion_tokens")  # OpenAI's newer models refuse the first
_THOUGHTS = 8_000  # tokens of what some models think before a reply
_MAX_RETRIES = 2
_CONNECT_SECONDS = 10.0


class OpenAILLM(Bridge):
    """A `StructuredLLM` over ``openai.AsyncOpenAI``.

    A request is tried at most ``max_retries + 1`` times, by the client itself. Where the provider
    is busy (429, 503), `LLMJudge` waits and asks again. An endpoint that refuses structured
    output, or the limit of its length, is asked for plain text with the form spelled out from then
    on.

    Args:
        model: the model's name at the endpoint.
        client: an ``AsyncOpenAI`` or ``OpenAI`` (also Azure's) to use with its own settings, in
            place of those below; a sync one is called in threads. You close it yourself. A
            `ChatClient` needs no openai package.
        base_url: the endpoint, default ``OPENAI_BASE_URL`` or OpenAI's own.
        api_key: default ``OPENAI_API_KEY``. An endpoint on this machine or its network needs none.
        timeout: seconds without a byte after which a request is given up, default 60, or 600 for
            an endpoint on this machine or its network, which may answer one call after the other.
            The whole of it ends with `LLMJudge`'s ``timeout``.
        max_retries: further requests after a 408, 409, another 5xx, a timeout or a lost
            connection, default 2.
        params: sent with every request: ``{"temperature": 0}``, ``{"extra_body": …}``.

    Raises:
        InputError: no name, an address without http://, or both a client and what makes one.

    Attributes:
        name: the model, and its endpoint without ``http://`` if that is not OpenAI's own.
        identity: what its answers depend on besides: endpoint and ``params``; no key.
    """

    def __init__(
        self,
        model: str,
        *,
        client: AsyncOpenAI | OpenAI | ChatClient | None = None,
        base_url: str | None = None,
        api_key: str | SecretStr | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(api_key, str):
            api_key = SecretStr(api_key)  # no traceback with its locals shows it
        if not isinstance(model, str) or not model.strip():
            raise InputError("a model's name that is not blank", kind_of(model), where="model")
        if client is not None:
            _check_alone(base_url, api_key, timeout, max_retries)
        options = dict(params or {})
        address = _address_of(base_url, client)
        shown = endpoint(address)
        self.name = model if address == OPENAI else f"{model} at {shown}"
        self.identity = identity(
            model=model,
            endpoint=shown,
            params=options,
            # Azure's version of its interface.
            query=getattr(client, "default_query", None) or None,
        )
        # A function shows no headers in ``vars``.
        self._request: Callable[[], dict[str, Any]] = lambda: {"model": model, **options}
        self._send = _sender(
            client,
            base_url=address,
            api_key=api_key.get_secret_value() if api_key else usual_key(address),
            timeout=patience(address) if timeout is None else timeout,
            max_retries=_MAX_RETRIES if max_retries is None else max_retries,
        )
        is_openai = shown.partition("/")[0].endswith(("openai.com", "azure.com"))
        self._limit = _LIMITS[is_openai]
        self._thinks = False

    async def ask(self, prompt: str, schema: type[BaseModel] | None) -> Reply:
        """See `Bridge.ask`."""
        body = self._request()
        body["messages"] = [{"role": "user", "content": prompt}]
        name = ""
        if schema is not None:
            name = schema.__name__
            form = {"name": name, "schema": json_form(schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
            most: int | None = getattr(schema, "max_tokens", None)
            if most is not None and body.keys().isdisjoint(_LIMITS):
                body[self._limit] = most + (_THOUGHTS if self._thinks else 0)
        reply = completion_reply(await self._send(**body), name)
        self._thinks = self._thinks or reply.is_thinking
        return reply


def _address_of(base_url: str | None, client: AsyncOpenAI | OpenAI | ChatClient | None) -> str:
    """Return where requests go: as given, by the client, or by the environment.

    Raises `InputError` for an address without http://.
    """
    usual = os.environ.get("OPENAI_BASE_URL") if client is None else str(client.base_url)
    address = base_url or usual or OPENAI
    check_address(address, "base_url or OPENAI_BASE_URL")
    return address


def usual_key(address: str) -> str | None:
    """Return a stand-in key for a local endpoint if OPENAI_API_KEY is not set; else None."""
    if os.environ.get("OPENAI_API_KEY"):
        return None
    return "none" if is_local(address) else None


def _check_alone(*settings: object) -> None:
    """Raise `InputError` if one of a client's settings was given beside it."""
    if any(setting is not None for setting in settings):
        raise InputError("a client alone", "its settings too", where="client")


def _sender(
    client: AsyncOpenAI | OpenAI | ChatClient | None, **settings: Any
) -> Callable[..., Awaitable[Any]]:
    """Return what sends a request: through the user's client, or one made from the settings.

    A sync client works in threads. An async one is copied for each event loop, so that it works
    in several; with an HTTP client of the user's (a proxy, certificates), which a copy would lack,
    it is used as it is.
    """
    if isinstance(client, ChatClient):
        return client.create
    if client is not None:
        with needs_extra("openai"):
            from openai import AsyncOpenAI
        create: Callable[..., Any] = client.chat.completions.create
        if not isinstance(client, AsyncOpenAI):

            async def send_in_thread(**request: Any) -> Any:
                return await in_thread(partial(create, **request))

            return send_in_thread
        if type(getattr(client, "_client", None)).__name__ != "AsyncHttpxClientWrapper":
            return create
    clients: dict[asyncio.AbstractEventLoop, AsyncOpenAI] = {}

    async def send(**request: Any) -> Any:
        loop = asyncio.get_running_loop()
        if loop not in clients:
            for other in list(clients):
                if other.is_closed():
                    clients.pop(other, None)
            clients[loop] = _new_client(client, settings)
        create: Any = clients[loop].chat.completions.create
        return await create(**request)

    return send


def _new_client(client: AsyncOpenAI | None, settings: dict[str, Any]) -> AsyncOpenAI:
    with needs_extra("openai"):
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient, OpenAIError, Timeout
    # The client's own, once collected, would close itself in whichever loop runs by then. And it
    # would follow a redirect to another host, with the prompt and with keys in other headers.
    files = (os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    http = DefaultAsyncHttpxClient(
        event_hooks={"response": [_leave_busy_to_judge]},
        follow_redirects=False,
        verify=_certificates(*files),
    )
    if client is not None:
        return client.copy(http_client=http)
    seconds = settings["timeout"]
    # An address that drops packets says nothing for as long as one waits.
    timeout: Any = Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
    options: dict[str, Any] = {**settings, "timeout": timeout}
    try:
        return AsyncOpenAI(**options, http_client=http)
    except OpenAIError:
        pass
    raise JudgeSetupError(
        "no API key. Hint: set the environment variable OPENAI_API_KEY, in Python api_key=…; "
        "where none is needed, any text will do"
    )


@lru_cache(maxsize=4)
def _certificates(file: str | None, folder: str | None) -> SSLContext:
    """Return those that HTTP clients trust by default, from the environment's file or folder.

    Loaded once: it takes some 40 ms, and each event loop has a client of its own.
    """
    from openai import DefaultAsyncHttpxClient

    # httpx, or httpx2 from openai 3 on.
    library = import_module(DefaultAsyncHttpxClient.__mro__[1].__module__)
    context: SSLContext = library.create_ssl_context()
    return context


async def _leave_busy_to_judge(response: Any) -> None:
    """Let the judge ask a busy provider again, as it holds back its other calls as well."""
    if response.status_code in BUSY:
        response.headers["x-should-retry"] = "false"  # the client's own retries heed it
