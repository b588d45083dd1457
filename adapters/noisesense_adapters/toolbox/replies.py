"""A model's reply: what it cost, whether it is complete, and the one JSON object in its text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from noisesense.errors import ReplyError
from noisesense.judging.prompts import consistent
from noisesense.judging.protocol import Usage

S = TypeVar("S", bound=BaseModel)
_Json = dict[str, Any]

CUT_SHORT = "the reply is cut short: the model reached its output limit"
FILTERED = "the endpoint's content filter removed the reply"
REFUSED = "the model refused to reply"
MISFIT = "the reply does not fit the requested form"
NOT_JSON = "the reply is not JSON"

# As OpenAI, Anthropic, Ollama, Google and Mistral name them.
STOPS = {
    "length": CUT_SHORT,
    "max_tokens": CUT_SHORT,
    "model_length": CUT_SHORT,
    "content_filter": FILTERED,
    "safety": FILTERED,
    "refusal": REFUSED,
}
_INPUT = ("prompt_tokens", "input_tokens", "prompt_token_count")
_OUTPUT = ("completion_tokens", "output_tokens", "candidates_token_count")

LONGEST = 2_000_000
"""Characters of a reply that are read. A longer one is no reply to any prompt of ours."""

# What models write around an answer: data, each with where it comes from. A format that is not
# here is no answer, and the model is asked again.
_THOUGHTS = (
    ("<think>", "</think>"),  # DeepSeek R1, Qwen3, GLM 4.5, MiniMax M2, Kimi K2: vLLM's parsers
    ("[THINK]", "[/THINK]"),  # Magistral: mistral-common
    ("<seed:think>", "</seed:think>"),  # Seed-OSS: vLLM's seedoss_reasoning_parser
    ("<thought>", "</thought>"),  # EXAONE Deep: its model card
    ("◁think▷", "◁/think▷"),  # Kimi-VL-Thinking: its model card
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Cohere's Command A Reasoning: its model card
    ("<|channel>thought", "<channel|>"),  # Gemma 4: ai.google.dev, prompt formatting
    ("<|begin_of_thought|>", "<|end_of_thought|>"),  # Sky-T1, OpenThinker: their model cards
    ("<|channel|>analysis<|message|>", "<|end|>"),  # gpt-oss: OpenAI's Harmony format
    ("<|start|>assistant<|channel|>analysis<|message|>", "<|end|>"),
)
OPENINGS = tuple(start for start, _ in _THOUGHTS)
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


def spelled_out(prompt: str, schema: type[BaseModel]) -> str:
    """The prompt with the form of the reply in words, for models without structured output.

    The judge's prompts say what each value is. A schema behind them is what small models reply:
    Qwen2.5-0.5B gave it back in place of every answer.
    """
    keys = ", ".join(map(json.dumps, json_form(schema)["properties"]))
    return f"{prompt}\n\nReply with one JSON object and nothing else. Its keys are {keys}."


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
    """The reply as an instance of ``schema``, if it is one JSON object and nothing else.

    What models are known to write around an answer is taken off: thoughts before it, a fence or
    tags around it, a token that ends it, a line such as "Here is the JSON:". Anything more is no
    answer: a second object, words after the first, an unknown tag, something that begins and does
    not end. One thing is read as it is meant: a comma before a closing bracket. The time is
    linear in the reply's length.

    Raises:
        ReplyError: with the usage, and without the text of the reply.
    """
    try:
        return _instance(_object(answer_in(text)), schema)
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, UnreadableError) else "it is nested too deeply"
    raise ReplyError(f"the reply is no {schema.__name__}: {problem}", usage)


def fitted(value: object, schema: type[S], usage: Usage) -> S:
    """A value that was JSON, as an instance of ``schema``. Raises `ReplyError`."""
    try:
        return _instance(value, schema)
    except UnreadableError as error:
        problem = str(error)
    raise ReplyError(problem, usage)


class UnreadableError(ValueError):
    """Says why a text is no answer, without the text."""


_BREAKS_OFF = "it breaks off"
_MOST_LAYERS = 8  # thoughts twice, an announcement, a fence, an end: with room to spare


def answer_in(text: str) -> str:
    """The text without what models are known to write around an answer.

    Raises:
        UnreadableError: something that begins and does not end, or nothing is left.
    """
    if len(text) > LONGEST:
        raise UnreadableError(f"it is too long: {len(text):,} of {LONGEST:,} characters")
    text = text.strip()
    for _ in range(_MOST_LAYERS):
        before = text
        for end in _ENDS:
            text = text.removesuffix(end).rstrip()
        for start, end in _THOUGHTS:
            if text.startswith(start):
                thought, end, text = text.partition(end)
                if not end or start in thought[1:]:  # one within another: which one has ended?
                    raise UnreadableError("it breaks off within the model's thoughts")
            elif not text.startswith(("{", "`")):  # a claim may quote such a token
                text = text.rpartition(end)[2]  # the prompt's template has opened it
        text = text.lstrip()
        announced = _ANNOUNCED.match(text)
        text = text[announced.end() :] if announced else text
        for start, end in _WRAPPERS:
            if text.startswith(start):
                if not text.endswith(end) or len(text) < len(start) + len(end):
                    raise UnreadableError(_BREAKS_OFF)
                text = text[len(start) : len(text) - len(end)].strip()
        if text == before:
            break
    if not text:
        raise UnreadableError("it is empty")
    return text


def _object(text: str) -> object:
    """The one JSON object that the text is."""
    if not text.startswith("{"):
        raise UnreadableError("it does not begin with a JSON object")
    decoder = json.JSONDecoder(object_pairs_hook=consistent, strict=False)
    try:
        value, end = decoder.raw_decode(text)
    except json.JSONDecodeError:
        text = _TRAILING_COMMA.sub(r"\1", text)
        try:
            value, end = decoder.raw_decode(text)
        except json.JSONDecodeError:
            raise UnreadableError("it holds no complete JSON object") from None
    if end < len(text):
        raise UnreadableError("something follows its JSON object")
    return value


def _instance(value: object, schema: type[S]) -> S:
    """Raises `UnreadableError`, which says how it does not fit and not what the value was."""
    try:
        return schema.model_validate(value)
    except (ValueError, RecursionError) as error:
        kind = type(error).__name__
        if isinstance(error, ValidationError):
            kind = error.errors(include_url=False, include_input=False)[0]["type"]
    raise UnreadableError(f"the JSON does not fit ({kind})")
