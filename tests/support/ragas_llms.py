"""ragas' models with real clients at the loopback server, and runs that close them again."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from openai import AsyncOpenAI, OpenAI

from noisesense import Sample
from support.langchain_models import chat_openai, run
from support.ragas_runs import dataset
from support.server import ScriptedServer

KINDS = ("async client", "sync client", "LangChain", "LangChain wrapped")
"""What ``evaluate(llm=…)`` is given: an instructor model of llm_factory over either kind of
client, a LangChain model (which evaluate() wraps), or ragas' wrapper of one."""

KEY = "sk-canary-0123456789"


@asynccontextmanager
async def ragas_llm(kind: str, server: ScriptedServer) -> AsyncIterator[Any]:
    """The model, until the block ends; its client retries nothing."""
    from ragas.llms import llm_factory
    from ragas.llms.base import LangchainLLMWrapper

    endpoint: Any = {"base_url": server.base_url, "api_key": KEY, "max_retries": 0}
    if kind == "async client":
        async with AsyncOpenAI(**endpoint) as client:
            yield llm_factory("gpt-4o-mini", client=client)
    elif kind == "sync client":
        with OpenAI(**endpoint) as client:
            yield llm_factory("gpt-4o-mini", client=client)
    else:
        model = chat_openai(server, key=KEY, max_retries=0)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "LangchainLLMWrapper is", DeprecationWarning)
            yield model if kind == "LangChain" else LangchainLLMWrapper(model)
        model.root_client.close()


def evaluated_by(
    llm: str,
    server: ScriptedServer,
    samples: Iterable[Sample],
    metrics: Sequence[Any],
    **options: Any,
) -> Any:
    """The result of ragas' ``aevaluate(llm=…)`` with a model of that kind."""
    from ragas import aevaluate
    from ragas.run_config import RunConfig

    # One attempt of ragas' own: it would otherwise wait up to a minute between ten.
    options = {"run_config": RunConfig(max_retries=1), "show_progress": False, **options}

    async def main() -> Any:
        async with ragas_llm(llm, server) as model:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", r"aevaluate\(\) is", DeprecationWarning)
                warnings.filterwarnings("ignore", "LangchainLLMWrapper is", DeprecationWarning)
                return await aevaluate(
                    dataset(samples), metrics=list(metrics), llm=model, **options
                )

    return run(main())


def asked(kind: str, server: ScriptedServer, work: Any) -> Any:
    """What ``await work(model)`` gives, with a model of that kind."""

    async def main() -> Any:
        async with ragas_llm(kind, server) as model:
            return await work(model)

    return run(main())
