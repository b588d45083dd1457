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
    """Tell whether it is a list. `as_list` then returns it with a type that checkers know."""
    return isinstance(value, list)


def texts_of(value: object) -> list[str]:
    """Return a list if it holds only texts; of anything else an empty one."""
    items = as_list(value)
    return items if all(isinstance(item, str) for item in items) else []


@lru_cache(maxsize=4096)
def normal(name: str) -> str:
    """Return a name in lower case, without punctuation and spaces around and in it.

    ``Ground Truth`` and ``ground_truth`` become ``groundtruth``. Underscores at an end stay, as
    in ``_id``.
    """
    words = re.search(r"(?s)\w(?:.*\w)?", name)
    return re.sub(r"(?<=[^\W_])[\W_]+(?=[^\W_])", "", words[0]).lower() if words else ""


def single_spaced(text: str) -> str:
    """Return a text with each run of white space as one space, and none at its ends."""
    return " ".join(text.split())


PRINTED = (
    r"(?s)<[\w.<>]+ object .*at 0x[0-9a-fA-F]+>|[\[(]?[A-Z]\w+\(\s*\w+=.*\)\]?"
    r"|\w+=(?:'.*'|\[.*\]) \w+=.*"
)
"""How programs print objects."""
FILE_NAME = r"(?:\S+ ){0,3}\S*\.[a-zA-Z]\w{1,4}(?:#\S*)?"


def is_prose(value: object) -> bool:
    """Tell whether it looks like a sentence, and not like a word or the name of a file.

    That is a text with a letter and a space between words, or with any character beyond ASCII,
    since some scripts have no spaces.
    """
    text = value if isinstance(value, str) else ""
    if re.fullmatch(FILE_NAME, text):
        return False
    return not text.isascii() or (" " in text.strip() and bool(re.search("[a-zA-Z]", text)))


def words(names: str) -> dict[str, None]:
    """Return the names in a text, with spaces between, as `normal` has them: an ordered set."""
    return dict.fromkeys(map(normal, names.split()))


def is_gap(cell: object) -> bool:
    """Tell whether it is NaN, NA or NaT, as pandas writes an empty cell. None is no gap."""
    if isinstance(cell, Real) and not isinstance(cell, Integral):
        return math.isnan(cell)
    return type(cell).__name__ in ("NAType", "NaTType")


def is_null(cell: object) -> bool:
    """Tell whether it is None, or a gap (`is_gap`)."""
    return cell is None or is_gap(cell)


def is_blank(cell: object) -> bool:
    """Tell whether it is a gap (`is_gap`), or a text of nothing but white space; not None."""
    return is_gap(cell) or (isinstance(cell, str) and not cell.strip())


def is_empty(cell: object) -> bool:
    """Tell whether a cell holds None, a gap or a blank text. An empty list is no such cell."""
    return cell is None or is_blank(cell)


_A_LIST = r"\s*(?:array\()?[\[({]\s*(?:['\"\[\](){}]|\w+\(|$)"
"""How a list of texts or objects begins. A text may begin with ``[1]``."""


def is_one_text(value: object) -> bool:
    """Tell whether it is a text that does not begin as a list of texts or an object does.

    ``["a"]``, ``[]`` and ``{"a": 1}`` do; ``[1] a note`` does not.
    """
    return isinstance(value, str) and not re.match(_A_LIST, value)


def plain(value: Any) -> Any:
    """Return models, dataclasses, arrays and columns, at any depth, as dicts and lists.

    Tuples become lists, and keys texts. Anything else, such as a set, stays as it is.
    """
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
    """Parse a cell: JSON of any kind, or what Python prints of values, arrays and documents.

    An array is read as its list, a document (``Document(page_content='…')``) as a dict of its
    fields, and ``nan`` in what Python prints as None.

    Raises:
        InputError: the text is neither, as any other text or an empty one, or is too long for
            what Python prints; or only some texts of a list have commas between them.
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
    """Return a value as `plain` has it, a text as `parsed`. Raises `InputError` as `parsed`."""
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
    """Return the object that a text holds, alone or in a Markdown fence, unless it is empty.

    Anything else is returned as it is.
    """
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
    """Return the data without the fields that are None, at any depth, as tables fill missing ones.

    A field ``correct`` may be None, and so may the items of lists.
    """
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
