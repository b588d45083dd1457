"""What a provider's reply says around its text: that it failed, why it ended, what it cost."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from noisesense.judging.protocol import Usage
from noisesense_adapters.reading.values import as_list, as_object, normal

CUT_SHORT = "the reply is cut short: the model reached its output limit"
FILTERED = "the endpoint's content filter removed the reply"
REFUSED = "the model refused to reply"
UNFINISHED = "the reply is not whole: the model stopped for another reason than its end"
ELSEWHERE = "the reply calls another function than the one that was asked for"
SHUFFLED = "the reply's choices are out of order"

# Why models stop, as providers name it. What is not here is no end of a whole reply.
_WHOLE = frozenset(
    (
        *("stop", "tool_calls", "function_call", "completed"),  # OpenAI, and who follows it
        *("end_turn", "stop_sequence", "tool_use"),  # Anthropic, Bedrock
        *("complete", "tool_call"),  # Cohere, pydantic-ai
        *("eos", "eos_token", "endoftext"),  # Together, TGI and watsonx, AI21
    )
)
_STOPS = {
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), CUT_SHORT),
    **dict.fromkeys(("model_context_window_exceeded", "token_limit"), CUT_SHORT),
    **dict.fromkeys(("content_filter", "content_filtered", "safety", "recitation"), FILTERED),
    **dict.fromkeys(("blocklist", "prohibited_content", "spii", "error_toxic"), FILTERED),
    "guardrail_intervened": FILTERED,
    "refusal": REFUSED,
}
_REASONS = ("finishreason", "stopreason", "donereason")

# Fields by which a reply says that it failed, by their names without case and underscores; each
# with the values that say nothing of the kind. Other fields beside the text change nothing.
_NOTHING = frozenset(("none", "", "false", "0", "[]", "{}", "namespace()"))
_FINE = frozenset(("none", "", "true", *map(str, range(200, 300))))
_SOUND: dict[str, Collection[str]] = {
    "error": _NOTHING,  # OpenRouter, also in a choice
    **dict.fromkeys(("errors", "errorcode", "errormessage", "iserror", "err"), _NOTHING),
    **dict.fromkeys(("exception", "fault"), _NOTHING),
    "incompletedetails": _NOTHING,  # OpenAI's Responses
    "success": _FINE | {"1"},
    "ok": _FINE | {"1"},
    "status": _FINE | _WHOLE | {"success", "succeeded", "successful", "ok", "done", "finished"},
    "statuscode": _FINE | {"0"},  # MiniMax, in base_resp
}
_ERROR_CODES = frozenset(map(str, range(400, 600)))
_FAILED: dict[str, Collection[str]] = {
    "object": {"error"},  # vLLM
    "type": {"error"},  # Anthropic
    "code": _ERROR_CODES,
    "state": {"failed", "error", "cancelled"},
}

_INPUT = ("input_tokens", "prompt_token_count")
_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
_OUTPUT = ("completion_tokens", "output_tokens", "candidates_token_count")
_THOUGHT = ("thoughts_token_count",)


def problem_of(reply: object, form: str = "") -> str:
    """Why a provider's reply is no whole one, wherever in it that is said; empty if nowhere.

    Args:
        reply: as its client gives it, an object or a dict.
        form: the name of the form that was asked for: a function of this name may be called.
    """
    outside = fields_of(reply)
    choices = as_list(outside.get("choices")) or as_list(outside.get("candidates"))
    choice = fields_of(choices[0]) if choices else outside
    message = fields_of(choice.get("message"))
    for part in (outside, choice, message):
        problem = _failure_in(part) or _failure_in(fields_of(part.get("baseresp")))
        if problem:
            return problem
        if part.get("refusal"):
            return REFUSED
    if _are_out_of_order(choices):
        return SHUFFLED
    calls = [*as_list(message.get("toolcalls")), message.get("functioncall")]
    reason = next(filter(None, map(choice.get, _REASONS)), "")
    return stop_problem(reason) or another_call(map(call_name, calls), form)


def _failure_in(part: dict[str, Any]) -> str:
    """Return by which field one part of a reply says that it failed; empty if by none."""
    reason = fields_of(part.get("incompletedetails")).get("reason")
    if reason:
        return stop_problem(reason)
    for name in sorted(part.keys() & {*_SOUND, *_FAILED}):
        word = _word(part[name])
        if word not in _SOUND.get(name, (word,)) or word in _FAILED.get(name, ()):
            return _STOPS.get(word, f"the reply says that it failed ({name})")
    return ""


def _are_out_of_order(choices: Sequence[object]) -> bool:
    """Tell whether the numbers of the choices, as far as they have some, are not in order."""
    numbers = [fields_of(choice).get("index") for choice in choices]
    known = [number for number in numbers if isinstance(number, int)]
    return known != sorted(known)


def call_name(call: object) -> object:
    """Return the name of the function that a call of a tool is of; None without one."""
    fields = fields_of(call)
    return fields_of(fields.get("function")).get("name", fields.get("name"))


def another_call(names: Iterable[object], form: str) -> str:
    """Return the problem if a name is neither ``form`` nor None; else an empty text."""
    return ELSEWHERE if {*names} - {form, None} else ""


def stop_problem(reason: object) -> str:
    """Why a reply that ended for that reason is no whole one; empty if it is, or nobody says."""
    word = _word(reason).rpartition(".")[2]  # FinishReason.STOP
    if word in ("none", ""):
        return ""
    return "" if word in _WHOLE else _STOPS.get(word, UNFINISHED)


def _word(value: object) -> str:
    """Return a value as the tables have it; Google's are enums."""
    return str(getattr(value, "value", value)).lower()


def fields_of(value: object) -> dict[str, Any]:
    """Return the fields of a dict or an object, by their names without case and underscores.

    Anything else has none.
    """
    own = as_object(value) or as_object(getattr(value, "__dict__", None))
    more = as_object(getattr(value, "model_extra", None))  # what pydantic was not told of
    return {normal(str(name)): field for name, field in {**own, **more}.items()}


def usage_of(reply: object) -> Usage:
    """Return one call, with the tokens that a provider's reply, or its usage, reports; else 0.

    The reply is an object; its usage may be a dict.
    """
    counts: object = getattr(reply, "usage", None) or getattr(reply, "usage_metadata", None)
    if not counts:
        counts = reply
    # Anthropic's input_tokens are those that no cache had; prompt_tokens are all of them.
    read = sum(_counts(counts, ("prompt_tokens",)))
    if not read:
        read = sum(_counts(counts, _INPUT)) + sum(_counts(counts, _CACHED))
    # Google's candidates are counted without their thoughts, which are billed alike.
    written = max(_counts(counts, _OUTPUT), default=0) + sum(_counts(counts, _THOUGHT))
    return Usage(calls=1, input_tokens=read, output_tokens=written)


def _counts(counts: object, names: Sequence[str]) -> list[int]:
    """Return the counts of tokens under these names, in a dict or an object."""
    values = [as_object(counts).get(name, getattr(counts, name, None)) for name in names]
    return [value for value in values if isinstance(value, int) and value > 0]
