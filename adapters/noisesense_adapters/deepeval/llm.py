"""DeepEval's models as a `StructuredLLM`: the user configures no second key."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, TypeVar, cast

from deepeval.config.settings import get_settings
from deepeval.errors import DeepEvalError
from deepeval.metrics.utils import initialize_model
from deepeval.models import DeepEvalBaseLLM
from pydantic import BaseModel

from noisesense import Judge, JudgeError, ReplyError, Usage
from noisesense.judging.protocol import Choice
from noisesense_adapters.toolbox.failures import call_model
from noisesense_adapters.toolbox.judges import identity, judge_over
from noisesense_adapters.toolbox.replies import (
    NOT_JSON,
    fitted,
    read_reply,
    read_word,
    spelled_out,
    usage_of,
)
from noisesense_adapters.toolbox.running import in_thread

S = TypeVar("S", bound=BaseModel)

# DeepEval's parsers raise these words as ValueError, as DeepEvalError, …
_INVALID_JSON = "outputted an invalid JSON"
# What DeepEval's own models raise on a reply without text: they do not check for one.
_NO_TEXT = (AttributeError, IndexError, KeyError, TypeError)


class DeepEvalLLM:
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
        identity: what its answers depend on besides: class, endpoint and options; no key. Of a
            model of your own: its ``identity``, or its class and options of the usual names.
    """

    def __init__(
        self, model: str | DeepEvalBaseLLM | None = None, *, blocking: bool = False
    ) -> None:
        self._settings = get_settings()
        llm, self._native = initialize_model(model)
        self._llm = cast(Any, llm)  # DeepEval leaves its methods' parameters open
        self._blocking = blocking
        self._enforces_schema = self._native and self._llm.supports_structured_outputs() is True
        method = self._llm.generate if blocking else self._llm.a_generate
        # Else a model of DeepEval's own reads its text by itself: of a key given twice it takes
        # the last, and in a reply that is cut short a draft.
        by_itself = self._native and not self._enforces_schema
        self._takes_schema = not by_itself and "schema" in inspect.signature(method).parameters
        self.name: str = str(self._llm.get_model_name() or type(self._llm).__name__)
        self.identity = identity(model=self._llm)

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """See `noisesense.StructuredLLM`. Raises `ReplyError`, `JudgeError`."""
        enforced = self._enforces_schema
        text = prompt if enforced else spelled_out(prompt, schema)
        content, usage = await self._reply(text, _reading(schema) if enforced else schema)
        if isinstance(content, schema):
            return content, usage
        if content is None or isinstance(content, str):
            return read_reply(content or "", schema, usage), usage
        content = content.model_dump() if isinstance(content, BaseModel) else content
        return fitted(content, schema, usage), usage

    async def choose(self, prompt: str, words: Sequence[str]) -> tuple[Choice, Usage]:
        """See `noisesense.WordLLM`. The reply's length is the model's own affair."""
        content, usage = await self._reply(prompt, None)
        return Choice(read_word(str(content or ""), words, usage)), usage

    async def _reply(self, prompt: str, schema: type[BaseModel] | None) -> tuple[Any, Usage]:
        """DeepEval's own models return ``(content, cost)``; the cost may hold the tokens."""
        returned = await call_model(self._ask(prompt, schema), self.name, self._explain)
        if not isinstance(returned, tuple):
            return returned, Usage(calls=1)
        content, cost = cast("tuple[object, object]", returned)
        # An EvaluationCost is a float; its value is None where the price is unknown.
        price = getattr(cost, "value", cost)
        price = float(price) if isinstance(price, (int, float)) else None
        return content, replace(usage_of(cost), cost=price)

    def _explain(self, error: BaseException) -> JudgeError | None:
        if any(_INVALID_JSON in str(each) for each in (error, error.__cause__)):
            return ReplyError(NOT_JSON, Usage(calls=1))
        if self._native and isinstance(error, _NO_TEXT):
            return ReplyError("the reply holds no text", Usage(calls=1))
        # DeepEval's own words, on a missing key for example, name the setting and hold no secret.
        return JudgeError(str(error)) if isinstance(error, DeepEvalError) else None

    async def _ask(self, prompt: str, schema: type[BaseModel] | None) -> object:
        options = {"schema": schema} if schema is not None and self._takes_schema else {}
        blocking = partial(self._llm.generate, prompt, **options)
        if self._blocking:
            return blocking()
        try:
            reply = self._llm.a_generate(prompt, **options)
            return await reply if inspect.isawaitable(reply) else reply
        except NotImplementedError:  # it has only a synchronous side
            return await in_thread(blocking)


@lru_cache(maxsize=64)
def _reading(schema: type[S]) -> type[S]:
    """The form for clients that read the reply's text by it: it reads as `read_reply` does."""

    def validate(cls: type[Any], /, json_data: str, **options: Any) -> Any:
        return read_reply(json_data, schema, Usage(calls=1))

    members = {"model_validate_json": classmethod(validate)}
    return cast("type[S]", type(schema.__name__, (schema,), members))


def judge_of(metric: Any) -> Judge:
    """The `LLMJudge` over a metric's model, one for all metrics with the same.

    Raises:
        DeepEvalError: the model cannot be made, e.g. its key is not configured.
        InputError: an option `LLMJudge` does not take.
    """
    model, blocking = metric.model, not metric.async_mode
    # A model that is only named is made from DeepEval's settings. They are another object once a
    # key or the default provider has changed in the environment; `DeepEvalLLM` keeps the old
    # one, so that its id stays its own.
    settings = None if isinstance(model, DeepEvalBaseLLM) else id(get_settings())
    name = "DeepEval's default model" if model is None else model
    bridge = partial(DeepEvalLLM, model, blocking=blocking)
    key, options = ("deepeval", blocking, settings), metric.judge_options
    return judge_over(name, bridge, key, store=metric.store, options=options)
