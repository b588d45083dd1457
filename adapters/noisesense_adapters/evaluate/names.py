"""Names of documents that stand beside plain texts, in a list of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from noisesense.errors import InputError, describe, error_context
from noisesense_adapters.evaluate.chunks import is_name, unboxed
from noisesense_adapters.evaluate.inputs import as_object, parsed

IDS = "retrieved_context_ids"
"""ragas' name, and ours, of a list with the name of each context's document."""


def beside(path: str) -> str:
    """Where the documents of the contexts at a path have their names: in the same object."""
    home = path.rpartition(".")[0]
    return f"{home}.{IDS}" if home else IDS


def named_by(ids: Any, chunks: Sequence[Any], *, separator: str = "") -> list[Any]:
    """The chunks, those without an id of their own named by their entries in a list of names.

    Args:
        ids: texts or whole numbers, and None for a chunk that has no name; as an object, as JSON
            or as a literal of Python or numpy. Another text is the name of a single chunk. None
            and a blank text name nothing.
        chunks: as `chunks_of` gives them.
        separator: between names in a text that is no list; another usual one if it is not.

    Raises:
        InputError: another number of names than of chunks, or something that is no name.
    """
    with error_context(IDS):
        names = _names(ids, separator, len(chunks))
        if names and len(names) != len(chunks):
            raise InputError(f"{len(chunks)} ids, as many as contexts", str(len(names)))
    named_chunks = [*chunks]
    for number, name in enumerate(names):
        fields = as_object(chunks[number]) or {"text": chunks[number]}
        if name and not fields.get("id"):
            named_chunks[number] = {**fields, "id": name}
    return named_chunks


def _names(ids: Any, separator: str, count: int) -> list[str]:
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
    """The names that a text joins, by the first separator that makes so many of them."""
    expected = text.split(separator) if separator else [text]
    for each in (expected, *map(text.split, _SEPARATORS)):
        names = [name for name in each if name.strip()]
        if len(names) == count:
            return names
    return [name for name in expected if name.strip()]


def _name(item: Any) -> str:
    """Empty where there is none. Raises `InputError`."""
    if item is None:
        return ""
    if not is_name(item):
        raise InputError("names of documents", describe(item))
    return str(item).strip()
