"""A model's reply: what it cost, whether it is complete, and the one JSON object in its text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from noisesense.errors import ReplyError
from noisesense.judging.prompts import consistent
from noisesense.judging.protocol import Usage
from noisesense_adapters.toolbox.running import in_thread

S = TypeVar("S", bound=BaseModel)
_Json = dict[str, Any]

CUT_SHORT = "the reply is cut short: the model reached its output limit"
FILTERED = "the endpoint's content filter removed the reply"
REFUSED = "the model refused to reply"
MISFIT = "the reply does not fit the requested form"
NOT_JSON = "the reply is not JSON"

# As OpenAI, Anthropic, Ollama, Google and Mistral name them.
_STOPS = {
    "length": CUT_SHORT,
    "max_tokens": CUT_SHORT,
    "model_length": CUT_SHORT,
    "content_filter": FILTERED,
    "safety": FILTERED,
    "refusal": REFUSED,
}
_INPUT = ("prompt_tokens", "input_tokens", "prompt_token_count")
_OUTPUT = ("completion_tokens", "output_tokens", "candidates_token_count")

_NO_OBJECT = "it holds no complete JSON object"
_BREAKS_OFF = "it breaks off after an object, which may be a draft"
LONGEST = 2_000_000
"""Characters of a reply that are read. A longer one is no reply to any prompt of ours."""
_MOST_SPANS = 200  # objects and lists side by side
_LONG = 20_000  # read in a thread: it may take longer than an event loop should stand still

_THOUGHTS = re.compile(
    r"think(ing)?|thoughts?|reason(ing)?|reflection|analysis|scratchpad|draft|plan|seed:think"
    r"|(inner_)?monologue"
)
_ANSWERS = re.compile(r"(final_?)?answer|final|json|output|response|result|reply|tool_call")
# Of a chat template or of HTML; they open nothing.
_TOKENS = re.compile(r"s|[be]os|pad|br|hr|p|end_\w+|start_of_turn")
# Outside JSON: a tag, or the start of an object or of a list.
_MARK = re.compile(
    r"[<\[◁](?P<end>/?)(?P<tag>[A-Za-z][\w:-]*)(?:\s[^<>{}\[\]]*)?(?P<empty>/?)[>\]▷]"
    r"|\{|\[(?=\s*(?:[{\"\]]|\Z))"
)
# Inside it: a whole string, or what opens and closes.
_INSIDE = re.compile(r'"[^"\\]*(?:\\(?:.|\Z)[^"\\]*)*(?:"|\Z)|[{}\[\]]', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")|,(?=\s*[}\]])', re.DOTALL)
_CUT_TAG = re.compile(r"[<◁](?!/)[\w:|-]*\Z")
_LABELED_DRAFT = re.compile(
    r"(?i)\b(?:draft|tentative\w*|preliminary|initial|rough|first (?:attempt|try|pass|version))\b"
    r"[^.!?\n{}]*\s*(?:```\w*\s*)?\Z"
)
# OpenAI's Harmony format, where a server passes it on: only the final channel is the reply.
_CHANNEL = re.compile(
    r"<\|channel\|>\s*(\w+)([^<]*(?:<\|constrain\|>[^<]*)?)<\|message\|>(.*?)"
    r"(?=<\|(?:end|return|call|start|channel)\|>|\Z)",
    re.DOTALL,
)


def usage_of(reply: object) -> Usage:
    """One call, with the tokens that a provider's reply, or its usage object, reports."""
    counts = getattr(reply, "usage", None) or getattr(reply, "usage_metadata", None) or reply
    return Usage(
        calls=1, input_tokens=_tokens(counts, _INPUT), output_tokens=_tokens(counts, _OUTPUT)
    )


def _tokens(counts: object, names: tuple[str, ...]) -> int:
    get: Callable[[str, None], object] = partial(getattr, counts)
    if isinstance(counts, Mapping):
        get = cast("Mapping[str, object]", counts).get
    values: Iterator[object] = (get(name, None) for name in names)
    return next((value for value in values if isinstance(value, int) and value > 0), 0)


def check_complete(usage: Usage, *reasons: object, refusal: object = None) -> None:
    """Raise `ReplyError` for a reply that was refused, filtered or cut short.

    Args:
        usage: what the reply cost.
        reasons: why the model stopped, as its provider names it.
        refusal: what it said instead of a reply.
    """
    problems = [_STOPS.get(str(reason).lower(), "") for reason in reasons]
    problem = REFUSED if refusal else next(filter(None, problems), "")
    if problem:
        raise ReplyError(problem, usage)


def spelled_out(prompt: str, schema: type[BaseModel]) -> str:
    """The prompt with the form of the reply in words, for models without structured output."""
    return (
        f"{prompt}\n\nReply with one JSON object and nothing else. "
        f"It follows this JSON Schema:\n{_written(schema)}"
    )


def json_form(schema: type[BaseModel]) -> _Json:
    """The JSON Schema as strict structured output wants it: closed objects, all fields required.

    References are written out (not every model follows them), so the form may not be recursive.
    Titles and defaults of fields are left out: they cost tokens and say nothing.
    """
    return cast("_Json", json.loads(_written(schema)))  # a copy: clients add to it


@lru_cache(maxsize=64)
def _written(schema: type[BaseModel]) -> str:
    # Kept, as every call asks for one of a few forms and pydantic takes half a millisecond for it.
    whole = schema.model_json_schema()
    strict = _strict(whole, whole.pop("$defs", {}))
    return json.dumps(strict, ensure_ascii=False, separators=(",", ":"))


def _strict(node: object, defs: _Json) -> object:
    if isinstance(node, list):
        return [_strict(item, defs) for item in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    node = cast("_Json", node)
    if "$ref" in node:
        return _strict(defs[node["$ref"].rpartition("/")[2]], defs)
    strict: _Json = {}
    for key, value in node.items():
        if key == "properties":  # its keys are names, not keywords
            strict[key] = {name: _strict(part, defs) for name, part in value.items()}
        elif key not in ("title", "default"):
            strict[key] = _strict(value, defs)
    if "properties" in strict:
        strict["additionalProperties"] = False
        strict["required"] = list(strict["properties"])
    return strict


async def read_completion(completion: object, schema: type[S]) -> tuple[S, Usage]:
    """A chat completion of an OpenAI-compatible endpoint: its text, or what it calls a tool with.

    Raises:
        ReplyError: it is none, or its text is refused, cut short, or does not fit.
    """
    usage = usage_of(completion)
    choices: object = getattr(completion, "choices", None)
    choice: Any = choices[0] if isinstance(choices, list) and choices else None
    message: Any = getattr(choice, "message", None)
    if message is None:
        raise ReplyError("the reply is not a chat completion", usage)
    check_complete(
        usage, getattr(choice, "finish_reason", None), refusal=getattr(message, "refusal", None)
    )
    texts = [getattr(message, "content", None)]
    if not texts[0]:
        calls = getattr(message, "tool_calls", None)
        functions = [getattr(each, "function", None) for each in calls or ()]
        texts = [getattr(each, "arguments", None) for each in functions]
    text = "\n".join(text for text in texts if isinstance(text, str))
    return await read(text, schema, usage), usage


async def read(text: str, schema: type[S], usage: Usage) -> S:
    """As `read_reply`, and a long reply off the event loop."""
    if len(text) < _LONG:
        return read_reply(text, schema, usage)
    return await in_thread(partial(read_reply, text, schema, usage))


def read_reply(text: str, schema: type[S], usage: Usage) -> S:
    """The one JSON object of the form ``schema`` in a reply, in time linear in its length.

    Prose, code fences, thoughts (``<think>`` and the like) and what is called a draft are passed
    over. Read as they are meant: a comma before a closing bracket, and a bare list where the form
    has one field. No reply: two different objects that both fit, one that fits beside one that
    does not, and anything that begins and does not end (an object, a thought, a tag), as then
    what came before it may be a draft.

    Raises:
        ReplyError: with the usage, and without the text of the reply.
    """
    try:
        return _one_answer(text, schema)
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, _NoReplyError) else "it is nested too deeply"
    raise ReplyError(problem, usage)


class _NoReplyError(ValueError):
    pass


def _one_answer(text: str, schema: type[S]) -> S:
    if not text.strip():
        raise _NoReplyError("the reply is empty")
    if len(text) > LONGEST:
        raise _NoReplyError(f"the reply is too long: {len(text):,} of {LONGEST:,} characters")
    names = set(schema.model_fields) | {f.alias for f in schema.model_fields.values() if f.alias}
    answer: S | None = None
    bare: list[S] = []
    problem = _NO_OBJECT
    try:
        for span in _spans(text, names):
            value = _parsed(span)
            items = cast("list[object]", value) if isinstance(value, list) else [value]
            # An object with none of the form's fields is passed over.
            meant = [each for each in items if isinstance(each, dict) and names.intersection(each)]
            if value is None and any(f'"{name}"' in span for name in names):
                raise _NoReplyError(_NO_OBJECT)
            for instance in (_instance(each, schema) for each in meant):
                if answer not in (None, instance):
                    raise _NoReplyError("it holds 2 different objects that fit")
                answer = instance
            if isinstance(value, list) and not meant and len(names) == 1:
                bare += _of_list(items, min(names), schema)
    except _NoReplyError as error:
        problem = str(error)
    else:
        if answer is None and bare and all(each == bare[0] for each in bare):
            answer = bare[0]
        if answer is not None:
            return answer
    raise _NoReplyError(f"the reply is no {schema.__name__}: {problem}")


def _of_list(items: list[object], name: str, schema: type[S]) -> list[S]:
    """A bare list as what stands in the form's one field, if all of its items can stand there."""
    try:
        instance = schema.model_validate({name: items})
    except ValidationError:
        return []
    return [instance] if items and len(getattr(instance, name)) == len(items) else []


def _instance(value: object, schema: type[S]) -> S:
    """Raises `_NoReplyError`, which says how it does not fit and not what the value was."""
    try:
        return schema.model_validate(value)
    except (ValueError, RecursionError) as error:
        kind = type(error).__name__
        if isinstance(error, ValidationError):
            kind = error.errors(include_url=False, include_input=False)[0]["type"]
    raise _NoReplyError(f"the JSON does not fit ({kind})")


def fitted(value: object, schema: type[S], usage: Usage) -> S:
    """A value that was JSON, as an instance of ``schema``. Raises `ReplyError`."""
    try:
        return _instance(value, schema)
    except _NoReplyError as error:
        problem = str(error)
    raise ReplyError(problem, usage)


def _parsed(span: str) -> object:
    """The JSON, also with a comma before a closing bracket; None if it is none."""
    for text in (span, lambda: _TRAILING_COMMA.sub(r"\1", span)):
        try:
            return json.loads(
                text if isinstance(text, str) else text(),
                object_pairs_hook=consistent,
                strict=False,
            )
        except ValueError:
            continue
    return None


def _spans(text: str, names: Collection[str]) -> list[str]:
    """The outermost lists, and objects with one of those names, not within thoughts, nor drafts.

    Raises:
        _NoReplyError: something begins and does not end.
    """
    text = _final(text)
    spans: list[str] = []
    unclosed: dict[str, int] = {}  # where tags were opened
    at = last = 0  # `last`: where the latest object or list ends
    while mark := _MARK.search(text, at):
        start, at, name = mark.start(), mark.end(), (mark["tag"] or "").lower()
        if not name:
            label = text[max(last, start - 80) : start]
            at = last = _end_of(text, start, bool(spans))
            span = text[start:at]
            has_name = any(f'"{name}"' in span for name in names)
            if (has_name or span[0] == "[") and not _LABELED_DRAFT.search(label):
                spans.append(span)
            if len(spans) > _MOST_SPANS:
                raise _NoReplyError(f"it holds more than {_MOST_SPANS} objects")
        elif _THOUGHTS.fullmatch(name) and mark["end"]:
            # The prompt's template may have opened it: all until here were thoughts.
            spans.clear()
            unclosed.clear()
        elif _THOUGHTS.fullmatch(name):
            end = re.compile(rf"[<\[◁]/{re.escape(name)}\s*[>\]▷]", re.IGNORECASE).search(text, at)
            if end is None:
                raise _NoReplyError("it breaks off within the model's thoughts")
            at = end.end()
        elif mark["end"]:
            unclosed.pop(name, None)
        elif text[start] != "[" and not mark["empty"] and not _TOKENS.fullmatch(name):
            unclosed[name] = start
    # Around the answer, a closing tag says nothing more.
    open_ended = [
        name for name, at in unclosed.items() if at > last or not _ANSWERS.fullmatch(name)
    ]
    announced = text[last:].rstrip(" \n\t*_`#").endswith(":")
    if spans and (open_ended or announced or _CUT_TAG.search(text[-40:])):
        raise _NoReplyError(_BREAKS_OFF)
    return spans


def _end_of(text: str, start: int, is_later: bool) -> int:
    """Where the object or list that starts there ends."""
    depth = 0
    for token in _INSIDE.finditer(text, start):
        bracket = token.group()
        depth += (bracket in "{[") - (bracket in "}]")
        if depth == 0:
            return token.end()
    raise _NoReplyError(_BREAKS_OFF if is_later else _NO_OBJECT)


def _final(text: str) -> str:
    """The text without the channels of OpenAI's Harmony format, where a server passes them on."""
    start = len(text) - len(text.lstrip())
    # A claim may quote such tokens: those in a reply that begins with its object are data.
    outside = text[_end_of(text, start, False) :] if text[start : start + 1] == "{" else text
    if "<|channel|>" in outside or "<|start|>" in outside:
        channels = _CHANNEL.findall(outside)
        final = [body for name, to, body in channels if name == "final" or "to=" in to]
    elif re.match(r"\s*analysis[A-Z]", text):  # its special tokens left out
        final = text.split("assistantfinal")[1:]
    elif "_of_thought|>" in outside:
        tags = {"begin": "<think>", "end": "</think>"}
        return re.sub(r"<\|(begin|end)_of_thought\|>", lambda token: tags[token[1]], text)
    else:
        return text
    if not final:
        raise _NoReplyError("it breaks off within the model's thoughts")
    return str(final[-1])
