"""Any LangChain chat model as the judge's model: ``judge(ChatOpenAI(model="gpt-4o-mini"))``.

Needs the extra ``langchain``, or nothing more than the package the model comes from.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from noisesense.errors import InputError
from noisesense_adapters.toolbox.bridge import Bridge, Reply
from noisesense_adapters.toolbox.extras import needs_extra
from noisesense_adapters.toolbox.given import as_list, as_object
from noisesense_adapters.toolbox.judges import described, identity
from noisesense_adapters.toolbox.replies import json_form, spelled_out, usage_of
from noisesense_adapters.toolbox.running import ask_either

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig

    from noisesense import LLMJudge

__all__ = ["LangChainLLM", "judge"]

with needs_extra("langchain", "langchain_core"):
    pass  # refuses a version that does not work

_STOPS = ("finish_reason", "stop_reason", "done_reason")  # OpenAI, Anthropic, Ollama
_NAMES = ("model_name", "model", "model_id")


class LangChainLLM(Bridge):
    """A `StructuredLLM` over a ``BaseChatModel`` (or what ``.bind()`` or ``.with_retry()`` made).

    Structured output is used where the model has it; else, or if its endpoint refuses it, the
    form is spelled out in the prompt. Retries, timeouts and the length of a reply are the model's
    own; the whole of a call ends with `LLMJudge`'s ``timeout``. The one call repeated here is that
    of a prompt whose form was refused (400 or 422).

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
            got = type(model).__name__
            hint = "langchain.chat_models.init_chat_model(name) makes one of a name"
            raise InputError("a LangChain chat model", got, where="model", hint=hint)
        self._model, self._config = model, config
        self.name = " or ".join(dict.fromkeys(_names(described(model)))) or type(model).__name__
        choices = (config or {}).get("configurable")
        self.identity = identity(model=model, configurable=choices)

    async def ask(self, prompt: str, schema: type[BaseModel] | None) -> Reply:
        """See `Bridge.ask`."""
        model: Any = self._model
        if schema is not None and (model := _structured(model, schema)) is None:
            self.takes_forms = False
            return await self.ask(spelled_out(prompt, schema), None)
        result: Any = await ask_either(
            partial(model.ainvoke, prompt, config=self._config),
            partial(model.invoke, prompt, config=self._config),
        )
        message = as_object(result).get("raw", result)
        metadata = as_object(getattr(message, "response_metadata", None))
        stop = next((metadata[name] for name in _STOPS if metadata.get(name)), None)
        extra = as_object(getattr(message, "additional_kwargs", None))
        return Reply(_text_of(message, extra), usage_of(message), stop, extra.get("refusal"))


def _text_of(message: Any, extra: Mapping[str, Any]) -> str:
    """Arguments of tool calls, one call after another, or else the text.

    As the model wrote them, where LangChain keeps that: of a key given twice its own parser takes
    the last.
    """
    raw = [call.get("function", {}).get("arguments") for call in extra.get("tool_calls") or ()]
    if raw and all(isinstance(each, str) for each in raw):
        return "\n".join(raw)
    fields = [getattr(message, name, None) for name in ("tool_calls", "invalid_tool_calls")]
    calls: list[Any] = [call.get("args") for field in fields for call in as_list(field)]
    if calls:
        return "\n".join(
            call if isinstance(call, str) else json.dumps(call, default=str) for call in calls
        )
    content: Any = getattr(message, "content", message)
    texts = [_text_in(block) for block in as_list(content) or [content]]
    return "".join(text for text in texts if isinstance(text, str))


def _text_in(block: object) -> object:
    """Thoughts, images and the like are no text."""
    if isinstance(block, dict):
        part = as_object(cast("object", block))
        return part.get("text") if part.get("type", "text") == "text" else None
    return block


def _structured(model: BaseChatModel, schema: type[BaseModel]) -> Any:
    """The model with the form bound to it, or None if it knows no structured output.

    The form is given as a JSON Schema and the raw message is read here: LangChain's own parsers
    complete a reply that was cut short, which would be a shorter list of claims or verdicts, and
    take time quadratic in a long reply that is no JSON, in the event loop.
    """
    name = schema.__name__
    form = {"title": name, "description": f"The {name}.", **json_form(schema)}
    try:
        bind = model.with_structured_output
        parameters = inspect.signature(bind).parameters
        strict = "strict" in parameters and parameters["method"].default == "json_schema"
        bound = bind(form, include_raw=True, **({"strict": True} if strict else {}))
    except Exception:  # noqa: BLE001 - wrappers evaluate a user's annotations, and raise anything
        return None
    # LangChain's idiom is RunnableParallel(raw=model) | parser; another one is run whole.
    # Its own attribute: one with fallbacks would show that of its first model.
    return getattr(vars(bound).get("first"), "steps__", {}).get("raw", bound)


def _names(described: object) -> list[str]:
    """Class and name of each model in a description: of what was wrapped, and of fallbacks."""
    if items := as_list(described):
        return [name for item in items for name in _names(item)]
    model = as_object(described)
    settings = {**model, **as_object(model.get("_default_config"))}  # of init_chat_model
    name = next((settings[each] for each in _NAMES if settings.get(each)), "")
    if name and "class" in model:
        return [f"{model['class'].rpartition('.')[2]} {name}"]
    return [name for part in model.values() for name in _names(part)]


def judge(model: BaseChatModel, config: RunnableConfig | None = None, **options: Any) -> LLMJudge:
    """``LLMJudge(LangChainLLM(model, config), **options)``: a judge from a LangChain chat model.

    Give one judge to all metrics over the same samples: they share what it says.
    """
    from noisesense import LLMJudge

    return LLMJudge(LangChainLLM(model, config), **options)
