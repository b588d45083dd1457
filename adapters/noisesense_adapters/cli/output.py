"""What every command prints: lines, tables, JSON and figures; no colors."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from noisesense import Interval, Result
from noisesense.scoring.definitions import MODES, Category
from noisesense.scoring.outcomes import extent, number_text
from noisesense.stats.interval import interval_text
from noisesense_adapters.cli.terminal import columns, show, visible

_WIDE = 100_000  # so wide that nothing is cut or wrapped
_HEAD = 60
_KEY = re.compile("[0-9a-f]{64}")


def show_json(data: Any) -> None:
    """Print data on stdout, in ASCII, so that no console's encoding spoils a redirected file."""
    print(json.dumps(data, indent=2).replace("\x7f", "\\u007f"))


def say(*lines: str) -> None:
    """Print lines on stdout."""
    for line in lines:
        show(line, sys.stdout)


def section(head: str, lines: Sequence[str]) -> None:
    """Print a blank line, the head, and the lines; without lines, nothing."""
    if lines:
        say("", head, *lines)


def tell(*lines: str) -> None:
    """Print lines on stderr."""
    for line in lines:
        show(line, sys.stderr)


def show_table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table on stdout, without frames, at most as wide as the terminal.

    A column whose title begins with ``>`` is aligned to the right. Where the table is too wide,
    a column whose title begins with ``…`` cuts its cells; the others wrap theirs between words.
    """
    texts: list[list[str]] = []
    for row in rows:
        texts.append([visible(shown(cell)) for cell in row])
    table_columns: list[_Column] = []
    for i, title in enumerate(titles):
        cells = [row[i] for row in texts if i < len(row)]  # a row may end early
        table_columns.append(_Column(title, cells))
    room = columns(sys.stdout) or _WIDE
    widths = _widths(table_columns, room - _GAP * (len(table_columns) - 1))
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for column, width in zip(table_columns, widths, strict=True):
        table.add_column(
            Text(column.title.lstrip(">…")),
            justify=column.side,
            width=width,
            overflow="ellipsis" if column.is_cut else "fold",
            no_wrap=column.is_cut,
        )
    for row in texts:
        table.add_row(*map(Text, row))
    console = Console(width=room, color_system=None)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        print(line.rstrip())


_GAP = 2
"""The spaces between columns."""
_NAME = 24
"""The least width of a column that cuts its cells."""


class _Column:
    """The widths that a column of a table may have."""

    def __init__(self, title: str, cells: Sequence[str]) -> None:
        self.title = title
        self.is_cut = title.startswith("…")
        self.side: JustifyMethod = "right" if title.startswith(">") else "left"
        texts = [title.lstrip(">…"), *cells]
        self.width = max(map(cell_len, texts))
        longest_word = max(map(cell_len, " ".join(texts).split()), default=0)
        # Narrower, it would break a word, or show too little of a name.
        self.narrowest = min(self.width, _NAME) if self.is_cut else longest_word


def _widths(columns: Sequence[_Column], room: int) -> list[int]:
    """How wide each column is. The widest columns give way first, and the first column last.

    The words of the first column break only where nothing else helps.
    """
    widths = [column.width for column in columns]
    narrowest = [column.narrowest for column in columns]
    anything = [1] * len(columns)
    first = narrowest[0] if columns[0].is_cut else widths[0]
    _shrink(widths, [first, *narrowest[1:]], room)
    _shrink(widths, narrowest, room)
    _shrink(widths, [narrowest[0], *anything[1:]], room)
    _shrink(widths, anything, room)
    return widths


def _shrink(widths: list[int], minima: Sequence[int], room: int) -> None:
    """Take from the widest column that is above its minimum, until all columns fit."""
    while sum(widths) > room:
        shrinkable = [i for i, width in enumerate(widths) if width > minima[i]]
        if not shrinkable:
            return
        widest = max(shrinkable, key=lambda i: widths[i])
        widths[widest] -= 1


def show_modes(modes: Mapping[str, Mapping[str, object]]) -> None:
    """Print a column of figures for each mode, with a dash where a mode lacks one.

    A row in which all counts are zero is left out.
    """
    labels: dict[str, None] = {}
    for figures in modes.values():
        labels |= dict.fromkeys(figures)
    rows: list[list[str]] = []
    for label in labels:
        cells = [shown(figures.get(label)) for figures in modes.values()]
        if any(cell != "0" for cell in cells):
            rows.append([label, *cells])
    titles = [f">{mode}" for mode in modes]
    show_table(["", *titles], rows)


def shown(value: Any, form: str = ".4f") -> str:
    """A figure as text: ``-`` where there is none, one number where both ends of a range meet.

    An interval has its own number of digits, see `interval_text`.
    """
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Interval):
        return interval_text(value, percent=form.endswith("%"))
    if isinstance(value, float):
        return number_text(value, form)
    return extent((value[0], value[1]), form)


def kind(category: Category | None) -> str:
    """The kind of a claim; None is a claim that is not there."""
    if category is None:
        return "absent"
    return f"{category} noise" if category in MODES else category


class Heads:
    """The names of samples for people: the id that a user chose, else the question."""

    def __init__(self) -> None:
        self._questions: dict[str, str] = {}

    def note(self, result: Result) -> Result:
        """Remember the question of a result whose id is a hash of its content."""
        if result.sample is not None and _KEY.fullmatch(result.id):
            self._questions[result.id] = cut(result.sample.user_input, _HEAD)
        return result

    def __getitem__(self, name: str) -> str:
        short = f"{name[:12]}…" if _KEY.fullmatch(name) else name
        return self._questions.get(name, short)


def cut(text: str, width: int) -> str:
    """One line of at most so many characters."""
    text = one_line(text)
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def one_line(text: str) -> str:
    """The text with each run of white space as one space."""
    return " ".join(text.split())
