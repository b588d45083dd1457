"""A model's reply: what it cost, whether it is complete, and the one JSON object in its text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from noisesense.errors import ReplyError
from noisesense.judging.protocol import Usage

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
_MAX_STARTS = 200  # "{" tried as the start of an object; a reply that needs more is no reply
_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


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
    return next((value for value in values if isinstance(value, int)), 0)


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


def read_reply(text: str, schema: type[S], usage: Usage) -> S:
    """The one JSON object of the form ``schema`` in a reply.

    Prose, code fences and a leading ``<think>`` block around it are ignored. Two different objects
    that both fit are no reply: nobody knows which one is meant.

    Raises:
        ReplyError: with the usage, and without the text of the reply.
    """
    if not text.strip():
        raise ReplyError("the reply is empty", usage)
    instances: list[S] = []
    problem = "it holds no complete JSON object"
    for value in _objects(_THOUGHTS.sub("", text, count=1), schema):
        try:
            instance = fitted(value, schema, usage)
        except ReplyError as error:
            problem = str(error)
        else:
            if instance not in instances:
                instances.append(instance)
    if len(instances) == 1:
        return instances[0]
    if instances:
        problem = f"it holds {len(instances)} different objects that fit"
    raise ReplyError(f"the reply is no {schema.__name__}: {problem}", usage)


def fitted(value: object, schema: type[S], usage: Usage) -> S:
    """A value that was JSON, as an instance of ``schema``.

    Raises:
        ReplyError: it does not fit. The message says how, not what the value was.
    """
    try:
        return schema.model_validate(value)
    except (ValueError, RecursionError) as error:
        kind = type(error).__name__
        if isinstance(error, ValidationError):
            kind = error.errors(include_url=False, include_input=False)[0]["type"]
        problem = f"the JSON does not fit ({kind})"
    raise ReplyError(problem, usage)


def _objects(text: str, schema: type[BaseModel]) -> Iterator[_Json]:
    """The JSON objects in the text that are not inside another one and could be meant.

    An object with none of the form's fields is passed over: within a truncated reply it would be
    a part of what is meant.
    """
    names = set(schema.model_fields) | {f.alias for f in schema.model_fields.values() if f.alias}
    decoder = json.JSONDecoder(object_pairs_hook=_without_contradictions)
    start = text.find("{")
    for _ in range(_MAX_STARTS):
        if start < 0:
            return
        try:
            value, end = cast("tuple[_Json, int]", decoder.raw_decode(text, start))
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if names.intersection(value):
                yield value
        start = text.find("{", end)


def _without_contradictions(pairs: list[tuple[str, Any]]) -> _Json:
    """An object as a dict. A key that is there twice with different values says nothing: null."""
    value: _Json = {}
    for key, item in pairs:
        value[key] = None if key in value and value[key] != item else item
    return value
