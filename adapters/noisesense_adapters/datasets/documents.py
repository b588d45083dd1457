"""The rows in a JSON document: a list in it, or columns, as frameworks and pandas write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

from noisesense.errors import InputError, describe
from noisesense_adapters.reading.paths import named
from noisesense_adapters.reading.places import ROW_NAMES
from noisesense_adapters.reading.values import as_list, as_object, is_list, normal, texts_of, words

_LISTS = (
    *("results", "testRunData", "testCases", "test_cases", "goldens", "data", "samples"),
    *("cases", "examples", "per_question", "rows", "records", "items", "questions"),
    *("predictions", "scores"),
)
"""The fields that hold a document's rows, the likeliest first."""
# By them a row is told from a column.
_KNOWN = {*words(" ".join(ROW_NAMES.values()))}
_NESTED = ("paragraphs", "qas")
"""The lists in a row of SQuAD: each item is a row, with what its paragraph and article say."""


def rows_in(data: Any) -> list[Any]:
    """Return the rows of a document: its list, one in its objects, or those of its columns.

    Each question of a SQuAD article is a row. An empty list has none, and items are not checked.
    Raises `InputError` for a document without a list or columns.
    """
    while document := as_object(data):
        if {"columns", "data"} <= document.keys() and not _are_objects(document["data"]):
            return _rows_of_split(document)
        inner = [document[name] for name in _LISTS if _may_be_rows(document.get(name))]
        data = next(filter(is_list, inner), inner[0]) if inner else _rows_of_table(document)
    if not is_list(data):
        raise InputError("a list of rows", describe(data))
    return [*chain.from_iterable(map(_nested_rows, data))]


def _nested_rows(row: Any) -> Iterator[Any]:
    """Yield the rows in a row, each with the fields around it."""
    fields = as_object(row)
    for name in _NESTED:
        inner = as_list(fields.get(name))
        is_squad = name == "qas" or all("qas" in as_object(each) for each in inner)
        if inner and is_squad and _are_objects(inner):
            for each in inner:
                yield from _nested_rows({**fields, name: None, **each})
            return
    yield row


def _rows_of_split(document: dict[str, Any]) -> list[Any]:
    """Return the rows as pandas writes them with ``orient="split"``. Raises `InputError`."""
    names = texts_of(document["columns"])
    check_names(names, "columns")
    try:
        return [dict(zip(names, row, strict=True)) for row in document["data"]]
    except (TypeError, ValueError):
        expected = "names as columns, and in data a list of as many cells for each row"
        raise InputError(expected, describe(document["data"])) from None


def _may_be_rows(value: object) -> bool:
    return isinstance(value, dict) or _are_objects(value)


def _rows_of_table(document: dict[str, Any]) -> list[Any]:
    """Return the rows in a document's only list of objects, or those of its columns.

    An empty document has none.

    Raises:
        InputError: the document holds neither.
    """
    lists = [as_list(value) for value in document.values() if value and _are_objects(value)]
    if len(lists) == 1:
        return lists[0]
    if _are_rows(document):
        return [*document.values()]
    columns = {name: _cells(value) for name, value in document.items()}
    numbers = {frozenset(cells) for cells in columns.values()}
    if len(numbers) != 1 or not max(numbers):
        raise InputError("a list of rows", f"an object with {named(document)}")
    first = next(iter(columns.values()))
    return [{name: cells[number] for name, cells in columns.items()} for number in first]


def _are_rows(document: dict[str, Any]) -> bool:
    """Tell whether the fields are rows by their numbers, as pandas writes them, or their ids."""
    first = as_object(next(iter(document.values()), None))
    return all(map(str.isdecimal, document)) or not _KNOWN.isdisjoint(map(normal, first))


def _cells(value: object) -> dict[Any, Any]:
    """Return the cells of a column by their numbers; none if it is no column."""
    cells: dict[Any, Any] = dict(enumerate(as_list(value)))
    return as_object(value) or cells


def _are_objects(value: object) -> bool:
    return is_list(value) and all(isinstance(item, dict) for item in as_list(value))


def check_names(names: list[str], where: str) -> None:
    """Raise `InputError` for a name that two columns have: only one of them would be read.

    Columns without a name, which spreadsheets leave behind, may repeat: nobody reads them.
    """
    for name, times in Counter(names).items():
        if times > 1 and name:
            raise InputError("each column once", f"{name!r} twice", where=where)
