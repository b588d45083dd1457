"""What every command prints: lines, tables, JSON and figures; no colors."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from noisesense import Interval, Result
from noisesense.scoring.definitions import MODES, Category, Mode
from noisesense.scoring.outcomes import extent, number_text
from noisesense.stats.interval import interval_text
from noisesense_adapters.cli.terminal import columns, show, visible

_WIDE = 100_000  # so wide that nothing is cut or wrapped
_HEAD = 60
_KEY = re.compile("[0-9a-f]{64}")
_KINDS = {"relevant": "relevant noise", "irrelevant": "irrelevant noise"}


M = TypeVar("M", covariant=True)


class _ByMode(Protocol[M]):
    def mode(self, mode: Mode) -> M | None: ...


def modes_of(found: _ByMode[M]) -> list[M]:
    """The figures of each mode that there are."""
    return [each for mode in MODES if (each := found.mode(mode)) is not None]


def show_json(data: Any) -> None:
    """Data on stdout. ASCII, so that no console's encoding spoils a redirected file."""
    print(json.dumps(data, indent=2).replace("\x7f", "\\u007f"))


def say(*lines: str) -> None:
    """Lines on stdout."""
    for line in lines:
        show(line, sys.stdout)


def section(head: str, lines: Sequence[str]) -> None:
    """A blank line, the head, and the lines; nothing where there are none."""
    say(*(["", head, *lines] if lines else []))


def tell(*lines: str) -> None:
    """Lines on stderr."""
    for line in lines:
        show(line, sys.stderr)


def show_table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table on stdout, without frames, as wide as the terminal at most.

    A title that begins with ``>`` aligns to the right. Where the room is too small, a column
    whose title begins with ``…`` holds names that are cut; cells of the others wrap between words.
    """
    texts = [[visible(shown(cell)) for cell in row] for row in rows]
    listed: list[_Column] = []
    for i, title in enumerate(titles):
        listed.append(_Column(title, [row[i] for row in texts if i < len(row)]))
    room = columns(sys.stdout) or _WIDE
    widths = _widths(listed, room - _GAP * (len(listed) - 1))
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for column, width in zip(listed, widths, strict=True):
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
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


_GAP = 2
_NAME = 24
"""As much of a name is shown, however small the room."""


class _Column:
    """A column of a table, and how narrow it may be."""

    def __init__(self, title: str, cells: Sequence[str]) -> None:
        self.title = title
        self.is_cut = title.startswith("…")
        self.side: JustifyMethod = "right" if title.startswith(">") else "left"
        texts = [title.lstrip(">…"), *cells]
        self.width = max(map(cell_len, texts))
        words = [word for text in texts for word in text.split()]
        self.longest_word = max(map(cell_len, words), default=0)

    @property
    def narrowest(self) -> int:
        """Narrower, it would break a word, or show too little of a name."""
        return min(self.width, _NAME) if self.is_cut else self.longest_word


def _widths(columns: Sequence[_Column], room: int) -> list[int]:
    """How wide the columns are. The widest give way first, and the first one last.

    Its words break only where nothing else helps.
    """
    widths = [column.width for column in columns]
    words = [column.narrowest for column in columns]
    anything = [1] * len(columns)
    whole = words[0] if columns[0].is_cut else widths[0]
    _shrink(widths, [whole, *words[1:]], room)
    _shrink(widths, words, room)
    _shrink(widths, [words[0], *anything[1:]], room)
    _shrink(widths, anything, room)
    return widths


def _shrink(widths: list[int], least: Sequence[int], room: int) -> None:
    """Take from the widest column that may be narrower, until all fit."""
    while sum(widths) > room:
        shrinkable = [i for i, width in enumerate(widths) if width > least[i]]
        if not shrinkable:
            return
        widest = max(shrinkable, key=lambda i: widths[i])
        widths[widest] -= 1


def show_modes(modes: Mapping[str, Mapping[str, object]]) -> None:
    """A column of figures for each mode; what one lacks is a dash. A row of zero counts goes."""
    labels = dict.fromkeys(label for figures in modes.values() for label in figures)
    rows = [[label, *(shown(each.get(label)) for each in modes.values())] for label in labels]
    told = [row for row in rows if any(cell != "0" for cell in row[1:])]
    show_table(["", *(f">{mode}" for mode in modes)], told)


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


def percent(value: Any) -> str:
    """The same, as a percentage."""
    return shown(value, ".1%")


def kind(category: Category | None) -> str:
    """What a claim is; None: it is not there."""
    return "absent" if category is None else _KINDS.get(category, category)


class Heads:
    """What samples are called: by their id if they were given one, else by their question."""

    def __init__(self) -> None:
        self._questions: dict[str, str] = {}

    def note(self, result: Result) -> Result:
        """Remember the question of a result whose id was made from its content."""
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
