"""Verdicts from a language model: which one, where it is reached, and asking it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from noisesense.errors import InputError, JudgeError, describe
from noisesense.judging.protocol import Judgement
from noisesense.judging.sharing import judge_once
from noisesense.verdicts.sample import Sample
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.promptfoo.sample import Inputs, as_object
from noisesense_adapters.promptfoo.settings import Settings
from noisesense_adapters.toolbox.judges import judge_over
from noisesense_adapters.toolbox.running import run_blocking

__all__ = ["DEFAULT_MODEL", "Endpoint", "choose_endpoint", "judge"]

DEFAULT_MODEL = "gpt-4.1-mini"
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
class Endpoint:
    """A model at an OpenAI-compatible endpoint, and how it judges.

    Attributes:
        model: its name there.
        base_url: None: OpenAI's own.
        api_key: None: there is none, which the client says.
        temperature: None: the model's own.
        store: the path of a `VerdictStore`.
        llm: further arguments of `OpenAILLM`.
        judge: further arguments of `LLMJudge`.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = None
    store: str | None = None
    llm: _Arguments = ()
    judge: _Arguments = ()


def choose_endpoint(config: dict[str, Any], context: dict[str, Any]) -> Endpoint:
    """``config.judge``, else the grader Promptfoo was given, else the environment's OpenAI.

    Raises:
        InputError: a setting is wrong, or nothing says who should judge.
        JudgeError: the key's variable is not set.
    """
    found = _choose(config, context)
    found = replace(
        found,
        base_url=found.base_url or os.environ.get("OPENAI_BASE_URL") or None,
        api_key=found.api_key or os.environ.get("OPENAI_API_KEY") or None,
    )
    # At OpenAI itself only the names of fine-tuned models have a colon: what is meant is
    # "anthropic:messages:…", and OpenAI should not get the texts to find out.
    if not found.base_url and ":" in found.model and not found.model.startswith("ft:"):
        raise InputError(
            "openai:chat:MODEL",
            "a model of another provider",
            where="config.judge",
            hint="give its OpenAI-compatible endpoint as config.judge.baseUrl",
        )
    if not found.api_key:
        raise JudgeError(
            "no API key. Hint: export OPENAI_API_KEY or put it in .env, or name another variable"
            " as config.judge.apiKeyEnv; an endpoint without keys takes any text"
        )
    return found


def _choose(config: dict[str, Any], context: dict[str, Any]) -> Endpoint:
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
        return Endpoint(DEFAULT_MODEL)
    raise InputError(
        "verdicts, or a model to judge by",
        "neither",
        where="config",
        hint="give verdicts, a recording or judge; or export OPENAI_API_KEY (a shell's variables"
        " and .env reach a Python assertion, env: in promptfooconfig.yaml does not)",
    )


def _from_judge(given: Any) -> Endpoint:
    where = "config.judge"
    if isinstance(given, str):
        return Endpoint(_model(given, where))
    if not isinstance(given, dict):
        got = type(given).__name__
        raise InputError("an object or a model's name", got, where=where)
    settings = _settings(as_object(given), where)
    name = settings.get("apiKeyEnv")
    return Endpoint(
        model=_model(settings.get("model", DEFAULT_MODEL), f"{where}.model"),
        base_url=_text(settings.get("baseUrl"), f"{where}.baseUrl"),
        api_key=None if name is None else _key(name, f"{where}.apiKeyEnv"),
        temperature=settings.get("temperature"),
        store=_text(settings.get("store"), f"{where}.store"),
        llm=_renamed(settings, _LLM),
        judge=_renamed(settings, _JUDGE),
    )


def _settings(given: dict[str, Any], where: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for key, value in given.items():
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
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise InputError("a number of 0 or more", describe(value), where=f"{where}.{name}")
    return settings


def _from_grader(given: Any, where: str) -> Endpoint:
    """A provider as Promptfoo writes it: ``openai:chat:MODEL`` or ``{id, config}``."""
    grader = as_object(given)
    grader = as_object(grader.get("text")) or grader
    name = given if isinstance(given, str) else grader.get("id") or grader.get("text")
    if not isinstance(name, str) or not name.startswith("openai:"):
        hint = "name a model at any OpenAI-compatible endpoint in config.judge"
        raise InputError("openai:chat:MODEL", "another provider", where=where, hint=hint)
    settings = as_object(grader.get("config"))
    key, host = settings.get("apiKey"), settings.get("apiHost")
    if key is None and settings.get("apiKeyEnvar") is not None:
        key = _key(settings["apiKeyEnvar"], f"{where}.config.apiKeyEnvar")
    base_url = settings.get("apiBaseUrl") or (f"https://{host}/v1" if host else None)
    return Endpoint(
        _model(name, where),
        base_url=_text(base_url, f"{where}.config.apiBaseUrl"),
        api_key=_text(key, f"{where}.config.apiKey"),
    )


def _model(given: Any, where: str) -> str:
    if not isinstance(given, str) or not given.strip():
        raise InputError("a model's name", type(given).__name__, where=where)
    name = given.strip()
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


def _text(given: Any, where: str) -> str | None:
    if given is not None and (not isinstance(given, str) or not given.strip()):
        raise InputError("a non-empty text", type(given).__name__, where=where)
    return given


def _renamed(settings: dict[str, Any], names: dict[str, str]) -> _Arguments:
    return tuple((names[key], value) for key, value in settings.items() if key in names)


def judge(
    inputs: Inputs, settings: Settings, config: dict[str, Any], context: dict[str, Any]
) -> Judgement:
    """Judge the assertion's sample.

    Raises:
        InputError: something is missing or wrong.
        JudgeError: the model could not be asked, or gave no usable list of claims.
    """
    sample = Sample.model_validate(inputs.sample)
    endpoint = choose_endpoint(config, context)
    # In one process (a test of one's own, say) two different assertions on a sample judge it once.
    try:
        asked = judge_over(
            "promptfoo",
            partial(_bridge, endpoint),
            endpoint,
            store=endpoint.store,
            options=dict(endpoint.judge),
        )
    except InputError as error:
        raise error.within("config.judge") from None
    return run_blocking(judge_once(asked, sample, metric=("promptfoo", settings)))


def _bridge(endpoint: Endpoint) -> OpenAILLM:
    params = {} if endpoint.temperature is None else {"temperature": endpoint.temperature}
    return OpenAILLM(
        endpoint.model,
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        params=params,
        **dict(endpoint.llm),
    )
