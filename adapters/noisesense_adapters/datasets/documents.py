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
    *("results", "testRunData", "testCases", "test_cases", "goldens", "data", "samples", "cases"),
    *("examples", "per_question", "rows", "records", "items", "questions", "predictions"),
    "scores",
)
"""The fields with the rows of a document.

Those of Promptfoo, RAGChecker, DeepEval and pydantic-evals, and common ones.
"""


def rows_in(data: Any, path: Path) -> list[Any]:
    """The rows of a document. Raises `InputError`."""
    document = as_object(data)
    while document:
        if {"columns", "data"} <= document.keys() and not _are_objects(document["data"]):
            return _rows_of_split(document["columns"], document["data"], path)
        data = next((document[name] for name in _LISTS if _may_be_rows(document.get(name))), None)
        if data is None:
            return _rows_of_table(document, path)
        document = as_object(data)
    if type(data) is not list:
        raise InputError("a list of rows", describe(data), where=str(path))
    rows = as_list(cast("object", data))
    nested = all(type(row) is list for row in rows)
    return list(chain.from_iterable(rows)) if nested else rows


def _rows_of_split(columns: Any, data: Any, path: Path) -> list[Any]:
    """As pandas writes with ``orient="split"``. Raises `InputError`."""
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
    """The rows in the only list of objects, or of columns, or as pandas writes either.

    Raises:
        InputError: none of them.
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
    """Of lists of cells; none if they differ in length."""
    if len({len(cells) for cells in columns.values()}) != 1:
        return []
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _rows_of_numbers(objects: dict[str, dict[str, Any]]) -> list[Any]:
    """Of columns by row number, or with ``orient="index"`` of rows by their number.

    None if the columns have other rows.
    """
    first = next(iter(objects.values()))
    if any(map(is_reference, first)) or all(map(str.isdecimal, objects)):
        return list(objects.values())
    if any(cells.keys() != first.keys() for cells in objects.values()):
        return []
    return [{name: cells[number] for name, cells in objects.items()} for number in first]


def _are_objects(value: object) -> bool:
    if not isinstance(value, list):
        return False
    items = cast("list[object]", value)
    return all(isinstance(item, dict) for item in items)


def check_names(names: list[str], where: str) -> None:
    """Raise `InputError` for a column that is there twice: only one of them would be read.

    Columns without a name, as spreadsheets leave behind, are read by nobody.
    """
    for name, times in Counter(names).items():
        if times > 1 and name:
            raise InputError("each column once", f"{name!r} twice", where=where)
