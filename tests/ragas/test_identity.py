"""A store never mixes ragas' models."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI
from pydantic import SecretStr
from ragas.llms import LangchainLLMWrapper, llm_factory

from noisesense_adapters.ragas.llm import bridge_over
from support.identities import KEY, URL, check_identities


def langchain(key: str = KEY, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(api_key=SecretStr(key), **{"model": "m", "base_url": URL, **options})


def ragas(key: str = KEY, **options: Any) -> Any:
    model = options.pop("model", "m")
    url = options.pop("base_url", URL)
    client = AsyncOpenAI(api_key=key, base_url=url)
    return bridge_over(llm_factory(model, client=client, **options))


def ragas_langchain(key: str = KEY, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        wrapper = LangchainLLMWrapper(langchain(key, **options), bypass_temperature=True)
    return bridge_over(wrapper)


@pytest.mark.parametrize("make", [ragas, ragas_langchain])
def test_each_option_that_changes_an_answer_and_no_key_is_in_the_identity(
    make: Callable[..., Any],
) -> None:
    check_identities(make)
