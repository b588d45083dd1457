"""DeepEval's models as a `StructuredLLM`: the user configures no second key."""

from __future__ import annotations

import copy
import inspect
import json
import logging
from collections.abc import Awaitable
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, cast

from deepeval.config.settings import get_settings
from deepeval.errors import DeepEvalError
from deepeval.metrics.utils import initialize_model
from deepeval.models import DeepEvalBaseLLM
from pydantic import BaseModel

from noisesense import Judge, JudgeError, ReplyError, Usage
from noisesense_adapters.evaluate.judges import judge_over
from noisesense_adapters.models.bridge import Bridge, Reply
from noisesense_adapters.models.envelopes import problem_of, usage_of
from noisesense_adapters.models.identity import identity
from noisesense_adapters.models.replies import NOT_JSON, read_reply, spelled_out

# DeepEval's parsers raise these words as ValueError, as DeepEvalError, …
_INVALID_JSON = "outputted an invalid JSON"
# What DeepEval's own models raise on a reply without text: they do not check for one.
_NO_TEXT = (AttributeError, IndexError, KeyError, TypeError)


# Where DeepEval's models keep what changes an answer.
_OPTIONS = (
    *("base_url", "deployment_name", "api_version", "region", "provider", "project", "location"),
    *("temperature", "generation_kwargs", "kwargs", "format"),
)


class DeepEvalLLM(Bridge):
    """A model of DeepEval, called as DeepEval calls it.

    One call here is one call of the model's ``a_generate``. DeepEval itself repeats a call that
    failed on the way (429, 5xx, timeout, connection): ``DEEPEVAL_RETRY_MAX_ATTEMPTS`` attempts,
    2 unless set, and only then is it a `JudgeError`. A reply that cannot be used is not
    repeated by DeepEval.

    Args:
        model: None (DeepEval's configured default), a model's name, one of DeepEval's models or
            your own `DeepEvalBaseLLM`, with or without a ``schema`` parameter.
        blocking: use ``generate`` and not ``a_generate``, one call after the other.

    Raises:
        DeepEvalError: the model cannot be made, e.g. its key is not configured.

    Attributes:
        name: as the model calls itself.
        identity: what its answers depend on besides: class, endpoint and options; no key. A
            model of your own says it by an attribute ``identity``.
    """

    def __init__(
        self, model: str | DeepEvalBaseLLM | None = None, *, blocking: bool = False
    ) -> None:
        self._settings = get_settings()
        llm, self._native = initialize_model(model)
        self._llm = cast(Any, llm)  # DeepEval leaves its methods' parameters open
        self._blocking = blocking
        self._enforces = self._native and self._llm.supports_structured_outputs() is True
        method = self._llm.generate if blocking else self._llm.a_generate
        # Else a model of DeepEval's own reads its text by itself: of a key given twice it takes
        # the last, and in a reply that is cut short a draft.
        takes_schema = not self._native and "schema" in inspect.signature(method).parameters
        self.takes_forms = self._enforces or takes_schema
        self.name = str(self._llm.get_model_name() or type(self._llm).__name__)
        self.identity = str(getattr(self._llm, "identity", ""))
        if self._native:
            options = {name: getattr(self._llm, name, None) for name in _OPTIONS}
            self.identity = identity(model=type(self._llm).__qualname__, **options)
            self._llm = _watched_model(self._llm)
        _quiet_retries()

    async def ask(self, prompt: str, schema: type[BaseModel] | None) -> Reply:
        """See `Bridge.ask`. DeepEval's own models return ``(content, cost)``."""
        options: dict[str, Any] = {}
        if schema is not None:
            prompt = prompt if self._enforces else spelled_out(prompt, schema)
            options["schema"] = _reading(schema) if self._enforces else schema
        received: list[Any] = []
        _received.set(received)
        if self._blocking:
            returned = self._llm.generate(prompt, **options)
        else:
            returned = await self._llm.a_generate(prompt, **options)
        if not isinstance(returned, tuple):
            returned = (returned, None)
        content, cost = cast("Any", returned)
        # An EvaluationCost is a float that may hold the tokens; its value is None where the price
        # is unknown.
        usage = replace(usage_of(cost), cost=getattr(cost, "value", cost))
        last = received[-1] if received else None
        form = "" if schema is None else schema.__name__
        return Reply(_text_of(content), usage, problem_of(last, form))

    def explain(self, error: BaseException) -> JudgeError | None:
        """See `Bridge.explain`."""
        if _INVALID_JSON in str(error) or _INVALID_JSON in str(error.__cause__):
            return ReplyError(NOT_JSON, Usage(calls=1))
        if self._native and isinstance(error, _NO_TEXT):
            return ReplyError("the reply holds no text", Usage(calls=1))
        # DeepEval's own words, on a missing key for example, name the setting and hold no secret.
        return JudgeError(str(error)) if isinstance(error, DeepEvalError) else None


# What the model's client has returned in this call. Its tasks and threads inherit the list.
_received: ContextVar[list[Any] | None] = ContextVar("noisesense_deepeval_received", default=None)


def _quiet_retries() -> None:
    """DeepEval logs what an endpoint said, which may repeat the key. Our error says the rest."""
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("deepeval.retry."):
            logging.getLogger(name).addFilter(_is_of_others)


def _is_of_others(_: logging.LogRecord) -> bool:
    """Let a record pass unless a call of ours is running."""
    return _received.get() is None


def _watched_model(llm: Any) -> Any:
    """Return a copy of a model of DeepEval's own whose client notes why a text ended: the model
    hands on the text alone."""
    watched = copy.copy(llm)

    def load_model(*arguments: Any, **options: Any) -> _Watched:
        return _Watched(llm.load_model(*arguments, **options))

    watched.load_model = load_model
    return watched


class _Watched:
    """A client, or what it has: the same, but what its methods return is noted as well."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return _Watched(getattr(self._inner, name))

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        result = self._inner(*arguments, **options)
        return _noted(result) if inspect.isawaitable(result) else _note(result)


async def _noted(result: Awaitable[Any]) -> Any:
    return _note(await result)


def _note(result: Any) -> Any:
    """Return what a client returned, noted if a call of ours is running."""
    received = _received.get()
    if received is not None:
        received.append(result)
    return result


def _text_of(content: object) -> str:
    if isinstance(content, BaseModel):
        return content.model_dump_json()
    if content is None or isinstance(content, str):
        return content or ""
    return json.dumps(content, default=str)


@lru_cache(maxsize=64)
def _reading(schema: type[BaseModel]) -> type[BaseModel]:
    """Return the form for clients that read JSON by it: it reads as `read_reply` does."""

    def validate(cls: type[Any], /, json_data: str, **options: Any) -> Any:
        return read_reply(json_data, schema, Usage(calls=1))

    return type(schema.__name__, (schema,), {"model_validate_json": classmethod(validate)})


def judge_of(metric: Any) -> Judge:
    """Return the `LLMJudge` over a metric's model, one for all metrics of the same model, store
    and options.

    Raises:
        DeepEvalError: the model cannot be made, e.g. its key is not configured.
        InputError: an option `LLMJudge` does not take.
    """
    model = metric.model
    blocking = not metric.async_mode
    # A model that is only named is made from DeepEval's settings. They are another object once a
    # key or the default provider has changed in the environment; `DeepEvalLLM` keeps the old
    # one, so that its id stays its own.
    settings = None if isinstance(model, DeepEvalBaseLLM) else id(get_settings())
    name = "DeepEval's default model" if model is None else model
    bridge = partial(DeepEvalLLM, model, blocking=blocking)
    key = ("deepeval", blocking, settings)
    options = metric.judge_options
    return judge_over(name, bridge, key, store=metric.store, options=options)
