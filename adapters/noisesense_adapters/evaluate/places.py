"""Where a host's rows hold a sample's fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isnan
from typing import Any

from noisesense.errors import InputError, describe, error_context
from noisesense_adapters.evaluate.chunks import chunks_of, is_one_text
from noisesense_adapters.evaluate.evaluator import Given
from noisesense_adapters.evaluate.inputs import (
    Column,
    as_object,
    pick,
    plain,
    value_at,
    verdicts_of,
)
from noisesense_adapters.evaluate.names import beside, named_by
from noisesense_adapters.evaluate.texts import answer_of, question_of, reference_of

Usual = Mapping[str, tuple[str, ...]]
"""For each field, the paths at which the host's users have it, the most common first."""


def paths(homes: str, names: str) -> tuple[str, ...]:
    """The paths of each name in each object: ``paths("outputs inputs", "contexts documents")``."""
    return tuple(f"{home}.{name}" for home in homes.split() for name in names.split())


CONTEXTS = (
    "contexts retrieved_contexts context retrieval_context documents docs source_documents"
    " source_nodes retrieved_documents chunks passages"
)
ANSWERS = "answer response output generation result messages"
"""What objects call the retrieved texts and the answer, the commonest name first."""

_KINDS: dict[str, Any] = {
    "response": str,
    "reference": str,
    "contexts": object,  # a value that is not a list of texts is an error
    "user_input": str,
    "chunk_labels": object,  # likewise
    "verdicts": (Mapping, str),
}
_READERS: dict[str, Callable[[Any], Any]] = {
    "response": answer_of,
    "reference": reference_of,
    "user_input": question_of,
}
_ARGUMENTS = ("response", "reference", "contexts", "user_input")
_OPTIONAL = ("user_input", "chunk_labels", "verdicts")
_ONE_TEXT = "context"  # openevals' argument may be one text


class Places:
    """The places of a sample's fields in the rows of a host.

    Args:
        usual: the default paths. The first with a text counts; for contexts, the first with any
            value.
        chosen: the user's column instead: a name, a dotted path, or a function of the row. A name
            is looked up in the row, and in the objects at the start of the default paths.

    Raises:
        InputError: not a column.
        TypeError: an unknown argument.
    """

    def __init__(self, usual: Usual, **chosen: Column | None) -> None:
        self._usual = usual
        self._chosen = chosen
        for field, column in chosen.items():
            if field not in _ARGUMENTS:
                raise TypeError(f"noise sensitivity has no argument {field!r}")
            if column is not None and not isinstance(column, str) and not callable(column):
                expected = "a name, a dotted path or a function of the row"
                raise InputError(expected, describe(column), where=field)

    def read(self, row: Mapping[str, Any]) -> Given:
        """The sample of a row, and the row's verdicts, if it has any.

        Raises:
            InputError: a text is missing or malformed. It names the field and its paths.
        """
        from noisesense import Sample

        values: dict[str, Any] = {}
        places: dict[str, str] = {}
        for field in _KINDS:
            values[field], places[field] = self._find(field, row)
        place = places["contexts"]
        contexts = values["contexts"]
        if place == _ONE_TEXT and isinstance(contexts, str):
            contexts = [contexts]
        with error_context(f"contexts, {place!r}" if place else "contexts"):
            contexts = chunks_of(contexts, labels=values["chunk_labels"])
        contexts = named_by(_cell(beside(place), row), contexts)
        sample = Sample.model_validate(
            {
                "user_input": values["user_input"] or "",
                "response": values["response"],
                "reference": values["reference"],
                "retrieved_contexts": contexts,
            }
        )
        return Given(sample, verdicts_of(values["verdicts"], sample))

    def _find(self, field: str, row: Mapping[str, Any]) -> tuple[Any, str]:
        """The value of a field, and its path; None and no path if the row has none."""
        chosen = self._chosen.get(field)
        paths = self._usual.get(field, ())
        if callable(chosen):
            value = pick(row, chosen, field)
            return _read(field, value if field == "contexts" else plain(value), field), ""
        if chosen is not None:
            homes = dict.fromkeys(path.partition(".")[0] for path in paths)
            paths = (chosen, *(f"{home}.{chosen}" for home in homes))
        found = _first_of(field, paths, row, kind=_KINDS[field] if chosen is None else object)
        if found is not None:
            return found
        if chosen is None and field in _OPTIONAL:
            return None, ""
        raise InputError(
            f"the {field} at {' or '.join(map(repr, paths if chosen is None else paths[:1]))}",
            _contents(paths, row),
            where=field,
            hint=f"{field}= takes a name, a dotted path or a function of the row",
        )


def _first_of(
    field: str, paths: Iterable[str], row: Mapping[str, Any], *, kind: Any
) -> tuple[Any, str] | None:
    """The first value of that kind at one of the paths, and the path.

    A blank text comes last, and so does one text for all chunks, into which a prompt's template
    may have joined them.
    """
    last_resort: tuple[Any, str] | None = None
    for path in paths:
        value = _cell(path, row)
        if value is None:
            continue
        holds_other_paths = kind is str and bool(as_object(value))
        try:
            value = _read(field, value, f"{field}, {path!r}")
        except InputError:
            if not holds_other_paths:
                raise
            continue
        if not isinstance(value, kind):
            continue
        is_blank = isinstance(value, str) and not value.strip()
        if is_blank or (field == "contexts" and is_one_text(value)):
            last_resort = last_resort or (value, path)
        else:
            return value, path
    return last_resort


def _cell(path: str, row: Mapping[str, Any]) -> Any:
    """What stands there; None if the cell is empty. Raises a host's reason why it has none."""
    value = value_at(path, row)
    if isinstance(value, InputError):
        raise value
    is_empty = isinstance(value, float) and isnan(value)
    return None if is_empty else value


def _read(field: str, value: Any, where: str) -> Any:
    """The text that a value is or holds; of other fields the value. Raises `InputError`."""
    reader = _READERS.get(field)
    if reader is None:
        return value
    with error_context(where):
        return reader(value)


def _contents(paths: Iterable[str], row: Mapping[str, Any]) -> str:
    """What the row has instead, for an error."""
    for path in paths:
        value = value_at(path, row)
        if value is not None and not isinstance(value, dict):
            return f"{describe(value)} at {path!r}"
    names = ", ".join(map(repr, _paths(row)))
    return f"only {names}" if names else "an empty row"


def _paths(row: Mapping[str, Any]) -> list[str]:
    """The names in a row and in its objects, for an error."""
    names: list[str] = []
    for name, value in row.items():
        fields = as_object(plain(value))
        names += [f"{name}.{field}" for field in fields]
        if value is not None and not fields:
            names.append(name)
    return names
