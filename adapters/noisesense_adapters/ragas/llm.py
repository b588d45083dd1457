"""ragas' models as a `StructuredLLM`: the user configures no second key."""

from __future__ import annotations

import asyncio
import copy
import logging
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import MethodType
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseLanguageModel
from langchain_core.outputs import LLMResult
from langchain_core.prompt_values import StringPromptValue
from pydantic import BaseModel
from ragas.cache import cacher
from ragas.llms.base import (
    BaseRagasLLM,
    InstructorBaseRagasLLM,
    InstructorLLM,
    LangchainLLMWrapper,
)
from ragas.llms.litellm_llm import LiteLLMStructuredLLM
from ragas.run_config import add_retry

from noisesense.errors import InputError, ReplyError
from noisesense.judging.protocol import Usage
from noisesense_adapters.langchain.llm import innermost
from noisesense_adapters.ragas.run import call_slot, current_callbacks, report_tokens
from noisesense_adapters.toolbox.failures import call_model, completion_in
from noisesense_adapters.toolbox.identity import described, identity
from noisesense_adapters.toolbox.replies import (
    CUT_SHORT,
    check_complete,
    read,
    read_completion,
    spelled_out,
    usage_of,
)
from noisesense_adapters.toolbox.running import ask_either, in_thread, is_about_loops

S = TypeVar("S", bound=BaseModel)

# An async client keeps the connections of an earlier evaluate(), which had another event loop; a
# request on one of them is lost, and with it the connection. No pool keeps more than these.
_MAX_LOST = 100

_Structured = (InstructorLLM, LiteLLMStructuredLLM)

_quiet: ContextVar[bool] = ContextVar("noisesense_ragas_quiet", default=False)


def _not_ours(record: logging.LogRecord) -> bool:
    return not _quiet.get()


for _name in ("instructor", "instructor.v2.retry"):
    logging.getLogger(_name).addFilter(_not_ours)


@contextmanager
def _without_instructors_log() -> Generator[None, None, None]:
    """Our own error reports a failed call, without its texts; a repeated call needs no log."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def check_llm(llm: object) -> None:
    """Raises `InputError` for an object that no ragas metric takes as its model."""
    if not isinstance(llm, (BaseRagasLLM, InstructorBaseRagasLLM, BaseLanguageModel)):
        raise InputError(
            "one of ragas' models or a LangChain model",
            type(llm).__name__,
            where="llm",
            hint="from ragas.llms import llm_factory; llm_factory('gpt-4o-mini', client=…)",
        )


class RagasLLM:
    """A ragas model that is asked once a call, without the re-prompting of ragas and instructor.

    Clients still repeat requests that failed on the way (429, timeout, …): the openai client
    ``max_retries`` times, a `BaseRagasLLM` as its `RunConfig` says. A blocking client is asked in
    a thread. No more calls are in flight than the run has workers, and each is reported to
    ragas' cost counting.

    Args:
        llm: a `BaseRagasLLM` (such as ragas' wrapper of a LangChain model), an instructor model of
            ``llm_factory``, or a LangChain model.

    Raises:
        InputError: anything else.

    Attributes:
        name: the model's name, with its provider if ragas knows it; empty if the model has none.
        identity: what else its answers depend on: class, endpoint and options; no key.
    """

    def __init__(self, llm: Any) -> None:
        check_llm(llm)
        self._llm = _asking_once(llm) if isinstance(llm, _Structured) else llm
        self.name = _name_of(llm)
        self.identity = _identity_of(llm)

    def __repr__(self) -> str:
        return f"RagasLLM({self.name!r})"

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """See `noisesense.StructuredLLM`. Raises `ReplyError`, `JudgeError`."""
        async with call_slot():
            if isinstance(self._llm, InstructorBaseRagasLLM):
                call = self._structured(self._llm, prompt, schema)
            else:
                call = self._text(prompt, schema)
            return await call_model(call, self.name or "the model")

    async def _structured(
        self, llm: InstructorBaseRagasLLM, prompt: str, schema: type[S]
    ) -> tuple[S, Usage]:
        lost, most = 0, _MAX_LOST if isinstance(llm, _Structured) else 0
        _drop_connections_of_other_loops(llm)
        with _without_instructors_log():
            while True:
                try:
                    if getattr(llm, "is_async", True):
                        reply = await llm.agenerate(prompt, schema)
                    else:
                        reply = await in_thread(partial(llm.generate, prompt, schema))
                    break
                except Exception as error:
                    completion = completion_in(error)
                    if completion is not None:
                        report_tokens(usage_of(completion), str(getattr(llm, "model", "")))
                        return await _read_again(completion, schema, lost)
                    lost += 1
                    if lost > most or not is_about_loops(error):
                        raise
        # instructor attaches the provider's own reply; ragas' cache does not keep it.
        raw = getattr(reply, "_raw_response", None)
        cached = raw is None and getattr(llm, "cache", None) is not None
        usage = Usage(cached_calls=1) if cached else usage_of(raw)
        report_tokens(usage, str(getattr(raw, "model", None) or getattr(llm, "model", "")))
        if hasattr(raw, "choices"):
            return await _read_again(raw, schema, lost)
        return reply, usage + Usage(calls=lost)

    async def _text(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        value = StringPromptValue(text=spelled_out(prompt, schema))
        result = await _generated(self._llm, value, current_callbacks())
        usage = _usage_of_texts(result)
        generation = _first(result)
        if generation is None:
            raise ReplyError("the model gave no reply", usage)
        extra: Any = getattr(getattr(generation, "message", None), "additional_kwargs", None)
        check_complete(usage, refusal=extra.get("refusal") if extra else None)
        return await read(str(generation.text), schema, usage), usage


async def _read_again(completion: object, schema: type[S], lost: int) -> tuple[S, Usage]:
    """What instructor has read, or could not: it takes a draft in a reply that is cut short."""
    reply, usage = await read_completion(completion, schema)
    return reply, usage + Usage(calls=lost)


def _usage_of_texts(result: LLMResult) -> Usage:
    """Of a LangChain result: from its message, else from what the provider reported."""
    message = getattr(_first(result), "message", None)
    if getattr(message, "usage_metadata", None):
        return usage_of(message)
    output: dict[str, Any] = result.llm_output or {}
    return usage_of(output.get("token_usage") or output.get("usage"))


def _first(result: LLMResult) -> Any:
    return result.generations[0][0] if result.generations and result.generations[0] else None


async def _generated(llm: Any, prompt: StringPromptValue, callbacks: Any) -> LLMResult:
    if isinstance(llm, LangchainLLMWrapper):
        return await ask_either(
            partial(llm.generate, prompt, callbacks=callbacks),
            partial(_generated_blocking, llm, prompt, callbacks),
        )
    if isinstance(llm, BaseRagasLLM):
        return await llm.generate(prompt, callbacks=callbacks)
    return await ask_either(
        partial(llm.agenerate_prompt, [prompt], callbacks=callbacks),
        partial(llm.generate_prompt, [prompt], callbacks=callbacks),
    )


def _generated_blocking(llm: Any, prompt: StringPromptValue, callbacks: Any) -> LLMResult:
    """As ``llm.generate``, which ragas has for event loops only."""

    def call() -> LLMResult | None:  # a function, since ragas logs retries under its name
        try:
            if llm.bypass_temperature:  # generate_text ignores it
                by_model: LLMResult = llm.langchain_llm.generate_prompt(
                    [prompt], callbacks=callbacks
                )
                return by_model
            by_ragas: LLMResult = llm.generate_text(prompt, callbacks=callbacks)
            return by_ragas
        except NotImplementedError:  # an async model; to try again would not help
            return None

    result: LLMResult | None = add_retry(call, llm.run_config)()
    if result is None:
        raise NotImplementedError
    if not llm.is_finished(result):
        raise ReplyError(CUT_SHORT, _usage_of_texts(result))
    return result


_loops: WeakKeyDictionary[Any, weakref.ref[asyncio.AbstractEventLoop]] = WeakKeyDictionary()


def _drop_connections_of_other_loops(llm: Any) -> None:
    """Before an async client is first asked in an event loop: forget its idle connections.

    Those of an earlier ``evaluate()`` belong to a loop that is gone: a request on one of them
    would be sent, paid for, and its reply lost. The clients of OpenAI and Anthropic both keep
    them in httpx; where another keeps them, the lost request is asked for again.
    """
    client = getattr(getattr(llm, "client", None), "client", None)
    http = getattr(client, "_client", None)
    if http is None or not getattr(llm, "is_async", False):
        return
    loop = asyncio.get_running_loop()
    last = _loops.get(http)
    if last is not None and last() is loop:
        return
    _loops[http] = weakref.ref(loop)
    for transport in (getattr(http, "_transport", None), *getattr(http, "_mounts", {}).values()):
        pool: Any = getattr(transport, "_pool", None)
        if isinstance(getattr(pool, "_connections", None), list):
            pool._connections = [each for each in pool._connections if not each.is_idle()]


def _asking_once(llm: Any) -> Any:
    """A copy without instructor's re-prompting: three times, with the prompt and the bad reply."""
    once = copy.copy(llm)
    once.model_args = {**llm.model_args, "max_retries": 0}
    if getattr(llm, "cache", None) is not None:
        # ragas has wrapped the original's methods in the cache.
        for name in ("generate", "agenerate"):
            method = MethodType(getattr(once.__class__, name), once)
            setattr(once, name, cacher(cache_backend=llm.cache)(method))
    return once


def _identity_of(llm: Any) -> str:
    if not isinstance(llm, LangchainLLMWrapper):
        return identity(model=llm)
    wrapper: Any = llm
    wrapped: Any = described(wrapper.langchain_llm)
    if isinstance(wrapped, dict):
        # ragas sets both during a call, the temperature unless it is to be bypassed.
        changed = ("n",) if llm.bypass_temperature else ("n", "temperature")
        options = cast("dict[str, Any]", wrapped)
        wrapped = {name: value for name, value in options.items() if name not in changed}
    return identity(model=wrapped, ragas=(llm.bypass_temperature, llm.bypass_n))


def _name_of(llm: Any) -> str:
    model = getattr(llm, "langchain_llm", None) or getattr(llm, "llm", None) or llm
    model = next(iter(innermost(model)), model)
    for attribute in ("model_name", "model", "model_id", "deployment_name"):
        name = getattr(model, attribute, None)
        if isinstance(name, str) and name:
            provider = getattr(llm, "provider", None)
            return f"{provider}/{name}" if isinstance(provider, str) and provider else name
    return ""
