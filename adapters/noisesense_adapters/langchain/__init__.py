"""Any LangChain chat model as the judge's model: ``judge(ChatOpenAI(model="gpt-4o-mini"))``.

Needs the extra ``langchain``, or nothing more than the package the model comes from.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel

from noisesense.errors import InputError, ReplyError
from noisesense.judging.protocol import Choice, Usage
from noisesense_adapters.toolbox.extras import needs_extra
from noisesense_adapters.toolbox.failures import RequestRefusedError, call_model
from noisesense_adapters.toolbox.judges import identity
from noisesense_adapters.toolbox.replies import (
    CUT_SHORT,
    check_complete,
    json_form,
    read_reply,
    spelled_out,
    usage_of,
)
from noisesense_adapters.toolbox.running import ask_either
from noisesense_adapters.toolbox.words import choice_in

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable, RunnableConfig

    from noisesense import LLMJudge

__all__ = ["LangChainLLM", "judge"]

with needs_extra("langchain", "langchain_core"):
    pass  # refuses a version that does not work

S = TypeVar("S", bound=BaseModel)

_SHORT: dict[str, Any] = {"max_tokens": 8, "logprobs": True, "top_logprobs": 20}
_REASONS = ("finish_reason", "stop_reason", "done_reason")  # OpenAI, Anthropic, Ollama


def _facts(message: object) -> tuple[Usage, list[object], object]:
    """What a message cost, why it ends, and what was said in place of a reply."""
    metadata = cast("Mapping[str, Any]", getattr(message, "response_metadata", None) or {})
    extra = cast("Mapping[str, Any]", getattr(message, "additional_kwargs", None) or {})
    return usage_of(message), [metadata.get(name) for name in _REASONS], extra.get("refusal")


def _text_of(message: object) -> str:
    """Arguments of tool calls, one call after another, or else the text.

    As the model wrote them, where LangChain keeps that: of a key given twice its own parser takes
    the last.
    """
    extra: Mapping[str, Any] = getattr(message, "additional_kwargs", None) or {}
    raw = [call.get("function", {}).get("arguments") for call in extra.get("tool_calls") or ()]
    if raw and all(isinstance(each, str) for each in raw):
        return "\n".join(raw)
    calls = [
        call.get("args")
        for field in ("tool_calls", "invalid_tool_calls")
        for call in getattr(message, field, None) or ()
    ]
    if calls:
        return "\n".join(
            args if isinstance(args, str) else json.dumps(args, default=str) for args in calls
        )
    content: object = getattr(message, "content", message)
    if isinstance(content, str):
        return content
    blocks = cast("Sequence[object]", content) if isinstance(content, list) else ()
    return "".join(_text_in(block) for block in blocks)


def _text_in(block: object) -> str:
    if isinstance(block, Mapping):
        part = cast("Mapping[str, object]", block)
        return str(part.get("text", "")) if part.get("type", "text") == "text" else ""
    return block if isinstance(block, str) else ""


_NAMES = ("model_name", "model", "model_id")


class LangChainLLM:
    """A `StructuredLLM` over a ``BaseChatModel`` (or what ``.bind()`` or ``.with_retry()`` made).

    Structured output is used where the model has it; else, or if its endpoint refuses it, the
    form is spelled out in the prompt. Retries and timeouts are the model's own; the whole of a
    call ends with `LLMJudge`'s ``timeout``. The one call repeated here is that of a prompt whose
    form was refused (400 or 422).

    Args:
        model: the chat model. A sync-only one is called in threads.
        config: passed on with every call: callbacks, tags, metadata.

    Raises:
        InputError: no model of LangChain's, such as the name of one.

    Attributes:
        name: class and name of the model, or the models (``.with_fallbacks()``), behind what
            ``.bind()``, ``.with_retry()`` and the like have put around it.
        identity: what its answers depend on besides, as it was when this was made: the options
            of every model in it and what is bound to it; no key.
    """

    def __init__(self, model: BaseChatModel, config: RunnableConfig | None = None) -> None:
        if not callable(getattr(model, "ainvoke", None)):
            raise InputError(
                "a LangChain chat model",
                type(model).__name__,
                where="model",
                hint="langchain.chat_models.init_chat_model(name) makes one of a name",
            )
        self._model, self._config = model, config
        self._in_words = False
        inner = innermost(model)
        self._short = bool(inner) and all("root_async_client" in vars(each) for each in inner)
        self.name = " or ".join(dict.fromkeys(map(_named, innermost(model) or [model])))
        choices = (config or {}).get("configurable")
        self.identity = identity(model=model, configurable=choices)

    def __repr__(self) -> str:
        return f"LangChainLLM({self.name!r})"

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """See `noisesense.StructuredLLM`. Raises `ReplyError`, `JudgeError`."""
        structured = None if self._in_words else _structured(self._model, schema)
        if structured is not None:
            try:
                reply = self._reply(structured, prompt, schema)
                return await call_model(reply, self.name, has_other_form=True)
            except RequestRefusedError:
                pass
        reply = self._reply(self._model, spelled_out(prompt, schema), schema, in_words=True)
        return await call_model(reply, self.name)

    async def choose(self, prompt: str, words: Sequence[str]) -> tuple[Choice, Usage]:
        """See `noisesense.WordLLM`. Of a model that is not of OpenAI's kind the reply's length
        is left to the model, and it tells no probability."""
        if self._short:
            try:
                work = self._choice(self._model.bind(**_SHORT), prompt, words)
                return await call_model(work, self.name, has_other_form=True)
            except RequestRefusedError:
                pass
        choice = await call_model(self._choice(self._model, prompt, words), self.name)
        self._short = False
        return choice

    async def _choice(
        self, model: Runnable[Any, Any], prompt: str, words: Sequence[str]
    ) -> tuple[Choice, Usage]:
        message = await self._ask(model, prompt)
        usage, reasons, refusal = _facts(message)
        metadata: dict[str, Any] = getattr(message, "response_metadata", {})
        logprobs: dict[str, Any] = metadata.get("logprobs") or {}
        try:
            return choice_in(
                _text_of(message),
                words,
                usage,
                *reasons,
                refusal=refusal,
                tokens=logprobs.get("content"),
            )
        except ReplyError as error:
            self._short = self._short and str(error) != CUT_SHORT  # it thinks first
            raise

    async def _ask(self, model: Runnable[Any, Any], prompt: str) -> object:
        return await ask_either(
            partial(model.ainvoke, prompt, config=self._config),
            partial(model.invoke, prompt, config=self._config),
        )

    async def _reply(
        self, model: Runnable[Any, Any], prompt: str, schema: type[S], *, in_words: bool = False
    ) -> tuple[S, Usage]:
        result = await self._ask(model, prompt)
        self._in_words = self._in_words or in_words
        whole = cast("dict[str, object]", result) if isinstance(result, dict) else {"raw": result}
        usage, reasons, refusal = _facts(whole.get("raw"))
        check_complete(usage, *reasons, refusal=refusal)
        return read_reply(_text_of(whole.get("raw")), schema, usage), usage


def _structured(model: BaseChatModel, schema: type[BaseModel]) -> Runnable[Any, Any] | None:
    """The model with the form bound to it, or None if it knows no structured output.

    The form is given as a JSON Schema and the raw message is read here: LangChain's own parsers
    complete a reply that was cut short, which would be a shorter list of claims or verdicts, and
    take time quadratic in a long reply that is no JSON, in the event loop.
    """
    form = {
        "title": schema.__name__,
        "description": f"The {schema.__name__}.",
        **json_form(schema),
    }
    try:
        bind = model.with_structured_output
        parameters = inspect.signature(bind).parameters
        strict = "strict" in parameters and parameters["method"].default == "json_schema"
        bound = bind(form, include_raw=True, **({"strict": True} if strict else {}))
    except Exception:  # noqa: BLE001 - wrappers evaluate a user's annotations, and raise anything
        return None
    # LangChain's idiom is RunnableParallel(raw=model) | parser; another one is run whole.
    steps = getattr(getattr(bound, "first", None), "steps__", {})
    return cast("Runnable[Any, Any]", steps.get("raw", bound))


def innermost(model: object) -> list[object]:
    """The models in what LangChain has wrapped: bound, in a sequence, with fallbacks."""
    # Not by getattr: wrappers answer for what they wrap.
    fields: dict[str, Any] = getattr(model, "__dict__", {})
    parts = [fields.get(name) for name in ("bound", "runnable", "default", "first", "last")]
    parts += [*(fields.get("middle") or ()), *(fields.get("fallbacks") or ())]
    models = [each for part in parts if part is not None for each in innermost(part)]
    if not models and (callable(getattr(model, "generate_prompt", None)) or _default(model)):
        models = [model]
    return models


def _default(model: object) -> dict[str, object]:
    """The settings from which ``init_chat_model`` will make the model."""
    return getattr(model, "__dict__", {}).get("_default_config") or {}


def _named(model: object) -> str:
    default = _default(model)
    values = (default.get(field) or getattr(model, field, None) for field in _NAMES)
    name = next((value for value in values if isinstance(value, str) and value), "")
    return f"{type(model).__name__} {name}".strip()


def judge(model: BaseChatModel, config: RunnableConfig | None = None, **options: Any) -> LLMJudge:
    """``LLMJudge(LangChainLLM(model, config), **options)``: a judge from a LangChain chat model.

    Give one judge to all metrics over the same samples: they share what it says.
    """
    from noisesense import LLMJudge

    return LLMJudge(LangChainLLM(model, config), **options)
