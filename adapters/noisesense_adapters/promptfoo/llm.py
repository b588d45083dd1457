"""Verdicts from a language model: which one, where, and how it is asked."""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from noisesense.errors import InputError, JudgeError, describe
from noisesense.judging.protocol import Judgement
from noisesense.judging.sharing import judge_once
from noisesense.verdicts.sample import Sample
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.openai.client import ChatClient
from noisesense_adapters.toolbox.documents import as_object
from noisesense_adapters.toolbox.identity import check_address
from noisesense_adapters.toolbox.judges import judge_over
from noisesense_adapters.toolbox.running import run_blocking

_DEFAULT_MODEL = "gpt-4.1-mini"
_SYNONYMS = {"baseURL": "baseUrl", "apiBaseUrl": "baseUrl", "apiKeyEnvar": "apiKeyEnv"}
_LLM = {"timeout": "timeout", "maxRetries": "max_retries"}
_JUDGE = {
    "plan": "plan",
    "votes": "votes",
    "maxConcurrency": "max_concurrency",
    "chunksPerCall": "chunks_per_call",
    "maxReasks": "max_reasks",
}
_Arguments = tuple[tuple[str, Any], ...]
_KNOWN = ("model", "baseUrl", "apiKeyEnv", "temperature", "store", *_LLM, *_JUDGE)


@dataclass(frozen=True)
class _Endpoint:
    """A model at an OpenAI-compatible endpoint, and how it judges."""

    model: str
    base_url: str | None = None  # None: OpenAI's own
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = None  # None: the model's own
    store: str | None = None
    llm: _Arguments = ()
    judge: _Arguments = ()


def judge(
    fields: dict[str, Any], config: dict[str, Any], context: dict[str, Any], *, metric: Hashable
) -> Judgement:
    """Ask a model about the assertion's sample: ``config.judge``, the grader, or OpenAI.

    Args:
        fields: of the sample.
        config: the assertion's.
        context: Promptfoo's.
        metric: see `judge_once`. Different assertions of one process on a sample judge it once.

    Raises:
        InputError: something is missing or wrong.
        JudgeError: the model could not be called, or gave no usable list of claims.
    """
    sample, endpoint = Sample.model_validate(fields), _endpoint(config, context)
    client = ChatClient(
        api_key=endpoint.api_key or "", base_url=endpoint.base_url or "", **dict(endpoint.llm)
    )
    params = {} if endpoint.temperature is None else {"temperature": endpoint.temperature}
    bridge = partial(OpenAILLM, endpoint.model, client=client, params=params)
    try:
        llm_judge = judge_over(
            "promptfoo", bridge, endpoint, store=endpoint.store, options=dict(endpoint.judge)
        )
    except InputError as error:
        name = next((key for key, name in _JUDGE.items() if name == error.where), error.where)
        own = InputError(error.expected, error.got, where=name, hint=error.hint)
        raise own.within("config.judge") from None
    return run_blocking(judge_once(llm_judge, sample, metric=metric))


def check_judge_settings(config: dict[str, Any], context: dict[str, Any]) -> None:
    """Raises what `judge` would raise before it asks: a wrong setting, no model, no key."""
    _endpoint(config, context)


def _endpoint(config: dict[str, Any], context: dict[str, Any]) -> _Endpoint:
    endpoint = _chosen(config, context)
    endpoint = replace(
        endpoint,
        base_url=endpoint.base_url or os.environ.get("OPENAI_BASE_URL") or None,
        api_key=endpoint.api_key or os.environ.get("OPENAI_API_KEY") or None,
    )
    if endpoint.base_url:
        check_address(endpoint.base_url, "config.judge.baseUrl, or OPENAI_BASE_URL")
    # At OpenAI itself only the names of fine-tuned models have a colon. Another is probably
    # "anthropic:messages:…", and OpenAI should not get the texts.
    if not endpoint.base_url and ":" in endpoint.model and not endpoint.model.startswith("ft:"):
        raise InputError(
            "openai:chat:MODEL",
            "a model of another provider",
            where="config.judge",
            hint="give its OpenAI-compatible endpoint as config.judge.baseUrl",
        )
    if not endpoint.api_key:
        raise JudgeError(
            "no API key. Hint: export OPENAI_API_KEY or put it in .env, or name another variable"
            " as config.judge.apiKeyEnv; an endpoint without keys takes any text"
        )
    return endpoint


def _chosen(config: dict[str, Any], context: dict[str, Any]) -> _Endpoint:
    if config.get("judge") is not None:
        return _from_judge(config["judge"])
    options = as_object(as_object(context.get("test")).get("options"))
    graders = {
        "config.grading.provider": as_object(config.get("grading")).get("provider"),
        "test.options.provider": options.get("provider"),
    }
    for where, grader in graders.items():
        if grader is not None:
            return _from_grader(grader, where)
    if os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"):
        return _Endpoint(_DEFAULT_MODEL)
    raise InputError(
        "verdicts, or a model to judge by",
        "neither",
        where="config",
        hint="give verdicts, a recording or judge; or export OPENAI_API_KEY (a shell's variables"
        " and .env reach a Python assertion, env: in promptfooconfig.yaml does not)",
    )


def _from_judge(value: Any) -> _Endpoint:
    where = "config.judge"
    if isinstance(value, str):
        return _Endpoint(_model(value, where))
    if not isinstance(value, dict):
        got = type(value).__name__
        raise InputError("an object or a model's name", got, where=where)
    settings = _settings(cast("dict[str, Any]", value), where)
    name = settings.get("apiKeyEnv")
    return _Endpoint(
        model=_model(settings.get("model", _DEFAULT_MODEL), f"{where}.model"),
        base_url=_text(settings.get("baseUrl"), f"{where}.baseUrl"),
        api_key=None if name is None else _key(name, f"{where}.apiKeyEnv"),
        temperature=settings.get("temperature"),
        store=_text(settings.get("store"), f"{where}.store"),
        llm=_renamed(settings, _LLM),
        judge=_renamed(settings, _JUDGE),
    )


def _settings(values: dict[str, Any], where: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for key, value in values.items():
        if key in ("apiKey", "api_key", "key"):
            raise InputError(
                "the name of the key's environment variable as apiKeyEnv",
                f"{key!r}",
                where=where,
                hint="Promptfoo writes config into its results, so no key belongs there",
            )
        name = _SYNONYMS.get(key, key)
        if name not in _KNOWN:
            hint = f"known are {', '.join(_KNOWN)}"
            raise InputError("only known settings", f"{key!r}", where=where, hint=hint)
        if isinstance(value, (dict, list)):
            got = "a list" if isinstance(value, list) else "an object"
            raise InputError("a single value", got, where=f"{where}.{name}")
        settings[name] = value
    for name in ("timeout", "maxRetries", "temperature"):
        value = settings.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
            raise InputError("a number of 0 or more", describe(value), where=f"{where}.{name}")
    retries = settings.get("maxRetries", 0)
    if not float(retries).is_integer():
        raise InputError("a whole number", describe(retries), where=f"{where}.maxRetries")
    return settings


def _from_grader(value: Any, where: str) -> _Endpoint:
    """A provider as Promptfoo writes it: ``openai:chat:MODEL`` or ``{id, config}``."""
    grader = as_object(value)
    grader = as_object(grader.get("text")) or grader
    name = value if isinstance(value, str) else grader.get("id") or grader.get("text")
    if not isinstance(name, str) or not name.startswith("openai:"):
        hint = "name a model at any OpenAI-compatible endpoint in config.judge"
        raise InputError("openai:chat:MODEL", "another provider", where=where, hint=hint)
    settings = as_object(grader.get("config"))
    key, host = settings.get("apiKey"), settings.get("apiHost")
    if key is None and settings.get("apiKeyEnvar") is not None:
        key = _key(settings["apiKeyEnvar"], f"{where}.config.apiKeyEnvar")
    base_url = settings.get("apiBaseUrl") or (f"https://{host}/v1" if host else None)
    return _Endpoint(
        _model(name, where),
        base_url=_text(base_url, f"{where}.config.apiBaseUrl"),
        api_key=_text(key, f"{where}.config.apiKey"),
    )


def _model(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError("a model's name", type(value).__name__, where=where)
    name = value.strip()
    if name.startswith("openai:"):
        name = name.removeprefix("openai:").removeprefix("chat:")
    if not name or name.startswith(("embedding:", "completion:", "responses:", "realtime:")):
        raise InputError("openai:chat:MODEL", "another kind of model", where=where)
    return name


def _key(name: Any, where: str) -> str:
    key = os.environ.get(name) if isinstance(name, str) else None
    if not key:
        # The name is not shown: a key may stand where its name belongs.
        raise JudgeError(
            f"{where}: the environment variable it names is not set. Hint: export it in the shell"
            " or put it in .env; env: in promptfooconfig.yaml does not reach a Python assertion"
        )
    return key


def _text(value: Any, where: str) -> str | None:
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise InputError("a non-empty text", type(value).__name__, where=where)
    return value


def _renamed(settings: dict[str, Any], names: dict[str, str]) -> _Arguments:
    return tuple((names[key], value) for key, value in settings.items() if key in names)
