"""DeepEval's models as a `StructuredLLM`: the user configures no second key."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from deepeval.config.settings import get_settings
from deepeval.errors import DeepEvalError
from deepeval.metrics.utils import initialize_model
from deepeval.models import DeepEvalBaseLLM
from pydantic import BaseModel, ValidationError
from tenacity import RetryError

from noisesense import Judge, JudgeError, ReplyError, Usage
from noisesense.judging.protocol import DetailedJudge
from noisesense.judging.sharing import judge_for
from noisesense_adapters.toolbox.failures import judge_error
from noisesense_adapters.toolbox.identity import identity
from noisesense_adapters.toolbox.replies import fitted, read_reply, spelled_out

__all__ = [
    "Cost",
    "DeepEvalLLM",
    "Reply",
    "as_judge_error",
    "cost_of",
    "judge_over",
    "model_name",
    "parsed",
    "unpacked",
]

S = TypeVar("S", bound=BaseModel)

# DeepEval's parsers raise these words as ValueError, as DeepEvalError, …
_INVALID_JSON = "outputted an invalid JSON"
# openai raises these when it parses a structured reply; DeepEval lets them through.
_CUT_SHORT = {
    "LengthFinishReasonError": "the reply is cut short: the model reached its output limit",
    "ContentFilterFinishReasonError": "the endpoint's content filter took the reply away",
}
# What DeepEval's own models raise on a reply without text: they read it without looking.
_UNREADABLE = (AttributeError, IndexError, KeyError, TypeError)


class Reply(NamedTuple):
    """What a call gave, and what it cost."""

    content: object
    usage: Usage


def unpacked(returned: object) -> Reply:
    """DeepEval's own models return ``(content, cost)``; the cost may know the tokens."""
    if not (isinstance(returned, tuple) and len(cast("tuple[object, ...]", returned)) == 2):
        return Reply(returned, Usage(calls=1))
    content, cost = cast("tuple[object, object]", returned)
    # An EvaluationCost is a float, and an unknown price is value=None in it.
    price = getattr(cost, "value", cost)
    return Reply(
        content,
        Usage(
            calls=1,
            input_tokens=getattr(cost, "input_tokens", None) or 0,
            output_tokens=getattr(cost, "output_tokens", None) or 0,
            cost=float(price) if isinstance(price, (int, float)) else None,
        ),
    )


def parsed(reply: Reply, schema: type[S]) -> S:
    """The reply as an instance of the schema.

    Raises:
        ReplyError: empty or refused, not JSON, of another form, or several answers that differ.
        JudgeError: not a kind of object a DeepEval model returns.
    """
    content, usage = reply
    if isinstance(content, schema):
        return content
    if content is None:
        raise ReplyError("the reply is empty", usage)
    if isinstance(content, str):
        return read_reply(content, schema, usage)
    if isinstance(content, BaseModel):
        return fitted(content.model_dump(), schema, usage)
    if isinstance(content, Mapping):
        return fitted(dict(cast("Mapping[str, Any]", content)), schema, usage)
    kind = type(content).__name__
    raise JudgeError(f"the model returned a {kind}, expected text, a dict or a pydantic object")


def as_judge_error(error: Exception, model: str, *, native: bool) -> JudgeError:
    """A model's exception in our words: `ReplyError` if the model replied, else `JudgeError`.

    What the provider's client says itself is never passed on: it may hold the key or the prompt.
    """
    if isinstance(error, RetryError):
        last = error.last_attempt.exception()
        error = last if isinstance(last, Exception) else error
    told = _reply_told_by(error, native)
    if told:
        return ReplyError(f"{model}: {told}", _usage_of(error))
    if isinstance(error, DeepEvalError):
        # A missing key, say: DeepEval's own words, which name the setting and hold no secret.
        return JudgeError(str(error))
    return judge_error(error, model)


def _reply_told_by(error: Exception, native: bool) -> str:
    for link in _raised_from(error):
        if type(link).__name__ in _CUT_SHORT:
            return _CUT_SHORT[type(link).__name__]
        if isinstance(link, ValidationError):
            return "the reply does not fit the form that was asked for"
        if isinstance(link, json.JSONDecodeError) or _INVALID_JSON in str(link):
            return "the reply is not JSON"
    return "the reply holds no text" if native and isinstance(error, _UNREADABLE) else ""


def _raised_from(error: Exception) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(10):
        if link is None:
            return
        yield link
        link = link.__cause__


def _usage_of(error: Exception) -> Usage:
    """A reply that was cut short is paid for all the same; openai keeps what it cost."""
    used = getattr(getattr(error, "completion", None), "usage", None)
    return Usage(
        calls=1,
        input_tokens=getattr(used, "prompt_tokens", None) or 0,
        output_tokens=getattr(used, "completion_tokens", None) or 0,
    )


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


class Cost(NamedTuple):
    """Named as DeepEval's metrics report it; None where nobody knows."""

    evaluation_cost: float | None
    input_tokens: int | None
    output_tokens: int | None


def judge_over(
    model: str | DeepEvalBaseLLM | None,
    store: Any,
    options: Mapping[str, Any] | None,
    *,
    blocking: bool,
) -> Judge:
    """The `LLMJudge` over a model: the same one for the same model and options.

    Raises:
        DeepEvalError: the model cannot be made, e.g. its key is not configured.
        InputError: an option `LLMJudge` does not take.
    """
    given = dict(options or {})

    def make() -> Judge:
        from noisesense import LLMJudge

        return LLMJudge(DeepEvalLLM(model, blocking=blocking), store=store, **given)

    # A model that is only named is made from DeepEval's settings. They are another object once a
    # key or the default provider has changed in the environment; `DeepEvalLLM` keeps the old
    # one, so that its id stays its own.
    source = None if isinstance(model, DeepEvalBaseLLM) else id(get_settings())
    key: Hashable = ("deepeval", blocking, source, store, tuple(sorted(given.items())))
    return judge_for("DeepEval's default model" if model is None else model, key, make)


def model_name(judge: Judge | None, model: str | DeepEvalBaseLLM | None) -> str | None:
    """What DeepEval shows as the evaluation model; None if no model can be made."""
    if judge is not None:
        return type(judge).__name__
    if isinstance(model, str):
        return model
    if model is not None:
        return DeepEvalLLM(model).name
    try:
        return DeepEvalLLM(None).name
    except DeepEvalError:
        return None


def cost_of(judge: Judge | None, usage: Usage) -> Cost:
    """What the metric spent: nothing where another one paid, None where nobody tells."""
    if not isinstance(judge, DetailedJudge):
        return Cost(None, None, None)
    if not usage.calls:
        return Cost(0.0, 0, 0)
    if not usage.input_tokens and not usage.output_tokens:
        return Cost(usage.cost, None, None)
    return Cost(usage.cost, usage.input_tokens, usage.output_tokens)
