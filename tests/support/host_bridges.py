"""Models of every host over its real client at the scripted server, at one temperature.

Options beside the server are the client's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from support.bridges import BRIDGES as OURS
from support.bridges import KEY
from support.server import ScriptedServer

TEMPERATURE = 0.5
Bridge = Callable[..., AbstractAsyncContextManager[Any]]


@asynccontextmanager
async def openai(server: ScriptedServer) -> AsyncIterator[Any]:
    from noisesense_adapters.openai import OpenAILLM

    address = {"base_url": server.base_url, "api_key": KEY}
    yield OpenAILLM("m", params={"temperature": TEMPERATURE}, **address)


@asynccontextmanager
async def langchain(server: ScriptedServer) -> AsyncIterator[Any]:
    yield OURS["langchain"](server, temperature=TEMPERATURE)


@asynccontextmanager
async def ragas(server: ScriptedServer, **client: Any) -> AsyncIterator[Any]:
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory

    from noisesense_adapters.ragas.llm import bridge_over

    async with AsyncOpenAI(base_url=server.base_url, api_key=KEY, **client) as opened:
        yield bridge_over(llm_factory("m", client=opened, temperature=TEMPERATURE))


@asynccontextmanager
async def deepeval(server: ScriptedServer, **client: Any) -> AsyncIterator[Any]:
    from openai import DefaultAsyncHttpxClient

    from noisesense_adapters.deepeval import DeepEvalLLM
    from support.deepeval_run import OpenAIModel

    options = {"base_url": server.base_url, "api_key": KEY, "temperature": TEMPERATURE, **client}
    async with DefaultAsyncHttpxClient() as http:
        yield DeepEvalLLM(OpenAIModel("gpt-4o", async_http_client=http, **options))


@asynccontextmanager
async def deepeval_local(server: ScriptedServer, **client: Any) -> AsyncIterator[Any]:
    from deepeval.models import LocalModel
    from openai import DefaultAsyncHttpxClient

    from noisesense_adapters.deepeval import DeepEvalLLM

    options = {"base_url": server.base_url, "api_key": KEY, "temperature": TEMPERATURE, **client}
    async with DefaultAsyncHttpxClient() as http:
        model = LocalModel("m", **options)
        model.kwargs["http_client"] = http
        yield DeepEvalLLM(model)


@asynccontextmanager
async def pydantic_ai(server: ScriptedServer) -> AsyncIterator[Any]:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from noisesense_adapters.pydantic_evals import PydanticAILLM

    async with AsyncOpenAI(base_url=server.base_url, api_key=KEY) as client:
        provider = OpenAIProvider(openai_client=client)
        settings: Any = {"temperature": TEMPERATURE}
        yield PydanticAILLM(OpenAIChatModel("gpt-4o", provider=provider, settings=settings))


BRIDGES: dict[str, Bridge] = {
    "openai": openai,
    "langchain": langchain,
    "ragas": ragas,
    "deepeval": deepeval,
    "deepeval, local": deepeval_local,
    "pydantic-ai": pydantic_ai,
}
