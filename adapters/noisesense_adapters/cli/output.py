"""What every command prints: tables, lines, JSON and figures. Colors in a terminal only."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from noisesense import Interval, Result
from noisesense.scoring import outcomes
from noisesense.scoring.definitions import Category
from noisesense_adapters.cli.terminal import pipe_closed, visible

_GAP = "  "

Cells = Sequence["Text | str"]


class Column(NamedTuple):
    """A title (several lines allowed) and whether its cells are aligned right."""

    title: str
    numeric: bool = False


def numeric(*titles: str) -> list[Column]:
    return [Column(title, numeric=True) for title in titles]


def console(*, stderr: bool = False) -> Console:
    """A console on stdout or stderr. It honors NO_COLOR and TERM=dumb."""
    stream = sys.stderr if stderr else sys.stdout
    return _Console(file=stream, highlight=False, emoji=False, soft_wrap=False)


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        pipe_closed()


def show_json(data: Any) -> None:
    """Data on stdout. ASCII, so that no console's encoding spoils a redirected file."""
    _print(json.dumps(data, indent=2).replace("\x7f", "\\u007f"))


def say(*lines: str) -> None:
    """Lines on stdout that are never wrapped."""
    _print(*map(visible, lines))


def _print(*lines: str) -> None:
    try:
        print(*lines, sep="\n")
    except BrokenPipeError:
        pipe_closed()


def show_lines(out: Console, *lines: str, style: str = "") -> None:
    """Lines of text, wrapped at words in a terminal only."""
    for line in lines:
        out.print(Text(visible(line), style=style), soft_wrap=not out.is_terminal)


def tell(*lines: str) -> None:
    show_lines(console(stderr=True), *lines)


def show_modes(out: Console, modes: Mapping[str, Mapping[str, Text | str]]) -> None:
    """A column of figures for each mode; what one lacks is a dash. A row of zero counts goes."""
    labels = dict.fromkeys(label for figures in modes.values() for label in figures)
    rows = [[label, *(each.get(label, "-") for each in modes.values())] for label in labels]
    shown = [row for row in rows if any(cell != "0" for cell in row[1:])]
    show_table(out, [Column(""), *numeric(*modes)], shown)


def show_table(out: Console, columns: Sequence[Column], rows: Iterable[Cells]) -> None:
    """A table without frames, never cut or wrapped. A row of one cell is a heading."""
    rows = _texts(rows)
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


def _texts(rows: Iterable[Cells]) -> list[list[Text]]:
    return [
        [Text(visible(cell)) if isinstance(cell, str) else cell for cell in row] for row in rows
    ]


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[Text]]) -> list[int]:
    titles = [max(cell_len(line) for line in column.title.split("\n")) for column in columns]
    full = [row for row in rows if len(row) > 1]
    return [
        max([title, *(cell_len(row[i].plain) for row in full)]) for i, title in enumerate(titles)
    ]


def _line(columns: Sequence[Column], widths: Sequence[int], row: Sequence[Text]) -> Text:
    parts: list[Text] = []
    for column, width, cell in zip(columns, widths, row, strict=True):
        padding = " " * (width - cell_len(cell.plain))
        parts.append(Text(padding) + cell if column.numeric else cell + Text(padding))
    line = Text(_GAP).join(parts)
    line.rstrip()
    return line


_HEAD = 60
_KEY = re.compile("[0-9a-f]{64}")
_KINDS = {"relevant": "relevant noise", "irrelevant": "irrelevant noise"}


def figure(value: float | None) -> str:
    """Four digits; ``-`` where it is undefined."""
    return "-" if value is None else f"{value:.4f}"


def span(pair: tuple[float, float] | Interval | None) -> str:
    """Both ends of a range."""
    return "-" if pair is None else f"{pair[0]:.4f} to {pair[1]:.4f}"


def extent(ends: tuple[float, float] | None, form: str = ".4f") -> str:
    """A figure between two ends: one number where they meet; ``-`` where it is undefined."""
    return "-" if ends is None else outcomes.extent(ends, form)


def kind(category: Category | None) -> str:
    return "absent" if category is None else _KINDS.get(category, category)


def short(name: str) -> str:
    """A sample's id; one made from the content by its first characters."""
    return f"{name[:12]}…" if _KEY.fullmatch(name) else name


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
        return self._questions.get(name) or short(name)


def cut(text: str, width: int) -> str:
    """One line of at most so many characters."""
    text = one_line(text)
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def one_line(text: str) -> str:
    """The text with each run of white space as one space."""
    return " ".join(text.split())
