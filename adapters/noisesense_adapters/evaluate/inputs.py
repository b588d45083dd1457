"""From a host's row to a `Sample`: texts, chunks, labels and verdicts.

All adapters read chunks here, so that they agree. A value that is not a list of texts is an error
that names its place; only an empty list, or blank texts, mean that nothing was retrieved.
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
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from noisesense.errors import InputError, describe, located
from noisesense_adapters.extras import PARSING

if TYPE_CHECKING:
    from noisesense import Sample, Verdicts


_TEXTS = ("page_content", "pageContent", "text", "content", "context")
"""The fields of an object with a chunk's text, in order of preference."""
_IDS = ("id", "doc_id", "source", "doc_uri", "chunk_id")
_MARKED = re.compile(r"deepeval_source=(?P<id>.*?),deepeval_context=(?P<text>.*)", re.DOTALL)

_LONGEST_LITERAL = 1_000_000  # Python's parser takes some hundred times a text's size
_MOST_CHUNKS = 10_000
_MOST_NAMES = 30


def parsed(text: str) -> Any:
    """Parse a cell with JSON or a Python literal, as in CSV files of pandas.

    Raises:
        InputError: neither.
    """
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    if len(text) > _LONGEST_LITERAL:
        expected = f"JSON, in a cell of more than {_LONGEST_LITERAL:,} characters"
        raise InputError(expected, describe(text))
    try:
        if not _joins_texts(text):
            with PARSING:
                return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, tokenize.TokenError):
        raise InputError("JSON", describe(text)) from None
    hint = "numpy prints arrays without them; write lists, or JSON"
    raise InputError("commas between the texts of a list", describe(text), hint=hint)


def _joins_texts(text: str) -> bool:
    """Are there two texts without a comma between them? Python would join them."""
    spaces = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    kinds = (token.type for token in tokens if token.type not in spaces)
    return (tokenize.STRING, tokenize.STRING) in pairwise(kinds)


def plain(value: Any) -> Any:
    """Pydantic models and dataclasses, at any depth, as dicts and lists."""
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
    """The retrieved contexts of a `Sample`.

    A chunk is a text, or an object (a document of LangChain, Haystack or MLflow, a dict) with one
    in ``page_content`` (``pageContent``), ``text``, ``content`` or ``context``: the first that is
    not blank. Its id and its label ``relevant`` are fields of the object or of its ``metadata``;
    its text never comes from the metadata.

    Args:
        value: a list, as an object, as JSON or as a Python literal.
        labels: a list of ``true``, ``false`` or ``null`` (as in the chunk) for each chunk, as an
            object or as text.

    Raises:
        InputError: not a list of texts, or another number of labels.
    """
    if isinstance(value, str):
        value = parsed(value)
    elif hasattr(value, "tolist"):  # a numpy array
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
    """A chunk's text, id and label, without other fields of an object (e.g. a rank)."""
    if isinstance(item, str):
        marked = _MARKED.fullmatch(item)
        return marked.groupdict() if marked else item
    if not isinstance(item, dict):
        raise InputError("a text, or an object that holds one", describe(item))
    chunk = as_object(cast("object", item))
    metadata = as_object(chunk.get("metadata"))
    chunk_id = _first(_IDS, chunk, metadata)
    return {
        "text": _text_of(chunk),
        "id": None if chunk_id is None else str(chunk_id),
        "relevant": _first(("relevant",), chunk, metadata),
    }


def _text_of(chunk: dict[str, Any]) -> Any:
    texts = [chunk[name] for name in _TEXTS if chunk.get(name) is not None]
    for text in texts:
        if not isinstance(text, str) or text.strip():
            return text
    if texts:
        return texts[0]
    known = ", ".join(map(repr, _TEXTS))
    names = ", ".join(list(chunk)[:_MOST_NAMES]) or "an empty object"
    raise InputError(f"a chunk's text as one of {known}", f"only {names}")


def _first(names: Iterable[str], *objects: dict[str, Any]) -> Any:
    """The first field of these names that has a value, in the first object that has one."""
    for candidate in objects:
        for name in names:
            if candidate.get(name) is not None:
                return candidate[name]
    return None


def _labeled(chunks: list[Any], labels: Any) -> list[Any]:
    given = parsed(labels) if isinstance(labels, str) else labels
    if not isinstance(given, (list, tuple)) or len(cast("list[Any]", given)) != len(chunks):
        expected = f"true, false or null for each of {len(chunks)} chunks"
        raise InputError(expected, describe(labels), where="chunk_labels")
    labeled: list[Any] = []
    for chunk, label in zip(chunks, cast("list[Any]", given), strict=True):
        if label is not None:
            chunk = {**(as_object(chunk) or {"text": chunk}), "relevant": label}
        labeled.append(chunk)
    return labeled


def without_nulls(value: Any) -> Any:
    """The data without the nulls with which tables fill missing fields."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value).items()
        # Only ``correct`` is required and may be null.
        return {
            name: without_nulls(item)
            for name, item in fields
            if item is not None or name == "correct"
        }
    if isinstance(value, list):
        return [without_nulls(item) for item in cast("list[object]", value)]
    return value


def read_verdicts(data: Any, sample: Sample | None, where: str) -> Verdicts:
    """Read verdicts from data or JSON, with the sample's chunks.

    Raises:
        InputError: malformed, or they do not fit the sample. It names ``where``.
    """
    from noisesense import Verdicts

    with located(where):
        if isinstance(data, str):
            verdicts = Verdicts.model_validate_json(data)
        else:
            verdicts = Verdicts.model_validate(data)
        return verdicts if sample is None else verdicts.beside(sample)


def verdicts_of(value: Any, sample: Sample) -> Verdicts | None:
    """The verdicts in a row, with its sample's chunks; None if empty. Raises `InputError`."""
    if value is None or value == "":
        return None
    with located("verdicts"):
        data = parsed(value) if isinstance(value, str) else value
    return read_verdicts(without_nulls(data), sample, "verdicts")


Column = str | Callable[[Mapping[str, Any]], Any]
"""A column's name, a dotted path into a column of objects, or a function of the row."""


def named(names: Iterable[str]) -> str:
    """The names as a list in an error."""
    listed = list(names)
    text = ", ".join(map(describe, listed[:_MOST_NAMES]))
    more = len(listed) - _MOST_NAMES
    return f"{text} and {more:,} more" if more > 0 else text


def pick(row: Mapping[str, Any], column: Column, field: str) -> Any:
    """The value of a column in a row.

    Raises:
        InputError: the row has no such column or path, or the function fails. It names the field
            that the column is for.
    """
    with located(field):
        if not callable(column):
            return row[column] if column in row else _follow(row, column)
        try:
            return column(row)
        except Exception as error:
            got = f"{type(error).__name__}: {error}"
            raise InputError("a row that the given function can read", got) from error


def _follow(row: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, through objects, lists and JSON."""
    value: Any = row
    parts = path.split(".")
    for depth, part in enumerate(parts):
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            value = parsed(value)
        if depth:  # not the row itself: it may hold more than the texts, e.g. a whole trace
            value = plain(value)
        items: Mapping[str, Any] = {str(n): item for n, item in enumerate(as_list(value))}
        if isinstance(value, Mapping):
            items = cast("Mapping[str, Any]", value)
        if part not in items:
            place = f" in {'.'.join(parts[:depth])!r}" if depth else ""
            raise InputError(f"a column {path!r}", _contents(cast("object", value)) + place)
        value = items[part]
    return value


def _contents(value: object) -> str:
    if not isinstance(value, Mapping):
        return describe(value)
    names = cast("Mapping[str, Any]", value)
    return f"only {named(names)}" if names else "nothing"


Usual = Mapping[str, tuple[str, ...]]
"""For each field, the paths at which the host's users have it, the most common first."""


def paths(homes: str, names: str) -> tuple[str, ...]:
    """The paths of each name in each object: ``paths("outputs inputs", "contexts documents")``."""
    return tuple(f"{home}.{name}" for home in homes.split() for name in names.split())


_KINDS: dict[str, Any] = {
    "response": str,
    "reference": str,
    "contexts": object,  # a value that is not a list of texts is an error
    "user_input": str,
    "chunk_labels": (list, tuple, str),
    "verdicts": (Mapping, str),
}
_ARGUMENTS = ("response", "reference", "contexts", "user_input")
_OPTIONAL = ("user_input", "chunk_labels", "verdicts")


class Given(NamedTuple):
    """A row in the core's words: its texts, and the verdicts that it brings."""

    sample: Sample
    verdicts: Verdicts | None = None


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
        with located(f"contexts, {place}" if place else "contexts"):
            contexts = chunks_of(values["contexts"], labels=values["chunk_labels"])
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
        if callable(chosen):
            return plain(pick(row, chosen, field)), ""
        paths = self._usual.get(field, ())
        if chosen is None:
            found = _first_of(_KINDS[field], paths, row)
        else:
            homes = dict.fromkeys(path.partition(".")[0] for path in paths)
            paths = (chosen,)
            found = _first_of(object, (chosen, *(f"{home}.{chosen}" for home in homes)), row)
        if found is not None:
            return found
        if chosen is None and field in _OPTIONAL:
            return None, ""
        names = ", ".join(map(repr, _paths(row)))
        raise InputError(
            f"the {field} at {' or '.join(map(repr, paths))}",
            f"only {names}" if names else "an empty row",
            where=field,
            hint=f"{field}= takes a name, a dotted path or a function of the row",
        )


def _first_of(kind: Any, paths: Iterable[str], row: Mapping[str, Any]) -> tuple[Any, str] | None:
    """The first value of that kind at one of the paths, and the path."""
    for path in paths:
        value = _value_at(path, row)
        if isinstance(value, InputError):  # a host's reason why it has none
            raise value
        if value is not None and isinstance(value, kind):
            return value, repr(path)
    return None


def _value_at(path: str, row: Mapping[str, Any]) -> Any:
    """The value at a path; None if there is none."""
    try:
        return plain(row[path] if path in row else _follow(row, path))
    except InputError:
        return None


def _paths(row: Mapping[str, Any]) -> list[str]:
    """The names in a row and in its objects, for an error."""
    names: list[str] = []
    for name, value in row.items():
        fields = as_object(plain(value))
        names += [f"{name}.{field}" for field in fields]
        if value is not None and not fields:
            names.append(name)
    return names


def read_json(path: Path) -> Any:
    """The document in a UTF-8 file. Raises `InputError`."""
    try:
        return json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        got = error.strerror or type(error).__name__
        raise InputError("a readable file", got, where=str(path)) from error
    except (ValueError, RecursionError) as error:  # also nested too deep, or a number too long
        hint = "save it as UTF-8; it may be cut off; JSON lines need the ending .jsonl"
        raise InputError("a JSON document", str(error), where=str(path), hint=hint) from None


def as_object(value: object) -> dict[str, Any]:
    """The value if it is a dict, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []
