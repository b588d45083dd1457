"""`ChatClient`: chat completions over the standard library, for a process of a few calls."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import math
import os
import time
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from noisesense.errors import JudgeError
from noisesense_adapters.toolbox.given import as_object
from noisesense_adapters.toolbox.running import in_thread

if TYPE_CHECKING:
    from email.message import Message
    from urllib.request import OpenerDirector

_OPENAI = "https://api.openai.com/v1"
_FIRST_DELAY, _LONGEST_DELAY, _LONGEST_ASKED_FOR = 0.5, 8.0, 120.0
MOST_BYTES = 8_000_000
"""Of a reply's body, four for each character that is read of it."""
TOO_LARGE = f"the endpoint's reply is larger than {MOST_BYTES:,} bytes"
_AGAIN = (408, 409, 429)  # and what is above 499


class ChatClient:
    """What the openai package does for a chat completion, at a twentieth of its import.

    Loading that package takes as long as loading this one and pydantic ten times over, and
    Promptfoo starts a process for every assertion. A connection serves one request, so a process
    that lives for many is better off with the package.

    Args:
        api_key: sent as the bearer token.
        base_url: the endpoint; empty for OpenAI's own.
        timeout: seconds one attempt may take, from its start to the last byte of its reply.
        max_retries: further attempts after a 408, 409, 429, 5xx, a timeout or a lost connection.
            ``Retry-After`` is honored up to two minutes.

    As the package does, it reads OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS, the
    proxies of the environment, and SSL_CERT_FILE. A redirect is followed only within the host.
    """

    def __init__(
        self, *, api_key: str, base_url: str = "", timeout: float = 60.0, max_retries: int = 2
    ) -> None:
        self.base_url = base_url
        self._timeout, self._max_retries = timeout, int(max_retries)
        parts = urlsplit(base_url or _OPENAI)
        credentials, _, host = parts.netloc.rpartition("@")
        path = parts.path.rstrip("/") + "/chat/completions"
        self._url = urlunsplit((parts.scheme, host, path, parts.query, ""))
        authorization = f"Bearer {api_key}"
        if credentials:
            encoded = base64.b64encode(unquote(credentials).encode()).decode()
            authorization = f"Basic {encoded}"
        self._headers = {
            "Authorization": authorization,
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": "noisesense",
        } | _headers_of_environment()
        self._opener: OpenerDirector | None = None

    async def create(self, **request: Any) -> object:
        """The completion, with its fields as attributes, whatever they are."""
        import random  # only where something is asked

        body = json.dumps(request).encode()
        self._opener = self._opener or _new_opener()
        for attempt in range(self._max_retries + 1):
            post = in_thread(partial(self._post, body, self._opener))
            usual = min(_FIRST_DELAY * 2.0 ** min(attempt, 9), _LONGEST_DELAY) * random.uniform(
                0.75, 1
            )
            try:
                reply = await asyncio.wait_for(post, self._timeout)
                return json.loads(reply, object_hook=lambda fields: SimpleNamespace(**fields))
            except (_StatusError, ConnectionError, TimeoutError, asyncio.TimeoutError) as error:
                delay = _delay(error, usual) if isinstance(error, _StatusError) else usual
                if attempt == self._max_retries or delay is None:
                    raise
            await asyncio.sleep(delay)
        raise AssertionError("the last attempt returns or raises")

    def _post(self, body: bytes, opener: OpenerDirector) -> bytes:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        request = Request(self._url, body, self._headers, method="POST")
        try:
            with opener.open(request, timeout=self._timeout) as response:
                reply: bytes = response.read(MOST_BYTES + 1)
        except HTTPError as error:  # a redirect that is not followed
            raise _StatusError(error.code, error.headers, b"") from None
        except (HTTPException, OSError) as error:
            if isinstance(getattr(error, "reason", error), TimeoutError):
                raise
            raise ConnectionError from error
        if len(reply) > MOST_BYTES:
            raise JudgeError(TOO_LARGE)
        if getattr(response, "length", 0):  # what is still to come: a bounded read says nothing
            raise ConnectionError("cut short")
        if response.status >= 300:
            raise _StatusError(response.status, response.headers, reply)
        return reply


class _StatusError(Exception):
    """An HTTP status that is no success, with the attributes that the toolbox reads."""

    def __init__(self, status_code: int, headers: Message, reply: bytes) -> None:
        super().__init__()
        self.status_code, self.headers = status_code, headers
        self.message = reply.decode(errors="replace")
        try:
            self.body: dict[str, Any] = as_object(json.loads(reply))
        except (ValueError, RecursionError):
            self.body = {}
        self.param: Any = as_object(self.body.get("error")).get("param")


def _delay(error: _StatusError, usual: float) -> float | None:
    """Seconds until the next attempt; None: there is none."""
    asked_for = _asked_for(error.headers)
    if asked_for > _LONGEST_ASKED_FOR:
        return None
    again = error.status_code in _AGAIN or error.status_code >= 500
    again = {"true": True, "false": False}.get(error.headers.get("x-should-retry", ""), again)
    return (asked_for if asked_for > 0 else usual) if again else None


def _asked_for(headers: Message) -> float:
    """The seconds of Retry-After, given in seconds, in milliseconds, or as a date; else 0."""
    from email.utils import mktime_tz, parsedate_tz

    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return seconds if math.isfinite(seconds) else 0.0
    date = parsedate_tz(headers.get("retry-after", ""))
    return mktime_tz(date) - time.time() if date else 0.0


def _headers_of_environment() -> dict[str, str]:
    named = {
        "OpenAI-Organization": os.environ.get("OPENAI_ORG_ID"),
        "OpenAI-Project": os.environ.get("OPENAI_PROJECT_ID"),
    }
    headers = {name: value for name, value in named.items() if value}
    for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines():
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip()] = value.strip()
    return headers


def _new_opener() -> OpenerDirector:
    """Through the environment's proxies; statuses are read from the response."""
    # Loaded only where something is asked.
    import ssl
    from urllib.request import (
        HTTPErrorProcessor,
        HTTPRedirectHandler,
        HTTPSHandler,
        Request,
        build_opener,
    )

    class Statuses(HTTPErrorProcessor):
        def http_response(self, request: Request, response: Any) -> Any:
            if response.status in (307, 308):
                return super().http_response(request, response)
            return response

        https_response = http_response

    class Redirects(HTTPRedirectHandler):
        # The method stays, and the key does not leave the host.
        def redirect_request(
            self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
        ) -> Request | None:
            old, new = urlsplit(req.full_url), urlsplit(newurl)
            if old.hostname != new.hostname or (old.scheme, new.scheme) == ("https", "http"):
                return None
            return Request(newurl, req.data, req.headers, method="POST")

        http_error_308 = HTTPRedirectHandler.http_error_302

    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath):  # as of python.org's installer for macOS
        with contextlib.suppress(ImportError):
            import certifi

            context.load_verify_locations(certifi.where())
    return build_opener(Statuses, Redirects, HTTPSHandler(context=context))
