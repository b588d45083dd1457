"""Columns with one chunk each, such as ``context_1`` and ``context_2``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from noisesense_adapters.evaluate.inputs import is_empty, normal

_NUMBERED = re.compile(
    r"(?:retrieved|retrieval)?(?:contexts?|chunks?|documents?|docs?|passages?)(\d{1,9})"
)


@lru_cache(maxsize=1024)  # every row has the same names
def number_of(name: str) -> int | None:
    """The number of a column with one chunk; None for any other column."""
    match = _NUMBERED.fullmatch(normal(name))
    return None if match is None else int(match[1])


def side_by_side(row: Mapping[str, Any]) -> list[Any]:
    """The chunks of a row in the order of their numbers; an empty cell is none.

    A row may be the first one with so many chunks, so each row is asked for its own columns.
    """
    cells: list[tuple[int, Any]] = []
    for name, cell in row.items():
        number = number_of(name)
        if number is not None and not is_empty(cell):
            cells.append((number, cell))
    cells.sort(key=lambda numbered: numbered[0])
    return [cell for _, cell in cells]
