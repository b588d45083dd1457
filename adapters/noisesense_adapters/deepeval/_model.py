"""DeepEval's models as a `StructuredLLM`: the user configures no second key."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from deepeval.config.settings import get_settings
from deepeval.metrics.utils import initialize_model
from deepeval.models import DeepEvalBaseLLM
from pydantic import BaseModel

from noisesense import JudgeError, ReplyError, Usage
from noisesense_adapters._identity import identity
from noisesense_adapters._json_reply import spelled_out
from noisesense_adapters.deepeval._replies import as_judge_error, parsed, unpacked

__all__ = ["DeepEvalLLM"]

S = TypeVar("S", bound=BaseModel)


class DeepEvalLLM:
    """A model of DeepEval, asked as DeepEval asks it.

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
        self._takes_schema = _may_take_schema(method)
        self._in_threads = False
        self.name: str = str(self._llm.get_model_name() or type(self._llm).__name__)
        self.identity = identity(model=self._llm)

    def __repr__(self) -> str:
        return f"DeepEvalLLM({self.name!r})"

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """See `noisesense.StructuredLLM`. Raises `ReplyError`, `JudgeError`."""
        asked = prompt if self._enforces_schema else spelled_out(prompt, schema)
        failed: JudgeError
        try:
            reply = unpacked(await self._ask(asked, schema))
            return parsed(reply, schema), reply.usage
        except ReplyError as error:
            failed = ReplyError(f"{self.name}: {error}", error.usage)
        except JudgeError as error:
            failed = JudgeError(f"{self.name}: {error}")
        except Exception as error:  # noqa: BLE001 - whatever a provider's client raises
            failed = as_judge_error(error, self.name, native=self._native)
        # Raised out here so that it carries no context: the client's own exception may hold the
        # request, and with it the prompt and the key.
        raise failed

    async def _ask(self, prompt: str, schema: type[BaseModel]) -> object:
        if self._takes_schema:
            try:
                return await self._call(prompt, schema=schema)
            except TypeError as error:
                # Anything but a refused argument is an error inside the model.
                if self._native or "schema" not in str(error):
                    raise
                self._takes_schema = False
        return await self._call(prompt)

    async def _call(self, prompt: str, **options: Any) -> object:
        if self._blocking:
            return self._llm.generate(prompt, **options)
        if not self._in_threads:
            try:
                reply = self._llm.a_generate(prompt, **options)
                return await reply if inspect.isawaitable(reply) else reply
            except NotImplementedError:
                # A model with a synchronous side only.
                self._in_threads = True
        return await asyncio.to_thread(self._llm.generate, prompt, **options)


def _may_take_schema(method: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.name == "schema" or p.kind is p.VAR_KEYWORD for p in parameters)
