"""Read the names of documents from a list beside the chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from noisesense.errors import InputError, describe, error_context
from noisesense.verdicts.form import as_name
from noisesense_adapters.evaluate.chunks import fields_of, is_name, unboxed
from noisesense_adapters.evaluate.inputs import is_null, parsed

IDS = "retrieved_context_ids"
"""The field with the name of each context's document, called as in ragas."""


def beside(path: str) -> str:
    """The path of the documents' names: in the object that holds the contexts at a path."""
    home = path.rpartition(".")[0]
    return f"{home}.{IDS}" if home else IDS


def named_by(ids: Any, chunks: Sequence[Any], *, separator: str = "") -> list[Any]:
    """The chunks, where each without an id of its own takes its id from a list of names.

    Args:
        ids: a text, a whole number or None for each chunk; as an object, as JSON or as a literal
            of Python or numpy. A text that is no list is the name of a single chunk, or joins
            several names. None and a blank text name nothing.
        chunks: the result of `chunks_of`.
        separator: what joins names in a text that is no list. If it gives another number of
            names than of chunks, the usual separators are tried.

    Raises:
        InputError: the number of names is not that of the chunks, or an entry is no name.
    """
    with error_context(IDS):
        names = _names(ids, separator, len(chunks))
        if names and len(names) != len(chunks):
            raise InputError(f"{len(chunks)} ids, as many as contexts", str(len(names)))
    named_chunks = [*chunks]
    for number, name in enumerate(names):
        fields = fields_of(chunks[number])
        if name and not fields.get("id"):
            named_chunks[number] = {**fields, "id": name}
    return named_chunks


def _names(ids: Any, separator: str, count: int) -> list[str]:
    """The entries of a list of names, empty for a chunk without one. Raises `InputError`."""
    if isinstance(ids, str):
        is_list = ids.lstrip().startswith(("[", "array("))
        ids = parsed(ids) if is_list else _parts(ids, separator, count)
    items = unboxed(ids)
    if items is None:
        return []
    if not isinstance(items, (list, tuple)):
        items = [items]
    return [_name(item) for item in cast("Sequence[Any]", items)]


_SEPARATORS = ("\n", ";", "|", ",")


def _parts(text: str, separator: str, count: int) -> list[str]:
    """The names that a text joins, by the first separator that gives the expected count."""
    names = _nonblank(text.split(separator) if separator else [text])
    if len(names) == count:
        return names
    for usual in _SEPARATORS:
        parts = _nonblank(text.split(usual))
        if len(parts) == count:
            return parts
    return names


def _nonblank(texts: list[str]) -> list[str]:
    return [text for text in texts if text.strip()]


def _name(item: Any) -> str:
    """A name without spaces around it, empty for nothing. Raises `InputError`."""
    name = as_name(item)
    if is_null(name):
        return ""
    if not is_name(name):
        raise InputError("names of documents", describe(item))
    return str(name).strip()
