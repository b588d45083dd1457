"""Read the answer, the reference and the question out of the objects that hold them."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense_adapters.evaluate.chunks import LISTS, texts_of, unboxed
from noisesense_adapters.evaluate.inputs import as_list, as_object, normal, opened, parsed, plain

_ANSWERS = (
    "answer",
    "response",
    "output",
    "generation",
    "result",
    "actual_output",
    "completion",
    "final_answer",
    "replies",
    "messages",
    "text",
    "content",
)
"""The fields of an answer: in LangChain, LangGraph, Haystack, DeepEval and chat models."""
_REFERENCES = (*_ANSWERS, "reference", "ground_truth", "expected_output", "expected_response")
_QUESTIONS = ("question", "query", "user_input", "input", "messages", "text", "content")

_SOURCES = (
    *(path for path in LISTS if "." not in path),
    "retrieved_documents",
    "sources",
    "citations",
    "search_results",
)
"""The fields of retrieved texts beside an answer."""
_SOURCE = "|".join(_SOURCES)
_CUT_OFF = re.compile(rf"(?:```\w*\s*)?\{{.*[\"'](?:{_SOURCE})[\"']\s*:\s*\[", re.DOTALL)
_FENCES = re.compile(r"```.*?```", re.DOTALL)


def answer_of(value: Any) -> Any:
    """The text of an answer, also if it stands in an object, or in an object that a text holds.

    A text that holds an object with neither an answer nor sources is itself the answer.

    Raises:
        InputError: an object without an answer, or a text with such an object that has sources.
    """
    holder: object = opened(value)
    if isinstance(holder, dict):
        return _answer_in(as_object(cast("object", holder)), value)
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
    """The answer in an object; a text that holds an object without sources may be one itself."""
    text = _text_in(fields, _ANSWERS)
    if text is not None:
        return text
    if isinstance(value, str) and not _has_sources(fields):
        return value
    usual = ", ".join(map(repr, _ANSWERS[:4]))
    names = ", ".join(map(repr, fields)) or "an empty object"
    raise InputError(f"the answer as {usual} or so", f"only {names}")


def _has_sources(fields: dict[str, Any]) -> bool:
    return any(isinstance(fields.get(name), list) for name in _SOURCES)


def reference_of(value: Any) -> Any:
    """The text of a reference. A list of answers, of which any is right, becomes one text.

    A number becomes a text. A value that cannot be a reference stays as it is.
    """
    value = unboxed(value)
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _list_or_text(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value):
        return str(value)
    holder = plain(opened(value))
    if isinstance(holder, dict):
        text = _text_in(cast("object", holder), _REFERENCES)
        return value if text is None else text
    if isinstance(holder, list):
        return _any_of(as_list(cast("object", holder))) or value
    return value


def _any_of(answers: list[Any]) -> str:
    """One text of answers that are all right; empty if they are not texts."""
    texts: list[Any] = []
    for answer in answers:
        text = reference_of(answer)
        if text not in ("", None):
            texts.append(text)
    return "\nor: ".join(dict.fromkeys(texts_of(texts)))


def _list_or_text(text: str) -> Any:
    """The list of texts that a cell holds, or else the cell's text."""
    try:
        items: object = parsed(text)
    except InputError:
        return text
    return texts_of(items) or text


def question_of(value: Any) -> Any:
    """The text of a question, also if it stands in an object; empty for anything else."""
    text = _text_in(plain(opened(value)), _QUESTIONS)
    if text is not None:
        return text
    return value if isinstance(value, str) else ""


def texts_of_sample(*, user_input: Any, response: Any, reference: Any) -> dict[str, Any]:
    """The texts of a sample as every host reads them. Raises `InputError`, of the response."""
    return {
        "user_input": question_of(user_input),
        "response": answer_of(response),
        "reference": reference_of(reference),
    }


def _text_in(value: object, names: tuple[str, ...]) -> str | None:
    """The text of the first of the fields that has one, at any depth; else the last blank text."""
    fields = {normal(name): item for name, item in as_object(value).items()}
    blank: str | None = None
    for name in names:
        item = opened(fields.get(normal(name)))
        if isinstance(item, list):
            item = _message_in(cast("list[object]", item))
        if isinstance(item, dict):
            item = _text_in(cast("object", item), names)
        if isinstance(item, str):
            if item.strip():
                return item
            blank = item
    return blank


def _message_in(items: list[object]) -> object:
    """The joined texts of a message's parts, or else the last of several messages or replies."""
    parts = [as_object(plain(item)) for item in items]
    texts = [part["text"] for part in parts if "text" in part]
    if all(map(_is_part, parts)) and texts_of(texts):
        return "".join(texts)
    return plain(items[-1]) if items else None


def _is_part(item: dict[str, Any]) -> bool:
    """Is it a part of a message, rather than a whole one?"""
    return "type" in item and "role" not in item and "content" not in item
