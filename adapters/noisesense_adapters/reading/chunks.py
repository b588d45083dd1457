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
from noisesense_adapters.reading.names import speaks
from noisesense_adapters.reading.paths import named
from noisesense_adapters.reading.texts import without_talk
from noisesense_adapters.reading.values import (
    FILE_NAME,
    PRINTED,
    as_list,
    as_object,
    is_empty,
    is_list,
    is_one_text,
    is_prose,
    normal,
    opened,
    plain,
    single_spaced,
    texts_of,
    unpacked,
    words,
)

IDS = "retrieved_context_ids"
"""The field with the name of each context's document, called as in ragas."""
LABELS = "chunk_labels"
"""The field with ``true``, ``false`` or ``null`` for each chunk."""

_LABEL_NAMES = ("relevant", "isrelevant")
_BOOL_NAMES = ("relevance", "issupporting", "isgold", "isselected")
"""Names of labels only where they hold true or false, and not a score."""
_LABELS = {
    **dict.fromkeys(("true", "yes", "1", "1.0"), True),
    **dict.fromkeys(("false", "no", "0", "0.0"), False),
    **dict.fromkeys(("", "null", "none", "nan", "na", "<na>", "nat")),
}
"""The labels in a table's columns, in lower case."""

_MARKED = r"(?s)deepeval_source=(?P<id>.*?),deepeval_context=(?P<text>.*)"
_PRINTED = (
    rf"{PRINTED}|b'.*'|b\".*\"|(?:id='[^']*' )?page_content=.*"
    r"|\s*\{.*[\"'](?:page_content|pageContent|node|kwargs)[\"']\s*:.*"
)
"""How programs print objects and bytes."""
_NAME = r"(?a)[\w.-]{0,80}[\d/][\w./-]{0,80}"
"""What names a text, or its type, and is none beside a sentence."""
_BARE = {
    *("id", "score", "distance", "rerank_score", "values", "vector", "sparse_values"),
    *("sparseValues", "namespace", "metadata"),
}
"""In an object without other fields the metadata holds the text (Pinecone)."""
_TEXTS = words(places.CHUNK_TEXTS)
_PARTS = words(places.CHUNK_PARTS)
_LISTS = words(places.CHUNK_LISTS)
_NAMES = words(places.CHUNK_NAMES)


def chunks_of(value: Any) -> list[Any]:
    """Read the retrieved contexts of a `Sample`: texts, or dicts of a text, an id and a label.

    A text stays one. In a dict, ``id`` and ``relevant`` are None where an object has none.

    Args:
        value: a list, as an object, as JSON or as a literal of Python or numpy; or an object
            with one, as retrievers return it.

    Raises:
        InputError: no list (None, a bare text), or several different ones; a chunk without a text
            or with different ones; nothing but names of files; a retriever that failed.
    """
    items = _items(value)
    chunks: list[Any] = []
    for number, item in enumerate(items):
        with error_context(f"chunk {number}"):
            chunks.append(_chunk(item))
    texts = [*map(text_in, chunks)]
    if texts and all(re.fullmatch(rf"{FILE_NAME}|\w+://\S+", text) for text in texts):
        raise InputError("chunks' texts", f"names of files, {describe(texts)}")
    return chunks


def _items(value: Any) -> list[Any]:
    """Return the items of a list of chunks. Raises `InputError`."""
    listed: object = unpacked(value)
    if is_list(listed):
        return as_list(listed)
    fields = as_object(listed)
    titles = as_list(fields.get("title"))
    texts = as_list(fields.get("sentences"))
    if is_list(fields.get("sentences")) and len(titles) == len(texts):  # HotpotQA in columns
        return [list(pair) for pair in zip(titles, texts, strict=True)]
    lists = dict(_lists_in(fields))
    if len({*map(str, lists.values())}) > 1:
        raise InputError("one list of chunks", f"different ones in {named(lists)}")
    if lists and not any(lists.values()) and fields.get("error"):
        raise InputError("a retriever that succeeded", describe(value))
    for items in lists.values():
        return items
    hint = "name the list in it: contexts=, or --map retrieved_contexts=, with a path"
    raise InputError("a list of chunks", describe(value), hint=hint)


def _lists_in(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Yield the lists of chunks in a retriever's answer, with their names."""
    for name, value in fields.items():
        yield from _lists_in(as_object(opened(value)), f"{prefix}{name}.")
        items = as_list(value)
        if len(items) == 1 and is_list(items[0]):  # Chroma has a list for each query
            items = as_list(items[0])
        if is_list(value) and (normal(name) in _LISTS or speaks(name, "retrieved_contexts")):
            yield f"{prefix}{name}", items


def _chunk(item: Any) -> Any:
    """Return a chunk's text, id and label, without the other fields of an object (e.g. a rank)."""
    if isinstance(item, str):
        return _of_text(item)
    if is_list(item):
        return _of_pair(as_list(item))
    chunk = as_object(item) or as_object(plain(getattr(item, "__dict__", None)))
    if without_talk(chunk) != chunk:
        raise InputError("a chunk's text", f"a message, {describe(item)}")
    fields = _fields(chunk)
    metadata: dict[str, Any] = {}
    for name in ("metadata", "metadatas", "meta"):
        metadata |= _fields(as_object(fields.get(name)))
    # The metadata is no part of the text, but where there is nothing else.
    text = _text_in(chunk if chunk.keys() - _BARE else metadata)
    if text is None:
        expected = "a chunk's text as 'text', 'content', 'page_content' or another known name"
        raise InputError(expected, f"only {named(chunk)}" if chunk else describe(item))
    fields = metadata | fields
    return {"text": text, "id": _id(fields, text), "relevant": _label(fields)}


def _fields(chunk: dict[str, Any]) -> dict[str, Any]:
    """Return a chunk's fields, and those of the objects in it, by their plain names."""
    fields: dict[str, Any] = {}
    for name, value in chunk.items():
        plain_name = normal(name.removeprefix("document."))
        if plain_name in _PARTS:
            fields = _fields(as_object(value)) | fields
        fields[plain_name] = value
    return fields


def _text_in(chunk: dict[str, Any]) -> str | None:
    """Return the text of a chunk; a blank one only where all are blank; None if it has none.

    Raises `InputError` for different ones.
    """
    texts = _candidates(chunk)
    different = {single_spaced(text): text for text in texts if text.strip()}
    if len(different) > 1:
        hint = "name its place: contexts=, or --map retrieved_contexts=, as docs[].text"
        raise InputError("one text", " and ".join(map(describe, different)), hint=hint)
    return next(iter(different.values()), texts[0] if texts else None)


def _candidates(chunk: dict[str, Any]) -> list[str]:
    """Return what may be the text of a chunk."""
    texts = [*_texts_in(chunk)]
    if texts:
        sentences = [text for text in texts if not re.fullmatch(_NAME, text)]
        return sentences or texts
    fields = _fields(chunk)
    document = fields.get("document", fields.get("doc"))
    if not isinstance(document, str):
        return []
    # It may be the name of the document, with the text under an unknown name.
    others = [value for name, value in fields.items() if name not in _NAMES]
    return [document, *filter(is_prose, others)]


def _texts_in(chunk: dict[str, Any]) -> Iterator[str]:
    """Yield the texts in a chunk and in its objects, or those that their parts make together."""
    for name, value in chunk.items():
        plain_name = normal(name.removeprefix("document."))
        if plain_name in _PARTS:
            yield from _texts_in(as_object(value))
        if plain_name not in _TEXTS:
            continue
        parts = [as_object(part).get("text", part) for part in as_list(value)]
        if isinstance(value, str):
            yield value
        elif texts_of(parts):
            yield " ".join(map(str.strip, parts))


def _id(fields: dict[str, Any], text: str) -> str | None:
    """Return the name of a chunk's document, or else its own, but not its text; None without."""
    for name in _NAMES:
        value = as_name(fields.get(name))
        if isinstance(value, (str, Integral)) and str(value).strip() not in ("", text):
            return str(value)
    return None


def _label(fields: dict[str, Any]) -> Any:
    """Return the first label in the fields; None if there is none."""
    for name in _LABEL_NAMES:
        if fields.get(name) is not None:
            return label_of(fields[name])
    for name in _BOOL_NAMES:
        if isinstance(fields.get(name), bool):
            return fields[name]
    return None


def _of_text(text: str) -> Any:
    """Return the text, or DeepEval's ``deepeval_source=…,deepeval_context=…`` as a dict.

    Raises `InputError` for an object that was printed.
    """
    if marked := re.fullmatch(_MARKED, text):
        return marked.groupdict()
    if re.fullmatch(_PRINTED, text):
        got = f"{describe(text)}, how Python prints an object"
        hint = "give its text (a document's page_content), or a dict with it"
        raise InputError("a chunk's text", got, hint=hint)
    return text


def _of_pair(items: list[Any]) -> Any:
    """Return the chunk in a pair with its score, which is dropped, or in HotpotQA's pair.

    That is a title and sentences. Raises `InputError` for any other list.
    """
    first, second = items if len(items) == 2 else (None, None)
    if isinstance(second, Real) and not is_list(first):
        return _chunk(first)
    sentences = texts_of(second)
    is_title = isinstance(first, str) and not re.search(r"[.?!]\s*$", first)
    if sentences and is_title:
        return {"text": " ".join(map(str.strip, sentences)), "id": first}
    raise InputError("a text, or an object that holds one", describe(items))


def label_of(value: Any) -> Any:
    """Return a label such as ``"yes"`` or ``1`` as a bool; anything else as it is.

    What tables write where there is none (``""``, ``"NA"``, NaN …) becomes None.
    """
    return _LABELS.get(str(value).strip().lower(), value)


def fields_of(chunk: Any) -> dict[str, Any]:
    """Return the fields of a chunk of `chunks_of`; a text is the field ``text``."""
    return as_object(chunk) or {"text": chunk}


def text_in(chunk: Any) -> str:
    """Return the text of a chunk of `chunks_of`."""
    return str(fields_of(chunk).get("text", chunk))


def with_fields(chunks: Sequence[Any], labels: Any, ids: Any) -> list[Any]:
    """Return the chunks with the labels and the documents' names that stand in lists beside them.

    Those replace a chunk's own; where a list has an empty entry, its own stay. A chunk that is a
    text becomes a dict if it gets one.

    Args:
        chunks: the result of `chunks_of`.
        labels: one for each chunk; a list, also as JSON or as a literal, or the label of an only
            chunk. None or an empty cell if there are none.
        ids: likewise, texts or numbers.

    Raises:
        InputError: a list is not as long as the chunks, or cannot be parsed.
    """
    changed = [*chunks]
    for name, field, values in ((LABELS, "relevant", labels), (IDS, "id", ids)):
        if label_of(values) is None:  # an empty cell
            continue
        with error_context(name):
            listed: object = values
            try:
                listed = unpacked(values)
            except InputError:
                if not is_one_text(values):
                    raise
            entries = as_list(listed) if is_list(listed) else [listed]
            if len(entries) != len(chunks):
                expected = f"a list with one for each of {len(chunks)} chunks"
                hint = "each has a name; a cell holds a JSON list, or --split-contexts SEP between"
                raise InputError(expected, describe(values), hint=hint)
        for number, entry in enumerate(entries):
            name = entry.strip() if isinstance(entry, str) else entry
            read = label_of(entry) if field == "relevant" else as_name(name)
            if not is_empty(read):
                changed[number] = {**fields_of(changed[number]), field: read}
    return changed
