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
    """Return the value if it is a dict, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def is_list(value: object) -> bool:
    """Tell whether it is a list. Its items are `as_list`'s, whose type is known."""
    return isinstance(value, list)


def texts_of(value: object) -> list[str]:
    """Return the texts in a list of nothing else, or an empty list."""
    items = as_list(value)
    return items if all(isinstance(item, str) for item in items) else []


@lru_cache(maxsize=4096)
def normal(name: str) -> str:
    """A name without case and punctuation, so that ``Ground Truth`` equals ``ground_truth``."""
    words = re.search(r"(?s)\w(?:.*\w)?", name)
    return re.sub(r"(?<=[^\W_])[\W_]+(?=[^\W_])", "", words[0]).lower() if words else ""


def single_spaced(text: str) -> str:
    """Return a text with single spaces."""
    return " ".join(text.split())


PRINTED = (
    r"(?s)<[\w.<>]+ object .*at 0x[0-9a-fA-F]+>|[\[(]?[A-Z]\w+\(\s*\w+=.*\)\]?"
    r"|\w+=(?:'.*'|\[.*\]) \w+=.*"
)
"""How programs print objects."""
FILE_NAME = r"(?:\S+ ){0,3}\S*\.[a-zA-Z]\w{1,4}(?:#\S*)?"


def is_prose(value: object) -> bool:
    """Tell whether it is a text of words with a space, or in a script that may have none."""
    text = value if isinstance(value, str) else ""
    if re.fullmatch(FILE_NAME, text):
        return False
    return not text.isascii() or (" " in text.strip() and bool(re.search("[a-zA-Z]", text)))


def words(names: str) -> dict[str, None]:
    """Return the names of a table, without case and punctuation."""
    return dict.fromkeys(map(normal, names.split()))


def is_gap(cell: object) -> bool:
    """Tell whether it is NaN, NA or NaT, as pandas writes an empty cell."""
    if isinstance(cell, Real) and not isinstance(cell, Integral):
        return math.isnan(cell)
    return type(cell).__name__ in ("NAType", "NaTType")


def is_null(cell: object) -> bool:
    """Tell whether it is null, or a gap."""
    return cell is None or is_gap(cell)


def is_blank(cell: object) -> bool:
    """Tell whether it is a gap, or a text without words."""
    return is_gap(cell) or (isinstance(cell, str) and not cell.strip())


def is_empty(cell: object) -> bool:
    """Tell whether nothing is in the cell: null, a gap, or a blank text."""
    return cell is None or is_blank(cell)


_A_LIST = r"\s*(?:array\()?[\[({]\s*(?:['\"\[\](){}]|\w+\(|$)"
"""How a list of texts or objects begins. A text may begin with ``[1]``."""


def is_one_text(value: object) -> bool:
    """Tell whether it is a text that holds no list."""
    return isinstance(value, str) and not re.match(_A_LIST, value)


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
    """Return a model, dataclass, array or column as a dict or a list; anything else as it is."""
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
    printed = _with_commas(text).strip()
    try:
        with PARSING:  # one thread at a time
            tree = ast.parse(printed, mode="eval")
            return ast.literal_eval(_Literals().visit(tree))
    except (ValueError, SyntaxError, TypeError, LookupError, MemoryError, RecursionError):
        raise InputError("JSON, or a list as Python prints it", describe(text)) from None


def unpacked(value: Any) -> Any:
    """Return a value as dicts and lists, also out of a cell's text. Raises `InputError`."""
    return plain(parsed(value) if isinstance(value, str) else value)


class _Literals(ast.NodeTransformer):
    """Turns ``array([…], dtype=object)`` into its list, ``Document(id="a")`` into a dict."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if node.args:
            (only,) = node.args  # a second one would be lost
            if node.keywords and not isinstance(only, ast.List):
                raise ValueError("fields beside a value")
            return cast("ast.expr", self.visit(only))
        names: list[ast.expr | None] = [ast.Constant(field.arg) for field in node.keywords]
        return ast.Dict(names, [self.visit(field.value) for field in node.keywords])

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(None) if node.id == "nan" else node


_TEXT = r"""'(?:\\.|[^'\\])*(?:'|\\?\Z)|"(?:\\.|[^"\\])*(?:"|\\?\Z)"""
_ITEM = rf"(?s)({_TEXT}|[\]}})])(\s+(?=['\"\[{{(A-Za-z]))?"


def _with_commas(text: str) -> str:
    """Add the commas that numpy leaves out; without one, Python would join two texts.

    Raises:
        InputError: only some items of a list of texts have a comma between them.
    """
    with_commas = re.sub(_ITEM, lambda match: f"{match[1]}," if match[2] else match[0], text)
    between = re.sub(_ITEM, "", text)
    if with_commas != text and "," in between and not {*"{("} & {*between}:
        raise InputError("commas between all texts of a list, as JSON, or none", describe(text))
    return with_commas


_OBJECT = r"(?s)\s*(?:```(?:json|JSON)?[^\S\n]*\n\s*)?(\{.*\})\s*(?:```\s*)?"
"""An object that a text holds, alone or in a fence."""


def opened(value: Any) -> Any:
    """Return the object that a text holds, alone or in a fence; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "```")):
        return value
    return _object_in(value) or value


@lru_cache(maxsize=64)  # one text may hold the answer and the chunks
def _object_in(text: str) -> dict[str, Any]:
    """Return the object in a text, or an empty one."""
    found = re.fullmatch(_OBJECT, text)
    with suppress(InputError):
        return as_object(parsed(found[1])) if found else {}
    return {}


def without_nulls(value: Any) -> Any:
    """Return the data without the nulls with which tables fill missing fields."""
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
