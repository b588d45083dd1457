"""`ChatClient`: chat completions over the standard library, for a process of a few calls."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from noisesense_adapters.models.identity import check_address
from noisesense_adapters.models.running import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import Message
    from urllib.request import OpenerDirector

OPENAI = "https://api.openai.com/v1"
_FIRST_DELAY = 0.5
_LONGEST_DELAY = 8.0  # seconds
_AGAIN = {408, 409, *range(500, 600)} - {503, 529}  # by which the judge waits


class ChatClient:
    """What the openai package does for a chat completion, at a twentieth of its import.

    Loading that package takes as long as loading this one and pydantic ten times over, and
    Promptfoo starts a process for every assertion. A connection serves one request, so a process
    that lives for many is better off with the package.

    Args:
        api_key: sent as the bearer token, unless ``base_url`` has a user's name and password.
        base_url: the endpoint; empty for OpenAI's own.
        timeout: seconds one attempt may take, from its start to the last byte of its reply.
        max_retries: further attempts after a 408, 409, 5xx, a timeout or a lost connection, but
            not after a 503: the judge waits then, as after a 429.

    As the package does, it reads OPENAI_ORG_ID and OPENAI_PROJECT_ID, the proxies of the
    environment, and SSL_CERT_FILE. It follows no redirect: the key stays with the endpoint.

    Raises:
        InputError: an address without http://.
    """

    def __init__(
        self, *, api_key: str, base_url: str = "", timeout: float = 60.0, max_retries: int = 2
    ) -> None:
        check_address(base_url or OPENAI, "base_url")
        self.base_url = base_url
        self._timeout = timeout
        self._max_retries = max_retries
        parts = urlsplit(base_url or OPENAI)
        credentials, _, host = parts.netloc.rpartition("@")
        path = parts.path.rstrip("/") + "/chat/completions"
        self._url = urlunsplit((parts.scheme, host, path, parts.query, ""))
        authorization = f"Bearer {api_key}"
        if credentials:
            encoded = base64.b64encode(unquote(credentials).encode()).decode()
            authorization = f"Basic {encoded}"
        headers = {
            "Authorization": authorization,
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": "noisesense",
            "OpenAI-Organization": os.environ.get("OPENAI_ORG_ID"),
            "OpenAI-Project": os.environ.get("OPENAI_PROJECT_ID"),
        }
        sent = {name: value for name, value in headers.items() if value}
        # A function can neither be pickled nor printed.
        self._headers: Callable[[], dict[str, str]] = lambda: sent
        self._opener: OpenerDirector | None = None

    async def create(self, **request: Any) -> object:
        """Return the completion, with its fields as attributes, whatever they are.

        Raises an error with a ``status_code`` for an HTTP status, `ConnectionError`, a timeout's
        error, or `ValueError` for a reply that is not JSON.
        """
        body = json.dumps(request).encode()
        self._opener = self._opener or _new_opener()
        for attempt in range(self._max_retries + 1):
            post = in_thread(partial(self._post, body, self._opener))
            try:
                reply = await asyncio.wait_for(post, self._timeout)
                return json.loads(reply, object_hook=lambda fields: SimpleNamespace(**fields))
            except (_StatusError, ConnectionError, TimeoutError, asyncio.TimeoutError) as error:
                status = getattr(error, "status_code", 408)
                if attempt == self._max_retries or status not in _AGAIN:
                    raise
            await asyncio.sleep(min(_FIRST_DELAY * 2.0**attempt, _LONGEST_DELAY))
        raise AssertionError("the last attempt returns or raises")

    def _post(self, body: bytes, opener: OpenerDirector) -> bytes:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        request = Request(self._url, body, self._headers(), method="POST")
        try:
            with opener.open(request, timeout=self._timeout) as response:
                reply: bytes = response.read()
        except HTTPError as error:
            raise _StatusError(error.code, error.headers, error.read()) from None
        except (HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            kind = TimeoutError if isinstance(reason, TimeoutError) else ConnectionError
            raise kind from error
        return reply


class _StatusError(Exception):
    """An HTTP status that is no success, with the attributes that `models.failures` reads."""

    def __init__(self, status_code: int, headers: Message, reply: bytes) -> None:
        super().__init__()
        self.status_code = status_code
        self.headers = headers
        self.message = reply.decode(errors="replace")
        self.body: object = None
        with contextlib.suppress(ValueError, RecursionError):
            self.body = json.loads(reply)


def _new_opener() -> OpenerDirector:
    """Return an opener that uses the environment's proxies and follows no redirect."""
    # Loaded only where something is asked.
    import ssl
    from urllib.request import HTTPRedirectHandler, HTTPSHandler, build_opener

    class NoRedirect(HTTPRedirectHandler):
        def redirect_request(self, *_: Any, **__: Any) -> None:
            return None

    return build_opener(NoRedirect, HTTPSHandler(context=ssl.create_default_context()))
