"""Another library's exception as a `JudgeError`: what went wrong, and nothing it carried.

Exceptions of model clients hold requests with their headers, and often the prompt. They are
therefore neither quoted nor chained: build the error in the ``except`` block, raise it after.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from noisesense.errors import JudgeError

__all__ = ["judge_error", "status_of"]

_CODE = re.compile(r"[a-z]+(_[a-z]+)*")  # a word like rate_limit_exceeded, never a key
_HINTS = {
    400: "the model or one of its options may not be known there",
    401: "check the API key",
    403: "check the API key and what it may use",
    404: "check the model's name and the base URL",
    429: "a rate limit or a spent quota; ask for less at once (max_concurrency) or later",
}


def status_of(error: BaseException) -> int | None:
    """The HTTP status behind an exception, if there is one."""
    for link in _chain(error):
        for holder in (link, getattr(link, "response", None)):
            for name in ("status_code", "status", "code"):
                status = getattr(holder, name, None)
                if isinstance(status, int) and 400 <= status <= 599:
                    return status
    return None


def judge_error(error: BaseException, asked: str = "the model") -> JudgeError:
    """Why ``asked`` could not be asked, without a word of the exception's own text."""
    status = status_of(error)
    if status is not None:
        code = next((c for link in _chain(error) if (c := _code_of(link))), "")
        hint = _HINTS.get(status, "trouble of the endpoint itself" if status >= 500 else "")
        shown = f"{status}, {code}" if code else f"{status}"
        message = f"{asked} could not be asked: HTTP {shown}"
        return JudgeError(f"{message}. Hint: {hint}" if hint else message)
    names = [type(link).__name__ for link in _chain(error)]
    if any("Timeout" in name for name in names):
        return JudgeError(f"{asked} gave no reply in time ({names[0]})")
    if any("Connect" in name for name in names):
        hint = "is it running, and is its address right?"
        return JudgeError(f"{asked} cannot be reached ({names[-1]}). Hint: {hint}")
    return JudgeError(f"{asked} could not be asked: {names[0]}{_place(error)}")


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(10):
        if link is None:
            return
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _code_of(error: BaseException) -> str:
    code = getattr(error, "code", None)
    known = isinstance(code, str) and len(code) <= 40 and _CODE.fullmatch(code)
    return str(code) if known else ""


def _place(error: BaseException) -> str:
    """Where it was raised: without its text, what helps most to find the cause."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return ""
    return f", raised in {Path(last.tb_frame.f_code.co_filename).name}, line {last.tb_lineno}"
