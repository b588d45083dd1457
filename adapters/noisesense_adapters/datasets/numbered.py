"""Columns with one chunk each, such as ``context_1`` and ``context_2``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec import Struct

from noisesense.errors import InputError
from noisesense_adapters.evaluate.chunks import is_name
from noisesense_adapters.evaluate.inputs import is_empty, named, normal

_NUMBERED = re.compile(
    r"(?P<stem>(?:retrieved|retrieval)?(?:contexts?|chunks?|documents?|docs?|passages?))"
    r"(?P<number>\d{1,9})"
)
_LONGEST_NAME = 200


class Numbered(Struct, frozen=True):
    """Reads the chunks of a row with one in each of the columns with this stem.

    Attributes:
        stem: what the columns are called without their numbers.
        names: the stem of the columns that name the chunks' documents; None if there are none.
    """

    stem: str
    names: str | None = None

    def __call__(self, row: Mapping[str, Any]) -> list[Any]:
        """The chunks in the order of their numbers; an empty cell is none.

        A row may be the first one with so many chunks, so each is asked for its own columns.
        """
        return [cell for _, cell in _cells(row, self.stem)]

    def ids(self, row: Mapping[str, Any]) -> list[Any]:
        """The documents' names, None for a chunk without one; a name without a chunk comes last.

        Such a name makes more names than chunks, which is an error: the chunk was lost.
        """
        names = dict(_cells(row, self.names))
        ids = [names.pop(number, None) for number, _ in _cells(row, self.stem)]
        return [*ids, *names.values()]


def recognized(rows: Sequence[Mapping[str, Any]]) -> Numbered | None:
    """The reader of the numbered columns in a table's first rows; None if there are none.

    Contexts, chunks and passages come before documents, which may then be the chunks' names.

    Raises:
        InputError: the columns of several stems may be the chunks.
    """
    columns = _by_stem(rows)
    documents = [stem for stem in columns if "doc" in stem]
    chunks = [stem for stem in columns if stem not in documents] or documents
    if not chunks:
        return None
    stem = _only(chunks, columns)
    for names in documents:
        same = set(columns[names].values()) == set(columns[stem].values())
        if names != stem and same and _are_names(rows, names):
            return Numbered(stem, names)
    return Numbered(stem)


def _only(stems: Sequence[str], columns: Mapping[str, Mapping[str, int]]) -> str:
    """The only stem. Raises `InputError` if there are several."""
    if len(stems) > 1:
        first = [next(iter(columns[stem])) for stem in stems]
        hint = "rename those that are no chunks, or name a column with a list of all chunks"
        hint += ": --map retrieved_contexts=COLUMN, in Python columns="
        where = "retrieved_contexts"
        raise InputError("numbered columns of one name", named(first), where=where, hint=hint)
    return stems[0]


def _by_stem(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """The numbers of the numbered columns, by the columns' stems and names."""
    columns: dict[str, dict[str, int]] = {}
    for row in rows:
        for name in row:
            column = _column(name)
            if column is not None:
                columns.setdefault(column.stem, {})[name] = column.number
    return columns


class _Column(NamedTuple):
    stem: str
    number: int


@lru_cache(maxsize=1024)  # every row has the same names
def _column(name: str) -> _Column | None:
    """The stem and the number in a column's name; None for any other column."""
    match = _NUMBERED.fullmatch(normal(name))
    return None if match is None else _Column(match["stem"], int(match["number"]))


def _cells(row: Mapping[str, Any], stem: str | None) -> list[tuple[int, Any]]:
    """The numbers and cells of the columns with this stem that are not empty, in order."""
    cells: list[tuple[int, Any]] = []
    for name, cell in row.items():
        column = _column(name)
        if column is not None and column.stem == stem and not is_empty(cell):
            cells.append((column.number, cell))
    return sorted(cells, key=lambda numbered: numbered[0])


def _are_names(rows: Iterable[Mapping[str, Any]], stem: str) -> bool:
    """Can the cells of the columns with this stem be names of documents, and no texts of them?"""
    for row in rows:
        for _, cell in _cells(row, stem):
            text = str(cell).strip()
            if not is_name(cell) or len(text) > _LONGEST_NAME or len(text.splitlines()) > 1:
                return False
    return True
