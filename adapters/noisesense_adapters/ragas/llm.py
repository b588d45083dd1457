"""ragas' models as a `StructuredLLM`: the user configures no second key."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.language_models import BaseLanguageModel
from langchain_core.outputs import LLMResult
from langchain_core.prompt_values import StringPromptValue
from pydantic import BaseModel
from ragas.callbacks import RagasTracer
from ragas.exceptions import LLMDidNotFinishException
from ragas.llms.base import (
    BaseRagasLLM,
    InstructorBaseRagasLLM,
    InstructorModelArgs,
    LangchainLLMWrapper,
)
from ragas.llms.base import InstructorLLM as FactoryLLM
from ragas.run_config import add_retry

from noisesense.errors import InputError, ReplyError
from noisesense.judging.protocol import StructuredLLM, Usage
from noisesense_adapters.langchain import LangChainLLM, message_problem
from noisesense_adapters.models.bridge import Bridge, Reply, completion_reply
from noisesense_adapters.models.envelopes import REFUSED, problem_of, usage_of
from noisesense_adapters.models.failures import completion_in
from noisesense_adapters.models.identity import identity
from noisesense_adapters.models.running import ask_either, in_thread
from noisesense_adapters.openai import OpenAILLM

# The callbacks of the row that is scored. Tasks and threads that the judge starts inherit them.
row_group: ContextVar[Any] = ContextVar("noisesense_ragas_row_group", default=None)

_CACHING = ("generate", "agenerate", "generate_text", "agenerate_text")
"""What ragas wraps on an instance with a cache."""

_quiet: ContextVar[bool] = ContextVar("noisesense_ragas_quiet", default=False)
for _name in ("instructor", "instructor.v2.retry"):  # its words hold the prompt; ours do not
    logging.getLogger(_name).addFilter(lambda _: not _quiet.get())


def bridge_over(llm: object) -> Callable[[], StructuredLLM]:
    """Makes the judge's model. Raises `InputError` for what no ragas metric takes as its own."""
    if isinstance(llm, BaseLanguageModel):
        return partial(LangChainLLM, cast("Any", llm))
    if isinstance(llm, BaseRagasLLM):
        return partial(RagasLLM, llm)
    if isinstance(llm, InstructorBaseRagasLLM):
        return partial(_over_openai if _is_plain(llm) else InstructorLLM, llm)
    hint = "llm_factory('gpt-4o-mini', client=…) of ragas.llms, or judge=…"
    raise InputError("one of ragas' models", type(llm).__name__, where="llm", hint=hint)


def _is_plain(llm: Any) -> bool:
    """Tell whether it is OpenAI's client alone: no system prompt, no cache, no user's class."""
    if type(llm) is not FactoryLLM:
        return False
    model: Any = llm
    if getattr(model, "cache", None) or getattr(model, "system_prompt", None):
        return False
    client = getattr(model.client, "client", None)
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


class RagasLLM(Bridge):
    """A model of texts, such as ragas' wrapper of a LangChain model. Its `RunConfig` retries.

    A ``cache`` of the user's keeps whole replies, in any event loop. ragas itself would keep those
    that were cut short, too, and take those of another model.

    Attributes:
        name: the model's name; empty if it has none.
        identity: what else its answers depend on, as `LangChainLLM.identity`. A model of your own
            says both by attributes of these names.
    """

    takes_forms = False

    def __init__(self, llm: Any) -> None:
        self._cache: Any = getattr(llm, "cache", None)
        # What ragas wraps for its cache is no option of the model.
        self._llm = llm if self._cache is None else _without_cache(llm)
        self.name = str(getattr(llm, "name", ""))
        self.identity = str(getattr(llm, "identity", ""))
        if isinstance(llm, LangchainLLMWrapper):
            wrapped: Any = llm
            model = LangChainLLM(wrapped.langchain_llm)
            self.name = model.name
            self.identity = model.identity
            self._llm = copy.copy(self._llm)
            self._llm.bypass_temperature = True  # ragas would set its own, 0.01

    async def ask(self, prompt: str, schema: type[BaseModel] | None) -> Reply:
        """See `Bridge`."""
        if self._cache is None or not self.identity:
            return await self._ask(prompt, schema)
        asked = [self.name, self.identity, prompt, schema and schema.__name__]
        key = hashlib.sha256(json.dumps(asked).encode()).hexdigest()
        if self._cache.has_key(key):
            return Reply(self._cache.get(key), Usage(cached_calls=1))
        reply = await self._ask(prompt, schema)
        if not reply.problem:
            self._cache.set(key, reply.text)
        return reply

    async def _ask(self, prompt: str, schema: Any) -> Reply:
        value = StringPromptValue(text=prompt)
        call = partial(self._llm.generate, value, callbacks=_listeners())
        if isinstance(self._llm, LangchainLLMWrapper):
            result = await ask_either(call, partial(_blocking, self._llm, value))
        else:
            result = await call()
        return _first_reply(self._llm, result)


def _without_cache(llm: Any) -> Any:
    """Return a copy whose methods are those of its class again."""
    plain: Any = copy.copy(llm)
    for method in _CACHING:
        plain.__dict__.pop(method, None)
    return plain


class InstructorLLM(RagasLLM):
    """A model of ``llm_factory``, which gives objects only, asked once a call.

    Its client still repeats requests that failed on the way (429, timeout, …), as its
    ``max_retries`` says. A blocking client is asked in a thread.
    """

    takes_forms = True
    replies_in_text = False

    def __init__(self, llm: Any) -> None:
        super().__init__(llm)
        if hasattr(llm, "model_args"):  # instructor would ask three times, with the bad reply
            self._llm = copy.copy(self._llm)
            self._llm.model_args = {**llm.model_args, "max_retries": 0}
            self.name = llm.model
            address = str(getattr(getattr(llm.client, "client", None), "base_url", ""))
            system = getattr(llm, "system_prompt", None)  # none before ragas 0.4.3
            told = {"provider": llm.provider, "endpoint": address, "system": system}
            self.identity = identity(**told, options=llm.model_args)

    async def _ask(self, prompt: str, schema: Any) -> Reply:
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


def _listeners() -> Any:
    """The row's callbacks without ragas' tracer: it hears of chains alone, and LangChain would
    tell it of each call's start and end in a thread."""
    callbacks = row_group.get()
    if not isinstance(callbacks, BaseCallbackManager):
        return callbacks
    heard = cast("Any", callbacks).copy()
    for handler in callbacks.handlers:
        if type(handler) is RagasTracer:
            heard.remove_handler(handler)
    return heard


def _blocking(llm: Any, prompt: StringPromptValue) -> LLMResult:
    """As ``llm.generate``, which is for event loops alone: with its retries and its check."""
    callbacks = _listeners()

    def generate() -> Any:  # not generate_text, which sets a temperature of its own
        return llm.langchain_llm.generate_prompt([prompt], callbacks=callbacks)

    result: LLMResult = add_retry(generate, llm.run_config)()
    if not llm.is_finished(result):
        raise LLMDidNotFinishException
    return result


def _first_reply(llm: Any, result: LLMResult) -> Reply:
    """Return the first reply in a result, with its usage as its message or else the result has it.

    Raises:
        ReplyError: there is none.
    """
    if not result.generations or not result.generations[0]:
        raise ReplyError("the model gave no reply", Usage(calls=1))
    generation = result.generations[0][0]
    message = getattr(generation, "message", None)
    output: dict[str, Any] = result.llm_output or {}
    told = getattr(message, "usage_metadata", None)
    usage = usage_of(told or output.get("token_usage") or output.get("usage"))
    problem = message_problem(message) or problem_of(generation.generation_info)
    has_own_rule = getattr(llm, "is_finished_parser", None) is not None
    if has_own_rule and problem != REFUSED:
        problem = ""  # the user's rule says what is finished, and ragas has asked it
    return Reply(str(generation.text), usage, problem)
