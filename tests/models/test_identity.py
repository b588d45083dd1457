"""A store never mixes models: what changes an answer is in a model's identity, and no key is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from langchain.chat_models import init_chat_model
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from openai import AsyncOpenAI, AzureOpenAI, OpenAI
from pydantic import SecretStr
from ragas.llms import LangchainLLMWrapper

from noisesense.judging.protocol import StructuredLLM
from noisesense_adapters.langchain import LangChainLLM
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.ragas.llm import RagasLLM
from support.identities import KEY, URL, check_identities, told


def langchain(key: str = KEY, **options: Any) -> ChatOpenAI:
    given = {"model": "m", "base_url": URL, "default_headers": {"X-Auth": key}, **options}
    return ChatOpenAI(api_key=SecretStr(key), **given)


def openai(key: str = KEY, model: str = "m", base_url: str = URL, **params: Any) -> OpenAILLM:
    params = {"extra_headers": {"Authorization": key}, **params}
    return OpenAILLM(model, base_url=base_url, api_key=key, params=params)


def client(key: str = KEY, model: str = "m", base_url: str = URL, **params: Any) -> OpenAILLM:
    return OpenAILLM(model, client=OpenAI(api_key=key, base_url=base_url), params=params)


def configurable(key: str = KEY, **options: Any) -> LangChainLLM:
    given = {"model": "m", "base_url": URL, "api_key": key, **options}
    return LangChainLLM(
        init_chat_model(**given, model_provider="openai", configurable_fields="any")
    )


WRAPPED: dict[str, Callable[[ChatOpenAI], Any]] = {
    "plain": lambda model: model,
    "with_retry": lambda model: model.with_retry(),
    "with_config": lambda model: model.with_config(tags=["t"]),
    "with_fallbacks": lambda model: langchain().with_fallbacks([model]),
    "sequence": lambda model: RunnableLambda(str) | model.with_retry() | StrOutputParser(),
    "configurable": lambda model: model.configurable_fields(temperature=ConfigurableField(id="t")),
}
MAKE: dict[str, Callable[..., StructuredLLM]] = {
    **{
        name: lambda key=KEY, wrap=wrap, **options: LangChainLLM(wrap(langchain(key, **options)))
        for name, wrap in WRAPPED.items()
    },
    "bind": lambda key=KEY, **options: LangChainLLM(langchain(key).bind(api_key=key, **options)),
    "init_chat_model": configurable,
    "openai": openai,
    "openai client": client,
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE.keys())
def test_every_option_that_changes_an_answer_and_no_key(
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


def test_what_a_config_chooses_is_an_option() -> None:
    model = langchain().configurable_fields(temperature=ConfigurableField(id="t"))
    chosen = [
        LangChainLLM(model),
        LangChainLLM(model.with_config(configurable={"t": 0.5})),
        LangChainLLM(model, {"configurable": {"t": 0.7}}),
        LangChainLLM(model, {"configurable": {"t": 0.9, "api_key": KEY}}),
    ]
    assert len({told(llm) for llm in chosen}) == 4
    assert KEY not in repr([told(llm) for llm in chosen])


def test_azure() -> None:
    def azure(version: str, deployment: str) -> list[StructuredLLM]:
        common = {"api_key": KEY, "azure_endpoint": "https://x.example", "api_version": version}
        return [
            OpenAILLM("m", client=AzureOpenAI(azure_deployment=deployment, **common)),
            LangChainLLM(AzureChatOpenAI(azure_deployment=deployment, **common)),
        ]

    for kinds in zip(azure("1", "a"), azure("2", "a"), azure("1", "b"), strict=True):
        assert len({told(llm) for llm in kinds}) == 3
        assert KEY not in repr([told(llm) for llm in kinds])


def test_a_model_of_ones_own() -> None:
    """Its class, and options of the usual names; a counter is none."""

    class OwnChat(FakeListChatModel):
        asked: int = 0
        temperature: float = 0
        model_path: str = ""
        checkpoint: str = ""

    same = OwnChat(responses=["a"], asked=3)
    assert told(LangChainLLM(same)) == told(LangChainLLM(OwnChat(responses=["a"])))
    for other in ({"temperature": 1}, {"model_path": "b.gguf"}, {"checkpoint": "b"}):
        assert told(LangChainLLM(same)) != told(LangChainLLM(OwnChat(responses=["a"], **other)))


@pytest.mark.parametrize("make", [openai, MAKE["bind"]])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_numbers_of_numpy_are_options(make: Callable[..., Any], kind: Any) -> None:
    """As of a sweep over ``np.linspace``: one kind was an error, and others were left out."""
    first, again, other = (make(temperature=kind(each)) for each in (1, 1, 2))
    assert first.identity == again.identity != other.identity


@pytest.mark.filterwarnings("ignore:LangchainLLMWrapper:DeprecationWarning")
def test_a_deployment_is_a_models_name() -> None:
    """Azure's models have no other; two of them were one judge."""
    address = {"azure_endpoint": "http://127.0.0.1:9", "api_version": "v1", "api_key": "k"}
    names: list[str] = []
    for deployment in ("small", "large"):
        model = AzureChatOpenAI(azure_deployment=deployment, **address)
        names += [LangChainLLM(model).name, RagasLLM(LangchainLLMWrapper(model)).name]
    assert ["small" in name for name in names] == [True, True, False, False]
