"""What a host's row gives: its texts, chunks, labels and verdicts as a `Sample`.

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from noisesense.errors import InputError, describe, located

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
    in ``page_content`` (``pageContent``), ``text``, ``content`` or ``context``: the first that is
    not blank. Its id and its label ``relevant`` are its own, else those in its ``metadata``; no
    text is taken from there.

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


_NULLABLE = "correct"
"""The one required field of verdicts that may be null."""


def without_nulls(value: Any) -> Any:
    """Data in the published form, without the nulls with which a table fills absent fields."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value).items()
        return {k: without_nulls(v) for k, v in fields if v is not None or k == _NULLABLE}
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


Column = str | Callable[[Mapping[str, Any]], Any]
"""A column's name, a dotted path into a column that holds an object, or a function of the row."""


def named(names: Iterable[str]) -> str:
    """The names as an error lists them."""
    listed = list(names)
    more = f" and {len(listed) - _MOST_NAMES:,} more" if len(listed) > _MOST_NAMES else ""
    return ", ".join(map(describe, listed[:_MOST_NAMES])) + more


def pick(row: Mapping[str, Any], column: Column) -> Any:
    """The value of a column in a row.

    Raises:
        InputError: the row has no such column, or the path leads nowhere.
    """
    if callable(column):
        return _computed(row, column)
    if column in row:
        return row[column]
    value: Any = row
    walked: list[str] = []
    for part in column.split("."):
        inner = _step(value, part)
        if inner is None:
            raise InputError(f"a column {column!r}", _contents(value, ".".join(walked)))
        (value,) = inner
        walked.append(part)
    return value


def _contents(value: Any, column: str) -> str:
    """What is at the end of the path, as far as it can be followed."""
    contents = describe(value)
    if isinstance(value, Mapping):
        names = cast("Mapping[str, Any]", value)
        contents = f"only {named(names)}" if names else "nothing"
    return f"{contents} in {column!r}" if column else contents


def _computed(row: Mapping[str, Any], column: Callable[[Mapping[str, Any]], Any]) -> Any:
    try:
        return column(row)
    except Exception as error:  # whatever it is, only this row is lost
        got = f"{type(error).__name__}: {error}"
        raise InputError("a row that the given function can read", got) from error


def _step(value: Any, part: str) -> tuple[Any] | None:
    """One step of a dotted path: into an object (or the text of one), or to a list's item."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        value = parsed(value)
    if isinstance(value, Mapping):
        inner = cast("Mapping[str, Any]", value)
        return (inner[part],) if part in inner else None
    if isinstance(value, list) and part.isdecimal() and len(part) < 10:
        items = cast("list[object]", value)
        return (items[int(part)],) if int(part) < len(items) else None
    return None


Usual = Mapping[str, tuple[str, ...]]
"""Of each text, the paths at which the host's users keep it, the commonest first."""

_PLACED = ("response", "reference", "contexts", "user_input")
_DATA = ("chunk_labels", "verdicts")
_KINDS: dict[str, Any] = {"chunk_labels": (list, tuple, str), "verdicts": (Mapping, str)}
_OPTIONAL = ("user_input", *_DATA)


@dataclass(frozen=True)
class Places:
    """Where a row holds the texts of its sample.

    Attributes:
        usual: by default; the first path that leads to a text counts, of contexts the first that
            leads to anything: what is no list of texts is an error, never nothing.
        chosen: what the user named instead: a name, a dotted path, or a function of the row.
    """

    usual: Usual
    chosen: Mapping[str, Column | None]

    def __post_init__(self) -> None:
        for field, column in self.chosen.items():
            if column is not None and not isinstance(column, str) and not callable(column):
                expected = "a name, a dotted path or a function of the row"
                raise InputError(expected, describe(column), where=field)

    def read(self, row: Mapping[str, Any]) -> tuple[Sample, Verdicts | None]:
        """The sample, and the verdicts that the row brings, if any.

        Raises:
            InputError: a text is missing or malformed. It names the field and where it was
                looked for.
        """
        sample, verdicts = self.texts(row)
        if verdicts is None:
            return sample, None
        return sample, read_verdicts(without_nulls(verdicts), sample, "verdicts")

    def texts(self, row: Mapping[str, Any]) -> tuple[Sample, Any]:
        """The sample and the row's verdicts, not yet read. Raises `InputError` as `read`."""
        # A host's row may hold more than the texts, such as a whole trace.
        data = {name: plain(row[name]) for name in self._names() if name in row}
        found = {field: self._value(field, data, row) for field in (*_PLACED, *_DATA)}
        with located("contexts"):
            chunks = chunks_of(found["contexts"], labels=found["chunk_labels"])
        from noisesense import Sample

        sample = Sample.model_validate(
            {
                "user_input": found["user_input"] or "",
                "response": found["response"],
                "reference": found["reference"],
                "retrieved_contexts": chunks,
            }
        )
        return sample, found["verdicts"]

    def _names(self) -> set[str]:
        """What a path may begin with. A name may itself have dots."""
        columns = (column for column in self.chosen.values() if isinstance(column, str))
        paths = {*columns, *(path for usual in self.usual.values() for path in usual)}
        return paths | {path.partition(".")[0] for path in paths}

    def _value(self, field: str, data: Mapping[str, Any], row: Mapping[str, Any]) -> Any:
        column, usual = self.chosen.get(field), self.usual.get(field, ())
        if callable(column):
            return plain(pick(row, column))
        if column is None:
            for path in usual:
                value = _at(data, path)
                if isinstance(value, InputError):
                    raise value
                if field == "contexts" and value is not None:
                    return self._contexts(value, path)
                if isinstance(value, _KINDS.get(field, str)):
                    return value
            if field in _OPTIONAL:
                return None
            raise self._missing(field, " or ".join(map(repr, usual)), row)
        # A name stands for itself, or for a field of whatever usually holds such texts.
        homes = dict.fromkeys(path.partition(".")[0] for path in usual)
        for path in (column, *(f"{home}.{column}" for home in homes)):
            value = _at(data, path)
            if value is not None:
                return value
        raise self._missing(field, repr(column), row)

    def _contexts(self, value: Any, path: str) -> list[Any]:
        with located(repr(path)):
            return chunks_of(value)

    def _missing(self, field: str, expected: str, row: Mapping[str, Any]) -> InputError:
        names = ", ".join(map(repr, _paths(row)))
        hint = f"{field}= takes a name, a dotted path or a function of the row"
        got = f"only {names}" if names else "an empty row"
        return InputError(f"the {field} at {expected}", got, where=field, hint=hint)


def _at(data: Any, path: str) -> Any:
    try:
        return pick(data, path)
    except InputError:
        return None


def _paths(row: Mapping[str, Any]) -> list[str]:
    """The names two levels deep, for messages."""
    names: list[str] = []
    for name, value in ((name, plain(value)) for name, value in row.items()):
        if isinstance(value, Mapping):
            names += [f"{name}.{inner}" for inner in cast("Mapping[str, Any]", value)]
        elif value is not None:
            names.append(name)
    return names


def read_json(path: Path) -> Any:
    """The document in a UTF-8 file. Raises `InputError`."""
    where = str(path)
    try:
        return json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        got = error.strerror or type(error).__name__
        raise InputError("a readable file", got, where=where) from error
    except UnicodeDecodeError as error:
        got = f"the byte {error.object[error.start]:#04x} at position {error.start}"
        raise InputError("UTF-8 text", got, where=where, hint="save it as UTF-8") from None
    except json.JSONDecodeError as error:
        got = f"{error.msg} at line {error.lineno}, column {error.colno}"
        hint = "the file may be cut off; JSON lines need the ending .jsonl"
        raise InputError("a JSON document", got, where=where, hint=hint) from None
    except (RecursionError, ValueError) as error:  # absurdly deep, or a number of 5,000 digits
        raise InputError("a JSON document", str(error), where=where) from None


def as_object(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []
