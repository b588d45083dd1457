"""The rows in a JSON document: a list in it, or columns, as frameworks and pandas write them."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense_adapters.datasets.rows import is_reference
from noisesense_adapters.evaluate.chunks import texts_of
from noisesense_adapters.evaluate.inputs import as_list, as_object, named

_LISTS = (
    "results",
    "testRunData",
    "testCases",
    "test_cases",
    "goldens",
    "data",
    "samples",
    "cases",
    "examples",
    "per_question",
    "rows",
    "records",
    "items",
    "questions",
    "predictions",
    "scores",
)
"""The fields that hold a document's rows, the likeliest first.

Promptfoo, RAGChecker, DeepEval and pydantic-evals use some of them; the others are common.
"""


def rows_in(data: Any, path: Path) -> list[Any]:
    """The rows of a document. Raises `InputError`."""
    document = as_object(data)
    while document:
        if {"columns", "data"} <= document.keys() and not _are_objects(document["data"]):
            return _rows_of_split(document["columns"], document["data"], path)
        data = _inner(document)
        if data is None:
            return _rows_of_table(document, path)
        document = as_object(data)
    if type(data) is not list:
        raise InputError("a list of rows", describe(data), where=str(path))
    rows = as_list(cast("object", data))
    nested = all(type(row) is list for row in rows)
    return list(chain.from_iterable(rows)) if nested else rows


def _inner(document: dict[str, Any]) -> Any:
    """What the first of the `_LISTS` in a document holds; None if it has none of them."""
    for name in _LISTS:
        value = document.get(name)
        if _may_be_rows(value):
            return value
    return None


def _rows_of_split(columns: Any, data: Any, path: Path) -> list[Any]:
    """The rows as pandas writes them with ``orient="split"``. Raises `InputError`."""
    names = texts_of(columns)
    check_names(names, f"{path}, columns")
    rows: list[Any] = []
    for number, row in enumerate(as_list(data)):
        cells = as_list(row)
        if not names or len(cells) != len(names):
            expected = "names as columns, and in data a list of as many cells for each row"
            raise InputError(expected, describe(row), where=f"{path}, result {number}")
        rows.append(dict(zip(names, cells, strict=True)))
    return rows


def _may_be_rows(value: object) -> bool:
    """Is it an object, or a list of objects or lists?"""
    if not isinstance(value, list):
        return isinstance(value, dict)
    items = cast("list[object]", value)
    return all(isinstance(item, (dict, list)) for item in items)


def _rows_of_table(document: dict[str, Any], path: Path) -> list[Any]:
    """The rows in a document's only list of objects, or those of its columns.

    Raises:
        InputError: the document holds neither.
    """
    lists = [value for value in document.values() if value and _are_objects(value)]
    if len(lists) == 1:
        return as_list(lists[0])
    values = list(document.values())
    rows: list[Any] = []
    if all(isinstance(value, list) for value in values):
        rows = _rows_of_columns(document)
    elif all(isinstance(value, dict) for value in values):
        rows = _rows_of_numbers(document)
    if not rows:
        got = f"an object with {named(document)}"
        raise InputError("a list of rows", got, where=str(path))
    return rows


def _rows_of_columns(columns: dict[str, list[Any]]) -> list[Any]:
    """The rows of columns that are lists of cells; none if the lists differ in length."""
    lengths = {len(cells) for cells in columns.values()}
    if len(lengths) != 1:
        return []
    rows: list[Any] = []
    for cells in zip(*columns.values(), strict=True):
        rows.append(dict(zip(columns, cells, strict=True)))
    return rows


def _rows_of_numbers(objects: dict[str, dict[str, Any]]) -> list[Any]:
    """The rows of columns that are objects, with the rows' numbers as names.

    With ``orient="index"`` pandas writes rows by their numbers instead. If the columns differ in
    their numbers, there are no rows.
    """
    first = next(iter(objects.values()))
    if any(map(is_reference, first)) or all(map(str.isdecimal, objects)):
        return list(objects.values())
    if any(cells.keys() != first.keys() for cells in objects.values()):
        return []
    rows: list[Any] = []
    for number in first:
        rows.append({name: cells[number] for name, cells in objects.items()})
    return rows


def _are_objects(value: object) -> bool:
    if not isinstance(value, list):
        return False
    items = cast("list[object]", value)
    return all(isinstance(item, dict) for item in items)


def check_names(names: list[str], where: str) -> None:
    """Raise `InputError` for a name that two columns have: only one of them would be read.

    Columns without a name, which spreadsheets leave behind, may repeat: nobody reads them.
    """
    for name, times in Counter(names).items():
        if times > 1 and name:
            raise InputError("each column once", f"{name!r} twice", where=where)
