"""What a host's row gives: its texts, chunks, labels and verdicts as a `Sample`.

Every adapter reads chunks here, so that the same thing is the same chunk everywhere. A place that
holds no list of texts is an error that names it; only an empty list, or blank texts, mean that
nothing was retrieved.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import tokenize
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from noisesense.errors import InputError, describe, located
from noisesense_adapters.toolbox.extras import PARSING

if TYPE_CHECKING:
    from noisesense import Sample, Verdicts


_TEXTS = ("page_content", "pageContent", "text", "content", "context")
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
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    if len(text) > _LONGEST_LITERAL:
        expected = f"JSON, in a cell of more than {_LONGEST_LITERAL:,} characters"
        raise InputError(expected, describe(text))
    try:
        joins = _joins_texts(text)
        with PARSING:
            value = None if joins else ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, tokenize.TokenError):
        raise InputError("JSON", describe(text)) from None
    if joins:
        hint = "numpy prints arrays without them; write lists, or JSON"
        raise InputError("commas between the texts of a list", describe(text), hint=hint)
    return value


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


def chunks_of(value: Any, *, labels: Any = None) -> list[Any]:
    """Retrieved contexts as a sample takes them.

    A chunk is a text, or an object (a document of LangChain, Haystack or MLflow, a dict) with one
    in ``page_content`` (``pageContent``), ``text``, ``content`` or ``context``: the first that is
    not blank. Its id and its label ``relevant`` are its own, else those in its ``metadata``; no
    text is taken from there.

    Args:
        value: a list, or the text of one: JSON, or Python's notation.
        labels: ``true``, ``false`` or ``null`` (as the chunk itself says) for each chunk, or the
            text of such a list.

    Raises:
        InputError: not a list of texts, or not as many labels.
    """
    if isinstance(value, str):
        value = parsed(value)
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


def _chunk(item: Any) -> Any:
    """A chunk's text, id and label. Other fields of an object (a rank, say) are left out."""
    if isinstance(item, str):
        marked = _MARKED.fullmatch(item)
        return marked.groupdict() if marked else item
    if not isinstance(item, dict):
        raise InputError("a text, or an object that holds one", describe(item))
    chunk = as_object(cast("object", item))
    texts = [chunk[name] for name in _TEXTS if chunk.get(name) is not None]
    if not texts:
        known = ", ".join(map(repr, _TEXTS))
        names = ", ".join(list(chunk)[:_MOST_NAMES]) or "an empty object"
        raise InputError(f"a chunk's text as one of {known}", f"only {names}")
    said = [text for text in texts if not isinstance(text, str) or text.strip()]
    homes = [chunk, as_object(chunk.get("metadata"))]
    ids = [home[name] for home in homes for name in _IDS if home.get(name) is not None]
    labels = [home["relevant"] for home in homes if home.get("relevant") is not None]
    return {
        "text": (said or texts)[0],
        "id": str(ids[0]) if ids else None,
        "relevant": labels[0] if labels else None,
    }


def _labeled(chunks: list[Any], labels: Any) -> list[Any]:
    given = parsed(labels) if isinstance(labels, str) else labels
    if not isinstance(given, (list, tuple)) or len(cast("list[Any]", given)) != len(chunks):
        expected = f"true, false or null for each of {len(chunks)} chunks"
        raise InputError(expected, describe(labels), where="chunk_labels")
    objects = (as_object(chunk) or {"text": chunk} for chunk in chunks)
    return [
        chunk if label is None else {**chunk, "relevant": label}
        for chunk, label in zip(objects, cast("list[Any]", given), strict=True)
    ]


def without_nulls(value: Any) -> Any:
    """Data in the published form, without the nulls with which a table fills absent fields."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value).items()
        # The one required field of verdicts that may be null.
        return {k: without_nulls(v) for k, v in fields if v is not None or k == "correct"}
    if isinstance(value, list):
        return [without_nulls(item) for item in cast("list[object]", value)]
    return value


def read_verdicts(data: Any, sample: Sample | None, where: str) -> Verdicts:
    """Verdicts in the published form, beside the sample; a text is read as JSON.

    Raises:
        InputError: they are malformed, or do not fit the sample. It names ``where``.
    """
    from noisesense import Verdicts

    with located(where):
        read = Verdicts.model_validate_json if isinstance(data, str) else Verdicts.model_validate
        verdicts = read(data)
        return verdicts if sample is None else verdicts.beside(sample)


def verdicts_of(value: Any, sample: Sample) -> Verdicts | None:
    """What a row holds as verdicts beside its sample, or None. Raises `InputError`."""
    if value is None or value == "":
        return None
    with located("verdicts"):
        data = parsed(value) if isinstance(value, str) else value
    return read_verdicts(without_nulls(data), sample, "verdicts")


Column = str | Callable[[Mapping[str, Any]], Any]
"""A column's name, a dotted path into a column that holds an object, or a function of the row."""


def named(names: Iterable[str]) -> str:
    """The names as an error lists them."""
    listed = list(names)
    more = f" and {len(listed) - _MOST_NAMES:,} more" if len(listed) > _MOST_NAMES else ""
    return ", ".join(map(describe, listed[:_MOST_NAMES])) + more


def pick(row: Mapping[str, Any], column: Column, field: str) -> Any:
    """The value of a column in a row.

    Raises:
        InputError: the row has no such column, the path leads nowhere, or the function fails. It
            names the field that the column is for.
    """
    with located(field):
        return _picked(row, column)


def _picked(row: Mapping[str, Any], column: Column) -> Any:
    if callable(column):
        try:
            return column(row)
        except Exception as error:  # whatever it is, only this row is lost
            got = f"{type(error).__name__}: {error}"
            raise InputError("a row that the given function can read", got) from error
    if column in row:
        return row[column]
    value: Any = row
    parts = column.split(".")
    for depth, part in enumerate(parts):
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            value = parsed(value)
        if depth:  # a row may hold more than the texts, such as a whole trace
            value = plain(value)
        items: Mapping[str, Any] = {str(n): item for n, item in enumerate(as_list(value))}
        if isinstance(value, Mapping):
            items = cast("Mapping[str, Any]", value)
        if part not in items:
            names = f"only {named(items)}" if items else "nothing"
            got = names if isinstance(value, Mapping) else describe(cast("object", value))
            home = f" in {'.'.join(parts[:depth])!r}" if depth else ""
            raise InputError(f"a column {column!r}", got + home)
        value = items[part]
    return value


Usual = Mapping[str, tuple[str, ...]]
"""Of each text, the paths at which the host's users keep it, the commonest first."""


def paths(homes: str, names: str) -> tuple[str, ...]:
    """Each name in each home: ``paths("outputs inputs", "contexts documents")``."""
    return tuple(f"{home}.{name}" for home in homes.split() for name in names.split())


_KINDS: dict[str, Any] = {
    "response": str,
    "reference": str,
    "contexts": object,  # what is no list of texts is an error, never nothing
    "user_input": str,
    "chunk_labels": (list, tuple, str),
    "verdicts": (Mapping, str),
}
_PLACED, _OPTIONAL = tuple(_KINDS)[:4], tuple(_KINDS)[3:]


class Places:
    """Where a row holds the texts of its sample.

    Args:
        usual: by default: the first path that leads to a text counts, of contexts the first that
            leads to anything.
        chosen: what the user named instead: a name, a dotted path, or a function of the row. A
            name stands for itself, or for a field of whatever usually holds such texts.

    Raises:
        InputError: something else.
        TypeError: an unknown argument.
    """

    def __init__(self, usual: Usual, **chosen: Column | None) -> None:
        self._usual, self._chosen = usual, chosen
        for field, column in chosen.items():
            if field not in _PLACED:
                raise TypeError(f"noise sensitivity has no argument {field!r}")
            if column is not None and not isinstance(column, str) and not callable(column):
                expected = "a name, a dotted path or a function of the row"
                raise InputError(expected, describe(column), where=field)

    def read(self, row: Mapping[str, Any]) -> tuple[Sample, Verdicts | None]:
        """The sample, and the verdicts that the row brings, if any.

        Raises:
            InputError: a text is missing or malformed. It names the field and where it was
                looked for.
        """
        from noisesense import Sample

        values = {field: self._value(field, row) for field in _KINDS}
        chunks, path = values["contexts"]
        with located("contexts"), located(path) if path else contextlib.nullcontext():
            chunks = chunks_of(chunks, labels=values["chunk_labels"][0])
        data = {name: values[name][0] for name in ("response", "reference")}
        data |= {"user_input": values["user_input"][0] or "", "retrieved_contexts": chunks}
        sample = Sample.model_validate(data)
        return sample, verdicts_of(values["verdicts"][0], sample)

    def _value(self, field: str, row: Mapping[str, Any]) -> tuple[Any, str]:
        """What a field holds, and at which path; None if there is nothing."""
        chosen, paths, kind = self._chosen.get(field), self._usual.get(field, ()), _KINDS[field]
        if callable(chosen):
            return plain(pick(row, chosen, field)), ""
        if chosen is not None:
            homes = dict.fromkeys(path.partition(".")[0] for path in paths)
            paths, kind = (chosen, *(f"{home}.{chosen}" for home in homes)), object
        for path in paths:
            try:
                value = plain(pick(row, path, field))
            except InputError:
                continue
            if isinstance(value, InputError):
                raise value
            if value is not None and isinstance(value, kind):
                return value, repr(path)
        if chosen is None and field in _OPTIONAL:
            return None, ""
        expected = repr(chosen) if chosen else " or ".join(map(repr, paths))
        names = ", ".join(map(repr, _paths(row)))
        hint = f"{field}= takes a name, a dotted path or a function of the row"
        got = f"only {names}" if names else "an empty row"
        raise InputError(f"the {field} at {expected}", got, where=field, hint=hint)


def _paths(row: Mapping[str, Any]) -> list[str]:
    """The names two levels deep, for messages."""
    names: list[str] = []
    for name, value in row.items():
        inner = as_object(plain(value))
        names += [f"{name}.{each}" for each in inner]
        if value is not None and not inner:
            names.append(name)
    return names


def read_json(path: Path) -> Any:
    """The document in a UTF-8 file. Raises `InputError`."""
    try:
        return json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        got = error.strerror or type(error).__name__
        raise InputError("a readable file", got, where=str(path)) from error
    except (ValueError, RecursionError) as error:  # absurdly deep, or a number of 5,000 digits
        hint = "save it as UTF-8; it may be cut off; JSON lines need the ending .jsonl"
        raise InputError("a JSON document", str(error), where=str(path), hint=hint) from None


def as_object(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []
