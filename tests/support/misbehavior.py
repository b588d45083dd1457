"""Ways in which a model's endpoint goes wrong, and scripts that say when.

A script is a callable ``(index, prompt) -> Misbehavior | None``; ``index`` counts the requests
of the server from 0, the client's own retries included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Mutate = Callable[[str], str]


@dataclass(frozen=True)
class Misbehavior:
    """What the endpoint does instead of answering well. Unset fields change nothing.

    Attributes:
        name: shown in the log.
        status: HTTP status of an error reply.
        headers: added to the reply.
        hang: never reply (until the client goes away).
        cut: "mid" closes the connection halfway through the body, "before" without any reply.
        body: the HTTP body in place of a chat completion.
        refusal: text of ``message.refusal``; the content is null.
        finish_reason: of the choice.
        reshape: changes the whole completion; into bytes, if they are to be sent as they are.
        mutate: changes the text the mind gave; the rest of the completion stays sound.
    """

    name: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    hang: bool = False
    cut: str = ""
    body: str | None = None
    refusal: str | None = None
    finish_reason: Any = "stop"
    reshape: Callable[[Any], object] | None = None
    mutate: Mutate | None = None


Script = Callable[[int, str], "Misbehavior | None"]


def always(fault: Misbehavior) -> Script:
    return lambda index, prompt: fault


def first(count: int, fault: Misbehavior) -> Script:
    """The first ``count`` requests go wrong, the rest go well."""
    return lambda index, prompt: fault if index < count else None


def when(wrong: Callable[[str], bool], fault: Misbehavior) -> Script:
    """Requests whose prompt satisfies the predicate go wrong."""
    return lambda index, prompt: fault if wrong(prompt) else None


def http_error(status: int, *, retry_after: str | None = None, message: str = "") -> Misbehavior:
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return Misbehavior(f"http {status}", status=status, headers=headers, body=message or None)


def mutated(name: str, mutate: Mutate) -> Misbehavior:
    return Misbehavior(name, mutate=mutate)


def says(text: str, name: str = "garbage") -> Misbehavior:
    """The model says this whatever it is asked."""
    return Misbehavior(name, mutate=lambda _: text)


RATE_LIMITED = http_error(429)
SERVER_ERROR = http_error(500)
HANG = Misbehavior("hang", hang=True)
CUT_MID_REPLY = Misbehavior("cut mid-reply", cut="mid")
CUT_BEFORE_REPLY = Misbehavior("cut before the reply", cut="before")
NOT_A_COMPLETION = Misbehavior("not a completion", body="<html>gateway</html>")
INVALID_JSON = says('{"claims": [oops', "invalid JSON")
TRUNCATED = Misbehavior(
    "truncated", finish_reason="length", mutate=lambda text: text[: len(text) // 2]
)
SCHEMA_VIOLATION = says('{"unexpected": 42}', "schema violation")
REFUSAL = Misbehavior("refusal", refusal="I cannot help with that.")
FILTERED = Misbehavior("content filter", finish_reason="content_filter", mutate=lambda _: "")
EMPTY = says("", "empty reply")
ONE_MEGABYTE = says("blah " * 200_000, "1 MB of prose")
