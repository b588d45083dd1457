"""A judge from the name of a model."""

from __future__ import annotations

import os
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from pydantic import SecretStr

from noisesense import LLMJudge, StructuredLLM
from noisesense.errors import InputError, JudgeError, MissingExtraError, NoiseSenseError, describe
from noisesense.judging.prompts import Budget
from noisesense_adapters.extras import needs_extra
from noisesense_adapters.models.failures import judge_error
from noisesense_adapters.models.identity import identity

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def model_judge(
    model: str,
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    timeout: float | None = None,
    check: str | None = None,
    text_chars: int | None = None,
    plan: str = "lazy",
    votes: int = 1,
    concurrency: int = 16,
    max_wait: float | None = None,
    store: str | os.PathLike[str] | None = None,
) -> LLMJudge:
    """Return a judge over ``provider:model``.

    ``openai:…`` uses the package `openai`, with OpenAI or any compatible endpoint. Other providers
    are used through LangChain, by their names in its ``init_chat_model``.

    Args:
        model: e.g. ``"openai:gpt-4.1-mini"`` or ``"anthropic:claude-sonnet-4-5"``.
        base_url: an endpoint other than the provider's.
        api_key_env: the name of the environment variable with the API key; by default the
            provider's variable, OpenAI's not before the first call. A local endpoint needs none.
        temperature: by default the model's own.
        max_tokens: of a reply, at most; by default the model's own.
        timeout: seconds after which a call is given up, its retries included; by default 600.
            `OpenAILLM` also gives up after so many without a byte: by default 60, or 600 for an
            endpoint on this machine or its network.
        check: ``"list"`` (by default) or ``"each"``, see `noisesense.LLMJudge`.
        text_chars: of one text in one call, at most; 16,000 by default, see
            `noisesense.judging.prompts.Budget`.
        plan: see `noisesense.LLMJudge`.
        votes: likewise.
        concurrency: how many calls at once, at most, in each event loop.
        max_wait: seconds to wait in a row while the provider takes no calls; 600 by default.
        store: a file that keeps all calls, so that none is paid for twice.

    Raises:
        InputError: no ``provider:model``, an unknown provider, an address without http://, a
            store that cannot be opened, or an argument that `LLMJudge` or `Budget` refuses.
        JudgeError: the variable that ``api_key_env`` names is not set or is empty, or the
            provider's client refuses its settings.
        MissingExtraError: the provider's package is not installed, or LangChain for any provider
            but ``openai``.
    """
    key = None if api_key_env is None else os.environ.get(api_key_env, "")
    if key == "":
        # Do not show the name: somebody may have put the key itself there.
        raise JudgeError("the environment variable that api_key_env names is not set")
    llm = structured_llm(
        model,
        api_key=None if key is None else SecretStr(key),
        base_url=base_url,
        temperature=temperature,
        max_tokens=max_tokens,
        timeout=timeout,
    )
    settings = _given(check=check, plan=plan, timeout=timeout, max_wait=max_wait)
    if text_chars is not None:
        settings["budget"] = Budget(text_chars)
    if store is not None:
        from noisesense import VerdictStore  # here, since SQLite takes its time

        settings["store"] = VerdictStore(store)
    return LLMJudge(llm, votes=votes, max_concurrency=concurrency, **settings)


def _given(**options: Any) -> dict[str, Any]:
    """Return the options without those that are None."""
    return {name: value for name, value in options.items() if value is not None}


def structured_llm(model: Any, **settings: Any) -> StructuredLLM:
    """Return a `StructuredLLM` from the name of a model, or over a model object.

    Args:
        model: a name, a `StructuredLLM`, or a LangChain chat model.
        settings: of a model by name: ``base_url``, ``api_key``, ``temperature``,
            ``max_tokens`` and ``timeout``; None for the provider's own. A model object
            keeps its own settings.

    Raises:
        InputError: none of these, a name that is no ``provider:model``, an unknown provider, or
            an address without http://.
        JudgeError: the provider's client refuses its settings.
        MissingExtraError: the provider's package is not installed, or LangChain for any provider
            but ``openai``.
    """
    if hasattr(model, "ainvoke"):
        from noisesense_adapters.langchain import LangChainLLM

        return LangChainLLM(model)
    if callable(getattr(model, "generate", None)):
        return cast("StructuredLLM", model)
    provider, colon, name = model.partition(":") if isinstance(model, str) else ("", "", "")
    if not (provider and colon and name):
        hint = "for example openai:gpt-4.1-mini"
        raise InputError("provider:model", describe(model), where="judge", hint=hint)
    if get_close_matches(provider, ["openai"], 1, 0.8) and provider != "openai":
        raise InputError("a provider", repr(provider), where="judge", hint="did you mean openai?")
    if provider == "openai":
        return _openai(name, _given(**settings))
    return _langchain(provider, name, _given(**settings))


def _openai(model: str, settings: dict[str, Any]) -> StructuredLLM:
    with needs_extra("openai"):
        from noisesense_adapters.openai import OpenAILLM
    # OpenAI's newer models know only the longer name, other servers often only the shorter.
    limit = "max_tokens" if "base_url" in settings else "max_completion_tokens"
    params = _given(temperature=settings.pop("temperature", None))
    params |= _given(**{limit: settings.pop("max_tokens", None)})
    return OpenAILLM(model, params=params, **settings)


def _langchain(provider: str, model: str, settings: dict[str, Any]) -> StructuredLLM:
    from noisesense_adapters.langchain import LangChainLLM

    with needs_extra("langchain"):
        init_chat_model: Any = import_module("langchain.chat_models").init_chat_model
    failure: NoiseSenseError
    try:
        chat: BaseChatModel = init_chat_model(model, model_provider=provider, **settings)
    except ImportError as error:
        # LangChain's, which names the package.
        failure = MissingExtraError(str(error))
    except Exception as error:  # noqa: BLE001 - clients' exceptions may quote their settings
        if isinstance(error, ValueError) and str(error).startswith("Unsupported provider"):
            expected = "openai, or a provider that LangChain knows"
            hint = str(error).partition("\n")[2].strip()  # it lists them
            failure = InputError(expected, describe(provider), where="judge", hint=hint)
        else:
            failure = judge_error(error, f"{provider}:{model}")
    else:
        llm = LangChainLLM(chat)
        # Also of a class that does not tell LangChain its options.
        llm.identity = identity(provider=provider, model=model, options=settings)
        return llm
    raise failure
