"""The chat-completions protocol: the prompt of a request, and the reply around a text."""

from __future__ import annotations

import json
from typing import Any

from support.misbehavior import Misbehavior

Json = dict[str, Any]


def prompt_of(request: Json) -> str:
    """The contents of all messages, one after another."""
    return "\n".join(_text(message.get("content")) for message in request.get("messages", ()))


def _text(content: Any) -> str:
    if isinstance(content, list):  # content parts
        return "".join(part.get("text", "") for part in content)
    return content or ""


def form_of(request: Json) -> str:
    """How the reply is asked for: tools, json_schema, json_object or text."""
    if _tool_of(request):
        return "tools"
    return str((request.get("response_format") or {}).get("type", "text"))


def _tool_of(request: Json) -> str | None:
    """The name of the function the model shall call, if it is offered any."""
    choice = request.get("tool_choice", "auto")
    tools = request.get("tools") or ()
    if not tools or choice == "none":
        return None
    named = choice.get("function", {}).get("name") if isinstance(choice, dict) else None
    return str(named or tools[0]["function"]["name"])


def completion(request: Json, index: int, prompt: str, text: str, fault: Misbehavior) -> Json:
    """A chat completion that says ``text`` in the form asked for, ``n`` times."""
    count = int(request.get("n") or 1)
    message: Json = {"role": "assistant", "content": text, "refusal": None}
    tool = _tool_of(request)
    finish_reason = fault.finish_reason
    if fault.refusal is not None:
        message.update(content=None, refusal=fault.refusal)
    elif tool:
        call = {"name": tool, "arguments": text}
        tool_call = {"id": f"call_{index}", "type": "function", "function": call}
        message.update(content=None, tool_calls=[tool_call])
        if finish_reason == "stop":
            finish_reason = "tool_calls"
    used = {"prompt_tokens": tokens(prompt), "completion_tokens": tokens(text) * count}
    return {
        "id": f"chatcmpl-{index}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": request.get("model", "scripted"),
        "choices": [
            {"index": i, "message": message, "finish_reason": finish_reason, "logprobs": None}
            for i in range(count)
        ],
        "usage": {**used, "total_tokens": sum(used.values())},
    }


def tokens(text: str) -> int:
    """A stand-in for a tokenizer: four characters a token, rounded up."""
    return -(-len(text) // 4)


def error_body(message: str, kind: str = "invalid_request_error") -> str:
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": kind}})
