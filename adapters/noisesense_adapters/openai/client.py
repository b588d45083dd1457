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

from noisesense.errors import JudgeError
from noisesense_adapters.models.running import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import Message
    from urllib.request import OpenerDirector

OPENAI = "https://api.openai.com/v1"
_FIRST_DELAY = 0.5
_LONGEST_DELAY = 8.0  # seconds
CONNECT_SECONDS = 10.0
"""An address that drops packets says nothing for as long as one waits."""
MOST_BYTES = 8_000_000
"""Of a reply's body, four for each character that is read of it."""
TOO_LARGE = f"the endpoint's reply is larger than {MOST_BYTES:,} bytes"
_AGAIN = {408, 409, *range(500, 600)} - {503, 529}  # by which the judge waits


class ChatClient:
    """What the openai package does for a chat completion, at a twentieth of its import.

    Loading that package takes as long as loading this one and pydantic ten times over, and
    Promptfoo starts a process for every assertion. A connection serves one request, so a process
    that lives for many is better off with the package.

    Args:
        api_key: sent as the bearer token.
        base_url: the endpoint; empty for OpenAI's own.
        timeout: seconds one attempt may take, from its start to the last byte of its reply.
        max_retries: further attempts after a 408, 409, 5xx, a timeout or a lost connection, but
            not after a 503: the judge waits then, as after a 429.

    As the package does, it reads OPENAI_ORG_ID and OPENAI_PROJECT_ID, the proxies of the
    environment, and SSL_CERT_FILE. It follows no redirect: the key stays with the endpoint.
    """

    def __init__(
        self, *, api_key: str, base_url: str = "", timeout: float = 60.0, max_retries: int = 2
    ) -> None:
        self.base_url = base_url
        self._timeout = timeout
        self._max_retries = int(max_retries)
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
        """Return the completion, with its fields as attributes, whatever they are."""
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
            await asyncio.sleep(_delay(attempt))
        raise AssertionError("the last attempt returns or raises")

    def _post(self, body: bytes, opener: OpenerDirector) -> bytes:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        request = Request(self._url, body, self._headers(), method="POST")
        try:
            with opener.open(request, timeout=self._timeout) as response:
                reply: bytes = response.read(MOST_BYTES + 1)
        except HTTPError as error:
            raise _StatusError(error.code, error.headers, error.read(MOST_BYTES)) from None
        except (HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            kind = TimeoutError if isinstance(reason, TimeoutError) else ConnectionError
            raise kind from error
        if len(reply) > MOST_BYTES:
            raise JudgeError(TOO_LARGE)
        if getattr(response, "length", 0):  # what is still to come: a bounded read says nothing
            raise ConnectionError("cut short")
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


def _delay(attempt: int) -> float:
    """Seconds until the next attempt."""
    import random  # only where something has failed

    doubled = _FIRST_DELAY * 2.0 ** min(attempt, 9)
    return min(doubled, _LONGEST_DELAY) * random.uniform(0.75, 1)


def _new_opener() -> OpenerDirector:
    """Through the environment's proxies, and to where it is told only."""
    # Loaded only where something is asked.
    import ssl
    from http.client import HTTPConnection, HTTPSConnection
    from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, build_opener

    def connection(host: str, **options: Any) -> Any:
        kind: Any = HTTPSConnection if "context" in options else HTTPConnection
        opened: Any = kind(host, **options)
        opened._create_connection = _connect
        return opened

    class Plain(HTTPHandler):
        def http_open(self, req: Any) -> Any:
            return self.do_open(connection, req)

    class Secure(HTTPSHandler):
        def https_open(self, req: Any) -> Any:
            return self.do_open(connection, req, context=context)

    class NoRedirect(HTTPRedirectHandler):
        def redirect_request(self, *_: Any, **__: Any) -> None:
            return None

    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath):  # as of python.org's installer for macOS
        with contextlib.suppress(ImportError):
            import certifi

            context.load_verify_locations(certifi.where())
    return build_opener(NoRedirect, Plain, Secure)


def _connect(address: tuple[str, int], timeout: float, *source: Any) -> Any:
    """Return a connection that may then take longer for a reply than it took to be made."""
    import socket

    try:
        opened = socket.create_connection(address, min(timeout, CONNECT_SECONDS), *source)
    except TimeoutError:
        raise ConnectionError("no connection in time") from None
    opened.settimeout(timeout)
    return opened
