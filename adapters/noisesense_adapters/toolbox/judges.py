"""The judge of a metric: a given one, or one over a model; and the identity of a model."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from inspect import get_annotations, signature
from typing import Any, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretBytes, SecretStr

from noisesense import Judge, RecordedJudge, Sample, Verdicts
from noisesense.errors import InputError, describe
from noisesense.judging.protocol import Judgement, StructuredLLM
from noisesense.scoring.definitions import DefinitionName, chunk_modes, modes_of
from noisesense_adapters.toolbox.given import as_object

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


_SECRET = _Names(part="key token secret passw credential auth header cookie certificate")
_SECRET_TEXT = re.compile(r"(?i)\b(sk|pk|rk|gsk|xai|hf|ghp|api)[-_]\w{8}|\bbearer\s")

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
    model model_name model_id provider revision project location host temperature top_k top_p
    top_a min_p typical_p seed n stop max_tokens max_new_tokens max_output_tokens
    max_completion_tokens logit_bias args kwargs model_args model_kwargs generation_args
    generation_kwargs generation_config params extra_body llm identity
    """,
    start="deployment region system num_ reasoning thinking verbosity",
    end="base_url api_base endpoint api_version _penalty",
)
_PRIVATE = ("_default_config", "_queued_declarative_operations")  # of LangChain's init_chat_model


def identity(**parts: object) -> str:
    """One line of JSON with all that changes an answer; the same in any order."""
    return json.dumps(described(parts), sort_keys=True)


def endpoint(url: object) -> str:
    """Host and path of an address, without credentials and query."""
    parts = urlsplit(str(url))
    return parts.netloc.rpartition("@")[2] + parts.path.rstrip("/")


def check_address(address: str, where: str) -> None:
    """Raise `InputError` unless it is ``http[s]://host[:port]/…``. Credentials are not shown."""
    with suppress(ValueError):  # invalid brackets, a port that is not a number
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return
    expected = "an address that begins with http:// or https:// and a host"
    got = "another" if "@" in address else describe(address)
    raise InputError(expected, got, where=where, hint="such as http://localhost:8000/v1")


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
    if value is None or isinstance(value, (bool, int, float)):
        return value
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


def _text(value: str) -> str | None:
    if _SECRET_TEXT.search(value):
        return None
    return endpoint(value) if re.match(r"\w+://", value) else value


def _items(value: Iterable[object], depth: int) -> list[Any]:
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=repr)
    return [described(item, depth + 1) for item in value]


def _object(value: object, depth: int) -> Any:
    kind = type(value)
    # LangChain's wrappers pass getattr on to what they wrap.
    fields: dict[str, Any] = getattr(value, "__dict__", {})
    if own := _own_identity(value, fields):
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
    urls = [str(getattr(client, "base_url", "")) for client in clients]
    return sorted({endpoint(url) for url in urls if url.startswith("http")})


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
    """All attributes of a framework's class; of another class, those known to be options."""
    declared = {name for base in bases for name in get_annotations(base)}
    options: dict[str, Any] = {}
    for name, item in fields.items():
        is_public = not name.startswith("_") or name in _PRIVATE
        if is_public and (kind in bases or name in declared or _RELEVANT.match(name)):
            options[name] = item
    return options


def _options(items: Mapping[Any, object], depth: int) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for key, item in items.items():
        name = str(key)
        # A number is no secret: max_tokens is not a token.
        is_secret = _SECRET.match(name.lower()) and not isinstance(item, (int, float))
        if is_secret or _IRRELEVANT.match(name):
            continue
        option = described(item, depth + 1)
        if option not in (None, {}, []):
            options[name] = option
    return options


def _name_of(value: object) -> str:
    name: object = getattr(value, "__qualname__", type(value).__qualname__)
    return f"{getattr(value, '__module__', '')}.{name}"


def given_judge(
    judge: Any, *, judge_options: Mapping[str, Any] | None = None, **others: object
) -> Judge | None:
    """The user's judge, if there is one: an object, or the path of a recording.

    Args:
        judge: the argument.
        judge_options: options of the `LLMJudge` that is made if there is no judge.
        others: other arguments that are only for a model.

    Raises:
        InputError: not a judge, another argument beside a judge, or an unknown option.
    """
    if judge_options and judge is None:
        _check_options(judge_options)
    for name, value in {**others, "judge_options": judge_options}.items():
        if judge is not None and value is not None:
            hint = f"a judge does not use {name}"
            raise InputError("a judge alone", f"{name} too", where="judge", hint=hint)
    if isinstance(judge, (str, os.PathLike)):
        return RecordedJudge(cast("str | os.PathLike[str]", judge))
    if judge is not None and not isinstance(judge, Judge):
        expected = "a recording's path, or an object with `async def judge(sample)`"
        raise InputError(expected, type(judge).__name__, where="judge")
    return judge


_OWN = ("llm", "store")
"""Arguments of `LLMJudge` that a metric has arguments of its own for."""


def _check_options(options: Mapping[str, Any]) -> None:
    """Raise `InputError` for a name that `LLMJudge` does not take. It checks the values itself."""
    from difflib import get_close_matches

    from noisesense.judging.llm import LLMJudge

    where = "judge_options"
    if not isinstance(options, Mapping):
        raise InputError("a mapping of options", describe(options), where=where)
    known = [name for name in signature(LLMJudge).parameters if name not in _OWN]
    for name in options:
        if name not in known:
            near = get_close_matches(str(name), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise InputError("options of LLMJudge", f"{name!r}", where=where, hint=hint)


def judge_warnings(judges: Mapping[str, str]) -> list[str]:
    """What a reader of the figures should know of the models that judged.

    Args:
        judges: each `noisesense.LLMJudge.name`, with how the judge did when it was tested; empty
            if nobody tested it.
    """
    notes: list[str] = []
    for name, test in judges.items():
        if test:
            notes.append(f"The judge was tested: {test}.")
        elif "check=" in name:
            how = "--check auto first asks it about a few texts of known answer"
            notes.append(f"Nobody tested this judge: {how}.")
    return list(dict.fromkeys(notes))


_judges: dict[Hashable, tuple[object, Judge]] = {}
_judges_lock = threading.Lock()
_JUDGES_KEPT = 16


def judge_over(
    model: object,
    bridge: Callable[[], StructuredLLM],
    key: Hashable,
    *,
    store: Any = None,
    options: Mapping[str, Any] | None = None,
) -> Judge:
    """The `LLMJudge` over a host's model; the same one for the same model and arguments.

    Metrics with the same model (the same object, or the same name) get the same judge, so that
    `noisesense.judging.sharing.judge_once` can share its verdicts. The last 16 are kept.

    Args:
        model: the host's object, or a name.
        bridge: makes the `StructuredLLM` over it, if there is no judge yet.
        key: the host, and all else that tells two bridges over one model apart.
        store: a `VerdictStore`, or the path of one.
        options: further arguments of `LLMJudge`.

    Raises:
        InputError: an option that `LLMJudge` does not take.
    """
    # Not needed for given verdicts.
    from noisesense.judging.llm import LLMJudge
    from noisesense.judging.store import VerdictStore

    arguments = dict(options or {})
    owner = model if isinstance(model, str) else id(model)
    known = (owner, key, store, tuple(sorted(arguments.items())))
    with _judges_lock:
        if known in _judges:
            _, judge = _judges.pop(known)
        else:
            if isinstance(store, (str, os.PathLike)):
                store = VerdictStore(cast("str", store))
            judge = LLMJudge(bridge(), store=store, **arguments)
        # The model is held, too, so that no other object gets its id.
        _judges[known] = (model, judge)
        if len(_judges) > _JUDGES_KEPT:
            oldest = next(iter(_judges))
            del _judges[oldest]
        return judge


def unasked(sample: Sample, definition: DefinitionName) -> Judgement | None:
    """An empty judgement if no judge is needed, since the score is undefined.

    That is if nothing was retrieved, and the definition counts only claims from a chunk.
    """
    if sample.retrieved_contexts or chunk_modes(definition) != modes_of(definition):
        return None
    return Judgement(Verdicts(response_claims=(), chunks=()))
