"""Further things that models and endpoints send; `support.faults` makes kinds of them.

FINAL stands for the true reply, DRAFT for another reply of the same form. In ``LISTED``, by name:
``beside``: written into the object, beside its answers: they may be taken back by it.
``numbers``, ``digits``: a statement's number, written otherwise. ``read``, ``unread``: yes and no
in other words. ``plain``: texts that hold the answer alone; ``texts``: that may not be read.
``swaps``: what stands in the JSON, and in its place. ``ends``: reasons that an endpoint gives for
the end of a reply that looks whole. ``messages``: of a chat completion whose text is the true
reply; ``no messages``: that may not be read. ``no choices``: in place of the one with the true
reply. ``failed``: what a provider says beside a whole answer that ended with "stop", in the
reply itself or in its choice. ``statuses``: of an HTML page.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Fields = dict[str, Any]
LISTED: Fields = json.loads(
    (Path(__file__).parent / "data" / "odd_replies.json").read_text("utf-8")
)

# The list of claims in another form.
CLAIMS: dict[str, Callable[[list[str]], object]] = {
    "a list in a list": lambda claims: [claims],
    "objects": lambda claims: [{"claim": each} for each in claims],
    "by number": lambda claims: dict(enumerate(claims)),
    "one text": lambda claims: "\n".join(claims),
    "null among them": lambda claims: [*claims, None],
    "numbers among them": lambda claims: [*claims, 3],
    "null": lambda claims: None,
    "a list written out": lambda claims: json.dumps(claims),
}

HTML = b"<!DOCTYPE html><html><title>Bad gateway</title></html>"
EVENTS = b'data: {"choices": [{"delta": {"content": "DRAFT"}}]}\n\ndata: [DONE]\n\n'
# The body of a reply with the true answer in other bytes, with another type, or another body.
BODIES: dict[str, tuple[Callable[[bytes], bytes], dict[str, str]]] = {
    "byte order mark": (lambda body: b"\xef\xbb\xbf" + body, {}),
    "UTF-16": (lambda body: body.decode().encode("utf-16"), {}),
    "no UTF-8": (lambda body: body.replace(b"chat.completion", b"\xff\xfe"), {}),
    "gzip": (gzip.compress, {"content-encoding": "gzip"}),
    "gzip that is none": (lambda body: body, {"content-encoding": "gzip"}),
    "as plain text": (lambda body: body, {"content-type": "text/plain"}),
    "as HTML": (lambda body: body, {"content-type": "text/html"}),
    "as events": (lambda body: b"data: " + body, {"content-type": "text/event-stream"}),
    "events": (lambda body: EVENTS, {"content-type": "text/event-stream"}),
    "events as JSON": (lambda body: EVENTS, {}),
    "HTML": (lambda body: HTML, {"content-type": "text/html"}),
    "HTML as JSON": (lambda body: HTML, {}),
    "HTML behind it": (lambda body: body + HTML, {}),
    "cut": (lambda body: body[: len(body) // 2], {}),
    "twice": (lambda body: body + b"\n" + body, {}),
    "empty": (lambda body: b"", {}),
    "null": (lambda body: b"null", {}),
    "a text": (lambda body: json.dumps(body.decode()).encode(), {}),
    "an error": (lambda body: b'{"error": {"code": 500, "message": "scripted"}}', {}),
}
REFUSED_BY_CLIENTS = ("a refusal in parts", "content a number", "content an object")
"""Of the messages that are none: what some clients raise an error of their own for."""
