"""Another library's exception as a `JudgeError`: what went wrong, and nothing it carried.

Exceptions of model clients hold requests with their headers, and often the prompt. They are
therefore neither quoted nor chained.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

from noisesense.errors import JudgeError, NoiseSenseError, ReplyError
from noisesense_adapters.toolbox.replies import CUT_SHORT, FILTERED, MISFIT, NOT_JSON, usage_of

T = TypeVar("T")

_CODE = re.compile(r"[a-z]+(_[a-z]+)*")  # a word like rate_limit_exceeded, never a key
_HINTS = {
    400: "the endpoint may not know the model or one of its options",
    401: "check the API key",
    403: "check the API key and its permissions",
    404: "check the model's name and the base URL",
    429: "the rate limit or the quota is reached; lower max_concurrency or try again later",
}
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
}
_UNFIT_REPLY = "json_validate_failed"  # Groq's 400 for a reply that does not fit the form


class RequestRefusedError(Exception):
    """HTTP 400 or 422, perhaps because of the form the request asks for. For bridges only."""


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
        if failure is None and has_other_form and _status(error) in (400, 422):
            failure = RequestRefusedError()
        if failure is None and explain:
            failure = explain(next(_chain(error)))
        failure = failure or judge_error(error, model)
    # Raised out here so that it carries no context.
    raise failure


def judge_error(error: BaseException, model: str) -> JudgeError:
    """Why the model could not be called, without a word of the exception's own text."""
    links, status = list(_chain(error)), _status(error)
    if status is not None:
        code = next((code for link in links if (code := _code_of(link))), "")
        hint = _HINTS.get(status, "the endpoint itself failed" if status >= 500 else "")
        details = f"{status}, {code}" if code else f"{status}"
        message = f"{model} could not be called: HTTP {details}"
        return JudgeError(f"{message}. Hint: {hint}" if hint else message)
    names = [type(link).__name__ for link in links]
    if any("Timeout" in name for name in names):
        return JudgeError(f"{model} gave no reply in time ({names[0]})")
    if any("Connect" in name for name in names):
        hint = "is it running, and is its address right?"
        return JudgeError(f"{model} cannot be reached ({names[-1]}). Hint: {hint}")
    return JudgeError(f"{model} could not be called: {names[0]}{_place(links[0])}")


def _reply_error(error: Exception) -> ReplyError | None:
    links = list(_chain(error, contexts=False))
    holders = [
        (each, name) for each in (error, *links) for name in ("completion", "last_completion")
    ]
    replies = [reply for each, name in holders if (reply := getattr(each, name, None)) is not None]
    problem = MISFIT if replies or _code_of(error) == _UNFIT_REPLY else ""
    for link in links:
        problem = _REPLY_PROBLEMS.get(type(link).__name__, problem)
    return ReplyError(problem, usage_of(next(iter(replies), None))) if problem else None


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
                if isinstance(status, int) and 400 <= status <= 599:
                    return status
    return None


def _code_of(error: BaseException) -> str:
    code = getattr(error, "code", None)
    is_word = isinstance(code, str) and len(code) <= 40 and _CODE.fullmatch(code)
    return str(code) if is_word else ""


def _place(error: BaseException) -> str:
    """Where it was raised: without its text, what helps most to find the cause."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return ""
    return f", raised in {Path(last.tb_frame.f_code.co_filename).name}, line {last.tb_lineno}"
