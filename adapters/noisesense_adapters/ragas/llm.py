"""ragas' models as a `StructuredLLM`: the user configures no second key."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
from contextvars import ContextVar
from functools import partial
from typing import Any, cast

from langchain_core.language_models import BaseLanguageModel
from langchain_core.prompt_values import StringPromptValue
from pydantic import BaseModel
from ragas.llms.base import (
    BaseRagasLLM,
    InstructorBaseRagasLLM,
    InstructorModelArgs,
    LangchainLLMWrapper,
)
from ragas.llms.base import InstructorLLM as FactoryLLM

from noisesense.errors import InputError
from noisesense.judging.protocol import Usage
from noisesense_adapters.langchain import LangChainLLM, message_problem
from noisesense_adapters.models.bridge import Bridge, Reply, completion_reply
from noisesense_adapters.models.envelopes import problem_of, usage_of
from noisesense_adapters.models.failures import completion_in
from noisesense_adapters.models.identity import identity
from noisesense_adapters.models.running import in_thread
from noisesense_adapters.openai import OpenAILLM

_quiet: ContextVar[bool] = ContextVar("noisesense_ragas_quiet", default=False)
for _name in ("instructor", "instructor.v2.retry"):  # its words hold the prompt; ours do not
    logging.getLogger(_name).addFilter(lambda _: not _quiet.get())


def bridge_over(llm: Any) -> Bridge:
    """Return one of ragas' or LangChain's models as the judge's.

    A cache that ragas has for the model is used if the model's ``identity`` is known. Raises
    `InputError` for what no ragas metric takes as its own.
    """
    if isinstance(llm, BaseLanguageModel):
        return LangChainLLM(cast("Any", llm))
    if isinstance(llm, BaseRagasLLM) and type(llm) is not LangchainLLMWrapper:
        return RagasLLM(llm)
    if isinstance(llm, BaseRagasLLM):
        model: Bridge = LangChainLLM(cast("Any", llm).langchain_llm)
    elif isinstance(llm, InstructorBaseRagasLLM):
        model = _over_openai(llm) if _is_plain(llm) else InstructorLLM(llm)
    else:
        hint = "llm_factory('gpt-4o-mini', client=…) of ragas.llms, or judge=…"
        raise InputError("one of ragas' models", type(llm).__name__, where="llm", hint=hint)
    cache = getattr(llm, "cache", None)
    return CachedLLM(model, cache) if cache is not None and model.identity else model


def _is_plain(llm: Any) -> bool:
    """Tell whether the model is OpenAI's client alone: no system prompt, no user's class."""
    if type(llm) is not FactoryLLM or getattr(llm, "system_prompt", None):
        return False
    client = getattr(llm.client, "client", None)
    return type(client).__module__.partition(".")[0] == "openai"


def _over_openai(llm: Any) -> OpenAILLM:
    """Asked as any other model of that endpoint: instructor would put a prompt of its own before
    ours, and ragas end each reply after 1,024 tokens."""
    params = llm._map_provider_params()
    params.pop("max_retries", None)
    if llm.model_args.get("max_tokens") == InstructorModelArgs().max_tokens:
        params.pop("max_tokens", None)
        params.pop("max_completion_tokens", None)
    return OpenAILLM(llm.model, client=llm.client.client, params=params)


class CachedLLM(Bridge):
    """A model with a cache of ragas', which keeps whole replies, in any event loop.

    ragas itself would keep those that were cut short, too, and take those of another model.
    """

    def __init__(self, model: Bridge, cache: Any) -> None:
        self.name = model.name
        self.identity = model.identity
        self._model = model
        self._cache = cache

    async def reply(self, prompt: str, schema: type[BaseModel]) -> Reply:
        """See `Bridge.reply`."""
        asked = [self.name, self.identity, prompt, schema.__name__]
        key = hashlib.sha256(json.dumps(asked).encode()).hexdigest()
        if self._cache.has_key(key):
            return Reply(self._cache.get(key), Usage(cached_calls=1))
        reply = await self._model.reply(prompt, schema)
        if not reply.problem:
            self._cache.set(key, reply.text)
        return reply


class RagasLLM(Bridge):
    """A user's own model of texts. Its `RunConfig` retries.

    Attributes:
        name: the model's name; empty if it has none.
        identity: what else its answers depend on, as `LangChainLLM.identity`. A model of your own
            says both by attributes of these names.
    """

    takes_forms = False

    def __init__(self, llm: Any) -> None:
        self._llm = llm
        self.name: str = getattr(llm, "name", None) or ""
        self.identity: str = getattr(llm, "identity", None) or ""

    async def ask(self, prompt: str, schema: type[BaseModel] | None) -> Reply:
        """See `Bridge.ask`."""
        result = await self._llm.generate(StringPromptValue(text=prompt))
        generation = result.generations[0][0]
        output: dict[str, Any] = result.llm_output or {}
        usage = usage_of(output.get("token_usage") or output.get("usage"))
        message = getattr(generation, "message", None)
        problem = message_problem(message) or problem_of(generation.generation_info)
        return Reply(str(generation.text), usage, problem)


_CACHING = ("generate", "agenerate")
"""What ragas wraps on an instance with a cache."""


class InstructorLLM(RagasLLM):
    """A model of ``llm_factory``, which gives objects only, asked once a call.

    Its client still repeats requests that failed on the way (429, timeout, …), as its
    ``max_retries`` says. A blocking client is asked in a thread.
    """

    takes_forms = True
    replies_in_text = False

    def __init__(self, llm: Any) -> None:
        super().__init__(llm)
        options = getattr(llm, "model_args", None)
        if options is not None:  # instructor would ask three times, with the bad reply
            once: Any = copy.copy(llm)
            for method in _CACHING:
                once.__dict__.pop(method, None)
            once.model_args = {**options, "max_retries": 0}
            self._llm = once
            self.name = llm.model
            address = str(getattr(getattr(llm.client, "client", None), "base_url", ""))
            system = getattr(llm, "system_prompt", None)  # none before ragas 0.4.3
            self.identity = identity(
                provider=llm.provider, endpoint=address, system=system, options=options
            )

    async def ask(self, prompt: str, schema: Any) -> Reply:
        """See `Bridge.ask`."""
        token = _quiet.set(True)
        try:
            if getattr(self._llm, "is_async", True):
                reply = await self._llm.agenerate(prompt, schema)
            else:
                reply = await in_thread(partial(self._llm.generate, prompt, schema))
        except Exception as error:
            if (completion := completion_in(error)) is None:
                raise
            return completion_reply(completion, schema.__name__)
        finally:
            _quiet.reset(token)
        # instructor attaches the provider's own reply, and takes a draft in one that is cut short.
        raw = getattr(reply, "_raw_response", None)
        if hasattr(raw, "choices"):
            return completion_reply(raw, schema.__name__)
        problem = problem_of(raw, schema.__name__)
        return Reply(reply.model_dump_json(), usage_of(raw), problem)
