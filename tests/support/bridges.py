"""Models over the real clients at the scripted server: openai's package, ours, LangChain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from noisesense import LLMJudge
from noisesense.judging.protocol import Judgement, StructuredLLM
from noisesense_adapters.langchain import LangChainLLM
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.openai.client import ChatClient
from support.faults import pairs
from support.langchain_models import chat_openai, run
from support.server import ScriptedServer

KEY = "sk-canary-5f2e9c"
Make = Callable[..., StructuredLLM]


def settings(server: ScriptedServer, **options: Any) -> dict[str, Any]:
    return {"base_url": server.base_url, "api_key": KEY, "max_retries": 0, **options}


BRIDGES: dict[str, Make] = {
    "openai": lambda server, **options: OpenAILLM("m", **settings(server, **options)),
    "promptfoo": lambda server, **options: OpenAILLM(
        "m", client=ChatClient(**settings(server, **options))
    ),
    "langchain": lambda server, **options: LangChainLLM(chat_openai(server, key=KEY, **options)),
}


def judged(judge: LLMJudge) -> list[Judgement | BaseException]:
    """The judgement on each of the samples of the fault table, or its error."""

    async def main() -> list[Judgement | BaseException]:
        samples = [sample for sample, _ in pairs()]
        return await asyncio.gather(*map(judge.judge_detailed, samples), return_exceptions=True)

    return run(main())
