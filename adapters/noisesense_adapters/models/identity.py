"""What tells one model from another, so that no answer of one counts for the other.

And addresses: what may be shown of one, and whether it is near.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from noisesense.errors import InputError, describe

# Long and of letters and digits mixed, as no word or version is: a key or a signature.
_RANDOM = re.compile(r"(?=\w{0,19}[0-9])(?=\w{0,19}[A-Za-z])\w{20,}")
_SECRET_TEXT = re.compile(r"(?i)\b(sk|pk|rk|gsk|xai|hf|ghp|api)[-_][-\w]{8}|\bbearer\s")

# Options that change how a request is made, and not what is answered.
_OF_THE_REQUEST = frozenset(
    (
        *("api_key", "headers", "extra_headers", "default_headers"),
        *("timeout", "request_timeout", "max_retries", "streaming", "stream_usage"),
        *("http_client", "http_async_client", "async_http_client"),
        *("name", "repr"),  # how LangChain shows an object
    )
)


def identity(**parts: object) -> str:
    """Return a digest of all that changes an answer: the same in any order, and with any key.

    Args:
        parts: what is known of a model (``model=``, ``base_url=``, its options), as JSON has it.
            An object among it counts by its class. Left out at any depth: keys, headers,
            timeouts, retries, and ``name``, which is only how LangChain shows an object.
    """
    text = json.dumps(_relevant(parts), sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _relevant(value: object) -> object:
    """Return the value without what is only of the request."""
    if isinstance(value, Mapping):
        options = cast("Mapping[Any, object]", value).items()
        return {
            str(name): _relevant(option)
            for name, option in options
            if str(name) not in _OF_THE_REQUEST
        }
    if isinstance(value, (list, tuple)):
        return [_relevant(item) for item in cast("list[object]", value)]
    return value


def _plain(value: Any) -> object:
    """Return a number of numpy as JSON has it; of another object its class."""
    if getattr(value, "shape", None) == ():
        return value.item()
    return type(value).__qualname__


def endpoint(url: object) -> str:
    """Host, port and path of an address, without credentials and query.

    A short digest stands for a part of the path that may be a key.
    """
    parts = urlsplit(str(url))
    host = parts.netloc.rpartition("@")[2]
    segments = parts.path.rstrip("/").split("/")
    return host + "/".join(map(_shown, segments))


def _shown(text: str) -> str:
    """Return the text, or a short digest of one that may hold a key."""
    if not _RANDOM.search(text) and not _SECRET_TEXT.search(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"~{digest[:8]}"


def check_address(address: str, where: str) -> None:
    """Raise `InputError` unless it is ``http[s]://host[:port][/…]``. Credentials are not shown."""
    if not _is_http(address):
        expected = "an address that begins with http:// or https:// and a host"
        got = "another" if "@" in address else describe(address)
        raise InputError(expected, got, where=where, hint="such as http://localhost:8000/v1")


def _is_http(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # invalid brackets, a port that is not a number
        return False


def is_local(address: str) -> bool:
    """Tell whether the endpoint is on this machine or in its network, as Ollama is.

    By its address alone: no name is looked up.
    """
    from ipaddress import ip_address  # not needed to start

    host = ""
    try:
        host = urlsplit(address).hostname or ""
        return ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local", ".internal"))


def patience(address: str) -> float:
    """Read timeout in seconds (60; 600 for local endpoints, which may queue requests)."""
    return 600.0 if is_local(address) else 60.0
