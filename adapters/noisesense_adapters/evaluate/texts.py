"""The answer, the reference and the question, out of what holds them."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense_adapters.evaluate.chunks import LISTS, texts_of
from noisesense_adapters.evaluate.inputs import as_list, as_object, normal, opened, parsed, plain

ANSWERS = (
    *("answer", "response", "output", "generation", "result", "actual_output", "completion"),
    *("final_answer", "replies", "messages", "text", "content"),
)
"""Where an object has its answer: of LangChain, LangGraph, Haystack, DeepEval, chat models."""
_REFERENCES = (*ANSWERS, "reference", "ground_truth", "expected_output", "expected_response")
_QUESTIONS = ("question", "query", "user_input", "input", "messages", "text", "content")

_SOURCES = (
    *(path for path in LISTS if "." not in path),
    *("retrieval_context", "retrieved_documents", "sources", "citations", "search_results"),
)
_CUT_OFF = re.compile(
    rf"(?:```\w*\s*)?\{{.*[\"'](?:{'|'.join(_SOURCES)})[\"']\s*:\s*\[", re.DOTALL
)
_FENCES = re.compile(r"```.*?```", re.DOTALL)


def answer_of(value: Any) -> Any:
    """The text of an answer, also where an object holds it, or a text holds that object.

    A text that is an object without an answer and without sources is itself the answer.

    Raises:
        InputError: an object without an answer, or a text that holds one with sources.
    """
    found: object = opened(value)
    if isinstance(found, dict):
        return _answer_in(as_object(cast("object", found)), value)
    if not isinstance(value, str):
        return value
    if _CUT_OFF.match(value.lstrip()):
        hint = "retrieved texts stand in this answer; was it cut off?"
        raise InputError("an answer, or a whole object with one", describe(value), hint=hint)
    for fence in _FENCES.findall(value):
        fields = as_object(opened(fence))
        if _has_sources(fields):
            return _answer_in(fields, value)
    return value


def _answer_in(fields: dict[str, Any], value: object) -> Any:
    text = _held(fields, ANSWERS)
    if text is not None:
        return text
    if isinstance(value, str) and not _has_sources(fields):
        return value
    known = ", ".join(map(repr, ANSWERS[:4]))
    names = ", ".join(map(repr, fields)) or "an empty object"
    raise InputError(f"the answer as {known} or so", f"only {names}")


def _has_sources(fields: dict[str, Any]) -> bool:
    return any(isinstance(fields.get(name), list) for name in _SOURCES)


def reference_of(value: Any) -> Any:
    """The text of a reference. Of a list of answers any is right: they become one text.

    A number becomes a text. What cannot be a reference stays as it is.
    """
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _listed(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value):
        return str(value)
    found = plain(opened(value))
    if isinstance(found, dict):
        held = _held(cast("object", found), _REFERENCES)
        return value if held is None else held
    if isinstance(found, list):
        return _any_of(as_list(cast("object", found))) or value
    return value


def _any_of(answers: list[Any]) -> str:
    """One text of answers that are all right; empty if they are not texts."""
    texts = [reference_of(item) for item in answers]
    texts = [text for text in texts if text not in ("", None)]
    return "\nor: ".join(dict.fromkeys(texts)) if texts_of(texts) else ""


def _listed(text: str) -> Any:
    """The list of texts that a cell holds, or the text."""
    try:
        found: object = parsed(text)
    except InputError:
        return text
    return texts_of(found) or text


def question_of(value: Any) -> Any:
    """The text of a question, also where an object holds it; an empty one of anything else."""
    found = plain(opened(value))
    held = _held(found, _QUESTIONS)
    if held is not None:
        return held
    return value if isinstance(value, str) else ""


def _held(value: object, names: tuple[str, ...]) -> str | None:
    """The text under the first of the names that has one, at any depth; a blank one if need be."""
    fields = {normal(name): item for name, item in as_object(value).items()}
    blank: str | None = None
    for name in names:
        item = opened(fields.get(normal(name)))
        if isinstance(item, list):
            item = _said_in(cast("list[object]", item))
        if isinstance(item, dict):
            item = _held(cast("object", item), names)
        if isinstance(item, str):
            if item.strip():
                return item
            blank = item
    return blank


def _said_in(items: list[object]) -> object:
    """The texts of a message's parts together; of messages and replies the last one."""
    parts = [as_object(plain(item)) for item in items]
    are_parts = all("type" in part and not {"role", "content"} & part.keys() for part in parts)
    texts = texts_of([part["text"] for part in parts if "text" in part])
    if are_parts and texts:
        return "".join(texts)
    return plain(items[-1]) if items else None
