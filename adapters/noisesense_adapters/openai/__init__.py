"""Any OpenAI-compatible endpoint as the judge's model: ``LLMJudge(OpenAILLM("gpt-4o-mini"))``.

Needs the extra ``openai``; the client library is imported when the model is first asked.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Mapping,
    Sequence,
)
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel

from noisesense.errors import InputError, JudgeError
from noisesense.judging.protocol import Choice, Usage
from noisesense_adapters.openai.client import MOST_BYTES, TOO_LARGE, ChatClient
from noisesense_adapters.toolbox.extras import needs_extra
from noisesense_adapters.toolbox.judges import check_address, endpoint, identity, patience
from noisesense_adapters.toolbox.running import in_thread

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

    from noisesense_adapters.toolbox.failures import RequestRefusedError

__all__ = ["OpenAILLM"]

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
        from openai import AsyncOpenAI
    if not isinstance(client, AsyncOpenAI):
        create: Callable[..., object] = client.chat.completions.create
        return lambda request: in_thread(partial(create, **request))
    if type(getattr(client, "_client", None)).__name__ != "AsyncHttpxClientWrapper":
        return _through_one(client)
    return _through(lambda: client, lambda: client.copy(http_client=_http_client()))


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
        from openai import AsyncOpenAI, OpenAIError
    try:
        # The client's own, once collected, would close itself in whichever loop runs by then.
        return AsyncOpenAI(**settings, http_client=_http_client())
    except OpenAIError:
        pass
    raise JudgeError(
        "no API key. Hint: set the environment variable OPENAI_API_KEY, or name another by "
        "--api-key-env NAME (in Python: api_key=…); where none is needed, any text will do"
    )


def _http_client() -> Any:
    """The openai package's own, but a small reply does not expand to more than memory holds."""
    from openai import DefaultAsyncHttpxClient

    async def bound(response: Any) -> None:
        encoding = response.headers.get("content-encoding", "identity")
        # Of httpx or its successor, as the package has it.
        kinds: tuple[type[Any], ...] = type(response.stream).__mro__
        kind = next(each for each in kinds if each.__name__ == "AsyncByteStream")
        members = {"__aiter__": _Bounded.__aiter__, "aclose": _Bounded.aclose}
        bounded = type("Bounded", (kind,), members)()
        bounded.stream, bounded.most = response.stream, _MOST_BYTES.get(encoding, 0)
        response.stream = bounded

    asks = {"Accept-Encoding": "identity"}  # which an endpoint may ignore
    return DefaultAsyncHttpxClient(headers=asks, event_hooks={"response": [bound]})


class _Bounded:
    """A reply's body, of at most so many bytes."""

    stream: Any
    most: int

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self.stream:
            self.most -= len(piece)
            if self.most < 0:
                raise JudgeError(TOO_LARGE)
            yield piece

    async def aclose(self) -> None:
        await self.stream.aclose()


S = TypeVar("S", bound=BaseModel)

# Zipped, a byte stands for at most 1,032.
_MOST_BYTES = {"identity": MOST_BYTES, "gzip": MOST_BYTES // 128, "deflate": MOST_BYTES // 128}
_FORMS = ("json_schema", "json_object", "text")  # from the strictest to what all endpoints know
_LIMITS = ("max_tokens", "max_completion_tokens", "")  # OpenAI's newer models refuse the first
_WORD, _THOUGHTS = 8, 8_000  # tokens of a word, and of what some models think before a reply


class _Way(NamedTuple):
    """How an endpoint is asked: positions in `_FORMS` and `_LIMITS`, and for probabilities?"""

    form: int = 0
    limit: int = 0
    logprobs: int = 1

    def narrowed(
        self, error: RequestRefusedError | None, limited: bool, word: bool
    ) -> _Way | None:
        """What to try when this is refused; None if nothing is left."""
        if limited and error is not None and error.names(_LIMITS[self.limit]):
            return self._replace(limit=self.limit + 1)
        if self.logprobs and word:
            return self._replace(logprobs=0)
        if self.form + 1 < len(_FORMS) and not word:
            return self._replace(form=self.form + 1)
        return self._replace(limit=len(_LIMITS) - 1) if limited else None


_MAX_RETRIES = 2


def _usual_address() -> str:
    return os.environ.get("OPENAI_BASE_URL") or ""


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
        timeout: seconds without a byte after which a request is given up, default 60, or 600 for
            an endpoint on this machine or its network, which may answer one call after the other.
            The whole of it ends with `LLMJudge`'s ``timeout``.
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
            timeout=patience(base_url or _usual_address()) if timeout is None else timeout,
            max_retries=_MAX_RETRIES if max_retries is None else max_retries,
        )
        self._way = _Way()
        self._thinks = False

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
        address = self._address or _usual_address() or "https://api.openai.com/v1"
        return identity(
            model=self.model,
            endpoint=endpoint(address),
            params=self._params,
            query=self._query,
        )

    def request(self, prompt: str, schema: type[BaseModel]) -> dict[str, Any]:
        """The body of a chat completion that asks for the form, as `generate` sends it first."""
        return self._structured(prompt, schema, _FORMS[0])

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """See `noisesense.StructuredLLM`. Raises `ReplyError`, `JudgeError`."""
        # Here and below: loaded only where something is asked. A store may have all the replies.
        from noisesense_adapters.toolbox.replies import read_completion

        most: int | None = getattr(schema, "max_tokens", None)
        completion = await self._completion(
            lambda way: self._structured(prompt, schema, _FORMS[way.form]), most
        )
        return await read_completion(completion, schema)

    async def choose(self, prompt: str, words: Sequence[str]) -> tuple[Choice, Usage]:
        """See `noisesense.WordLLM`: with the words' probabilities, where the endpoint has them."""
        from noisesense_adapters.toolbox.words import read_choice

        def request(way: _Way) -> dict[str, Any]:
            probabilities = {"logprobs": True, "top_logprobs": 20} if way.logprobs else {}
            messages = [{"role": "user", "content": prompt}]
            return {"model": self.model, "messages": messages, **probabilities, **self._params}

        return read_choice(await self._completion(request, _WORD, word=True), words)

    async def _completion(
        self, request: Callable[[_Way], dict[str, Any]], most: int | None, *, word: bool = False
    ) -> object:
        """What the endpoint replies. What it refuses is left out of the request, for good."""
        from noisesense_adapters.toolbox.failures import RequestRefusedError, call_model
        from noisesense_adapters.toolbox.words import broke_off_thinking

        way: _Way | None = self._way
        while way is not None:
            body, limit = request(way), _LIMITS[way.limit]
            limited = most is not None and limit != "" and not set(_LIMITS) & body.keys()
            if limited and most is not None:
                body[limit] = most + (_THOUGHTS if self._thinks else 0)
            try:
                completion = await call_model(
                    self._send(body),
                    self.name,
                    has_other_form=way.narrowed(None, limited, word) is not None,
                )
            except RequestRefusedError as error:
                way = way.narrowed(error, limited, word)
                continue
            known = self._way
            self._way = _Way(
                max(known.form, way.form),
                max(known.limit, way.limit),
                min(known.logprobs, way.logprobs),
            )
            self._thinks = self._thinks or broke_off_thinking(completion)
            return completion
        raise AssertionError("the last way returns or raises")

    def _structured(self, prompt: str, schema: type[BaseModel], form: str) -> dict[str, Any]:
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
