"""Further things that models and endpoints send, as data; `support.faults` makes kinds of them.

FINAL stands for the true reply, DRAFT for another reply of the same form.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

# Written into the object, beside its answers: they may be taken back by it.
BESIDE: dict[str, object] = {
    "error": "context window exceeded",
    "refusal": "I can't assist with that request.",
    "note": "Only the first page was read.",
    "correction": {"1": "no"},
    "warning": None,
    "confidence": 0.2,
    "explanation": "",
    "status": "incomplete",
    "truncated": True,
    "final": False,
    "draft": [],
    "": "",
    "answers": {"1": "yes"},
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "properties": {"1": {"enum": ["yes", "no"]}},
    "required": ["1", "2"],
    "type": "object",
    "1 (revised)": "no",
}

# A statement's number, written otherwise.
NUMBERS = ("0{}", "{}.", "{}.0", " {}", "#{}", "({})", "-{}", "+{}", "{}e0", "S{}", "Statement {}")
DIGITS = ("１２３４５", "١٢٣٤٥", "१२३४५", "①②③④⑤", "¹²³⁴⁵", "ⅠⅡⅢⅣⅤ", "abcde")

# Yes and no in other words: read as they are meant, or not at all.
READ: tuple[tuple[object, object], ...] = (
    ("Yes", "NO"),
    ("yes.", "no."),
    (" yes\n", "\tno "),
    ("**yes**", "**no**"),
    ("True", "FALSE"),
)
UNREAD: tuple[tuple[object, object], ...] = (
    ("y", "n"),
    ("oui", "non"),
    ("ja", "nein"),
    ("да", "нет"),
    ("是", "否"),
    ("はい", "いいえ"),
    ("ναι", "όχι"),
    ("evet", "hayır"),
    ("ｙｅｓ", "ｎｏ"),
    ("yes\u200b", "no\u200b"),
    ("✓", "✗"),
    ("entailed", "not entailed"),
    ("yes, in part", "no, not quite"),
    ("not yes", "not no"),
    ("yes/no", "no/yes"),
    ("true (0.9)", "false (0.9)"),
    (1.0, 0.0),
    ("1", "0"),
    (5, 1),
    ("5/5", "1/5"),
    ("95%", "5%"),
    (["yes"], ["no"]),
    ({"answer": "yes"}, {"answer": "no"}),
    ({"enum": ["yes", "no"]}, {"enum": ["yes", "no"]}),
    ("", ""),
)

# The whole text. Those in `PLAIN` hold the answer alone.
PLAIN = {
    "lines": "\r\n\t FINAL \r\n",
    "thoughts of nothing": "<think>\n\n</think>\n\nFINAL",
}
TEXTS = {
    "byte order mark": "\ufeffDRAFT",
    "fence, CRLF": "```json\r\nDRAFT\r\n```",
    "fence of tildes": "~~~json\nDRAFT\n~~~",
    "fence of four": "````json\nDRAFT\n````",
    "fence on one line": "```json DRAFT```",
    "fence that opens": "```json\nDRAFT",
    "fence that closes": "DRAFT\n```",
    "backquotes": "`DRAFT`",
    "an assignment": "answer = DRAFT",
    "an event": "data: DRAFT",
    "an event's end": "DRAFT\n[DONE]",
    "a comment behind": "DRAFT // the second is a guess",
    "a comment before": "/* a guess */ DRAFT",
    "a bracket too many": "DRAFT}",
    "a bracket more": "{DRAFT",
    "brackets": "(DRAFT)",
    "a zero byte": "DRAFT\x00",
    "an apology": "I'm sorry, but I can't help with that. DRAFT",
    "a doubt": "DRAFT\n\nI could not verify any of this.",
    "Markdown": "| number | answer |\n|---|---|\n| 1 | yes |\n| 2 | yes |",
    "tags": "<answers><1>yes</1><2>yes</2></answers>",
    "a template": '{"1": "yes or no", "claims": ["a short statement"]}',
    "a schema": '{"type": "object", "properties": {"claims": {"type": "array"}}}',
}
# What stands in the JSON, and in its place.
SWAPS = {
    "single quotes": ('"', "'"),
    "no quotes": ('"', ""),
    "smart quotes": ('"', "”"),
    "HTML": ('"', "&quot;"),
    "escaped": ('"', '\\"'),
    "semicolons": (",", ";"),
    "equal signs": (":", " ="),
    "another key for claims": ('"claims"', '"statements"'),
}

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

# Reasons that an endpoint gives for the end of a reply that looks whole.
ENDS: tuple[object, ...] = (
    *("length", "max_tokens", "MAX_TOKENS", "model_length", "max_output_tokens"),
    *("content_filter", "content_filtered", "SAFETY", "RECITATION", "sensitive", "refusal"),
    *("error", "insufficient_system_resource", "network_error", "timeout", "abort", "cancelled"),
    *("OTHER", "unknown", "pause_turn", "null", 5, {"type": "length"}),
)

Fields = dict[str, Any]

# The message of a chat completion whose text is the true reply, and of one that may not be read.
MESSAGES: dict[str, Fields] = {
    "in parts": {"content": [{"type": "text", "text": "FINAL"}]},
    "a thought in parts": {
        "content": [{"type": "thinking", "thinking": "DRAFT"}, {"type": "text", "text": "FINAL"}]
    },
    "thoughts beside it": {"content": "FINAL", "reasoning_content": "DRAFT"},
    "words beside a tool call": {
        "content": "Let me answer.",
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "x", "arguments": "FINAL"}}
        ],
    },
}
NO_MESSAGES: dict[str, Fields] = {
    "a refusal beside it": {"content": "DRAFT", "refusal": "I can't assist with that."},
    "a refusal in parts": {
        "content": [{"type": "refusal", "refusal": "No."}, {"type": "text", "text": "DRAFT"}]
    },
    "thoughts alone": {"content": None, "reasoning_content": "DRAFT"},
    "an old function call": {"content": None, "function_call": {"name": "x", "arguments": "no"}},
    "two tool calls": {
        "content": None,
        "tool_calls": [
            {"id": name, "type": "function", "function": {"name": "x", "arguments": name}}
            for name in ("DRAFT", "FINAL")
        ],
    },
    "content null": {"content": None},
    "no content": {},
    "content a number": {"content": 5},
    "content an object": {"content": {"claims": ["DRAFT"], "1": "yes"}},
}
# The choice, in place of the one with the true reply.
NO_CHOICES: dict[str, object] = {
    "null": None,
    "a list": [],
    "message null": {"message": None},
    "a delta": {"delta": {"content": "DRAFT"}, "finish_reason": "stop"},
    "a text": {"text": "DRAFT", "finish_reason": "stop"},
    "an error beside it": {
        "message": {"role": "assistant", "content": "DRAFT"},
        "finish_reason": "error",
        "error": {"code": 502, "message": "the provider went away"},
    },
}

HTML = b"<!DOCTYPE html><html><title>Bad gateway</title></html>"
EVENTS = b'data: {"choices": [{"delta": {"content": "DRAFT"}}]}\n\ndata: [DONE]\n\n'
# Beside the choices, of which one holds another reply: the provider's failure.
ERROR = {"code": 502, "message": "the provider went away"}
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
STATUSES = (202, 206, 302, 403, 404, 405, 408, 409, 415, 418, 422, 425, 451, 502, 504, 520, 524)

REFUSED_BY_CLIENTS = ("a refusal in parts", "content a number", "content an object")
"""Of the messages that are none: what some clients raise an error of their own for."""

# What a provider says beside a whole answer that ended with "stop": in the reply itself, or in
# its choice.
FAILED: dict[str, Fields] = {
    "error": {"error": ERROR},
    "error, a text": {"error": "overloaded"},
    "Errors": {"Errors": ["timeout"]},
    "success": {"success": False},
    "Success, a word": {"Success": "false"},
    "status": {"status": "failed"},
    "STATUS": {"STATUS": "Cancelled"},
    "status, a number": {"status": 500},
    "incomplete_details": {"incomplete_details": {"reason": "max_output_tokens"}},
    "incompleteDetails": {"incompleteDetails": {"why": "nobody knows"}},
    "base_resp": {"base_resp": {"status_code": 1004, "status_msg": "login fail"}},
    "code": {"code": 500},
    "code, digits": {"code": "503"},
    "object": {"object": "error"},
    "type": {"type": "error"},
}
