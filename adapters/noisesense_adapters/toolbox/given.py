"""What a host's row gives: one reading of retrieved texts, their ids and their labels.

Every adapter reads chunks here, so that the same thing is the same chunk everywhere. A place that
holds no list of texts is an error that names it; only an empty list, or blank texts, mean that
nothing was retrieved.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import islice, pairwise
from typing import Any, cast

from noisesense.errors import InputError, describe, located

_TEXTS = ("page_content", "text", "content", "context")
"""Where objects keep a chunk's text; the first that is not blank is taken, never metadata."""
_IDS = ("id", "doc_id", "source", "doc_uri", "chunk_id")
_MARKED = re.compile(r"deepeval_source=(?P<id>.*?),deepeval_context=(?P<text>.*)", re.DOTALL)

_LONGEST_LITERAL, _MOST_CHUNKS, _MOST_NAMES = 1_000_000, 10_000, 30
# Python's parser takes some hundred times a text's size.


def parsed(text: str) -> Any:
    """The value that a cell's text represents: JSON, or Python's notation (pandas' CSV files).

    Raises:
        InputError: it is neither.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if len(text) > _LONGEST_LITERAL:
        expected = f"JSON, in a cell of more than {_LONGEST_LITERAL:,} characters"
        raise InputError(expected, describe(text))
    try:
        if _joins_texts(text):
            hint = "numpy prints arrays without them; write lists, or JSON"
            raise InputError("commas between the texts of a list", describe(text), hint=hint)
        return ast.literal_eval(text)
    except InputError:
        raise
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, tokenize.TokenError):
        raise InputError("JSON", describe(text)) from None


def _joins_texts(text: str) -> bool:
    """Are two texts side by side with nothing between them? Python would join them."""
    spaces = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    kinds = (token.type for token in tokens if token.type not in spaces)
    return (tokenize.STRING, tokenize.STRING) in pairwise(kinds)


def plain(value: Any) -> Any:
    """A host's objects as dicts and lists: pydantic models, dataclasses, and what they hold."""
    if hasattr(value, "model_dump"):
        return plain(value.model_dump())
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        items = cast("Mapping[object, Any]", value).items()
        return {str(name): plain(item) for name, item in items}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in cast("Sequence[Any]", value)]
    return value


def chunks_of(value: Any, separator: str = "", *, labels: Any = None) -> list[Any]:
    """Retrieved contexts as a sample takes them.

    A chunk is a text, or an object (a document of LangChain, Haystack or MLflow, a dict) with one
    in ``page_content``, ``text``, ``content`` or ``context``: the first that is not blank. Its id
    and its label ``relevant`` are its own, else those in its ``metadata``; no text is taken from
    there.

    Args:
        value: a list, or the text of one: JSON, or Python's notation.
        separator: between chunks in a text that is not a list; if empty, such a text is an error.
        labels: ``true``, ``false`` or ``null`` (as the chunk itself says) for each chunk, or the
            text of such a list.

    Raises:
        InputError: not a list of texts, or not as many labels.
    """
    if isinstance(value, str):
        if separator and not value.lstrip().startswith("["):
            value = value.split(separator)
        else:
            value = _listed(value)
    elif hasattr(value, "tolist"):  # an array of numpy's
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise InputError("a list of chunks", describe(value))
    items = cast("list[object]", value)
    if len(items) > _MOST_CHUNKS:
        raise InputError(f"at most {_MOST_CHUNKS:,} chunks", f"{len(items):,}")
    chunks: list[Any] = []
    for number, item in enumerate(items):
        with located(f"chunk {number}"):
            chunks.append(_chunk(plain(item)))
    return chunks if labels is None else _labeled(chunks, labels)


def _listed(text: str) -> Any:
    try:
        return parsed(text)
    except InputError as error:
        hint = error.hint or "if something stands between the chunks: --split-contexts SEP"
        raise InputError(error.expected, error.got, where=error.where, hint=hint) from None


def _chunk(item: Any) -> Any:
    """A chunk's text, id and label. Other fields of an object (a rank, say) are left out."""
    if isinstance(item, str):
        marked = _MARKED.fullmatch(item)
        return marked.groupdict() if marked else item
    if not isinstance(item, Mapping):
        raise InputError("a text, or an object that holds one", describe(item))
    chunk = cast("Mapping[str, Any]", item)
    texts = [chunk[name] for name in _TEXTS if chunk.get(name) is not None]
    if not texts:
        known = ", ".join(map(repr, _TEXTS))
        names = ", ".join(islice(chunk, _MOST_NAMES)) or "an empty object"
        raise InputError(f"a chunk's text as one of {known}", f"only {names}")
    said = (text for text in texts if not isinstance(text, str) or text.strip())
    metadata = chunk.get("metadata")
    homes = [chunk, cast("Mapping[str, Any]", metadata if isinstance(metadata, Mapping) else {})]
    ids = (home[name] for home in homes for name in _IDS if home.get(name) is not None)
    labels = (home["relevant"] for home in homes if home.get("relevant") is not None)
    name = next(ids, None)
    return {
        "text": next(said, texts[0]),
        "id": None if name is None else str(name),
        "relevant": next(labels, None),
    }


def _labeled(chunks: list[Any], labels: Any) -> list[Any]:
    given = parsed(labels) if isinstance(labels, str) else labels
    if not isinstance(given, (list, tuple)) or len(cast("list[Any]", given)) != len(chunks):
        expected = f"true, false or null for each of {len(chunks)} chunks"
        raise InputError(expected, describe(labels), where="chunk_labels")
    return [
        {
            **(chunk if isinstance(chunk, dict) else {"text": chunk}),
            **({} if label is None else {"relevant": label}),
        }
        for chunk, label in zip(chunks, cast("list[Any]", given), strict=True)
    ]
