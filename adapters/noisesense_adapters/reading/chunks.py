"""Read retrieved chunks, in whatever form a retriever or a framework returns them.

A chunk is a text, or an object with one text. Anything else is an error that shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from noisesense.errors import InputError, describe, error_context
from noisesense.verdicts.form import as_name
from noisesense_adapters.reading import places
from noisesense_adapters.reading.paths import named
from noisesense_adapters.reading.values import (
    as_list,
    as_object,
    is_empty,
    is_list,
    normal,
    opened,
    parsed,
    plain,
    texts_of,
)

IDS = "retrieved_context_ids"
"""The field with the name of each context's document, called as in ragas."""

_MOST_CHUNKS = 10_000
_LABEL_NAMES = ("relevant", "isrelevant")
_BOOL_NAMES = ("relevance", "issupporting", "isgold", "isselected")
"""Names of labels only where they hold true or false, and not a score."""
_LABELS = {
    **dict.fromkeys(("true", "yes", "1", "1.0"), True),
    **dict.fromkeys(("false", "no", "0", "0.0"), False),
    **dict.fromkeys(("", "null", "none", "nan", "<na>", "nat")),
}
"""The labels in a table's columns, in lower case."""

_MARKED = re.compile(r"deepeval_source=(?P<id>.*?),deepeval_context=(?P<text>.*)", re.DOTALL)
_PRINTED = re.compile(
    r"(?:id='[^']*' )?page_content=(?P<text>'.*'|\".*\")(?: metadata=\{.*\})?", re.DOTALL
)
_NO_TEXT = re.compile(r"<[\w.<>]+ object at 0x[0-9a-fA-F]+>|b'.*'|b\".*\"", re.DOTALL)
_DUMPED = frozenset(("page_content", "pageContent", "node", "kwargs"))
_BARE = frozenset(
    ("id", "score", "values", "sparse_values", "sparseValues", "namespace", "metadata")
)
"""In an object without other fields the metadata holds the text (Pinecone)."""


def words(names: str) -> dict[str, None]:
    """The names of a table, without case and punctuation."""
    return dict.fromkeys(map(normal, names.split()))


_TEXTS = words(places.CHUNK_TEXTS)
_PARTS = words(places.CHUNK_PARTS)
_LISTS = words(places.CHUNK_LISTS)


def chunks_of(value: Any, *, labels: Any = None) -> list[Any]:
    """Read the retrieved contexts of a `Sample`: texts, or dicts of a text, an id and a label.

    Args:
        value: a list, as an object, as JSON or as a literal of Python or numpy; or an object
            with one, as retrievers return it.
        labels: a list with ``true``, ``false`` or ``null`` for each chunk.

    Raises:
        InputError: not a list of chunks, or another number of labels.
    """
    items = _items(value)
    if len(items) > _MOST_CHUNKS:
        raise InputError(f"at most {_MOST_CHUNKS:,} chunks", f"{len(items):,}")
    chunks: list[Any] = []
    for number, item in enumerate(items):
        with error_context(f"chunk {number}"):
            chunks.append(_chunk(item))
    if label_of(labels) is None:  # an empty cell of a table
        return chunks
    return beside(chunks, labels, "chunk_labels")


def is_one_text(value: object) -> bool:
    """Is it a text that holds no list?"""
    starts = ("[", "{", "(", "array(")
    return isinstance(value, str) and not value.lstrip().startswith(starts)


def _items(value: Any) -> list[Any]:
    """The items of a list of chunks. Raises `InputError`."""
    if is_one_text(value):
        raise InputError("a list of chunks", f"one text, {describe(value)}")
    listed = plain(parsed(value) if isinstance(value, str) else value)
    if is_list(listed):
        return as_list(listed)
    rows = _side_by_side(as_object(listed))
    if rows:
        return rows
    lists = dict(_lists_in(as_object(listed)))
    different = {str(items) for items in lists.values()}
    if len(different) > 1:
        raise InputError("one list of chunks", f"different ones in {named(lists)}")
    for items in lists.values():
        return items
    hint = "give list(…) of a generator" if hasattr(value, "__next__") else ""
    raise InputError("a list of chunks", describe(value), hint=hint)


def _lists_in(fields: Mapping[str, Any], depth: int = 3) -> Iterator[tuple[str, list[Any]]]:
    """The lists of chunks in a retriever's answer, with their names."""
    for name, value in fields.items():
        if normal(name) not in _LISTS:
            continue
        if is_list(value):
            yield name, as_list(value)
        elif depth:
            for inner, items in _lists_in(as_object(opened(value)), depth - 1):
                yield f"{name}.{inner}", items


def _side_by_side(fields: Mapping[str, Any]) -> list[Any]:
    """The chunks of an object with a list of texts beside one of titles or ids, as in Chroma."""
    lists = [name for name, value in fields.items() if isinstance(value, list)]
    columns = {name: as_list(fields[name]) for name in lists}
    columns.pop("included", None)  # Chroma's own list of names
    if columns and all(
        len(cells) == 1 and isinstance(cells[0], list) for cells in columns.values()
    ):
        columns = {name: cells[0] for name, cells in columns.items()}  # of one query
    names = _TEXTS.keys() | _LISTS.keys() | {"sentences"}
    texts = [name for name in columns if normal(name) in names]
    if len(columns) < 2 or len(texts) != 1 or len({*map(len, columns.values())}) != 1:
        return []
    rows: list[Any] = []
    for cells in zip(*columns.values(), strict=True):
        row = dict(zip(columns, cells, strict=True))
        if normal(texts[0]) in _LISTS:
            row["text"] = row.pop(texts[0])
        rows.append(row)
    return rows


def _chunk(item: Any) -> Any:
    """A chunk's text, id and label, without the other fields of an object (e.g. a rank)."""
    if isinstance(item, str):
        return _of_text(item)
    if is_list(item):
        return _of_pair(as_list(item))
    if not isinstance(item, (dict, bytes)) and hasattr(item, "__dict__"):
        item = plain(vars(item))
    chunk = as_object(item)
    if not chunk and item != {}:
        raise InputError("a text, or an object that holds one", describe(item))
    texts = dict(_texts_in(chunk))
    found = {path: text for path, (text, _) in texts.items() if text.strip()}
    if len({" ".join(text.split()) for text in found.values()}) > 1:
        hint = "name the list of texts: contexts=, or --map retrieved_contexts=, with a path"
        raise InputError("one text in a chunk", f"different ones in {named(found)}", hint=hint)
    if not texts:
        expected = "a chunk's text as 'text', 'content', 'page_content' or another known name"
        raise InputError(expected, f"only {', '.join(list(chunk)[:30]) or 'an empty object'}")
    text, holder = texts[next(iter(found), next(iter(texts)))]
    homes = [chunk, holder]
    for name in ("metadata", "metadatas", "meta"):
        homes += [as_object(chunk.get(name)), as_object(holder.get(name))]
    return {"text": text, "id": _id(homes), "relevant": _label(homes)}


def _texts_in(
    fields: dict[str, Any], prefix: str = "", depth: int = 3
) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    """The texts in a chunk by their paths, each with the object that holds it."""
    parts: dict[str, Any] = {}
    found = False
    for path, value in fields.items():
        _, _, last = path.rpartition("document.")  # Phoenix has dots in its names
        name = normal(last)
        if name in _PARTS:
            parts[path] = value
        if name in _TEXTS and isinstance(value, str):
            found = found or bool(value.strip())
            yield f"{prefix}{path}", (value, fields)
    if not fields.keys() - _BARE:
        parts["metadata"] = fields.get("metadata")
    for path, value in parts.items():
        items = as_list(value)
        joined = texts_of([as_object(item).get("text", item) for item in items])
        if as_object(value) and depth:
            yield from _texts_in(as_object(value), f"{prefix}{path}.", depth - 1)
        elif joined:
            yield f"{prefix}{path}", (" ".join(text.strip() for text in joined), fields)
        elif isinstance(value, str) and not found and normal(path) in ("document", "doc"):
            yield f"{prefix}{path}", (value, fields)


def _of_text(text: str) -> Any:
    """The chunk in a text: that text, or an object printed or marked by a framework.

    Raises `InputError` for an object that was printed without its text.
    """
    if marked := _MARKED.fullmatch(text):
        return marked.groupdict()
    if _NO_TEXT.fullmatch(text):
        got = f"{describe(text)}, how Python prints an object"
        hint = "it was written without its text: give its text, or a dict with it"
        raise InputError("a chunk's text", got, hint=hint)
    if printed := _PRINTED.fullmatch(text):
        return parsed(printed["text"])
    if text.lstrip().startswith("{"):
        dumped = opened(text)
        if _DUMPED & as_object(dumped).keys():
            return _chunk(dumped)
    return text


def _of_pair(items: list[Any]) -> Any:
    """A chunk and its score, or HotpotQA's title and sentences. Raises `InputError`."""
    if len(items) == 2:
        first, second = items
        if isinstance(second, Real) and not isinstance(first, list):
            return _chunk(first)
        sentences = texts_of(second)
        if isinstance(first, str) and sentences:
            return {"text": " ".join(text.strip() for text in sentences), "id": first}
    raise InputError("a text, or an object that holds one", describe(items))


def _id(homes: Sequence[dict[str, Any]]) -> str | None:
    """The name of a chunk's document, or else its own."""
    for names in (places.CHUNK_NAMES, places.PIECE_NAMES):
        for home in homes:
            for name in names.split():
                value = as_name(_at(home, name))
                if _is_name(value) and str(value).strip():
                    return str(value)
    return None


def _at(home: Any, path: str) -> Any:
    """The value at a path of plain names; None if there is none."""
    fields = as_object(home)
    if path in fields or "." not in path:
        return fields.get(path)
    name, _, rest = path.partition(".")
    return _at(fields.get(name), rest)


def _is_name(value: object) -> bool:
    """Can it name a document? Texts and whole numbers can, also those of numpy."""
    return isinstance(value, (str, Integral)) and not isinstance(value, bool)


def _label(homes: Sequence[dict[str, Any]]) -> Any:
    """The first label in the objects; None if there is none."""
    for home in homes:
        for name, value in home.items():
            name = normal(name)
            if value is not None and name in _LABEL_NAMES:
                return label_of(value)
            if isinstance(value, bool) and name in _BOOL_NAMES:
                return value
    return None


def label_of(value: Any) -> Any:
    """A label such as ``"yes"`` or ``1`` as a bool or None; anything else as it is."""
    return _LABELS.get(str(value).strip().lower(), value)


def labeled_by(expected: Sequence[Any], chunks: Sequence[Any]) -> list[Any]:
    """The chunks with labels: relevant are those that equal, hold or are part of an expected one.

    White space makes no difference. A chunk keeps a label of its own.
    """
    expected_texts = {words_of(chunk) for chunk in expected} - {""}
    labeled: list[Any] = []
    for chunk in chunks:
        fields = fields_of(chunk)
        if fields.get("relevant") is None:
            text = words_of(chunk)
            is_expected = any(other in text or text in other for other in expected_texts)
            fields = {**fields, "relevant": is_expected and bool(text)}
        labeled.append(fields)
    return labeled


def fields_of(chunk: Any) -> dict[str, Any]:
    """The fields of a chunk of `chunks_of`; a text is the field ``text``."""
    return as_object(chunk) or {"text": chunk}


def words_of(chunk: Any) -> str:
    """The text of a chunk with single spaces between its words."""
    return " ".join(str(fields_of(chunk)["text"]).split())


def beside(chunks: Sequence[Any], values: Any, name: str) -> list[Any]:
    """The chunks with the labels, or the names of their documents, in a list beside them.

    Args:
        chunks: the result of `chunks_of`.
        values: one for each chunk, None where it has none; as an object, as JSON or as a literal.
            A text that is no list names a single chunk.
        name: of the list. Labels win over those of chunks, names do not.

    Raises:
        InputError: another number than of chunks, or an entry that is no name.
    """
    if is_empty(values) or (not chunks and values == []):
        return [*chunks]
    is_labels = name != IDS
    with error_context(name):
        is_listed = isinstance(values, str) and (is_labels or not is_one_text(values))
        items = plain(parsed(values) if is_listed else values)
        entries = as_list(items if is_list(items) else [items])
        if len(entries) != len(chunks) and (entries or is_labels):
            expected = f"{len(chunks)} ids, as many as contexts"
            if is_labels:
                expected = f"true, false or null for each of {len(chunks)} chunks"
            hint = "write them as a JSON list, or joined as the contexts are"
            raise InputError(expected, describe(values), hint=hint)
        read = label_of if is_labels else _name
        entries = [read(entry) for entry in entries]
    field = "relevant" if is_labels else "id"
    changed = [*chunks]
    for number, entry in enumerate(entries):
        fields = fields_of(chunks[number])
        if entry is not None and (is_labels or not fields.get("id")):
            changed[number] = {**fields, field: entry}
    return changed


def _name(item: Any) -> str | None:
    """A name without spaces around it, None for nothing. Raises `InputError`."""
    name = as_name(item)
    if is_empty(name):
        return None
    if not _is_name(name):
        raise InputError("names of documents", describe(item))
    return str(name).strip() or None
