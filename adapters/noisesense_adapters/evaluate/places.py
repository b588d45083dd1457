"""Read a sample from a host's row, at the places where the host or its user keeps the texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from noisesense.errors import InputError, describe, error_context
from noisesense_adapters.evaluate.chunks import chunks_of, is_one_text
from noisesense_adapters.evaluate.evaluator import Given
from noisesense_adapters.evaluate.inputs import (
    Column,
    as_object,
    is_null,
    pick,
    plain,
    value_at,
    verdicts_of,
)
from noisesense_adapters.evaluate.names import beside, named_by
from noisesense_adapters.evaluate.texts import answer_of, question_of, reference_of

Usual = Mapping[str, tuple[str, ...]]
"""For each field, the paths at which the host's users keep it, the most common one first."""


def paths(homes: str, names: str) -> tuple[str, ...]:
    """The path of each name in each object; ``"contexts documents"`` are two names."""
    all_paths: list[str] = []
    for home in homes.split():
        all_paths += [f"{home}.{name}" for name in names.split()]
    return tuple(all_paths)


CONTEXTS = (
    "contexts retrieved_contexts context retrieval_context documents docs source_documents"
    " source_nodes retrieved_documents chunks passages"
)
ANSWERS = "answer response output generation result messages"
"""The names of the retrieved texts, and of the answer, in objects, the most common one first."""

_KINDS: dict[str, Any] = {
    "response": str,
    "reference": str,
    "contexts": object,  # another value than a list of texts is an error
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


class _Value(NamedTuple):
    """A value in a row, and the path at which it stands; empty if a function reads it."""

    value: Any
    path: str


class Places:
    """The places of a sample's fields in the rows of a host.

    Args:
        usual: the default paths. The first one with a text counts; for contexts, the first one
            with any value.
        chosen: for each field, the user's column instead: a name, a dotted path, or a function of
            the row. A name is looked up in the row and in the objects in which the default paths
            begin.

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

        values = {field: self._find(field, row) for field in _KINDS}
        chunks = _chunks(values["contexts"], values["chunk_labels"].value, row)
        sample = Sample.model_validate(
            {
                "user_input": values["user_input"].value or "",
                "response": values["response"].value,
                "reference": values["reference"].value,
                "retrieved_contexts": chunks,
            }
        )
        return Given(sample, verdicts_of(values["verdicts"].value, sample))

    def _find(self, field: str, row: Mapping[str, Any]) -> _Value:
        """The value of a field, which is None if the row has none. Raises `InputError`."""
        chosen = self._chosen.get(field)
        if callable(chosen):
            value = pick(row, chosen, field)
            if field != "contexts":
                value = plain(value)
            return _Value(_read(field, value, field), "")
        paths = self._usual.get(field, ())
        kind = _KINDS[field]
        if chosen is not None:
            paths = _paths_of(chosen, paths)
            kind = object
        first = _first_of(field, paths, row, kind)
        if first is not None:
            return first
        if chosen is None and field in _OPTIONAL:
            return _Value(None, "")
        places = " or ".join(map(repr, paths)) if chosen is None else repr(chosen)
        raise InputError(
            f"the {field} at {places}",
            _contents(paths, row),
            where=field,
            hint=f"{field}= takes a name, a dotted path or a function of the row",
        )


def _paths_of(column: str, usual: Iterable[str]) -> tuple[str, ...]:
    """The paths of a user's column: in the row, and in the objects where the usual ones begin."""
    homes = dict.fromkeys(path.partition(".")[0] for path in usual)
    return (column, *(f"{home}.{column}" for home in homes))


def _chunks(contexts: _Value, labels: Any, row: Mapping[str, Any]) -> list[Any]:
    """The contexts with their labels and their documents' names. Raises `InputError`."""
    value, place = contexts
    if place == _ONE_TEXT and isinstance(value, str):
        value = [value]
    with error_context(f"contexts, {place!r}" if place else "contexts"):
        chunks = chunks_of(value, labels=labels)
    return named_by(_cell(beside(place), row), chunks)


def _first_of(
    field: str, paths: Iterable[str], row: Mapping[str, Any], kind: Any
) -> _Value | None:
    """The first value of that kind at one of the paths.

    A blank text comes last, and so does one text for all chunks, into which a prompt's template
    may have joined them. An object in which no text is found here may hold it at a later path.
    """
    last_resort: _Value | None = None
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
        is_last_resort = is_blank or (field == "contexts" and is_one_text(value))
        if not is_last_resort:
            return _Value(value, path)
        if last_resort is None:
            last_resort = _Value(value, path)
    return last_resort


def _cell(path: str, row: Mapping[str, Any]) -> Any:
    """The value at a path; None if it is empty.

    Raises the `InputError` by which a host says why it has no value there.
    """
    value = value_at(path, row)
    if isinstance(value, InputError):
        raise value
    return None if is_null(value) else value


def _read(field: str, value: Any, where: str) -> Any:
    """The text that a value is or holds; for fields that are no text, the value itself.

    Raises `InputError`.
    """
    reader = _READERS.get(field)
    if reader is None:
        return value
    with error_context(where):
        return reader(value)


def _contents(paths: Iterable[str], row: Mapping[str, Any]) -> str:
    """The first value at a path that is no object, or else the names in the row, for an error."""
    for path in paths:
        value = value_at(path, row)
        if value is not None and not isinstance(value, dict):
            return f"{describe(value)} at {path!r}"
    names = ", ".join(map(repr, _names_in(row)))
    return f"only {names}" if names else "an empty row"


def _names_in(row: Mapping[str, Any]) -> list[str]:
    """The names in a row and in its objects."""
    names: list[str] = []
    for name, value in row.items():
        fields = as_object(plain(value))
        names += [f"{name}.{field}" for field, inner in fields.items() if inner is not None]
        if value is not None and not fields:
            names.append(name)
    return names
