"""Paths to values in a row, as people write them.

``output.docs`` goes into objects, also in JSON; ``docs.0`` takes an item; ``docs[].text``
that field of every item, ``docs[][]`` the items of lists of lists. A key with dots is quoted:
``attr."x.y"``. ``positive,negative`` are the items of several columns; a text there is one item,
so that ``passage,`` is a list of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from noisesense.errors import InputError, describe
from noisesense_adapters.reading.values import (
    as_list,
    as_object,
    is_empty,
    is_list,
    is_one_text,
    normal,
    opened,
    parsed,
    plain,
)

Column = str | Callable[[Mapping[str, Any]], Any]
"""A column's name, a path, or a function of the row."""

_MOST_NAMES = 30
_MOST_ITEMS = 8
_DEEPEST = 8
_NAME = r'(?:"[^"]*"|[^."\[\],]+)(?:\[\])*'
_COLUMN = rf"{_NAME}(?:\.{_NAME})*"
_STEP = r'\[\]|"[^"]*"|[^."\[\]]+'


class UnclearError(InputError):
    """Names do not settle where a field stands."""


class MissingError(UnclearError):
    """Nothing stands at a path."""


@lru_cache(maxsize=1024)
def parse(path: str) -> list[list[str]]:
    """Return the steps of each column in a path: names and ``[]``.

    Raises `InputError` for what is no path, such as an empty text.
    """
    if not re.fullmatch(f"{_COLUMN}(?:,{_COLUMN})*,?", path):
        raise InputError('a path such as a.b, a[].b, a."x.y" or a,b', describe(path))
    columns: list[list[str]] = []
    for column in re.findall(_COLUMN, path):
        columns.append([step.strip('"') for step in re.findall(_STEP, column.strip())])
    return columns


def value_at(row: Mapping[str, Any], path: str) -> Any:
    """Return the value of the column with this name, or else at this path.

    Names in a path may differ in case and punctuation. A path with a comma gives one list of the
    items in its columns, without empty cells; one with ``[]`` a list.

    Raises:
        MissingError: the row has no such place. A null at a place is a value.
        InputError: it is no path, or a text on it begins as a list and cannot be parsed.
    """
    if path in row:
        return row[path]
    values = [_follow(row, path, steps) for steps in parse(path)]
    if "," not in path:
        return values[0]
    items: list[Any] = []
    for value in values:
        listed: object = listed_in(value)
        if not is_empty(listed):
            items += as_list(listed) if is_list(listed) else [value]  # a text is one item
    return items


def picked(row: Mapping[str, Any], column: Column, field: str) -> Any:
    """Return the value of a user's column in a row: at a path, or as a function of the row.

    Raises `InputError`, which names the field, also for whatever the function raises.
    """
    try:
        return column(row) if callable(column) else value_at(row, column)
    except MissingError as error:
        from difflib import get_close_matches  # not needed where all is there

        near = get_close_matches(str(column), inner_paths(row), 1)
        hint = f"did you mean {near[0]!r}?" if near and near[0] != column else ""
        raise MissingError(error.expected, error.got, where=field, hint=hint) from None
    except InputError as error:
        raise error.within(field) from None
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
        expected = "a row that the given function can read"
        raise InputError(expected, got, where=field) from error


def _follow(row: Mapping[str, Any], path: str, steps: list[str]) -> Any:
    """Return what the steps of a path lead to, a list if one is ``[]``.

    Raises `MissingError`, or `InputError` for a text on the way that begins as a list but is none.
    """
    values: list[Any] = [row]
    for step in steps:
        inner: list[Any] = []
        for value in values:
            listed: Any = listed_in(value)
            if step == "[]":
                inner += as_list(listed)
                continue
            numbered = {str(number): item for number, item in enumerate(as_list(listed))}
            fields = as_object(listed) or numbered
            key = step if step in fields else key_of(tuple(as_object(listed)), step)
            if key is None:
                got = f"only {named(fields)}" if fields else "nothing"
                raise MissingError(f"a column {path!r}", f"{got} in place of {step!r}")
            inner.append(fields[key])
        values = inner
    return values if "[]" in steps else values[0]


@lru_cache(maxsize=4096)  # every row has the same names
def key_of(names: tuple[str, ...], name: str) -> str | None:
    """Return the name if it is among the names, or else the only one that `normal` makes equal.

    None if there is none, or there are several.
    """
    if name in names:
        return name
    alike = [other for other in names if normal(other) == normal(name)]
    return alike[0] if len(alike) == 1 else None


def listed_in(value: Any) -> Any:
    """Return the object or the list that a cell or its text holds, an object's names as texts.

    Anything else is returned as `plain` has it, so a text such as ``[1] a note`` stays.
    Raises `InputError` for a text that begins as a list and cannot be parsed.
    """
    if isinstance(value, str) and value.lstrip().startswith("[") and not is_one_text(value):
        return parsed(value)
    if as_list(value):
        return value
    fields: Any = as_object(value) or plain(opened(value))
    return {str(name): item for name, item in fields.items()} if as_object(fields) else fields


def named(names: Iterable[str]) -> str:
    """Return the names for an error, quoted, with commas between; of many only the first 30."""
    listed = [*map(describe, names)]
    more = ["…"] if len(listed) > _MOST_NAMES else []
    return ", ".join([*listed[:_MOST_NAMES], *more])


@lru_cache(maxsize=4096)  # every row has the same names
def step_of(name: str) -> str:
    """Return a name as a step of a path, quoted if need be.

    Quotation marks in it, which no path can say, are dropped.
    """
    return name if re.fullmatch(r'[^."\[\],*]+', name) else f'"{name.replace(chr(34), "")}"'


def inner_paths(value: Any, prefix: str = "", *, by_number: bool = False) -> Iterator[str]:
    """Yield the paths to the fields in a value, each before those in it.

    Names with a quotation mark, which no path can say, and what is nested too deep are left out.
    What is no object or list, or cannot be parsed, holds no paths.

    Args:
        value: an object, a list, or a text that holds one.
        prefix: the value's own path.
        by_number: go into each of the first 8 items of a list (``a.0.b``, ``a.1.c``), rather than
            into the first alone, which stands for all (``a[].b``).
    """
    if prefix.count(".") > _DEEPEST:
        return
    try:
        inner: object = listed_in(value)
    except InputError:
        return
    homes = {prefix: as_object(inner)}
    for number, item in enumerate(as_list(inner)[:_MOST_ITEMS]):
        homes.setdefault(f"{prefix}.{number}" if by_number else f"{prefix}[]", as_object(item))
    for home, fields in homes.items():
        for name, item in fields.items():
            if '"' in name:  # no path can say it
                continue
            step = step_of(name)
            path = f"{home}.{step}" if home else step
            yield path
            yield from inner_paths(item, path, by_number=by_number)
