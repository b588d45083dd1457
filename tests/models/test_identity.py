"""A store never mixes models: what changes an answer is in a model's identity, and no key is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from openai import AsyncOpenAI, OpenAI
from pydantic import SecretStr

from noisesense import InputError, LLMJudge, VerdictStore
from noisesense.judging.protocol import StructuredLLM
from noisesense_adapters.factory import structured_llm
from noisesense_adapters.langchain import LangChainLLM
from noisesense_adapters.openai import OpenAILLM
from support.identities import KEY, URL, check_identities, told


def langchain(key: str = KEY, **options: Any) -> ChatOpenAI:
    given = {"model": "m", "base_url": URL, "default_headers": {"X-Auth": key}, **options}
    return ChatOpenAI(api_key=SecretStr(key), **given)


def openai(key: str = KEY, model: str = "m", base_url: str = URL, **params: Any) -> OpenAILLM:
    params = {"extra_headers": {"Authorization": key}, **params}
    return OpenAILLM(model, base_url=base_url, api_key=key, params=params)


def client(key: str = KEY, model: str = "m", base_url: str = URL, **params: Any) -> OpenAILLM:
    return OpenAILLM(model, client=OpenAI(api_key=key, base_url=base_url), params=params)


WRAPPED: dict[str, Callable[[ChatOpenAI], Any]] = {
    "plain": lambda model: model,
    "with_retry": lambda model: model.with_retry(),
    "with_config": lambda model: model.with_config(tags=["t"]),
}
MAKE: dict[str, Callable[..., StructuredLLM]] = {
    **{
        name: lambda key=KEY, wrap=wrap, **options: LangChainLLM(wrap(langchain(key, **options)))
        for name, wrap in WRAPPED.items()
    },
    "bind": lambda key=KEY, **options: LangChainLLM(langchain(key).bind(api_key=key, **options)),
    "openai": openai,
    "openai client": client,
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE.keys())
def test_every_option_that_changes_an_answer_tells_models_apart_and_no_key(
    make: Callable[..., StructuredLLM],
) -> None:
    check_identities(make)


def test_how_a_request_is_made_is_no_option() -> None:
    plain = LangChainLLM(langchain())
    for other in (
        langchain(timeout=3, max_retries=9, streaming=True, tags=["a"], metadata={"a": 1}),
        langchain().with_retry(stop_after_attempt=7),
        langchain().with_config(run_name="r", callbacks=[], max_concurrency=2),
    ):
        assert told(LangChainLLM(other)) == told(plain)
    assert told(OpenAILLM("m", base_url=URL, timeout=1, max_retries=0)) == told(
        OpenAILLM("m", client=AsyncOpenAI(base_url=URL, api_key="k"))
    )


def test_what_looks_like_a_key_still_tells_models_apart() -> None:
    """A store gave one model's replies for another's."""
    bases = ("https://api-inference.one.co/v1", "https://api-inference.other.cn/v1")
    systems = ("You are the bearer of truth. Be strict.", "You are the bearer of truth. Say no.")
    models = [
        *(langchain(base_url=base) for base in bases),
        *(langchain(model=name) for name in ("hf-mistral-7b", "hf-llama3-70b")),
        *(langchain(extra_body={"system": system}) for system in systems),
        *(langchain(extra_body={"stop_tokens": [stop]}) for stop in ("x", "y")),
    ]
    identities = {told(LangChainLLM(model)) for model in models}
    assert len(identities) == len(models)
    assert KEY not in repr(identities)


class OwnChat(FakeListChatModel):
    identity: str = ""


UNKNOWN: dict[str, Any] = {
    "a class of one's own": OwnChat(responses=["a"]),
    "fallbacks": langchain().with_fallbacks([langchain(model="other")]),
    "a sequence": RunnableLambda(str) | langchain(),
    "configurable": langchain().configurable_fields(temperature=ConfigurableField(id="t")),
}


@pytest.mark.parametrize("model", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_what_tells_nothing_of_its_options_is_named_for_a_store(
    model: Any, tmp_path: Path
) -> None:
    """Nobody could tell whose replies they are; without a store nobody needs to."""
    llm = LangChainLLM(model)
    LLMJudge(llm)
    with VerdictStore(tmp_path / "store.db") as store:
        with pytest.raises(InputError, match=r'a name and an identity.*model="…"'):
            LLMJudge(llm, store=store)
        LLMJudge(llm, store=store, model="mine, temperature 0")


def test_a_model_by_its_providers_name_is_told_apart_by_its_options(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where its class tells LangChain no options, as Ollama's."""

    def init_chat_model(*_: Any, **__: Any) -> Any:
        return OwnChat(responses=["a"])

    monkeypatch.setattr("langchain.chat_models.init_chat_model", init_chat_model)
    options: list[dict[str, Any]] = [{}, {"temperature": 1.0}, {"base_url": URL}]
    options.append({"api_key": KEY, "timeout": 3})
    first, other, elsewhere, again = (structured_llm("x:m", **each) for each in options)
    assert first.identity == again.identity  # type: ignore[attr-defined]
    assert len({told(llm) for llm in (first, other, elsewhere)}) == 3


def test_a_deployment_is_a_models_name() -> None:
    """Azure's models have no other; two of them were one judge."""
    address = {"azure_endpoint": "http://127.0.0.1:9", "api_version": "v1", "api_key": "k"}
    names: list[str] = []
    for deployment in ("small", "large"):
        model = AzureChatOpenAI(azure_deployment=deployment, **address)
        names.append(LangChainLLM(model).name)
    assert ["small" in name for name in names] == [True, False]
