"""Any LangChain chat model as the judge's model: ``judge(ChatOpenAI(model="gpt-4o-mini"))``.

Needs the extra ``langchain``, or just the package of the model.
"""

from __future__ import annotations

import inspect
import json
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from noisesense.errors import InputError, kind_of
from noisesense_adapters.extras import needs_extra
from noisesense_adapters.models.bridge import Bridge, Reply
from noisesense_adapters.models.envelopes import (
    REFUSED,
    UNFINISHED,
    another_call,
    call_name,
    problem_of,
    usage_of,
)
from noisesense_adapters.models.identity import identity
from noisesense_adapters.models.replies import json_form, spelled_out
from noisesense_adapters.models.running import ask_either
from noisesense_adapters.reading.values import as_list, as_object

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig

    from noisesense import LLMJudge

__all__ = ["LangChainLLM", "judge"]

with needs_extra("langchain", "langchain_core"):
    pass  # raises an error for an unsupported version

_STRUCTURED = "ls_structured_output_format"
"""What LangChain binds to a model by ``with_structured_output``."""
_MODEL_NAMES = ("model_name", "model", "model_id", "deployment_name")
"""Where LangChain's chat models have their names."""


_CALLS = ("tool_calls", "invalid_tool_calls")


class LangChainLLM(Bridge):
    """A `StructuredLLM` over a ``BaseChatModel`` (also after ``.bind()`` or ``.with_retry()``).

    Structured output is used if the model supports it. If not, or if its endpoint refuses it (400
    or 422; the call is repeated then), the form is spelled out in the prompt. Retries, timeouts
    and the length of replies are the model's settings; `LLMJudge`'s ``timeout`` limits the whole
    call.

    Args:
        model: the chat model. A sync-only one is called in threads.
        config: passed on with every call: callbacks, tags, metadata.

    Raises:
        InputError: not a LangChain model, e.g. the name of one; or one that is bound to a form.

    Attributes:
        name: class and name of the model, without wrappers such as ``.bind()``.
        identity: all else that changes its answers, at the time of construction: what LangChain
            itself writes of the model, and what is bound to it; no key. A class of your own says
            it by an attribute ``identity``. Without that, and for several models
            (``.with_fallbacks()``), it is empty: a store needs `LLMJudge`'s ``model`` then.
    """

    def __init__(self, model: BaseChatModel, config: RunnableConfig | None = None) -> None:
        if isinstance(model, type) or not callable(getattr(model, "ainvoke", None)):
            hint = "langchain.chat_models.init_chat_model(name) makes one of a name"
            raise InputError("a LangChain chat model", kind_of(model), where="model", hint=hint)
        from langchain_core.language_models import BaseLanguageModel

        self._model = model
        self._config = config
        self._bound: dict[type[BaseModel], Any] = {}
        inner, bound = _unwrapped(model)
        step = _raw_step(getattr(inner, "steps", [inner])[0])
        if _STRUCTURED in getattr(step, "kwargs", ()):
            hint = "give the chat model itself: the judge asks for its own form"
            raise InputError("a chat model", "with_structured_output's", where="model", hint=hint)
        self.name = f"{type(inner).__name__} {_model_name(inner)}".rstrip()
        choices = as_object(config).get("configurable")
        self.identity = str(getattr(inner, "identity", ""))
        if isinstance(inner, BaseLanguageModel) and inner.is_lc_serializable():
            self.identity = identity(model=inner.to_json(), bound=bound, chosen=choices)

    async def ask(self, prompt: str, schema: type[BaseModel] | None) -> Reply:
        """See `Bridge.ask`."""
        model: Any = self._model
        if schema is not None:
            if schema not in self._bound:
                self._bound[schema] = _structured(self._model, schema)
            model = self._bound[schema]
            if model is None:
                self.takes_forms = False
                return await self.ask(spelled_out(prompt, schema), None)
        result: Any = await ask_either(
            partial(model.ainvoke, prompt, config=self._config),
            partial(model.invoke, prompt, config=self._config),
        )
        message = as_object(result).get("raw", result)
        form = "" if schema is None else schema.__name__
        return Reply(_text_of(message), usage_of(message), message_problem(message, form))


def message_problem(message: object, form: str = "") -> str:
    """Return why a message of LangChain's is no whole reply; empty if it is one.

    Args:
        message: the message.
        form: the name of the form that was asked for: a function of this name may be called.
    """
    extra = as_object(getattr(message, "additional_kwargs", None))
    blocks = as_list(getattr(message, "content", None))
    kinds = [as_object(block).get("type") for block in blocks]
    if extra.get("refusal") or "refusal" in kinds:
        return REFUSED
    if "error" in kinds:
        return UNFINISHED
    called = [call_name(extra.get("function_call"))]
    for field in _CALLS:
        called += map(call_name, as_list(getattr(message, field, None)))
    problem = problem_of(getattr(message, "response_metadata", None))
    return problem or another_call(called, form)


def _text_of(message: Any) -> str:
    """Return the arguments of tool calls, or the text if there are none."""
    calls = _arguments(message)
    if calls:
        return "\n".join(calls)
    content: Any = getattr(message, "content", message)
    blocks = as_list(content) or [content]
    return "".join(map(_text_in, blocks))


def _arguments(message: Any) -> list[str]:
    """The arguments of tool calls: as the model wrote them, or else as LangChain has read them.

    LangChain's own parser takes the last of two values for one key.
    """
    extra = as_object(getattr(message, "additional_kwargs", None))
    written = [as_object(call.get("function")) for call in extra.get("tool_calls") or ()]
    found = [function.get("arguments") for function in written]
    if not found:
        for field in _CALLS:
            found += [call.get("args") for call in as_list(getattr(message, field, None))]
    return [each if isinstance(each, str) else json.dumps(each, default=str) for each in found]


def _text_in(block: object) -> str:
    """Return the text of a content block; empty for thoughts, images and the like."""
    text = block
    if isinstance(block, dict):
        part = as_object(cast("object", block))
        text = part.get("text") if part.get("type", "text") == "text" else None
    return text if isinstance(text, str) else ""


def _structured(model: BaseChatModel, schema: type[BaseModel]) -> Any:
    """Return the model with the JSON schema bound to it; None if it has no structured output.

    The raw message is parsed here. LangChain's parsers complete a truncated reply, which would be
    a shorter list of claims or verdicts, and take quadratic time on a long reply without JSON.
    """
    name = schema.__name__
    form = {"title": name, "description": f"The {name}.", **json_form(schema)}
    try:
        bind = model.with_structured_output
        parameters = inspect.signature(bind).parameters
        options: dict[str, Any] = {"include_raw": True}
        if "strict" in parameters and parameters["method"].default == "json_schema":
            options["strict"] = True
        bound = bind(form, **options)
    except Exception:  # noqa: BLE001 - wrappers evaluate the user's annotations
        return None
    # By vars, as a model with fallbacks has the attributes of its first one.
    first = vars(bound).get("first")
    raw = _raw_step(first)
    return bound if raw is first else raw


def _raw_step(step: Any) -> Any:
    """Return the model in LangChain's ``RunnableParallel(raw=model)``; anything else as it is."""
    return getattr(step, "steps__", {}).get("raw", step)


def _model_name(model: object) -> str:
    """Return the name of a LangChain chat model; empty if it has none."""
    for field in _MODEL_NAMES:
        name = getattr(model, field, None)
        if isinstance(name, str) and name:
            return name
    return ""


def _unwrapped(model: Any) -> tuple[Any, list[Any]]:
    """Return the model in ``.bind()``, ``.with_retry()`` and others, and what they bind."""
    bound: list[Any] = []
    while "bound" in vars(model):
        bound += [model.kwargs, model.config.get("configurable")]
        model = model.bound
    return model, [options for options in bound if options]


def judge(model: BaseChatModel, config: RunnableConfig | None = None, **options: Any) -> LLMJudge:
    """A judge over a LangChain chat model: ``LLMJudge(LangChainLLM(model, config), **options)``.

    Give one judge to all metrics over the same samples, so that they share its verdicts.
    """
    from noisesense import LLMJudge

    return LLMJudge(LangChainLLM(model, config), **options)
