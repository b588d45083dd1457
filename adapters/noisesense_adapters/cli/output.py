"""Tables and lines: colored in a terminal, plain aligned text in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

__all__ = ["Column", "console", "show_lines", "show_table", "table_width"]

_GAP = "  "

Cells = Sequence[Text]


class Column(NamedTuple):
    """A title (several lines allowed) and whether its cells stand right."""

    title: str
    numeric: bool = False


def console(*, stderr: bool = False) -> Console:
    """A console on stdout or stderr. It honors NO_COLOR and TERM=dumb."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, highlight=False, emoji=False, soft_wrap=False)


def show_table(out: Console, columns: Sequence[Column], rows: Sequence[Cells]) -> None:
    """A table without frames, never cut or wrapped. A row of one cell is a heading."""
    widths = _widths(columns, rows)
    titles = [column.title.split("\n") for column in columns]
    height = max(map(len, titles))
    header = [
        [Text(([""] * (height - len(title)) + title)[line], style="bold") for title in titles]
        for line in range(height)
    ]
    for row in [*header, *rows]:
        line = row[0] if len(row) == 1 else _line(columns, widths, row)
        out.print(line, soft_wrap=True)


def show_lines(out: Console, lines: Sequence[str], style: str = "") -> None:
    """Lines of text, wrapped at words in a terminal only."""
    for line in lines:
        out.print(Text(line, style=style), soft_wrap=not out.is_terminal)


def table_width(columns: Sequence[Column], rows: Sequence[Cells]) -> int:
    """How wide the table is, unwrapped."""
    return sum(_widths(columns, rows)) + len(_GAP) * (len(columns) - 1)


def _widths(columns: Sequence[Column], rows: Sequence[Cells]) -> list[int]:
    titles = [max(cell_len(line) for line in column.title.split("\n")) for column in columns]
    full = [row for row in rows if len(row) > 1]
    return [
        max([title, *(cell_len(row[i].plain) for row in full)]) for i, title in enumerate(titles)
    ]


def _line(columns: Sequence[Column], widths: Sequence[int], row: Cells) -> Text:
    parts: list[Text] = []
    for column, width, cell in zip(columns, widths, row, strict=True):
        padding = " " * (width - cell_len(cell.plain))
        parts.append(Text(padding) + cell if column.numeric else cell + Text(padding))
    line = Text(_GAP).join(parts)
    line.rstrip()
    return line
