"""Read single values: cells of tables, objects of frameworks, JSON and what Python prints."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense_adapters.extras import PARSING

_LONGEST_LITERAL = 1_000_000  # Python's parser takes some hundred times a text's size


def as_object(value: object) -> dict[str, Any]:
    """The value if it is a dict, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def is_list(value: object) -> bool:
    """Is it a list? Its items are `as_list`'s, whose type is known."""
    return isinstance(value, list)


def texts_of(value: object) -> list[str]:
    """The texts in a list of nothing else, or an empty list."""
    items = as_list(value)
    return items if all(isinstance(item, str) for item in items) else []


@lru_cache(maxsize=4096)
def normal(name: str) -> str:
    """A name without case and punctuation, so that ``Ground Truth`` equals ``ground_truth``."""
    return re.sub(r"[\W_]+", "", name).lower()


def is_gap(cell: object) -> bool:
    """Is it NaN, NA or NaT, as pandas writes an empty cell?"""
    if isinstance(cell, Real) and not isinstance(cell, Integral):
        return math.isnan(cell)
    return type(cell).__name__ in ("NAType", "NaTType")


def is_empty(cell: object) -> bool:
    """Is nothing in the cell: null, a gap, or a text without characters?"""
    return cell is None or is_gap(cell) or (isinstance(cell, str) and not cell)


def plain(value: Any) -> Any:
    """Models, dataclasses, arrays and columns, at any depth, as dicts and lists."""
    if isinstance(value, (str, bytes, int, float)) or value is None:
        return value.item() if hasattr(value, "item") else value  # type: ignore[union-attr]
    if isinstance(value, Mapping):
        items = cast("Mapping[object, Any]", value).items()
        return {str(name): plain(item) for name, item in items}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in cast("Sequence[Any]", value)]
    built_in = _built_in(value)
    return value if built_in is value else plain(built_in)


def _built_in(value: Any) -> Any:
    """A model, dataclass, array or column as a dict or a list; anything else as it is."""
    if hasattr(value, "model_dump"):
        # DeepEval's contexts dump themselves as one text.
        return as_object(value.model_dump()) or cast("object", vars(value))
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    for method in ("tolist", "to_list"):  # numpy and pandas; polars
        if hasattr(value, method):
            return getattr(value, method)()
    return value


def parsed(text: str) -> Any:
    """Parse a cell: JSON, or what Python prints of lists, dicts, arrays and documents.

    A document (``Document(page_content='…')``) is read as a dict of its fields.

    Raises:
        InputError: none of them.
    """
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    if len(text) > _LONGEST_LITERAL:
        expected = f"JSON, in a cell of more than {_LONGEST_LITERAL:,} characters"
        raise InputError(expected, describe(text))
    printed = _with_commas(text)
    try:
        with PARSING:  # one thread at a time
            return _value_of(ast.parse(printed.strip(), mode="eval").body)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InputError("JSON, or a list as Python prints it", describe(text)) from None


_NAMES: dict[str, object] = {"true": True, "false": False, "null": None, "nan": None, "NaN": None}


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


_TOKEN = re.compile(
    r"""'(?:\\.|[^'\\])*(?:'|\\?\Z)|"(?:\\.|[^"\\])*(?:"|\\?\Z)|\w[\w.]*|\S""", re.DOTALL
)


def _with_commas(text: str) -> str:
    """Add the commas that numpy leaves out; without one, Python would join two texts.

    Raises:
        InputError: only some items of a list have a comma between them.
    """
    pieces: list[str] = []
    gaps: set[int] = set()
    commas: set[int] = set()
    depth = 0
    ends_item = False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if ends_item and (token[0] in "'\"[({" or token[0].isalpha()):
            gaps.add(depth)
            pieces.append(",")
        depth += (token in "[({") - (token in "])}")
        if token == ",":
            commas.add(depth)
        ends_item = token[-1] in "'\"])}"
        pieces.append(token)
    if gaps & commas:
        hint = "numpy prints arrays without any; write lists, or JSON"
        raise InputError("commas between all texts of a list, or none", describe(text), hint=hint)
    return " ".join(pieces) if gaps else text


_FENCED = re.compile(r"```\w*[^\S\n]*\n(?P<inside>.*)\n[^\S\n]*```", re.DOTALL)


def opened(value: Any) -> Any:
    """The object that a text holds, alone or in a fence; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "```")):
        return value
    fields = _object_in(value.strip())
    return value if fields is None else fields


@lru_cache(maxsize=64)  # one text may hold the answer and the chunks
def _object_in(text: str) -> dict[str, Any] | None:
    """The object in a text; None if there is none, or an empty one."""
    fenced = _FENCED.fullmatch(text)
    if fenced is not None:
        text = fenced["inside"].strip()
    if text.startswith("{"):
        with suppress(InputError):
            return as_object(parsed(text)) or None
    return None


def without_nulls(value: Any) -> Any:
    """The data without the nulls with which tables fill missing fields."""
    if isinstance(value, Mapping):
        kept: dict[str, Any] = {}
        for name, item in cast("Mapping[str, Any]", value).items():
            # Only ``correct`` is a required field that may be null.
            if item is not None or name == "correct":
                kept[name] = without_nulls(item)
        return kept
    if isinstance(value, list):
        return [without_nulls(item) for item in cast("list[object]", value)]
    return value
