"""ragas' models as a `StructuredLLM`: the user configures no second key."""

from __future__ import annotations

import asyncio
import copy
import logging
import weakref
from collections.abc import Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from langchain_core.language_models import BaseLanguageModel
from langchain_core.outputs import LLMResult
from langchain_core.prompt_values import StringPromptValue
from pydantic import BaseModel
from ragas.llms.base import BaseRagasLLM, InstructorBaseRagasLLM, LangchainLLMWrapper

from noisesense.errors import InputError, ReplyError
from noisesense.judging.protocol import Choice, Usage
from noisesense_adapters.toolbox.bridge import completion_reply
from noisesense_adapters.toolbox.failures import call_model, completion_in
from noisesense_adapters.toolbox.judges import identity
from noisesense_adapters.toolbox.replies import (
    CUT_SHORT,
    read_reply,
    spelled_out,
    usage_of,
)
from noisesense_adapters.toolbox.running import ask_either, in_thread
from noisesense_adapters.toolbox.words import read_word

S = TypeVar("S", bound=BaseModel)

# The callbacks of the row that is scored. Tasks and threads that the judge starts inherit them.
row_group: ContextVar[Any] = ContextVar("noisesense_ragas_row_group", default=None)

_quiet: ContextVar[bool] = ContextVar("noisesense_ragas_quiet", default=False)
for _name in ("instructor", "instructor.v2.retry"):  # its words hold the prompt; ours do not
    logging.getLogger(_name).addFilter(lambda _: not _quiet.get())


def check_llm(llm: object) -> None:
    """Raises `InputError` for an object that no ragas metric takes as its model."""
    if not isinstance(llm, (BaseRagasLLM, InstructorBaseRagasLLM, BaseLanguageModel)):
        hint = "llm_factory('gpt-4o-mini', client=…) of ragas.llms, or judge=…"
        raise InputError("one of ragas' models", type(llm).__name__, where="llm", hint=hint)


class RagasLLM:
    """A ragas model, asked once a call: the judge itself asks again for what is missing.

    Clients still repeat requests that failed on the way (429, timeout, …): the openai client
    ``max_retries`` times, a `BaseRagasLLM` as its `RunConfig` says. A blocking client is asked in
    a thread.

    Args:
        llm: a `BaseRagasLLM` (such as ragas' wrapper of a LangChain model), an instructor model of
            ``llm_factory``, or a LangChain model.

    Raises:
        InputError: anything else.

    Attributes:
        name: the model's name; empty if it has none.
        identity: what else its answers depend on: class, endpoint and options; no key.
    """

    def __init__(self, llm: Any) -> None:
        check_llm(llm)
        self.name, self.identity = _name_of(llm), identity(model=llm)
        if hasattr(llm, "model_args"):  # instructor would ask three times, with the bad reply
            llm = copy.copy(llm)
            llm.model_args = {**llm.model_args, "max_retries": 0}
        self._llm = llm
        if not isinstance(llm, InstructorBaseRagasLLM):  # which gives objects only
            self.choose = self._choose

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """See `noisesense.StructuredLLM`. Raises `ReplyError`, `JudgeError`."""
        model = self.name or "the model"
        if isinstance(self._llm, InstructorBaseRagasLLM):
            return await call_model(self._object(prompt, schema), model)
        text, usage = await call_model(self._text(spelled_out(prompt, schema)), model)
        return read_reply(text, schema, usage), usage

    async def _choose(self, prompt: str, words: Sequence[str]) -> tuple[Choice, Usage]:
        """See `noisesense.WordLLM`. The reply's length is the model's own affair."""
        text, usage = await call_model(self._text(prompt), self.name or "the model")
        return Choice(read_word(text, words, usage)), usage

    async def _object(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        _forget_other_loops(self._llm)
        token = _quiet.set(True)
        try:
            if getattr(self._llm, "is_async", True):
                reply = await self._llm.agenerate(prompt, schema)
            else:
                reply = await in_thread(partial(self._llm.generate, prompt, schema))
        except Exception as error:
            if (completion := completion_in(error)) is None:
                raise
            return completion_reply(completion).read(schema)
        finally:
            _quiet.reset(token)
        # instructor attaches the provider's own reply.
        raw = getattr(reply, "_raw_response", None)
        if hasattr(raw, "choices"):  # instructor takes a draft in a reply that is cut short
            return completion_reply(raw).read(schema)
        return reply, usage_of(raw)

    async def _text(self, prompt: str) -> tuple[str, Usage]:
        value = StringPromptValue(text=prompt)
        generation, usage = _first(await _generated(self._llm, value, row_group.get()))
        return str(generation.text), usage


async def _generated(llm: Any, prompt: StringPromptValue, callbacks: Any) -> LLMResult:
    if isinstance(llm, LangchainLLMWrapper):
        call = partial(llm.generate, prompt, callbacks=callbacks)
        return await ask_either(call, partial(_blocking, llm, prompt, callbacks))
    if isinstance(llm, BaseRagasLLM):
        return await llm.generate(prompt, callbacks=callbacks)
    return await ask_either(
        partial(llm.agenerate_prompt, [prompt], callbacks=callbacks),
        partial(llm.generate_prompt, [prompt], callbacks=callbacks),
    )


def _blocking(llm: Any, prompt: StringPromptValue, callbacks: Any) -> LLMResult:
    """As ``llm.generate``, which ragas has for event loops only."""
    if llm.bypass_temperature:  # which generate_text does not
        result: LLMResult = llm.langchain_llm.generate_prompt([prompt], callbacks=callbacks)
    else:
        result = llm.generate_text(prompt, callbacks=callbacks)
    if not llm.is_finished(result):
        raise ReplyError(CUT_SHORT, _first(result)[1])
    return result


_loops: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _forget_other_loops(llm: Any) -> None:
    """Before an async client is first asked in an event loop: drop its idle connections.

    Those of an earlier ``evaluate()`` belong to a loop that is gone: a request on one of them
    would be sent, paid for, and its reply lost. OpenAI and Anthropic keep them in httpx.
    """
    http: Any = getattr(getattr(getattr(llm, "client", None), "client", None), "_client", None)
    loop = weakref.ref(asyncio.get_running_loop())
    if http is None or not getattr(llm, "is_async", False) or _loops.get(http) == loop:
        return
    _loops[http] = loop
    for transport in (getattr(http, "_transport", None), *getattr(http, "_mounts", {}).values()):
        pool: Any = getattr(transport, "_pool", None)
        if isinstance(getattr(pool, "_connections", None), list):
            pool._connections = [each for each in pool._connections if not each.is_idle()]


def _first(result: LLMResult) -> tuple[Any, Usage]:
    """The reply, with its usage from its message or else as the provider reported it."""
    output: dict[str, Any] = result.llm_output or {}
    reported = usage_of(output.get("token_usage") or output.get("usage"))
    if not result.generations or not result.generations[0]:
        raise ReplyError("the model gave no reply", reported)
    generation = result.generations[0][0]
    message: Any = getattr(generation, "message", None)
    return generation, usage_of(message) if getattr(message, "usage_metadata", None) else reported


def _name_of(llm: Any) -> str:
    model = getattr(llm, "langchain_llm", None) or getattr(llm, "llm", None) or llm
    names = (getattr(model, each, None) for each in ("model_name", "model", "model_id"))
    return next((each for each in names if isinstance(each, str)), "")
