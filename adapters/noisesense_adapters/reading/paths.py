"""Paths to values in a row, as people write them.

``output.docs`` goes into objects, also in JSON; ``docs.0`` takes an item; ``docs[].text``
that field of every item, ``docs[][]`` the items of lists of lists. A key with dots is quoted:
``attr."x.y"``. ``positive,negative`` are the items of several columns, ``context_*`` those of
numbered ones; a text there is one item, so that ``passage,`` is a list of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense_adapters.reading.values import (
    as_list,
    as_object,
    is_empty,
    is_list,
    is_one_text,
    normal,
    opened,
    plain,
)
from noisesense_adapters.reading.values import parsed as parsed_cell

Column = str | Callable[[Mapping[str, Any]], Any]
"""A column's name, a path, or a function of the row."""

_MOST_NAMES = 30
_MOST_ITEMS = 8
_COLUMN = r'(?:"[^"]*"|[^,"])+'
_NAME = r'(?:"[^"]*"|[^."\[\],]+)(?:\[\])*'
_STEP = r'\[\]|"[^"]*"|[^."\[\]]+'


class UnclearError(InputError):
    """Names do not settle where a field stands."""


class MissingError(UnclearError):
    """Nothing stands at a path."""


@lru_cache(maxsize=1024)
def parse(path: str) -> tuple[tuple[str, ...], ...]:
    """Return the steps of each column in a path: names and ``[]``. Raises `InputError`."""
    columns: list[tuple[str, ...]] = []
    for column in map(str.strip, re.findall(_COLUMN, path)):
        if column and not re.fullmatch(rf"{_NAME}(?:\.{_NAME})*", column):
            columns.clear()
            break
        if column:
            columns.append(tuple(step.strip('"') for step in re.findall(_STEP, column)))
    if not columns or path.count('"') % 2:
        raise InputError('a path such as a.b, a[].b, a."x.y" or a,b', describe(path))
    return tuple(columns)


def value_at(row: Mapping[str, Any], path: str) -> Any:
    """Return the value of the column with this name, or else at this path.

    Raises:
        MissingError: nothing is there.
        InputError: it is no path.
    """
    if path in row:
        return row[path]
    if "," not in path and "*" not in path:
        return _follow(row, path, parse(path)[0])
    items: list[Any] = []
    for steps in parse(path):
        values = _numbered(row, steps[0]) if "*" in steps[0] else [_follow(row, path, steps)]
        for value in values:
            listed: object = None if is_empty(value) else _listed(value)
            if listed is not None:  # a text is one item
                items += as_list(listed) if is_list(listed) else [value]
    return items


def picked(row: Mapping[str, Any], column: Column, field: str) -> Any:
    """Return the value of a user's column in a row. Raises `InputError`, which names the field."""
    try:
        return column(row) if callable(column) else value_at(row, column)
    except MissingError as error:
        from difflib import get_close_matches  # not needed where all is there

        near = get_close_matches(str(column), inner_paths(row), 1)
        hint = f"did you mean {near[0]!r}?" if near else ""
        raise MissingError(error.expected, error.got, where=field, hint=hint) from None
    except InputError as error:
        raise error.within(field) from None
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
        expected = "a row that the given function can read"
        raise InputError(expected, got, where=field) from error


def _numbered(row: Mapping[str, Any], stem: str) -> list[Any]:
    """Return the values of the columns ``name_1``, ``name_2``, …, in order."""
    cells: dict[int, Any] = {}
    for name, cell in row.items():
        number = normal(name).removeprefix(normal(stem))
        if number.isdecimal() and normal(name).startswith(normal(stem)):
            cells[int(number)] = cell
    return [cells[number] for number in sorted(cells)]


def _follow(row: Mapping[str, Any], path: str, steps: tuple[str, ...]) -> Any:
    values: list[Any] = [row]
    for step in steps:
        if step == "[]":
            values = [item for value in values for item in as_list(_listed(value))]
        else:
            values = [_field(_fields(value), step, path) for value in values]
    return values if "[]" in steps else values[0]


def _field(fields: Mapping[str, Any], name: str, path: str) -> Any:
    """Return the field of a name. Raises `MissingError`."""
    key = key_of(tuple(fields), name)
    if key is None:
        got = f"only {named(fields)}" if fields else "nothing"
        raise MissingError(f"a column {path!r}", f"{got} in place of {name!r}")
    return fields[key]


@lru_cache(maxsize=4096)  # every row has the same names
def key_of(names: tuple[str, ...], name: str) -> str | None:
    """The one of the names that is this one, or else the only one but for case or punctuation."""
    if name in names:
        return name
    alike = [other for other in names if normal(other) == normal(name)]
    return alike[0] if len(alike) == 1 else None


def _fields(value: Any) -> Mapping[str, Any]:
    """The fields of an object, or the items of a list by their numbers; also of those in JSON."""
    value = _listed(value)
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    return {str(number): item for number, item in enumerate(as_list(value))}


def _listed(value: Any) -> Any:
    """Return the object or the list that a cell holds; anything else as it is."""
    if isinstance(value, (dict, list)):
        return cast("object", value)
    if isinstance(value, str) and value.lstrip().startswith("[") and not is_one_text(value):
        return parsed_cell(value)
    return plain(opened(value))


def named(names: Iterable[str]) -> str:
    """Return the first names as a list for an error."""
    listed = list(names)
    more = [f"{len(listed) - _MOST_NAMES:,} more"] if len(listed) > _MOST_NAMES else []
    return ", ".join([*map(describe, listed[:_MOST_NAMES]), *more])


def inner_paths(
    value: Any, prefix: str = "", *, by_number: bool = False, depth: int = 6
) -> Iterator[str]:
    """Yield the paths in a value, nested ones included.

    Args:
        value: an object, a list or JSON.
        prefix: the value's own path.
        by_number: go into each item of a list of objects, rather than into all at once.
        depth: of objects.
    """
    try:
        inner: object = _listed(value)
    except InputError:
        return
    homes = {prefix: as_object(inner)}
    items = [each for each in as_list(inner)[:_MOST_ITEMS] if as_object(each)]
    for number, item in enumerate(items if by_number else items[:1]):
        homes[f"{prefix}.{number}" if by_number else f"{prefix}[]"] = item
    for home, fields in homes.items():
        for name, item in fields.items():
            step = name if re.fullmatch(r'[^."\[\],*]+', name) else f'"{name}"'
            path = f"{home}.{step}" if home else step
            yield path
            if depth:
                yield from inner_paths(item, path, by_number=by_number, depth=depth - 1)
