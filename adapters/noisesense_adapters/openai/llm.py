"""`OpenAILLM`: structured replies from an OpenAI-compatible chat-completions endpoint."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel

from noisesense.errors import InputError, JudgeError
from noisesense.judging.protocol import Choice, Usage
from noisesense_adapters.openai.client import ChatClient
from noisesense_adapters.toolbox.extras import needs_extra
from noisesense_adapters.toolbox.identity import check_address, endpoint, identity
from noisesense_adapters.toolbox.running import in_thread, limit_requests, with_deadline

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

Send = Callable[[dict[str, Any]], Awaitable[object]]
_Key = tuple[asyncio.AbstractEventLoop, Hashable]

_lock = threading.RLock()  # letting go of a lifetime may end it there and then
_open: dict[_Key, tuple[AsyncOpenAI, AsyncGenerator[AsyncOpenAI, None]]] = {}


def sender(client: AsyncOpenAI | OpenAI | ChatClient | None, **settings: Any) -> Send:
    """What sends a request: through the user's client, or one made from the settings.

    A sync client works in threads. An async one is copied for each loop, so that it works in
    several; with an HTTP client of the user's (a proxy, certificates), which a copy would lack,
    it is used as it is.
    """
    if client is None:
        return _through(lambda: _settled(settings), lambda: _new_client(settings))
    if isinstance(client, ChatClient):
        return lambda request: client.create(**request)
    with needs_extra("openai"):
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient
    if not isinstance(client, AsyncOpenAI):
        create: Callable[..., object] = with_deadline(client).chat.completions.create
        return lambda request: in_thread(partial(create, **request))
    if type(getattr(client, "_client", None)).__name__ != "AsyncHttpxClientWrapper":
        return _through_one(with_deadline(client))
    return _through(
        lambda: client,
        lambda: client.copy(http_client=limit_requests(DefaultAsyncHttpxClient())),
    )


def _through(what: Callable[[], Hashable], make: Callable[[], AsyncOpenAI]) -> Send:
    async def send(request: dict[str, Any]) -> object:
        return await _through_one(await _client(what(), make))(request)

    return send


def _through_one(client: AsyncOpenAI) -> Send:
    create: Any = client.chat.completions.create

    async def send(request: dict[str, Any]) -> object:
        return await create(**request)

    return send


async def _client(what: Hashable, make: Callable[[], AsyncOpenAI]) -> AsyncOpenAI:
    """The running loop's client for ``what``, closed with the loop; made if it is not there."""
    key = asyncio.get_running_loop(), what
    with _lock:
        entry = _open.get(key)
    if entry is not None:
        return entry[0]
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
        return AsyncOpenAI(**settings, http_client=limit_requests(DefaultAsyncHttpxClient()))
    except OpenAIError:
        pass
    raise JudgeError(
        "no API key. Hint: set the environment variable OPENAI_API_KEY or give api_key; "
        "an endpoint without keys takes any text"
    )


S = TypeVar("S", bound=BaseModel)

_FORMS = ("json_schema", "json_object", "text")  # from the strictest to what all endpoints know
# To ask for a word: with probabilities, without, and for models that know no such limit (those
# that think first would reach it before they reply).
_WAYS: tuple[dict[str, Any], ...] = (
    {"max_tokens": 8, "logprobs": True, "top_logprobs": 10},
    {"max_tokens": 8},
    {},
)
_TIMEOUT, _MAX_RETRIES = 60.0, 2


class OpenAILLM:
    """A `StructuredLLM` over ``openai.AsyncOpenAI``.

    A request is tried at most ``max_retries + 1`` times, by the client itself, which honours
    ``Retry-After``. An endpoint that refuses structured output is asked for a JSON object, then
    for plain text with the form spelled out; the form it accepts is remembered.

    Args:
        model: the model's name at the endpoint.
        client: an ``AsyncOpenAI`` or ``OpenAI`` (also Azure's) to use with its own settings, in
            place of those below; a sync one is called in threads. You close it yourself. A
            `ChatClient` needs no openai package.
        base_url: the endpoint, default ``OPENAI_BASE_URL`` or OpenAI's own.
        api_key: default ``OPENAI_API_KEY``.
        timeout: seconds a whole request may take, default 60; of a client of your own, its
            read timeout.
        max_retries: further requests after a 408, 409, 429, 5xx, a timeout or a lost
            connection, default 2.
        params: sent with every request: ``{"temperature": 0}``, ``{"extra_body": …}``.

    Raises:
        InputError: no name, an address without http://, or both a client and what makes one.
    """

    def __init__(
        self,
        model: str,
        *,
        client: AsyncOpenAI | OpenAI | ChatClient | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(model, str) or not model.strip():
            got = "an empty text" if isinstance(model, str) else type(model).__name__
            raise InputError("a model's name", got, where="model")
        if base_url is not None:
            check_address(str(base_url), "base_url")
        settings = (base_url, api_key, timeout, max_retries)
        if client is not None and settings != (None, None, None, None):
            raise InputError(
                "either a client or base_url, api_key, timeout and max_retries",
                "both",
                where="OpenAILLM",
                hint="client.with_options(timeout=…, max_retries=…) changes a client's",
            )
        self.model = model
        self._address = base_url or (str(client.base_url) if client is not None else "")
        self._params = dict(params or {})
        self._query = getattr(client, "default_query", None)  # Azure's version of its interface
        self._send = sender(
            client,
            base_url=base_url,
            api_key=api_key,
            timeout=_TIMEOUT if timeout is None else timeout,
            max_retries=_MAX_RETRIES if max_retries is None else max_retries,
        )
        self._form = self._way = 0

    def __repr__(self) -> str:
        return f"OpenAILLM({self.name!r})"

    @property
    def name(self) -> str:
        """The model, with its endpoint if it is not OpenAI's own."""
        parts = urlsplit(self._address)
        host = parts.netloc.rpartition("@")[2]  # without credentials
        return f"{self.model} at {host}{parts.path.rstrip('/')}" if host else self.model

    @property
    def identity(self) -> str:
        """What the answers depend on beside the model's name: endpoint and ``params``; no key."""
        address = self._address or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        return identity(
            model=self.model,
            endpoint=endpoint(address),
            params=self._params,
            query=self._query,
        )

    def request(self, prompt: str, schema: type[BaseModel]) -> dict[str, Any]:
        """The body of a chat completion that asks for the form, as `generate` sends it first."""
        return self._request(prompt, schema, _FORMS[0])

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """See `noisesense.StructuredLLM`. Raises `ReplyError`, `JudgeError`."""
        # Here and below: loaded only where something is asked. A store may have all the replies.
        from noisesense_adapters.toolbox.failures import RequestRefusedError, call_model

        for form in range(self._form, len(_FORMS)):
            request = self._request(prompt, schema, _FORMS[form])
            has_other_form = form + 1 < len(_FORMS)
            try:
                reply = self._reply(request, form, schema)
                return await call_model(reply, self.name, has_other_form=has_other_form)
            except RequestRefusedError:
                continue
        raise AssertionError("the last form returns or raises")

    async def choose(self, prompt: str, words: Sequence[str]) -> tuple[Choice, Usage]:
        """See `noisesense.WordLLM`: with the words' probabilities, where the endpoint has them."""
        from noisesense_adapters.toolbox.failures import RequestRefusedError, call_model

        for way in range(self._way, len(_WAYS)):
            request = {"model": self.model, **_WAYS[way], **self._params}
            request["messages"] = [{"role": "user", "content": prompt}]
            try:
                return await call_model(
                    self._choice(request, way, words),
                    self.name,
                    has_other_form=way + 1 < len(_WAYS),
                )
            except RequestRefusedError:
                continue
        raise AssertionError("the last way returns or raises")

    async def _choice(
        self, request: dict[str, Any], way: int, words: Sequence[str]
    ) -> tuple[Choice, Usage]:
        from noisesense_adapters.toolbox.replies import read_choice

        completion = await self._send(request)
        self._way = max(self._way, way)
        return read_choice(completion, words)

    async def _reply(self, request: dict[str, Any], form: int, schema: type[S]) -> tuple[S, Usage]:
        from noisesense_adapters.toolbox.replies import read_completion

        completion = await self._send(request)
        self._form = max(self._form, form)
        return await read_completion(completion, schema)

    def _request(self, prompt: str, schema: type[BaseModel], form: str) -> dict[str, Any]:
        from noisesense_adapters.toolbox.replies import json_form, spelled_out

        request: dict[str, Any] = {"model": self.model, **self._params}
        if form == "json_schema":
            form_of_reply = {"name": schema.__name__, "schema": json_form(schema), "strict": True}
            request["response_format"] = {"type": form, "json_schema": form_of_reply}
        else:
            prompt = spelled_out(prompt, schema)
            if form == "json_object":
                request["response_format"] = {"type": form}
        request["messages"] = [{"role": "user", "content": prompt}]
        return request
