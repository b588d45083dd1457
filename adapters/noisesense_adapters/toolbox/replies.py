"""A model's reply as text, read as one JSON object of a given form. Shared by the bridges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from noisesense.errors import ReplyError
from noisesense.judging.protocol import Usage

__all__ = ["fitted", "json_form", "read_reply", "spelled_out"]

S = TypeVar("S", bound=BaseModel)
_Json = dict[str, Any]

_MAX_STARTS = 200  # "{" tried as the start of an object; a reply that needs more is no reply
_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


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

    Prose, code fences and a leading ``<think>`` block around it are passed over. Of two different
    objects that both fit nobody knows which is meant: that is no reply.

    Raises:
        ReplyError: with the usage, and without the text of the reply.
    """
    if not text.strip():
        raise ReplyError("the reply is empty", usage)
    found: list[S] = []
    problem = "it holds no complete JSON object"
    for value in _objects(_THOUGHTS.sub("", text, count=1), schema):
        try:
            instance = fitted(value, schema, usage)
        except ReplyError as error:
            problem = str(error)
        else:
            if instance not in found:
                found.append(instance)
    if len(found) == 1:
        return found[0]
    if found:
        problem = f"it holds {len(found)} different objects that fit"
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
