"""What tells one model from another, so that no answer of one counts for the other.

And addresses: what may be shown of one, and whether it is near.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from inspect import get_annotations
from numbers import Integral, Real
from typing import Any, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretBytes, SecretStr

from noisesense.errors import InputError, describe
from noisesense_adapters.reading.values import as_object

_DEPTH = 12
_FRAMEWORK = re.compile(r"(langchain(_\w+)?|ragas|deepeval|llama_index|haystack)(\.|$)")


class _Names:
    """Names of options: whole ones, and how others start, end, or what they contain."""

    def __init__(self, whole: str = "", *, start: str = "", end: str = "", part: str = "") -> None:
        self._whole = frozenset(whole.split())
        self._start = tuple(start.split())
        self._end = tuple(end.split())
        self._parts = part.split()

    def match(self, name: str) -> bool:
        if name in self._whole or name.startswith(self._start) or name.endswith(self._end):
            return True
        return any(part in name for part in self._parts)


_SECRET = _Names(
    "sig code", part="key token secret passw credential auth header cookie certificate signature"
)
# Long and of letters and digits mixed, as no word or version is: a key or a signature.
_RANDOM = re.compile(r"(?=\w{0,19}[0-9])(?=\w{0,19}[A-Za-z])\w{20,}")
_SECRET_TEXT = re.compile(r"(?i)\b(sk|pk|rk|gsk|xai|hf|ghp|api)[-_][-\w]{8}|\bbearer\s")

# How a request is made, cached, traced or billed does not change an answer.
_IRRELEVANT = _Names(
    """
    name cache verbose callback callbacks callback_manager tags metadata profile rate_limiter
    run_config run_name run_id model_data disable_streaming config_factories config_specs is_async
    max_attempt_number wait_exponential_jitter exceptions_to_handle is_finished_parser
    multiple_completion_supported include_response_headers max_concurrency recursion_limit
    """,
    start="stream custom_ lc_ cost_per",
    part="client proxy proxies timeout retry retries http",
)
# Options of a class that is not a framework's. Its other attributes may be counters, say.
_RELEVANT = _Names(
    """
    model model_name model_id model_path repo_id engine checkpoint provider revision project
    location host temperature top_k top_p top_a min_p typical_p seed n stop max_tokens
    max_new_tokens max_output_tokens max_completion_tokens logit_bias args kwargs model_args
    model_kwargs generation_args generation_kwargs generation_config params extra_body llm
    identity
    """,
    start="deployment region system num_ reasoning thinking verbosity",
    end="base_url api_base endpoint api_version _penalty",
)
_PRIVATE = ("_default_config", "_queued_declarative_operations")  # of LangChain's init_chat_model


def identity(**parts: object) -> str:
    """One line of JSON with all that changes an answer; the same in any order."""
    return json.dumps(described(parts), sort_keys=True)


def endpoint(url: object) -> str:
    """Host and path of an address, without credentials and query, and without a key in the path.

    A short digest stands for what may be one.
    """
    parts = urlsplit(str(url))
    host = parts.netloc.rpartition("@")[2]
    segments = parts.path.rstrip("/").split("/")
    return host + "/".join(map(_shown, segments))


def _shown(text: str) -> str:
    """The text, or a short digest of one that may hold a key."""
    if not _RANDOM.search(text) and not _SECRET_TEXT.search(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"~{digest[:8]}"


def check_address(address: str, where: str) -> None:
    """Raise `InputError` unless it is ``http[s]://host[:port]/…``. Credentials are not shown."""
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
    """Is the endpoint on this machine or in its network (Ollama, vLLM, a container)?"""
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


def described(value: object, depth: int = 0) -> Any:
    """JSON of a model or option, without secrets, clients and the like (None).

    A LangChain wrapper (``.bind()``, ``.with_retry()``, ``.with_config()``) is described as the
    model in it, with the options that it adds.
    """
    if value is None or isinstance(value, Real):
        return _number(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (SecretStr, SecretBytes, bytes, bytearray)) or depth > _DEPTH:
        return None
    if isinstance(value, Enum):
        return described(value.value, depth + 1)
    if isinstance(value, Mapping):
        return _options(cast("Mapping[object, object]", value), depth)
    if isinstance(value, (Sequence, set, frozenset)):
        return _items(cast("Iterable[object]", value), depth)
    if isinstance(value, type) or callable(getattr(value, "__get__", None)):
        return _name_of(value)
    return _object(value, depth)


def _number(value: Real | None) -> bool | int | float | None:
    """As JSON knows it, numpy's as well."""
    if value is None or isinstance(value, bool):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def _text(value: str) -> str:
    return endpoint(value) if re.match(r"\w+://", value) else _shown(value)


def _items(value: Iterable[object], depth: int) -> list[Any]:
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=repr)
    return [described(item, depth + 1) for item in value]


def _object(value: object, depth: int) -> Any:
    kind = type(value)
    # LangChain's wrappers pass getattr on to what they wrap.
    fields: dict[str, Any] = getattr(value, "__dict__", {})
    own = _own_identity(value, fields)
    if own:
        return [_name_of(kind), own]
    if "bound" in fields and "kwargs" in fields:
        return _wrapper(fields, depth)
    bases = [base for base in kind.__mro__ if _FRAMEWORK.match(base.__module__)]
    is_model = isinstance(value, BaseModel) or callable(getattr(value, "ainvoke", None))
    if not is_model and all(base.__module__.endswith(("client", "cache")) for base in bases):
        return None  # a client, a cache, a logger
    options = _own_options(kind, bases, fields)
    options["endpoints"] = _endpoints(options.values())
    return {"class": _name_of(kind), **_options(options, depth)}


def _endpoints(clients: Iterable[object]) -> list[str]:
    addresses: set[str] = set()
    for client in clients:
        url = str(getattr(client, "base_url", ""))
        if url.startswith("http"):
            addresses.add(endpoint(url))
    return sorted(addresses)


def _own_identity(value: object, fields: dict[str, Any]) -> str | None:
    """The attribute ``identity``, if it is a text."""
    if "identity" not in fields and "identity" not in dir(type(value)):
        return None
    own = getattr(value, "identity", None)
    return own if isinstance(own, str) else None


def _wrapper(fields: dict[str, Any], depth: int) -> Any:
    inside = described(fields["bound"], depth + 1)
    # The rest of a config is for tracing.
    configurable = as_object(fields.get("config")).get("configurable")
    added = _options({"kwargs": fields["kwargs"], "configurable": configurable}, depth)
    return {"of": inside, **added} if added else inside


def _own_options(kind: type, bases: list[type], fields: dict[str, Any]) -> dict[str, Any]:
    """The attributes that may be options.

    Of a framework's own class all are. Of a user's class those are that a framework's base class
    declares, or that have an option's usual name: others may be counters.

    Args:
        kind: the object's class.
        bases: those of its classes, itself included, that are a framework's.
        fields: its attributes.
    """
    is_frameworks_own = kind in bases
    declared = {name for base in bases for name in get_annotations(base)}
    options: dict[str, Any] = {}
    for name, item in fields.items():
        is_public = not name.startswith("_") or name in _PRIVATE
        is_option = is_frameworks_own or name in declared or _RELEVANT.match(name)
        if is_public and is_option:
            options[name] = item
    return options


def _options(items: Mapping[Any, object], depth: int) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for key, item in items.items():
        name = str(key)
        if _is_secret(name.lower(), item) or _IRRELEVANT.match(name):
            continue
        option = described(item, depth + 1)
        if option not in (None, {}, []):
            options[name] = option
    return options


def _is_secret(name: str, item: object) -> bool:
    """Is it a key, say? Numbers are none (``max_tokens``), nor is where to stop."""
    return _SECRET.match(name) and not isinstance(item, Real) and not name.startswith("stop")


def _name_of(value: object) -> str:
    name: object = getattr(value, "__qualname__", type(value).__qualname__)
    return f"{getattr(value, '__module__', '')}.{name}"
