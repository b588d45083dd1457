"""Paths to values in a row, as people write them.

``output.docs`` goes into objects, also in JSON; ``docs.0`` takes an item; ``docs[].text``
that field of every item, ``docs[][]`` the items of lists of lists. A key with dots is quoted:
``attr."x.y"``. ``positive,negative`` are the items of several columns, ``context_*`` those of
numbered ones; a text there is one item, so that ``passage,`` is a list of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, cast

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
_STEP = r'(?:"(?P<quoted>[^"]*)"|(?P<name>[^."\[\],]+))(?P<lists>(?:\[\])*)(?:\.|$)'


class UnclearError(InputError):
    """Names do not settle where a field stands."""


class MissingError(UnclearError):
    """Nothing stands at a path."""


class Step(NamedTuple):
    """A field to go into, and how many lists of lists its items are taken from."""

    name: str
    lists: int


@lru_cache(maxsize=1024)
def parse(path: str) -> tuple[tuple[Step, ...], ...]:
    """Return the steps of each column in a path. Raises `InputError`."""
    columns: list[tuple[Step, ...]] = []
    if path.count('"') % 2:
        raise InputError("quotes that are closed", describe(path))
    for column in re.findall(_COLUMN, path):
        steps: list[Step] = []
        rest = column.strip()
        while rest:
            match = re.match(_STEP, rest)
            if match is None:
                expected = 'a path such as a.b, a[].b, a."x.y" or a,b'
                raise InputError(expected, describe(path))
            name = match["quoted"] if match["name"] is None else match["name"]
            steps.append(Step(name, len(match["lists"]) // 2))
            rest = rest[match.end() :]
        if steps:
            columns.append(tuple(steps))
    if not columns:
        raise InputError("a path", describe(path))
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
    values: list[Any] = []
    for steps in parse(path):
        name = steps[0].name
        values += _numbered(row, name) if "*" in name else [_follow(row, path, steps)]
    items: list[Any] = []
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
        hint = _near(row, str(column))
        raise MissingError(error.expected, error.got, where=field, hint=hint) from None
    except InputError as error:
        raise error.within(field) from None
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
        expected = "a row that the given function can read"
        raise InputError(expected, got, where=field) from error


def _near(row: Mapping[str, Any], path: str) -> str:
    """Return a hint at the path in a row that resembles a mistyped one; empty if none does."""
    from difflib import get_close_matches  # not needed where all is there

    near = get_close_matches(path, inner_paths(row), 1)
    return f"did you mean {near[0]!r}?" if near else ""


def _numbered(row: Mapping[str, Any], stem: str) -> list[Any]:
    """Return the values of the columns ``name_1``, ``name_2``, …, in order."""
    pattern = re.compile(normal(stem) + r"(\d{1,9})")
    cells: dict[int, Any] = {}
    for name, cell in row.items():
        match = pattern.fullmatch(normal(name))
        if match is not None:
            cells[int(match[1])] = cell
    return [cells[number] for number in sorted(cells)]


def _follow(row: Mapping[str, Any], path: str, steps: tuple[Step, ...]) -> Any:
    values: list[Any] = [row]
    is_list = False
    for step in steps:
        holders = [_fields(value) for value in values]
        values = [_field(fields, step.name, path) for fields in holders]
        for _ in range(step.lists):
            is_list = True
            values = [item for value in values for item in as_list(_listed(value))]
    return values if is_list else values[0]


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


def named(names: Iterable[str], most: int = _MOST_NAMES) -> str:
    """Return the first names as a list for an error, with how many more there are."""
    listed = list(names)
    text = ", ".join(map(describe, listed[:most]))
    more = len(listed) - most
    return f"{text} and {more:,} more" if more > 0 else text


def quoted(name: str) -> str:
    """Return a name as a step of a path."""
    return name if re.fullmatch(r'[^."\[\],*]+', name) else f'"{name}"'


def inner_paths(
    value: Any, prefix: str = "", *, by_number: bool = False, depth: int = 6
) -> Iterable[str]:
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
    if by_number:
        homes |= {f"{prefix}.{number}": item for number, item in enumerate(items)}
    elif items:
        homes = {f"{prefix}[]": items[0]}
    for home, fields in homes.items():
        for name, item in fields.items():
            path = f"{home}.{quoted(name)}" if home else quoted(name)
            yield path
            if depth:
                yield from inner_paths(item, path, by_number=by_number, depth=depth - 1)
