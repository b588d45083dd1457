"""Verdicts from a language model: which one, where, and how it is asked."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from noisesense.errors import InputError, JudgeError, error_context
from noisesense.judging.prompts import Budget
from noisesense.judging.protocol import Judge
from noisesense.verdicts.sample import Model
from noisesense_adapters.evaluate.judges import judge_over
from noisesense_adapters.models.identity import check_address, patience
from noisesense_adapters.openai import OpenAILLM, usual_key
from noisesense_adapters.openai.client import ChatClient
from noisesense_adapters.reading.values import as_object

_OF_THE_JUDGE = {"check", "plan", "votes", "max_concurrency", "max_reasks"}


# Where the settings stand, as errors name it.
_CONFIG = "config.judge"
_GRADER = "test.options.provider"


class JudgeSettings(Model):
    """What ``config.judge`` takes: a model at an OpenAI-compatible endpoint, how it is asked."""

    model_config = ConfigDict(alias_generator=to_camel, strict=True)

    model: str = "gpt-4.1-mini"
    base_url: str | None = None
    api_key_env: Any = None  # never shown: a key may stand there
    temperature: float | None = Field(None, ge=0)
    timeout: float | None = Field(None, ge=0)
    max_retries: int = Field(2, ge=0)
    store: str | None = None
    check: Literal["list", "each"] | None = None
    plan: Literal["lazy", "full"] | None = None
    text_chars: int | None = Field(None, ge=1)
    votes: int | None = Field(None, ge=1)
    max_concurrency: int | None = Field(None, ge=1)
    max_reasks: int | None = Field(None, ge=0)


def judge_of(config: dict[str, Any], context: dict[str, Any]) -> Judge:
    """Return the judge over a model: ``config.judge``, the grader, or OpenAI.

    Assertions of one process with the same settings get the same judge.

    Args:
        config: the assertion's.
        context: Promptfoo's.

    Raises:
        InputError: a setting is wrong; or there is neither a judge nor a grader, and the
            environment has neither ``OPENAI_API_KEY`` nor ``OPENAI_BASE_URL``.
        JudgeError: no key, for an address that needs one.
    """
    settings, key, place = _chosen(config, context)
    address = settings.base_url or os.environ.get("OPENAI_BASE_URL") or ""
    key = key or _named_key(settings.api_key_env, place) or os.environ.get("OPENAI_API_KEY")
    key = key or usual_key(address)
    if address:
        check_address(address, f"{place}, its baseUrl, or OPENAI_BASE_URL")
    model = _name(settings.model, address, place)
    if not key:
        raise JudgeError(
            "no API key. Hint: export OPENAI_API_KEY or put it in .env, or name another variable"
            " as config.judge.apiKeyEnv; an endpoint without keys takes any text, and one on this"
            " machine needs none"
        )
    client = ChatClient(
        api_key=key,
        base_url=address,
        timeout=patience(address) if settings.timeout is None else settings.timeout,
        max_retries=settings.max_retries,
    )
    params = {} if settings.temperature is None else {"temperature": settings.temperature}
    bridge = partial(OpenAILLM, model, client=client, params=params)
    options = settings.model_dump(include=_OF_THE_JUDGE, exclude_none=True)
    if settings.text_chars is not None:
        options["budget"] = Budget(settings.text_chars)
    with error_context("config.judge"):
        return judge_over(
            "promptfoo", bridge, (settings, address, key), store=settings.store, options=options
        )


def _chosen(config: dict[str, Any], context: dict[str, Any]) -> tuple[JudgeSettings, Any, str]:
    """Return how to ask, the key where the grader holds it, and where that was chosen."""
    judge: Any = config.get("judge")
    grader = as_object(as_object(context.get("test")).get("options")).get("provider")
    if judge is None and grader is not None:
        return *_of_grader(grader), _GRADER
    if judge is None and not {"OPENAI_API_KEY", "OPENAI_BASE_URL"} & {*os.environ}:
        hint = (
            "give verdicts, a recording or judge; or export OPENAI_API_KEY (a shell's variables"
            " and .env reach a Python assertion, env: in promptfooconfig.yaml does not)"
        )
        raise InputError("verdicts, or a model to judge by", "neither", where="config", hint=hint)
    with error_context("config.judge"):
        if {"apiKey", "api_key", "key"} & as_object(judge).keys():
            expected = "the name of the key's environment variable as apiKeyEnv"
            hint = "Promptfoo writes config into its results, so no key belongs there"
            raise InputError(expected, "a key", hint=hint)
        if isinstance(judge, str):
            judge = {"model": judge}
        settings = as_object(judge)
        if judge is not None and judge != settings:
            raise InputError("an object or a model's name", type(judge).__name__)
        return JudgeSettings.model_validate(settings), None, _CONFIG


def _of_grader(value: Any) -> tuple[JudgeSettings, Any]:
    """A provider as Promptfoo writes it: ``openai:chat:MODEL``, ``{id, config}``, or either as
    the ``text`` of an object with a provider for each kind of model. With the key it holds."""
    kinds = as_object(value)
    grader = as_object(kinds.get("text")) or kinds
    name = value if isinstance(value, str) else grader.get("id") or kinds.get("text")
    if not isinstance(name, str) or not name.startswith("openai:"):
        hint = "name a model at any OpenAI-compatible endpoint in config.judge"
        raise InputError("openai:chat:MODEL", "another provider", where=_GRADER, hint=hint)
    config = as_object(grader.get("config"))
    host = config.get("apiHost")  # Promptfoo looks at it first
    address = f"https://{host}/v1" if host else config.get("apiBaseUrl")
    settings = {"model": name, "baseUrl": address, "apiKeyEnv": config.get("apiKeyEnvar")}
    with error_context(f"{_GRADER}.config"):
        return JudgeSettings.model_validate(settings), config.get("apiKey")


def _name(model: str, address: str, where: str) -> str:
    """Return a model's name without the provider that Promptfoo names it by.

    At OpenAI itself only the names of fine-tuned models have a colon. Another is an `InputError`:
    it is probably "anthropic:messages:…", and OpenAI should not get the texts.
    """
    name = model.strip().removeprefix("openai:").removeprefix("chat:")
    if not name or (":" in name and not address and not name.startswith("ft:")):
        hint = "give the OpenAI-compatible endpoint of another as config.judge.baseUrl"
        got = "a model of another provider or kind"
        raise InputError("openai:chat:MODEL", got, where=where, hint=hint)
    return name


def _named_key(name: Any, where: str) -> str | None:
    """Return the key in the variable ``name``, which is not shown: it may itself be a key.

    None without a name. Raises `JudgeError` if the variable is not set.
    """
    key = os.environ.get(name) if isinstance(name, str) else None
    if name is not None and not key:
        raise JudgeError(
            f"{where}: the variable that apiKeyEnv names is not set. Hint: export it"
            " in the shell or put it in .env; env: in promptfooconfig.yaml does not reach a Python"
            " assertion"
        )
    return key
