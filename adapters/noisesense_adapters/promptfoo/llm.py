"""Verdicts from a language model: which one, where, and how it is asked."""

from __future__ import annotations

import os
from collections.abc import Hashable
from functools import partial
from typing import Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from noisesense.errors import InputError, JudgeError, located
from noisesense.judging.protocol import Judgement
from noisesense.judging.sharing import judge_once
from noisesense.verdicts.model import Model
from noisesense.verdicts.sample import Sample
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.openai.client import ChatClient
from noisesense_adapters.toolbox.documents import as_object
from noisesense_adapters.toolbox.identity import check_address
from noisesense_adapters.toolbox.judges import judge_over
from noisesense_adapters.toolbox.running import run_blocking

_OF_THE_JUDGE = ("check", "plan", "votes", "max_concurrency", "max_reasks")


class _Settings(Model):
    """What ``config.judge`` takes: a model at an OpenAI-compatible endpoint, how it is asked."""

    model_config = ConfigDict(alias_generator=to_camel, strict=True)

    model: str = "gpt-4.1-mini"
    base_url: str | None = None
    api_key_env: Any = None  # never shown: a key may stand there
    temperature: float | None = Field(None, ge=0)
    timeout: float = Field(60.0, ge=0)
    max_retries: int = Field(2, ge=0)
    store: str | None = None
    check: str | None = None
    plan: str | None = None
    votes: int | None = None
    max_concurrency: int | None = None
    max_reasks: int | None = None


def judge(
    sample: Sample, config: dict[str, Any], context: dict[str, Any], *, metric: Hashable
) -> Judgement:
    """Ask a model about the assertion's sample: ``config.judge``, the grader, or OpenAI.

    Args:
        sample: the assertion's.
        config: the assertion's.
        context: Promptfoo's.
        metric: see `judge_once`. Different assertions of one process on a sample judge it once.

    Raises:
        InputError: something is missing or wrong.
        JudgeError: the model could not be called, or gave no usable list of claims.
    """
    settings, key = _chosen(config, context)
    model = _name(settings.model)
    address = settings.base_url or os.environ.get("OPENAI_BASE_URL") or ""
    key = key or os.environ.get("OPENAI_API_KEY")
    if address:
        check_address(address, "config.judge.baseUrl, or OPENAI_BASE_URL")
    # At OpenAI itself only the names of fine-tuned models have a colon. Another is probably
    # "anthropic:messages:…", and OpenAI should not get the texts.
    elif ":" in model and not model.startswith("ft:"):
        hint = "give its OpenAI-compatible endpoint as config.judge.baseUrl"
        got = "a model of another provider"
        raise InputError("openai:chat:MODEL", got, where="config.judge", hint=hint)
    if not key:
        raise JudgeError(
            "no API key. Hint: export OPENAI_API_KEY or put it in .env, or name another variable"
            " as config.judge.apiKeyEnv; an endpoint without keys takes any text"
        )
    client = ChatClient(
        api_key=key,
        base_url=address,
        timeout=settings.timeout,
        max_retries=settings.max_retries,
    )
    params = {} if settings.temperature is None else {"temperature": settings.temperature}
    bridge = partial(OpenAILLM, model, client=client, params=params)
    options = {name: getattr(settings, name) for name in _OF_THE_JUDGE}
    options = {name: value for name, value in options.items() if value is not None}
    try:
        judge = judge_over(
            "promptfoo", bridge, (settings, address, key), store=settings.store, options=options
        )
    except InputError as error:
        where = f"config.judge, {to_camel(error.where) if error.where in options else error.where}"
        raise InputError(error.expected, error.got, where=where, hint=error.hint) from None
    return run_blocking(judge_once(judge, sample, metric=metric))


def _chosen(config: dict[str, Any], context: dict[str, Any]) -> tuple[_Settings, str | None]:
    """How to ask, and the key where it is not the environment's."""
    if config.get("judge") is not None:
        return _from_judge(config["judge"])
    grader = as_object(as_object(context.get("test")).get("options")).get("provider")
    if grader is not None:
        return _from_grader(grader, "test.options.provider")
    if os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"):
        return _Settings(), None
    raise InputError(
        "verdicts, or a model to judge by",
        "neither",
        where="config",
        hint="give verdicts, a recording or judge; or export OPENAI_API_KEY (a shell's variables"
        " and .env reach a Python assertion, env: in promptfooconfig.yaml does not)",
    )


def _from_judge(value: Any) -> tuple[_Settings, str | None]:
    with located("config.judge"):
        if isinstance(value, str):
            return _Settings(model=value), None
        if {"apiKey", "api_key", "key"} & as_object(value).keys():
            expected = "the name of the key's environment variable as apiKeyEnv"
            hint = "Promptfoo writes config into its results, so no key belongs there"
            raise InputError(expected, "a key", hint=hint)
        if not isinstance(value, dict):
            raise InputError("an object or a model's name", type(value).__name__)
        settings = _Settings.model_validate(value)
        name = settings.api_key_env
        return settings, None if name is None else _key(name, "apiKeyEnv")


def _from_grader(value: Any, where: str) -> tuple[_Settings, str | None]:
    """A provider as Promptfoo writes it: ``openai:chat:MODEL`` or ``{id, config}``."""
    grader = as_object(value)
    grader = as_object(grader.get("text")) or grader
    name = value if isinstance(value, str) else grader.get("id") or grader.get("text")
    if not isinstance(name, str) or not name.startswith("openai:"):
        hint = "name a model at any OpenAI-compatible endpoint in config.judge"
        raise InputError("openai:chat:MODEL", "another provider", where=where, hint=hint)
    given = as_object(grader.get("config"))
    address, host = given.get("apiBaseUrl"), given.get("apiHost")
    with located(f"{where}.config"):
        named = given.get("apiKeyEnvar")
        key = given.get("apiKey") or (None if named is None else _key(named, "apiKeyEnvar"))
        settings = {"model": name, "baseUrl": address or (f"https://{host}/v1" if host else None)}
        return _Settings.model_validate(settings), None if key is None else str(key)


def _name(model: str) -> str:
    """Without the provider that Promptfoo names it by."""
    name = model.strip()
    if name.startswith("openai:"):
        name = name.removeprefix("openai:").removeprefix("chat:")
    if not name or name.startswith(("embedding:", "completion:", "responses:", "realtime:")):
        got = "another kind of model" if name else "no name"
        raise InputError("openai:chat:MODEL", got, where="config.judge")
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
