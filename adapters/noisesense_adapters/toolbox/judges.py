"""Where a metric's verdicts come from: given as data, from a judge, or from a model; and what
tells one model from another."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
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

# A number is no secret: max_tokens stays.
_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth|header|cookie|certificate")
_SECRET_TEXT = re.compile(r"(?i)\b(sk|pk|rk|gsk|xai|hf|ghp|api)[-_]\w{8}|\bbearer\s")

# Options of how a request is made, cached, traced or billed, which do not change an answer.
_NO_OPTION = re.compile(
    r"name|cache|verbose|callbacks?|tags|metadata|profile|rate_limiter|run_config|run_name|run_id"
    r"|model_data|stream\w*|disable_streaming|custom_\w+|config_factories|config_specs|is_async"
    r"|max_attempt_number|wait_exponential_jitter|exceptions_to_handle|is_finished_parser"
    r"|multiple_completion_supported|include_response_headers|max_concurrency|recursion_limit"
    r"|callback_manager|lc_\w+|cost_per\w+|\w*(client|proxy|proxies|timeout|retr(y|ies)|http)\w*"
)
# Options of a class of the user's own; its other attributes may be anything, such as counters.
_OPTION = re.compile(
    r"model|model_name|model_id|deployment\w*|provider|revision|region\w*|project|location|system\w*"
    r"|\w*(base_url|api_base|endpoint|api_version)|host|temperature|top_\w|min_p|typical_p|seed"
    r"|n|stop|max_\w*tokens|num_\w+|\w+_penalty|logit_bias|reasoning\w*|thinking\w*|verbosity"
    r"|(model_|generation_)?(kw)?args|params|generation_config|extra_body|llm|identity"
)
_PRIVATE = ("_default_config", "_queued_declarative_operations")  # of LangChain's init_chat_model


def identity(**parts: object) -> str:
    """One line of JSON for everything that changes an answer, whatever its order."""
    return json.dumps(described(parts), sort_keys=True)


def endpoint(url: object) -> str:
    """Host and path of an address, without credentials and query."""
    parts = urlsplit(str(url))
    return parts.netloc.rpartition("@")[2] + parts.path.rstrip("/")


def check_address(address: str, where: str) -> None:
    """Raise `InputError` for what is no ``http://host[:port]/…``; credentials are not shown."""
    try:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return
    except ValueError:  # brackets without an address in them, a port that is no number
        pass
    expected = "an address that begins with http:// or https:// and a host"
    got = "another" if "@" in address else describe(address)
    raise InputError(expected, got, where=where, hint="such as http://localhost:8000/v1")


def is_local(address: str) -> bool:
    """Is the endpoint on this machine or its own network (Ollama, vLLM, a container)?"""
    from ipaddress import ip_address  # only where something is asked

    host = ""
    try:
        host = urlsplit(address).hostname or ""
        return ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local", ".internal"))


def patience(address: str) -> float:
    """Seconds that a request may wait: a local server may answer one call after the other."""
    return 600.0 if is_local(address) else 60.0


def described(value: object, depth: int = 0) -> Any:
    """As JSON: options by name, models by class; secrets, clients and the like left out (None).

    A LangChain wrapper (``.bind()``, ``.with_retry()``, ``.with_config()``) is what it wraps,
    with what it binds.
    """
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        secret = _SECRET_TEXT.search(value)
        return None if secret else endpoint(value) if re.match(r"\w+://", value) else value
    if isinstance(value, (SecretStr, SecretBytes, bytes, bytearray)) or depth > _DEPTH:
        return None
    if isinstance(value, Enum):
        return described(value.value, depth + 1)
    if isinstance(value, Mapping):
        return _options(cast("Mapping[object, object]", value), depth)
    if isinstance(value, (set, frozenset)):
        value = sorted(cast("set[object]", value), key=repr)
    if isinstance(value, Sequence):
        return [described(item, depth + 1) for item in cast("Sequence[object]", value)]
    if isinstance(value, type) or callable(getattr(value, "__get__", None)):
        return _name_of(value)
    return _object(value, depth)


def _object(value: object, depth: int) -> Any:
    # Not by getattr: LangChain's wrappers answer for what they wrap.
    fields: dict[str, Any] = getattr(value, "__dict__", {})
    kind = type(value)
    own = getattr(value, "identity", "") if "identity" in (*fields, *dir(kind)) else ""
    if isinstance(own, str) and own:
        return [_name_of(kind), own]
    if "bound" in fields and "kwargs" in fields:
        inside = described(fields["bound"], depth + 1)
        # Only a config's choices change an answer; the rest is for tracing.
        choices = as_object(fields.get("config")).get("configurable")
        bound = _options({"kwargs": fields["kwargs"], "configurable": choices}, depth)
        return {"of": inside, **bound} if bound else inside
    bases = [base for base in kind.__mro__ if _FRAMEWORK.match(base.__module__)]
    is_model = isinstance(value, BaseModel) or callable(getattr(value, "ainvoke", None))
    if not is_model and all(base.__module__.endswith(("client", "cache")) for base in bases):
        return None  # a client, a cache, a logger
    declared = {name for base in bases for name in get_annotations(base)}
    options = {
        name: item
        for name, item in fields.items()
        if (name in _PRIVATE or not name.startswith("_"))
        and (kind in bases or name in declared or _OPTION.fullmatch(name))
    }
    urls = (str(getattr(item, "base_url", "")) for item in options.values())
    endpoints = sorted({endpoint(url) for url in urls if url.startswith("http")})
    return {"class": _name_of(kind), **_options({**options, "endpoints": endpoints}, depth)}


def _options(items: Mapping[Any, object], depth: int) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, item in zip(map(str, items), items.values(), strict=True):
        secret = _SECRET_NAME.search(name.lower()) and not isinstance(item, (int, float))
        if not secret and not _NO_OPTION.fullmatch(name):
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
    """The judge that a user gave: an object, or the path of a recording; None for none.

    Args:
        judge: as given.
        judge_options: of the `LLMJudge` to be made where there is no judge.
        others: a metric's other arguments that only a model uses.

    Raises:
        InputError: something else, anything beside a judge, or an unknown option.
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
"""What a metric gives the judge itself, from arguments of its own."""


def _check_options(options: Mapping[str, Any]) -> None:
    """Only names that `LLMJudge` takes, before anything is asked. Its values it checks itself."""
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
    """The `LLMJudge` over a host's model: the same one for the same model and arguments.

    Metrics that were given the same model (the same object, or the same name) get the same
    judge, so that `noisesense.judging.sharing.judge_once` can share what it says. The last 16
    are kept.

    Args:
        model: the host's own object, or a name.
        bridge: makes the `StructuredLLM` over it, if there is no judge yet.
        key: the host, and whatever else tells two bridges over one model apart.
        store: a `VerdictStore`, or the path of one.
        options: further arguments of `LLMJudge`.

    Raises:
        InputError: an option that `LLMJudge` does not take.
    """
    # Loaded only where a model judges.
    from noisesense.judging.llm import LLMJudge
    from noisesense.judging.store import VerdictStore

    arguments = dict(options or {})
    owner = model if isinstance(model, str) else id(model)
    known = (owner, key, store, tuple(sorted(arguments.items())))
    with _judges_lock:
        entry = _judges.pop(known, None)
        if entry is None:
            is_path, path = isinstance(store, (str, os.PathLike)), cast("str", store)
            opened = VerdictStore(path) if is_path else store
            entry = model, LLMJudge(bridge(), store=opened, **arguments)
        # The model is kept with its judge: its id stays its own as long as the key is there.
        _judges[known] = entry
        if len(_judges) > _JUDGES_KEPT:
            del _judges[next(iter(_judges))]
        return entry[1]


def unasked(sample: Sample, definition: DefinitionName) -> Judgement | None:
    """What needs no judge: nothing was retrieved, and the definition counts only what comes from a
    chunk. No claims are asked for, and the score is undefined.
    """
    if sample.retrieved_contexts or chunk_modes(definition) != modes_of(definition):
        return None
    return Judgement(Verdicts(response_claims=(), chunks=()))
