"""Read the values of a host's row: cells, columns, paths into objects, and verdicts.

All adapters read rows with these functions, so that they agree.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import math
import re
import tokenize
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, cast

from noisesense.errors import InputError, describe, error_context
from noisesense_adapters.extras import PARSING

if TYPE_CHECKING:
    from pathlib import Path

    from noisesense import Sample, Verdicts


_LONGEST_LITERAL = 1_000_000  # Python's parser takes some hundred times a text's size
_MOST_NAMES = 30


def parsed(text: str) -> Any:
    """Parse a cell: JSON, or what Python prints of lists, dicts, arrays and documents.

    A document (``Document(page_content='…')``) is read as a dict of its fields.

    Raises:
        InputError: none of them.
    """
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    if len(text) > _LONGEST_LITERAL:
        expected = f"JSON, in a cell of more than {_LONGEST_LITERAL:,} characters"
        raise InputError(expected, describe(text))
    try:
        printed = _with_commas(text.strip())
        with PARSING:  # one thread at a time
            return _value_of(ast.parse(printed, mode="eval").body)
    except InputError:
        raise
    except _UNREADABLE:
        raise InputError("JSON, or a list as Python prints it", describe(text)) from None


_UNREADABLE = (
    ValueError,
    SyntaxError,
    TypeError,
    MemoryError,
    RecursionError,
    tokenize.TokenError,
)
_NAMES: dict[str, object] = {"true": True, "false": False, "null": None, "nan": None, "NaN": None}
_SPACES = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)


def _value_of(node: ast.expr) -> Any:
    """The value of a literal. Raises `ValueError` for any other expression."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value_of(item) for item in node.elts]
    if isinstance(node, ast.Dict) and None not in node.keys:
        keys = cast("list[ast.expr]", node.keys)
        pairs = zip(keys, node.values, strict=True)
        return {_value_of(key): _value_of(value) for key, value in pairs}
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return _NAMES[node.id]
    if isinstance(node, ast.Call) and len(node.args) < 2:
        return _value_of_call(node)
    return ast.literal_eval(node)


def _value_of_call(node: ast.Call) -> Any:
    """The list in ``array([…], dtype=object)``; the fields in ``Document(id="a")``."""
    if node.args:
        return _value_of(node.args[0])
    return {str(field.arg): _value_of(field.value) for field in node.keywords}


def _with_commas(text: str) -> str:
    """Add the commas that numpy leaves out; without one, Python would join two texts.

    Raises:
        InputError: only some items of a list have a comma between them.
    """
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    tokens = [token for token in tokens if token.type not in _SPACES]
    gaps: list[tuple[int, int]] = []
    with_gaps: set[int] = set()
    with_commas: set[int] = set()
    depth = 0
    for token, following in pairwise(tokens):
        if token.string in _OPENING:
            depth += 1
        elif token.string in _CLOSING:
            depth -= 1
        elif token.string == ",":
            with_commas.add(depth)
        if _ends_item(token) and _begins_item(following):
            gaps.append(following.start)
            with_gaps.add(depth)
    if with_gaps & with_commas:
        hint = "numpy prints arrays without any; write lists, or JSON"
        raise InputError("commas between all texts of a list, or none", describe(text), hint=hint)
    lines = text.split("\n")
    for row, column in reversed(gaps):
        line = lines[row - 1]
        lines[row - 1] = f"{line[:column]},{line[column:]}"
    return "\n".join(lines)


_OPENING = ("[", "(", "{")
_CLOSING = ("]", ")", "}")


def _ends_item(token: tokenize.TokenInfo) -> bool:
    return token.type == tokenize.STRING or token.string in _CLOSING


def _begins_item(token: tokenize.TokenInfo) -> bool:
    return token.type in (tokenize.STRING, tokenize.NAME) or token.string == "{"


_FENCED = re.compile(r"```\w*[^\S\n]*\n(?P<inside>.*)\n[^\S\n]*```", re.DOTALL)


def opened(value: Any) -> Any:
    """The object that a text holds, alone or in a fence; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "```")):
        return value
    fields = _object_in(value.strip())
    return value if fields is None else fields


@lru_cache(maxsize=16)  # one text is read for many paths
def _object_in(text: str) -> dict[str, Any] | None:
    """The object in a text; None if there is none, or an empty one."""
    if fenced := _FENCED.fullmatch(text):
        text = fenced["inside"].strip()
    if not text.startswith("{"):
        return None
    with contextlib.suppress(InputError):
        return as_object(parsed(text)) or None
    return None


def normal(name: str) -> str:
    """A name without case and punctuation, so that ``Ground Truth`` equals ``ground_truth``."""
    return re.sub(r"[\W_]+", "", name).lower()


def is_null(cell: object) -> bool:
    """Is nothing in the cell of a table: null, or NaN, NA or NaT, as pandas writes it?"""
    if isinstance(cell, Real) and not isinstance(cell, Integral):
        return math.isnan(cell)
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")


def is_empty(cell: object) -> bool:
    """Is nothing in the cell, or a text without characters?"""
    return is_null(cell) or (isinstance(cell, str) and not cell)


def found_at(value: Any, path: str) -> Any:
    """The value at a path such as ``content[].text``; None if there is none."""
    fields = as_object(value)
    if path in fields:
        return fields[path]
    name, _, rest = path.partition(".")
    inner = fields.get(name.removesuffix("[]"))
    if not name.endswith("[]"):
        return found_at(inner, rest) if rest else inner
    items = as_list(inner)
    return [found_at(item, rest) for item in items] if rest else items


def plain(value: Any) -> Any:
    """Pydantic models and dataclasses, at any depth, as dicts and lists."""
    if hasattr(value, "model_dump"):
        dumped: object = value.model_dump()
        if isinstance(dumped, dict):
            return plain(cast("object", dumped))
        return plain(vars(value))  # DeepEval's contexts dump themselves as one text
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        items = cast("Mapping[object, Any]", value).items()
        return {str(name): plain(item) for name, item in items}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in cast("Sequence[Any]", value)]
    return value


def without_nulls(value: Any) -> Any:
    """The data without the nulls with which tables fill missing fields."""
    if isinstance(value, Mapping):
        fields: dict[str, Any] = {}
        for name, item in cast("Mapping[str, Any]", value).items():
            # Only ``correct`` is a required field that may be null.
            if item is not None or name == "correct":
                fields[name] = without_nulls(item)
        return fields
    if isinstance(value, list):
        return [without_nulls(item) for item in cast("list[object]", value)]
    return value


def read_verdicts(data: Any, sample: Sample | None, where: str) -> Verdicts:
    """Read verdicts from data or JSON, and give them the sample's chunks.

    Raises:
        InputError: the verdicts are malformed or do not fit the sample. It names ``where``.
    """
    from noisesense import Verdicts

    with error_context(where):
        if isinstance(data, str):
            verdicts = Verdicts.model_validate_json(data)
        else:
            verdicts = Verdicts.model_validate(data)
        return verdicts if sample is None else verdicts.with_sample(sample)


def verdicts_of(value: Any, sample: Sample) -> Verdicts | None:
    """The verdicts in a cell, with the sample's chunks; None if it is empty.

    Raises `InputError`.
    """
    if isinstance(value, str):
        if not value.strip():
            return None
        with error_context("verdicts"):
            value = parsed(value)
    if value is None:
        return None
    return read_verdicts(without_nulls(value), sample, "verdicts")


Column = str | Callable[[Mapping[str, Any]], Any]
"""A column's name, a dotted path into a column of objects, or a function of the row."""


def named(names: Iterable[str], most: int = _MOST_NAMES) -> str:
    """The first names as a list for an error, with how many more there are."""
    listed = list(names)
    text = ", ".join(map(describe, listed[:most]))
    more = len(listed) - most
    if more > 0:
        text += f" and {more:,} more"
    return text


def pick(row: Mapping[str, Any], column: Column, field: str) -> Any:
    """The value of a column in a row.

    Raises:
        InputError: the row has no such column or path, or the function fails. It names the field
            for which the column is read.
    """
    with error_context(field):
        if not callable(column):
            return _value_at(row, column)
        try:
            return column(row)
        except Exception as error:
            got = f"{type(error).__name__}: {error}"
            raise InputError("a row that the given function can read", got) from error


def value_at(path: str, row: Mapping[str, Any]) -> Any:
    """The value at a path; None if there is none."""
    try:
        return plain(_value_at(row, path))
    except InputError:
        return None


def _value_at(row: Mapping[str, Any], path: str) -> Any:
    """The value of the column with this name, or else at this path. Raises `InputError`."""
    return row[path] if path in row else _follow(row, path)


def _follow(row: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path through objects, lists and JSON; ``name[]`` means every item.

    Raises `InputError` if there is none.
    """
    value: Any = row
    parts = path.split(".")
    for depth, part in enumerate(parts):
        fields = _items_in(value, whole=depth > 0)
        name = _key_of(fields, part.removesuffix("[]"))
        if name is None:
            place = f" in {'.'.join(parts[:depth])!r}" if depth else ""
            raise InputError(f"a column {path!r}", _contents(fields or value) + place)
        value = fields[name]
        if part.endswith("[]"):
            items: list[Any] = []
            for number in range(len(_items_in(value, whole=True))):
                to_item = [*parts[:depth], name, str(number), *parts[depth + 1 :]]
                items.append(_follow(row, ".".join(to_item)))
            return items
    return value


def _items_in(value: Any, *, whole: bool) -> Mapping[str, Any]:
    """The fields of an object, or the items of a list by their numbers; also of those in JSON."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = parsed(value)
    value = opened(value)
    if whole:  # but not the row itself, which may hold a whole trace
        value = plain(value)
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    return {str(number): item for number, item in enumerate(as_list(value))}


def _key_of(fields: Mapping[str, Any], name: str) -> str | None:
    """The field of this name, or else the only one that differs in case or punctuation."""
    if name in fields:
        return name
    alike = [field for field in fields if normal(field) == normal(name)]
    return alike[0] if len(alike) == 1 else None


def _contents(value: object) -> str:
    """The names of an object's fields, or the value, for an error."""
    if not isinstance(value, Mapping):
        return describe(value)
    names = cast("Mapping[str, Any]", value)
    return f"only {named(names)}" if names else "nothing"


def read_json(path: Path) -> Any:
    """The document in a file, in UTF-8 or UTF-16. Raises `InputError`."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        got = error.strerror or type(error).__name__
        raise InputError("a readable file", got, where=str(path)) from error
    except (ValueError, RecursionError) as error:  # also nested too deep, or a number too long
        hint = "save it as UTF-8; it may be cut off; JSON lines need the ending .jsonl, CSV .csv"
        raise InputError("a JSON document", str(error), where=str(path), hint=hint) from None


def as_object(value: object) -> dict[str, Any]:
    """The value if it is a dict, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []
