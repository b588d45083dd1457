"""Tables with one chunk in a row: the rows of a sample are merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense_adapters.datasets.files import Raw
from noisesense_adapters.evaluate.inputs import Column, is_empty, pick
from noisesense_adapters.evaluate.names import IDS

GROUP = "group"
CONTEXTS = "retrieved_contexts"
_OF_SAMPLE = ("response", "reference", "user_input", "relevant_contexts", "verdicts", "cluster")


class Merged:
    """Merges rows that follow each other and share a value into one row with all their chunks.

    Args:
        by: the column of the value.
        columns: the columns of the sample's fields, and of its cluster if that has another name.
        verdicts: whether verdicts are read.
    """

    def __init__(self, by: Column, columns: Mapping[str, Column], *, verdicts: bool) -> None:
        self._by = by
        self._contexts = columns[CONTEXTS]
        self._ids = columns.get(IDS)
        self._shared = {field: columns[field] for field in _OF_SAMPLE if field in columns}
        self._shared.setdefault("cluster", "cluster")
        if verdicts:
            self._shared.setdefault("verdicts", "verdicts")

    def __call__(self, rows: Iterable[Raw]) -> Iterator[Raw]:
        """The merged rows; an error in the place of those that cannot be merged."""
        for value, members in groupby(rows, key=self._value):
            group = list(members)
            data: object = value
            if isinstance(value, str):
                try:
                    data = self._row([object_of(raw) for raw in group], value)
                except InputError as error:
                    data = error
            yield Raw(group[0].place, data)

    def _value(self, raw: Raw) -> str | InputError:
        """The value that a row shares with others, or why it has none.

        An error equals only itself, so that `groupby` keeps each row without a value alone.
        """
        try:
            value = pick(object_of(raw), self._by, GROUP)
        except InputError as error:
            return error
        if is_empty(value) or not str(value).strip():  # such rows have nothing in common
            return InputError("a value in every row", describe(value), where=GROUP)
        return str(value)

    def _row(self, rows: list[dict[str, Any]], value: str) -> dict[str, Any]:
        """One row with the chunks of all. Raises `InputError`."""
        for field, column in self._shared.items():
            _check_same(rows, column, field)
        retrieved: list[Any] = []
        ids: list[Any] = []
        for row in rows:
            chunk = pick(row, self._contexts, CONTEXTS)
            if is_empty(chunk):  # nothing was retrieved
                continue
            retrieved.append(chunk)
            if self._ids is not None:
                ids.append(pick(row, self._ids, IDS))
        return {**_first_cells(rows), CONTEXTS: retrieved, IDS: ids, "id": value}


def _check_same(rows: list[dict[str, Any]], column: Column, field: str) -> None:
    """Raise `InputError` if rows differ in a field: only one of the values would be read."""
    values: set[str] = set()
    for row in rows:
        with suppress(InputError):  # told when the merged row is read
            value = pick(row, column, field)
            if not is_empty(value):
                values.add(str(value))
    if len(values) > 1:
        hint = "--map group= takes the column that only rows of one sample share"
        got = f"{len(values)} different"
        raise InputError("the same in all rows of a group", got, where=field, hint=hint)


def _first_cells(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The first cell of each column that is not empty: spreadsheets merge equal cells."""
    cells: dict[str, Any] = {}
    for row in rows:
        for name, value in row.items():
            if is_empty(cells.get(name)):
                cells[name] = value
    return cells


def object_of(raw: Raw) -> dict[str, Any]:
    """The row as an object. Raises `InputError`: the row's own, or if it is something else."""
    data: object = raw.data
    if isinstance(data, InputError):
        raise data
    if not isinstance(data, dict):
        raise InputError("an object", describe(data))
    return cast("dict[str, Any]", data)
