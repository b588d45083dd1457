"""Another library's exception as a `JudgeError`: what went wrong, and nothing it carried.

Exceptions of model clients hold requests with their headers, and often the prompt. They are
therefore neither quoted nor chained; at most the package to install, or the variable of a key,
that their text names is told.
"""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from noisesense.errors import (
    BusyError,
    JudgeError,
    JudgeSetupError,
    NoiseSenseError,
    PromptTooLongError,
    ReplyError,
)
from noisesense_adapters.models import envelopes, replies
from noisesense_adapters.models.running import is_about_loops
from noisesense_adapters.reading.values import as_object

T = TypeVar("T")

_Links = Sequence[BaseException]
"""An exception and those behind it, see `_chain`."""


class _Cause(NamedTuple):
    """Why a provider refuses a request: by its words for it, and as we say it."""

    words: str
    problem: str
    hint: str
    kind: type[JudgeError] = JudgeError


# Looked for in the error's code and type. Where there is none, in its message, which is never
# shown: it may hold the prompt or a key.
_OPTION = _Cause(
    r"unsupported_(parameter|value)|unknown_parameter|unsupported (parameter|value)"
    r"|unrecognized request argument|unexpected keyword argument",
    "the model does not take one of the options sent",
    "remove it where the model is made (params of OpenAILLM, arguments of a host's model), or give"
    " what the model takes: temperature=1 in ragas' llm_factory",
)
# Each provider's words for a prompt, or a prompt with its reply, beyond the model's context.
_TOO_LONG = _Cause(
    "|".join(
        (
            r"context.?(length|window|size|overflow)|maximum (context|model|prompt) length",
            "string_above_max",  # OpenAI: longer than it reads at all
            "prompt (is )?too long|exceed context limit",  # Anthropic, Fireworks, Ollama's cloud
            r"input (token count|length|is too long)",  # Gemini, Ollama, Bedrock, Qwen
            r"input \(\d+ tokens\) is longer",  # SGLang
            "too many (input )?tokens",  # Cohere, Bedrock
            r"`inputs` (tokens|must have less)",  # Hugging Face's TGI
            "request([ _]?entity)?[ _]?too[ _]?large|payload too large",  # HTTP 413; Groq
            "reduce the length of the messages",  # Groq, Cerebras, vLLM
        )
    ),
    "the prompt is longer than the model's context",
    "choose a model with a longer context, or raise its context window (Ollama: num_ctx;"
    " llama.cpp: --ctx-size)",
    PromptTooLongError,
)
_CAUSES = (
    _TOO_LONG,
    _Cause(
        r"content_filter|content_policy|content management policy|responsible_?ai",
        "the provider's content filter refused the prompt",
        "another provider or a milder filter may take this sample",
    ),
    _Cause(
        r"insufficient_quota|billing_(hard_limit|not_active)|exceeded your current quota"
        r"|credit balance",
        "the account has no quota left",
        "check the provider's plan and billing",
        JudgeSetupError,
    ),
    _OPTION,
)
BUSY = (429, 503, 529)
"""Statuses by which a provider takes no calls for a while; the last is Anthropic's."""
_HINTS = {  # by status, where the cause is not known
    **dict.fromkeys((301, 302, 303, 307, 308), "the endpoint moved: check the base URL"),
    400: "the endpoint may not know the model or one of its options",
    401: "check the API key",
    402: "check the provider's plan and billing",
    403: "check the API key and its permissions",
    404: "check the model's name and the base URL",
    429: "the rate limit or the quota is reached; wait longer (max_wait), or try again later",
    **dict.fromkeys(range(500, 600), "the endpoint itself failed"),
}
_SETUP = (301, 302, 303, 307, 308, 401, 402, 403, 404)
"""Statuses of every call as it is set up."""

# What clients and parsers raise over a reply that they have received. LangChain, ragas and
# instructor each have their own class for the same event.
_REPLY_PROBLEMS = {
    "LengthFinishReasonError": envelopes.CUT_SHORT,
    "IncompleteOutputException": envelopes.CUT_SHORT,
    "LLMDidNotFinishException": envelopes.CUT_SHORT,
    "ContentFilterFinishReasonError": envelopes.FILTERED,
    "JSONDecodeError": replies.NOT_JSON,
    "UnicodeDecodeError": replies.NOT_JSON,
    "OutputParserException": replies.MISFIT,
    "ValidationError": replies.MISFIT,
    "RecursionError": replies.MISFIT,  # nested more deeply than a client can read
}
_BAD_HEADERS = {"LocalProtocolError", "UnicodeEncodeError"}
_CODE = re.compile(r"[a-z]+([_.][a-z]+)*")
_REMEDY = re.compile(r"pip install [-\w.\[\]\"']{1,60}|\b[A-Z][A-Z0-9_]{2,40}_API_KEY\b")
_REFUSAL = "Unable to generate a response"  # so begins instructor's AssertionError for a refusal
_UNFIT_REPLY = "json_validate_failed"  # Groq's 400 for a reply that does not fit the form
_WRAPPERS = ("RetryError", "InstructorRetryException")  # of tenacity and instructor


class RequestRefusedError(Exception):
    """HTTP 400 or 422, perhaps because of the form the request asks for. For bridges only."""


async def call_model(
    call: Awaitable[T],
    model: str,
    explain: Callable[[BaseException], JudgeError | None] | None = None,
    *,
    has_other_form: bool = False,
) -> T:
    """Return the result of a call of a model's client.

    Args:
        call: the client's coroutine. Our own errors that it raises are passed on.
        model: its name in messages.
        explain: our error for an exception that only this client raises.
        has_other_form: can the caller ask for the reply in another form?

    Raises:
        ReplyError: the model replied, but the client could not use the reply.
        RequestRefusedError: the endpoint refused the request, and there is another form.
        JudgeError: any other failure.
    """
    failure: BaseException | None
    try:
        return await call
    except (NoiseSenseError, asyncio.CancelledError) as error:
        failure = error
    except Exception as error:  # noqa: BLE001 - whatever a provider's client raises
        failure = _reply_error(error) or _refused_form(error, has_other_form)
        if failure is None and explain is not None:
            failure = explain(next(_chain(error)))
        if failure is None:
            failure = judge_error(error, model)
    # Raised out here, without a context or the frames that led to it: they hold keys and prompts.
    raise failure.with_traceback(None)


def _refused_form(error: BaseException, has_other_form: bool) -> RequestRefusedError | None:
    """The failure by which the caller asks in its other form; None if that would not help.

    What else is wrong with a request is wrong in any form.
    """
    links = list(_chain(error))
    if not has_other_form or _status(links) not in (400, 422):
        return None
    return RequestRefusedError() if _cause(links) in (None, _OPTION) else None


def made(make: Callable[[], T], model: str) -> T:
    """Return the client that ``make`` gives.

    Raises:
        JudgeError: it cannot be made. The client's exception, which may quote its settings, is
            withheld.
    """
    failure: JudgeError
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - whatever a provider's client raises
        failure = judge_error(error, model)
    raise failure


def judge_error(error: BaseException, model: str) -> JudgeError:
    """Return why the model could not be called; of the exception's own text, a remedy at most.

    A `JudgeError` of ours in its chain is returned as it is.
    """
    links = list(_chain(error))
    names = {type(link).__name__ for link in links}
    for link in links:
        if isinstance(link, JudgeError):  # ours, wrapped by the client it came through
            return link
    # As clients in Python refuse a key that no header can hold.
    if any("header value" in str(link).lower() for link in links) or names & _BAD_HEADERS:
        hint = "does the API key end in a line end, as from a file? Remove it"
        return JudgeSetupError(f"{model} cannot be asked: a header is not valid. Hint: {hint}")
    if is_about_loops(error):
        hint = "give each loop a client of its own, or a blocking client"
        problem = "its client was opened in another event loop, which holds its connections"
        return JudgeError(f"{model} cannot be asked: {problem}. Hint: {hint}")
    if _status(links) is not None or _cause(links) is _TOO_LONG:
        return _refusal(links, model)
    return _unreached(links, model) or _unknown(links, model)


def _unreached(links: _Links, model: str) -> JudgeError | None:
    """Return the error if there was no reply in time, or nobody to reply; else None."""
    names = " ".join(type(link).__name__ for link in links)
    if any("CERTIFICATE_VERIFY_FAILED" in str(link) for link in links):
        problem = f"{model} cannot be reached: its certificate is not trusted"
        hint = "behind a proxy with certificates of its own, let SSL_CERT_FILE name their file"
        return JudgeSetupError(f"{problem}. Hint: {hint}")
    if "Timeout" in names and "ConnectTimeout" not in names:
        hint = "allow more time (timeout), or make fewer calls at once"
        return JudgeError(f"{model} gave no reply in time ({names}). Hint: {hint}")
    if "Connect" in names:
        hint = "see that it runs, and that its address (base_url, baseUrl, --base-url) is right"
        return JudgeSetupError(f"{model} cannot be reached ({names}). Hint: {hint}")
    return None


def _unknown(links: _Links, model: str) -> JudgeError:
    """Return the error for any other exception: its type and where it was raised, not its text."""
    first = links[0]
    problem = f"{model} could not be called: {type(first).__name__}"
    frames = traceback.extract_tb(first.__traceback__)
    if frames:
        problem += f", raised in {Path(frames[-1].filename).name}, line {frames[-1].lineno}"
    remedy = _REMEDY.search(_texts(links))
    if remedy is None:
        return JudgeError(problem)
    hint = f"its message, which is withheld, names {remedy[0]!r}"
    return JudgeSetupError(f"{problem}. Hint: {hint}")


def _refusal(links: _Links, model: str) -> JudgeError:
    """Return the error of an endpoint, or a model in this process, that refused a request."""
    status = _status(links)
    source = type(links[-1]).__name__ if status is None else f"HTTP {status}"
    codes = _codes_of(links, "code", "type")
    options = _codes_of(links, "param")
    details = ", ".join([source, *codes[:1], *options])
    cause = _cause(links)
    if cause is not None:
        problem = f"{cause.problem} ({details}). Hint: {cause.hint}"
        return cause.kind(f"{model} could not be called: {problem}")
    problem = f"{model} could not be called: {details}"
    if status in _HINTS:
        problem = f"{problem}. Hint: {_HINTS[status]}"
    if status in BUSY:
        return BusyError(problem, wait_of(links))
    return JudgeSetupError(problem) if status in _SETUP else JudgeError(problem)


def wait_of(links: Iterable[BaseException]) -> float | None:
    """The seconds that a provider asks to wait, by either of its headers; None if by neither.

    A date in place of seconds is not read.
    """
    for link in links:
        for holder in (getattr(link, "response", None), link):
            headers: Any = getattr(holder, "headers", None)
            for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
                with suppress(KeyError, TypeError, ValueError):
                    return float(headers[name]) * unit
    return None


def completion_in(error: BaseException) -> object:
    """Return the reply that a client could not use, as its exception carries it; else None."""
    for link in (error, *_chain(error, contexts=False)):
        for name in ("completion", "last_completion"):
            reply = getattr(link, name, None)
            if reply is not None:
                return reply
    return None


def _reply_error(error: Exception) -> ReplyError | None:
    """Return what is wrong with a reply that was received; None if there was none."""
    reply = completion_in(error)
    problem = ""
    if reply is not None or _UNFIT_REPLY in _codes_of([error], "code"):
        problem = replies.MISFIT
    for link in _chain(error, contexts=False):
        problem = _REPLY_PROBLEMS.get(type(link).__name__, problem)
        if isinstance(link, AssertionError) and str(link).startswith(_REFUSAL):
            problem = envelopes.REFUSED
    return ReplyError(problem, envelopes.usage_of(reply)) if problem else None


def _chain(error: BaseException, *, contexts: bool = True) -> Iterator[BaseException]:
    """Yield the exception and what it was raised from, without those that only wrap their cause.

    Args:
        error: the exception.
        contexts: also what was being handled when it was raised, if it names no cause.
    """
    link: BaseException | None = error
    for _ in range(10):  # a chain may be a ring
        if link is None:
            return
        if type(link).__name__ not in _WRAPPERS or link.__cause__ is None:
            yield link
        context: BaseException | None = None
        if contexts and not link.__suppress_context__:
            context = link.__context__
        link = link.__cause__ or context


def _status(links: _Links) -> int | None:
    """Return the HTTP status, of 300 to 599, behind an exception, if there is one."""
    for link in links:
        for holder in (link, getattr(link, "response", None)):
            for name in ("status_code", "status", "code"):
                value = getattr(holder, name, None)
                if isinstance(value, int) and 300 <= value <= 599:
                    return value
    return None


def _codes_of(links: _Links, *names: str) -> list[str]:
    """Words like rate_limit_exceeded, never a key, that errors or their bodies have by a name."""
    codes: dict[str, None] = {}
    for link in links:
        body = as_object(getattr(link, "body", None))
        inner = as_object(body.get("error", body))
        own = [getattr(link, name, None) for name in names]
        for value in (*own, *map(inner.get, names)):
            if isinstance(value, str) and len(value) <= 40 and _CODE.fullmatch(value):
                codes[value] = None
    return list(codes)


def _cause(links: _Links) -> _Cause | None:
    """Return what the provider's status, its code, or else its wording, says is wrong."""
    status = _status(links)
    if status == 413:
        return _TOO_LONG
    # Too many tokens in a minute are no long prompt.
    causes = [cause for cause in _CAUSES if cause is not _TOO_LONG or status != 429]
    codes = " ".join(_codes_of(links, "code", "type"))
    for words in (codes, _texts(links)):
        for cause in causes:
            if re.search(cause.words, words, re.IGNORECASE):
                return cause
    return None


def _texts(links: _Links) -> str:
    """Return the start of every message in the chain."""
    texts: list[str] = []
    for link in links:
        message = str(getattr(link, "message", link))
        texts.append(message[:2_000])
    return " ".join(texts)
