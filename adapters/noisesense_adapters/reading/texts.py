"""Read the answer, the reference and the question out of the objects that hold them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import isfinite
from numbers import Integral, Real
from typing import Any

from noisesense.errors import InputError, describe
from noisesense_adapters.reading import places
from noisesense_adapters.reading.names import speaks
from noisesense_adapters.reading.paths import UnclearError
from noisesense_adapters.reading.values import (
    PRINTED,
    as_list,
    as_object,
    is_list,
    is_prose,
    normal,
    opened,
    parsed,
    plain,
    single_spaced,
    words,
)

_ANSWERS = words(places.ANSWERS)
_NAMES = {
    "response": _ANSWERS,
    "reference": {**words(places.REFERENCES), **_ANSWERS},
    "user_input": words(places.QUESTIONS),
}
_SOURCES = words(places.SOURCES)
_KNOWN = {
    "response": words(places.ROW_NAMES["response"]),
    "reference": words(f"{places.ROW_NAMES['reference']} {places.ROW_NAMES['response']} value"),
    "user_input": words(places.ROW_NAMES["user_input"]),
}
"""The names by which an object in a text is the field's, rather than the text itself."""
_ROLES = {"role", "type", "from"}
_MESSAGES = {"role", "messages", "message", "choices"}
_ASSISTANTS = {"assistant", "ai", "model", "bot", "chatbot", "gpt"}
_WRITERS = {"response": _ASSISTANTS, "reference": _ASSISTANTS, "user_input": {"user", "human"}}
_TALKERS = {*_ASSISTANTS, "user", "human", "system", "developer", "reasoning"}
_TALK = ("content", "text", "summary")
_VERDICTS = places.ROW_NAMES["verdicts"].split()
_NO_ANSWER = {
    *("tool", "function", "call", "output", "result", "event"),
    *("reasoning", "thinking", "context", "error", "stop", "system", "user", "human"),
}
"""The words of types of messages that no assistant writes as its answer."""
_MESSAGE = r"(?i)(?:message)?(?:chunk)?$"
_TEXT_PARTS = ("text", "input_text", "output_text")
_STATUS = words("success ok done completed succeeded finished pass failed error 200")
_PRINTED = rf"{PRINTED}|content='.* additional_kwargs=\{{.*"
"""How programs print messages, too."""
_ANY = "\nor: "
"""Between answers of which any is right."""
_OUTPUTS = {"answer", "finalanswer", *_SOURCES}
"""The names by which an object behind a sentence may be an application's output."""
_UNDERSTOOD = words(" ".join((places.ANSWERS, *places.ROW_NAMES.values()))).keys()
"""What an object with an answer may hold, too, for the answer to be the text."""


def text_of(value: Any, field: str) -> str | None:
    """Return the text of a field, out of an object, messages or JSON; None if an object has none.

    Of messages it is the last, for a question the last of the user. Of a reference's list of
    answers any is right: they become one text. A finite number is its text. A text that holds
    none of these is returned as it is.

    Raises:
        InputError: something else (None, a bool, an empty list), several different texts, a
            message that another one wrote, or a failure or a status in place of the text.
    """
    if isinstance(value, str):
        return _in_text(value, field)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if is_number and (isinstance(value, Integral) or isfinite(value)):
        return str(value)
    value = plain(value)
    fields = as_object(value)
    if fields or isinstance(value, dict):
        return _in_object(fields, field)
    if is_list(value):
        return _in_list(as_list(value), field)
    raise InputError("a text", describe(value))


def _in_text(text: str, field: str) -> str | None:
    """Return a text, or what stands in the object or the list that it holds."""
    items = _items_in(text, field)
    if items is not None:
        return _in_list(items, field)
    fields = output_of(text) if field == "response" else as_object(opened(text))
    if not fields and re.fullmatch(_PRINTED, text):
        raise InputError("a text", f"{describe(text)}, how Python prints an object")
    names = {*map(normal, fields)}
    is_output = opened(text) != text and not names.isdisjoint(_SOURCES)
    if not is_output and names.isdisjoint(_MESSAGES | _KNOWN[field].keys()):
        return text
    if not is_output:
        _check_understood(text, names, field)
    inner = _in_object(fields, field)
    return text if inner is None and not is_output else inner


def _check_understood(text: str, names: set[str], field: str) -> None:
    """Raise `UnclearError` where the object in a text may be the answer itself."""
    if field == "response" and names.isdisjoint(_MESSAGES) and names - _UNDERSTOOD:
        raise UnclearError("a text, or an object with an answer and no more", describe(text))


def _items_in(text: str, field: str) -> list[Any] | None:
    """Return the messages in a text, or a reference's answers; None if it holds neither."""
    listed: object = None
    if text.lstrip().startswith("["):
        with suppress(InputError):
            listed = parsed(text)
    items = as_list(listed)
    objects = [*map(as_object, items)]
    is_talk = any(_said_by(each) & _TALKERS for each in objects)
    if is_talk and all(_ROLES & each.keys() for each in objects):
        return items
    is_answers = all(item is None or isinstance(item, str) for item in items)
    return items if field == "reference" and is_list(listed) and is_answers else None


def output_of(value: Any) -> dict[str, Any]:
    """Return an application's output: an object, also in a text that holds nothing else.

    Of anything else an empty one.

    Raises:
        InputError: a text has words before an object with an answer or sources, or that object
            is cut off.
    """
    fields = as_object(plain(opened(value)))
    if fields or not isinstance(value, str) or "{" not in value:
        return fields
    end = value.rfind("}") + 1
    inside = as_object(opened(value[value.index("{") : end]))
    is_last = re.match(r"\s*(?:```|\n|\Z)", value[end:])  # or else a sentence speaks of it
    is_led_in = is_last and not _OUTPUTS.isdisjoint(map(normal, inside))
    is_object = value.lstrip().startswith(("{", "```")) and not inside
    known = (*places.SOURCES.split(), *places.ROW_NAMES["response"].split())
    is_cut_off = is_object and any(f'"{name}"' in value for name in known)
    if is_led_in or is_cut_off:
        expected = "an answer, or a whole object with one and nothing else"
        raise InputError(expected, describe(value))
    return {}


def _in_object(fields: Mapping[str, Any], field: str) -> str | None:
    """Return the only text under the field's names in an object; None if there is none.

    Raises `InputError` for different ones, somebody else's message, a status, or what failed.
    """
    _check_writer(fields, field)
    texts = _named_texts(fields, field)
    if not texts:
        return None
    for name, value in fields.items():
        if name not in texts and is_prose(value) and speaks(name, field):
            texts[name] = value
    text = texts[agreed({name: [text] for name, text in texts.items()}, field)]
    if len(fields) > 1 and text.lower() in _STATUS:
        raise InputError("a text", f"a status, {text!r}, in {describe(fields)}")
    return text


def _named_texts(fields: Mapping[str, Any], field: str) -> dict[str, str]:
    """Return the texts under the field's names in an object, by name."""
    texts: dict[str, str] = {}
    for name, value in fields.items():
        if value is None or isinstance(value, bool) or not _is_text_name(name, value, field):
            continue
        text = text_of(value, field)
        if text is not None:
            texts[name] = text
    return texts


def _check_writer(fields: Mapping[str, Any], field: str) -> None:
    """Raise `InputError` for a message that another one wrote, and for what failed."""
    if _ROLES & fields.keys() and not _may_write(fields, field):
        writer = "user" if field == "user_input" else "assistant"
        raise InputError(f"a message of the {writer}", describe(fields))
    if field == "response" and (fields.get("error") or fields.get("tool_calls")):
        raise InputError("an answer", f"what failed or goes on, {describe(fields)}")


def without_talk(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message without verdicts; if a person or a model wrote it, without its text."""
    left_out = _TALK if _said_by(message) & _TALKERS else ()
    return {name: value for name, value in message.items() if name not in (*left_out, *_VERDICTS)}


def _said_by(message: Mapping[str, Any]) -> set[str]:
    """Return a message's role, type, sender and source in lower case; ``AIMessage`` as ``ai``."""
    names = {*_ROLES, "source"} & message.keys()
    return {re.sub(_MESSAGE, "", str(message[name])).lower() for name in names}


def _may_write(message: Mapping[str, Any], field: str) -> bool:
    """Tell whether the field's writer wrote a message, or may have, as nothing says who did."""
    writers = _said_by(message)
    kind = re.findall(r"[A-Z]?[a-z]+", str(message.get("type")))
    if not _NO_ANSWER.isdisjoint({word.lower() for word in kind} - _WRITERS[field]):
        return False
    is_unsaid = message.keys().isdisjoint(_ROLES - {"type"}) and not writers & _TALKERS
    return is_unsaid or not writers.isdisjoint(_WRITERS[field])


def _is_text_name(name: str, value: object, field: str) -> bool:
    """Tell whether the field's text may stand under the name.

    A text under ``message`` is none: a service that failed says why there.
    """
    known = normal(name)
    return known in _NAMES[field] and not (known == "message" and isinstance(value, str))


def _in_list(items: list[Any], field: str) -> str | None:
    """Return the text of a message's parts, the last message, the only item, or all right answers.

    Raises `InputError` for any other list, such as an empty one.
    """
    objects = [*map(as_object, items)]
    if not any("role" in each for each in objects):
        parts = _text_in_parts(items)
        if parts:
            return parts
    if items and all(_ROLES & each.keys() for each in objects):
        return text_of(_last_message(objects, field), field)
    if len(items) == 1:
        return text_of(items[0], field)
    if field == "reference" and items:
        answers = [text_of(item, field) for item in items]
        return _ANY.join(dict.fromkeys(filter(None, answers)))
    raise InputError("a text", f"{len(items)} in {describe(items)}")


def _text_in_parts(parts: list[Any]) -> str:
    """Join the text in a message's parts; ``""`` if no item has a type, so that none is a part.

    Parts of other types hold thoughts or documents. Raises `InputError` if the last calls a tool.
    """
    texts: list[str] = []
    for part in parts:
        fields = as_object(part)
        if fields.get("type") in _TEXT_PARTS:
            texts.append(str(fields.get("text", "")))
        elif isinstance(part, str):
            texts.append(part)
    kinds = [str(each["type"]) for each in map(as_object, parts) if "type" in each]
    if kinds and "tool" in kinds[-1]:
        raise InputError("an answer", f"a call that has no result yet, {describe(parts)}")
    return "".join(texts) if kinds else ""


def _last_message(messages: list[Any], field: str) -> Any:
    """Return the last message, for a question the last of the user, if there is one.

    Raises `InputError` where the assistant wrote the one before it, too.
    """
    if field == "user_input":
        asked = [each for each in messages if _may_write(each, field)]
        return (asked or messages)[-1]
    last = [each for each in messages[-2:] if _may_write(each, field)]
    if len(last) > 1 and all(text_of(each, field) for each in last):
        raise InputError("one message of the assistant at the end", describe(messages[-2:]))
    return messages[-1]


class DifferentError(UnclearError):
    """Two places hold different texts."""


def agreed(found: Mapping[str, Sequence[str]], field: str) -> str:
    """Return the place with most texts, the first of several, if all places hold the same.

    White space makes no difference, and neither does one text that joins all chunks, as a
    prompt's template does.

    Args:
        found: by place its texts; one place at least.
        field: the field that stands there.

    Raises:
        DifferentError: two places hold different texts, or not as many. It names them.
    """
    texts = {place: [*map(single_spaced, each)] for place, each in found.items()}
    first = max(texts, key=lambda place: len(texts[place]))
    most = texts[first]
    for place, others in texts.items():
        is_joined = field == "retrieved_contexts" and _is_joined(others, most)
        if others == most or is_joined:
            continue
        got = f"{_shown(most)} at {first!r} and {_shown(others)} at {place!r}"
        raise DifferentError(f"one {field}", got, where=field)
    return first


def _is_joined(others: Sequence[str], texts: Sequence[str]) -> bool:
    """Tell whether ``others`` is one text that holds ``texts``, and no letters beside them."""
    if len(others) != 1 or not all(text in others[0] for text in texts):
        return False
    rest = others[0]
    for text in sorted(texts, key=len, reverse=True):
        rest = rest.replace(text, " ", 1)
    return not re.search(r"[^\W\d_]", rest)


def _shown(texts: Sequence[str]) -> str:
    return describe(texts[0] if len(texts) == 1 else texts)
