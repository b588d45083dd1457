"""Another library's exception as a `JudgeError`: what went wrong, and nothing it carried.

Exceptions of model clients hold requests with their headers, and often the prompt. They are
therefore neither quoted nor chained.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard, TypeVar, cast

from noisesense.errors import JudgeError, NoiseSenseError, ReplyError
from noisesense_adapters.toolbox.replies import (
    CUT_SHORT,
    FILTERED,
    MISFIT,
    NOT_JSON,
    REFUSED,
    usage_of,
)

T = TypeVar("T")

_CODE = re.compile(r"[a-z]+([_.][a-z]+)*")  # a word like rate_limit_exceeded, never a key
_HINTS = {
    **dict.fromkeys((301, 302, 303, 307, 308), "the endpoint moved: check the base URL"),
    400: "the endpoint may not know the model or one of its options",
    401: "check the API key",
    403: "check the API key and its permissions",
    404: "check the model's name and the base URL",
    429: "the rate limit or the quota is reached; lower max_concurrency or try again later",
}


class _Cause(NamedTuple):
    """Why a provider refuses a request.

    Attributes:
        in_any_form: it would refuse the request in another form, too.
    """

    pattern: re.Pattern[str]
    problem: str
    hint: str
    in_any_form: bool = True


def _cause_of(pattern: str, *rest: Any) -> _Cause:
    return _Cause(re.compile(pattern, re.IGNORECASE), *rest)


# By the error's code or type. Where it has none, its message is searched for the same, and never
# shown: it may hold the prompt or a key.
_CAUSES = (
    _cause_of(
        r"context_length|context_window|maximum context|string_above_max|prompt is too long"
        r"|too many (input )?tokens",
        "the prompt is longer than the model's context",
        "lower budget=Budget(text_chars=…), or choose a model with a longer context",
    ),
    _cause_of(
        r"content_filter|content_policy|content management policy|responsible_?ai",
        "the provider's content filter refused the prompt",
        "another provider or a milder filter may take this sample",
    ),
    _cause_of(
        r"insufficient_quota|billing_(hard_limit|not_active)|exceeded your current quota"
        r"|credit balance",
        "the account has no quota left",
        "check the provider's plan and billing",
    ),
    _cause_of(
        r"model_not_found|deployment_?not_?found|(model|deployment).{0,80}does not exist",
        "the endpoint does not know the model",
        "check the model's name and the base URL",
    ),
    _cause_of(
        r"unsupported_(parameter|value)|unknown_parameter|unsupported (parameter|value)"
        r"|unrecognized request argument|unexpected keyword argument",
        "the model does not take one of the options sent",
        "remove the option from params, or from the model's own settings",
        False,  # it may be the form
    ),
)

_WRAPPERS = ("RetryError", "InstructorRetryException")  # of tenacity and instructor
# What clients and parsers raise over a reply that they have received. LangChain, ragas and
# instructor each have their own class for the same event.
_REPLY_PROBLEMS = {
    "LengthFinishReasonError": CUT_SHORT,
    "IncompleteOutputException": CUT_SHORT,
    "LLMDidNotFinishException": CUT_SHORT,
    "ContentFilterFinishReasonError": FILTERED,
    "JSONDecodeError": NOT_JSON,
    "UnicodeDecodeError": NOT_JSON,
    "OutputParserException": MISFIT,
    "ValidationError": MISFIT,
    "RecursionError": MISFIT,  # nested more deeply than a client can read
}
_REFUSAL = "Unable to generate a response"  # so begins instructor's AssertionError for a refusal
_UNFIT_REPLY = "json_validate_failed"  # Groq's 400 for a reply that does not fit the form


class RequestRefusedError(Exception):
    """HTTP 400 or 422, perhaps because of the form the request asks for. For bridges only."""

    def __init__(self, texts: str) -> None:
        super().__init__()
        self._texts = texts  # never shown: it may hold the prompt or a key

    def names(self, option: str) -> bool:
        """Does the endpoint say that it is about this option?"""
        return option in self._texts


async def call_model(
    call: Awaitable[T],
    model: str,
    explain: Callable[[BaseException], JudgeError | None] | None = None,
    *,
    has_other_form: bool = False,
) -> T:
    """The result of a call of a model's client.

    Args:
        call: the client's coroutine.
        model: its name in messages.
        explain: our error for an exception that only this client raises.
        has_other_form: can the caller ask for the reply in another form?

    Raises:
        ReplyError: the model replied, but the client could not use the reply.
        RequestRefusedError: the endpoint refused the request, and there is another form.
        JudgeError: any other failure.
    """
    try:
        return await call
    except NoiseSenseError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a provider's client raises
        failure: Exception | None = _reply_error(error)
        refused = _status(error) in (400, 422) and not _cause(error, in_any_form=True)
        if failure is None and has_other_form and refused:
            failure = RequestRefusedError(_texts(error))
        if failure is None and explain:
            failure = explain(next(_chain(error)))
        failure = failure or judge_error(error, model)
    # Raised out here so that it carries no context.
    raise failure


def made(make: Callable[[], T], model: str) -> T:
    """The client that ``make`` gives.

    Raises:
        JudgeError: it cannot be made; clients' exceptions may quote their settings.
    """
    failure: JudgeError
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - whatever a provider's client raises
        failure = judge_error(error, model)
    raise failure


def judge_error(error: BaseException, model: str) -> JudgeError:
    """Why the model could not be called, without a word of the exception's own text."""
    links, status = list(_chain(error)), _status(error)
    for link in links:
        if isinstance(link, JudgeError):  # ours, wrapped by the client it came through
            return link
    if status is not None:
        codes = [code for link in links for code in _codes_of(link)]
        cause = _cause(error)
        hint = _HINTS.get(status, "the endpoint itself failed" if status >= 500 else "")
        message = f"{model} could not be called: "
        if cause is not None:
            message += f"{cause.problem} "
            hint = cause.hint
        options = [getattr(link, "param", None) for link in links]
        codes = codes[:1] + list(dict.fromkeys(name for name in options if _is_word(name)))
        details = ", ".join([f"HTTP {status}", *codes])
        message += f"({details})" if cause is not None else details
        return JudgeError(f"{message}. Hint: {hint}" if hint else message)
    names = [type(link).__name__ for link in links]
    if any("Timeout" in name for name in names):
        hint = "allow more time (timeout), or make fewer calls at once"
        return JudgeError(f"{model} gave no reply in time ({names[0]}). Hint: {hint}")
    if any("Connect" in name for name in names):
        hint = "is it running, and is its address right?"
        return JudgeError(f"{model} cannot be reached ({names[-1]}). Hint: {hint}")
    return JudgeError(f"{model} could not be called: {names[0]}{_place(links[0])}")


def completion_in(error: BaseException) -> object:
    """The reply that a client could not use, as its exception carries it; else None."""
    for link in (error, *_chain(error, contexts=False)):
        for name in ("completion", "last_completion"):
            if (reply := getattr(link, name, None)) is not None:
                return reply
    return None


def _reply_error(error: Exception) -> ReplyError | None:
    reply = completion_in(error)
    problem = MISFIT if reply is not None or _UNFIT_REPLY in _codes_of(error) else ""
    for link in _chain(error, contexts=False):
        problem = _REPLY_PROBLEMS.get(type(link).__name__, problem)
        if isinstance(link, AssertionError) and str(link).startswith(_REFUSAL):
            problem = REFUSED
    return ReplyError(problem, usage_of(reply)) if problem else None


def _chain(error: BaseException, *, contexts: bool = True) -> Iterator[BaseException]:
    """The exception and its causes, without those that only wrap their cause."""
    link: BaseException | None = error
    for _ in range(10):
        if link is None:
            return
        if type(link).__name__ not in _WRAPPERS or link.__cause__ is None:
            yield link
        context = link.__context__ if contexts and not link.__suppress_context__ else None
        link = link.__cause__ or context


def _status(error: BaseException) -> int | None:
    """The HTTP status behind an exception, if there is one."""
    for link in _chain(error):
        for holder in (link, getattr(link, "response", None)):
            for name in ("status_code", "status", "code"):
                status = getattr(holder, name, None)
                if isinstance(status, int) and 300 <= status <= 599:
                    return status
    return None


def _codes_of(error: BaseException) -> list[str]:
    """The provider's words for what went wrong, the most exact first."""
    body = getattr(error, "body", None)
    outer = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    inner = outer.get("error", outer)
    named = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    values: list[Any] = [
        *(getattr(error, name, None) for name in ("code", "type")),
        *(named.get(name) for name in ("code", "type")),
    ]
    return list(dict.fromkeys(value for value in values if _is_word(value)))


def _is_word(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= 40 and _CODE.fullmatch(value) is not None


def _cause(error: BaseException, *, in_any_form: bool = False) -> _Cause | None:
    """What the provider's code, or else its wording, says is wrong."""
    links = list(_chain(error))
    words = " ".join(code for link in links for code in _codes_of(link))
    for where in (words, _texts(error)):
        for cause in _CAUSES:
            if cause.pattern.search(where) and (cause.in_any_form or not in_any_form):
                return cause
    return None


def _texts(error: BaseException) -> str:
    return " ".join(str(getattr(link, "message", link))[:2_000] for link in _chain(error))


def _place(error: BaseException) -> str:
    """Where it was raised: without its text, what helps most to find the cause."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return ""
    return f", raised in {Path(last.tb_frame.f_code.co_filename).name}, line {last.tb_lineno}"
