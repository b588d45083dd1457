"""The text of a model's reply: the one JSON object that it is."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from noisesense.errors import ReplyError
from noisesense.judging.markers import THOUGHTS
from noisesense.judging.prompts import consistent
from noisesense.judging.protocol import Usage

S = TypeVar("S", bound=BaseModel)

MISFIT = "the reply does not fit the requested form"
NOT_JSON = "the reply is not JSON"

LONGEST = 2_000_000
"""Characters of a reply that are read. A longer one is no reply to any prompt of ours."""

# What models write around an answer: data, each with where it comes from. A format that is not
# here is no answer, and the model is asked again. `tests/support/formats.py` has an example of
# each, and of tags that are refused on purpose.
OPENINGS = tuple(start for start, _ in THOUGHTS)
_WRAPPERS = (
    ("```json\n", "```"),
    ("```\n", "```"),
    ("<answer>", "</answer>"),  # Hunyuan A13B, GLM 4.1V Thinking: vLLM's parsers
    ("<response>", "</response>"),  # ERNIE 4.5: vLLM's ernie45_reasoning_parser
    ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),  # Cohere's Command models
    ("<|begin_of_solution|>", "<|end_of_solution|>"),  # Sky-T1, OpenThinker
    ("<|start|>assistant<|channel|>final<|message|>", ""),  # gpt-oss
    ("<|start|>assistant<|channel|>final <|constrain|>json<|message|>", ""),
    ("<|channel|>final<|message|>", ""),
    ("<|channel|>final <|constrain|>json<|message|>", ""),
)
_ANSWERS = ("{", "`", *(start for start, _ in _WRAPPERS))
"""How an answer begins that no thought stands before."""
_ENDS = ("<|return|>", "<|end|>", "<|im_end|>", "<|eot_id|>", "<|endoftext|>", "</s>",
         "<turn|>", "<end_of_turn>", "<|END_OF_TURN_TOKEN|>")  # fmt: skip
# A line that announces an answer and says nothing else.
_ANNOUNCED = re.compile(
    r"(?i)(?:(?:sure|certainly|of course|okay)[!,.]\s+)?here(?: you (?:are|go)|(?: is|'s| are)"
    r" (?:the|your)(?: requested| final)? (?:json|answer|reply|response|output|result|verdicts"
    r"|claims)(?: object| list)?(?: in json(?: format)?)?):\s+(?=[`{<])"
)
# A comma before a closing bracket; whole strings are matched so that it is looked for outside.
_TRAILING_COMMA = re.compile(r'("[^"\\]*(?:\\(?:.|\Z)[^"\\]*)*(?:"|\Z))|,(?=\s*[}\]])', re.DOTALL)


def spelled_out(prompt: str, schema: type[BaseModel]) -> str:
    """Return the prompt with the form of the reply in words, for models without structured output.

    The judge's prompts say what each value is. A schema behind them is what small models reply:
    Qwen2.5-Coder-0.5B gave it back in place of every answer.
    """
    keys = _keys(schema)
    return f"{prompt}\n\nReply with one JSON object and nothing else. Its keys are {keys}."


@lru_cache(maxsize=64)
def _keys(schema: type[BaseModel]) -> str:
    return ", ".join(map(json.dumps, json_form(schema)["properties"]))


def json_form(schema: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema as strict structured output wants it: closed, with all fields required.

    The judge's forms are flat: no part of them refers to another. Titles and defaults of fields
    are left out: they cost tokens and say nothing.
    """
    return cast("dict[str, Any]", json.loads(_written(schema)))  # a copy: clients add to it


@lru_cache(maxsize=64)  # every call asks for one of a few forms, each of which takes pydantic long
def _written(schema: type[BaseModel]) -> str:
    properties: dict[str, Any] = schema.model_json_schema()["properties"]
    for part in properties.values():
        part.pop("title", None)
        part.pop("default", None)
    form = {"type": "object", "properties": properties, "required": list(properties)}
    return json.dumps({**form, "additionalProperties": False}, ensure_ascii=False)


def read_reply(text: str, schema: type[S], usage: Usage) -> S:
    """Return the reply as an instance of ``schema``, if it is one JSON object and nothing else.

    What models are known to write around an answer is taken off: thoughts before it, a fence or
    tags around it, a token that ends it, a line such as "Here is the JSON:". Anything more is no
    answer: a second object, words after the first, an unknown tag, something that begins and does
    not end. A comma before a closing bracket is read as it is meant. A key that is there twice
    with different values is null. The time is linear in the reply's length.

    Raises:
        ReplyError: with the usage, and without the text of the reply.
    """
    try:
        return schema.model_validate(_object(answer_in(text)))
    except UnreadableError as error:
        problem = str(error)
    except ValidationError as error:  # without what the value was
        kind = error.errors(include_url=False, include_input=False)[0]["type"]
        problem = f"the JSON does not fit ({kind})"
    except (ValueError, RecursionError):
        problem = "it is nested too deeply, or a number in it is too long"
    raise ReplyError(f"the reply has not the form {schema.__name__}: {problem}", usage)


class UnreadableError(ValueError):
    """Says why a text is no answer, without the text."""


_BREAKS_OFF = "it breaks off"
_MOST_LAYERS = 8  # thoughts twice, an announcement, a fence, an end: with room to spare


def answer_in(text: str) -> str:
    """Return the text without what models are known to write around an answer.

    Raises:
        UnreadableError: something that begins and does not end, nothing is left, or the text is
            longer than `LONGEST`.
    """
    if len(text) > LONGEST:
        raise UnreadableError(f"it is too long: {len(text):,} of {LONGEST:,} characters")
    text = text.strip()
    for _ in range(_MOST_LAYERS):
        before = text
        for end in _ENDS:
            text = text.removesuffix(end).rstrip()
        for start, end in THOUGHTS:
            text = _without_thought(text, start, end)
        text = text.lstrip()
        announced = _ANNOUNCED.match(text)
        if announced:
            text = text[announced.end() :]
        for start, end in _WRAPPERS:
            text = _unwrapped(text, start, end)
        if text == before:
            break
    if not text:
        raise UnreadableError("it is empty")
    return text


def _without_thought(text: str, start: str, end: str) -> str:
    """The text behind the model's thoughts, which stand between two tokens; all of it without any.

    Raises `UnreadableError`.
    """
    if text.startswith(start):
        thought, closed, answer = text.removeprefix(start).partition(end)
        if not closed or start in thought:  # one within another: which one has ended?
            raise UnreadableError("it breaks off within the model's thoughts")
        return answer.lstrip()
    if text.startswith(_ANSWERS) or _ANNOUNCED.match(text):  # a claim may quote such a token
        return text
    return text.rpartition(end)[2]  # the start may stand in the prompt: its template put it there


def _unwrapped(text: str, start: str, end: str) -> str:
    """Return what stands between the two, if the text begins so. Raises `UnreadableError`."""
    if not text.startswith(start):
        return text
    if not text.endswith(end) or len(text) < len(start) + len(end):
        raise UnreadableError(_BREAKS_OFF)
    return text[len(start) : len(text) - len(end)].strip()


_DECODER = json.JSONDecoder(object_pairs_hook=consistent, strict=False)


def _object(text: str) -> object:
    """Return the one JSON object that the text is. Raises `UnreadableError`."""
    if not text.startswith("{"):
        raise UnreadableError("it does not begin with a JSON object")
    for spelled in (str, _without_trailing_commas):
        written = spelled(text)
        try:
            value, end = _DECODER.raw_decode(written)
        except json.JSONDecodeError:
            continue
        if end < len(written):
            raise UnreadableError("something follows its JSON object")
        return value
    raise UnreadableError("it holds no complete JSON object")


def _without_trailing_commas(text: str) -> str:
    return _TRAILING_COMMA.sub(r"\1", text)
