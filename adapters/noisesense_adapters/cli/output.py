"""What every command prints: lines, tables, JSON and figures; no colors."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from noisesense import Result
from noisesense_adapters.cli.terminal import columns, show, visible
from noisesense_adapters.evaluate.tables import Table
from noisesense_adapters.evaluate.wording import document_name

_WIDE = 100_000  # so wide that nothing is cut or wrapped
_CONSOLE = Console(width=_WIDE, color_system=None)
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


def show_table(table: Table) -> None:
    """Print a table on stdout, without frames.

    Where it is wider than the terminal, its columns stand in several tables, each with the names
    of the rows: no figure is broken.
    """
    if table.caption:
        say(f"{table.caption}:")
    room = columns(sys.stdout) or _WIDE
    block = [0]
    for i in range(1, len(table.titles)):
        if len(block) > 1 and _CONSOLE.measure(_grid(table, [*block, i])).maximum > room:
            _show_grid(_grid(table, block))
            block = [0]
        block.append(i)
    _show_grid(_grid(table, block))


def _grid(table: Table, block: Sequence[int]) -> RichTable:
    """Return the columns of a block; all but the table's first are aligned to the right."""
    grid = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for i in block:
        grid.add_column(Text(table.titles[i]), justify="right" if i else "left", no_wrap=True)
    for row in table.rows:
        grid.add_row(*(Text(visible(row[i])) for i in block))
    return grid


def _show_grid(grid: RichTable) -> None:
    with _CONSOLE.capture() as captured:
        _CONSOLE.print(grid)
    for line in captured.get().splitlines():
        print(line.rstrip())


_SHOWN_FAILURES = 20


class Failures:
    """Count failures, and say the first ones.

    Args:
        say: prints a line.
    """

    def __init__(self, say: Callable[[str], object] = tell) -> None:
        self._say = say
        self.count = 0

    def add(self, error: object) -> None:
        """Count a failure. Say it if it is one of the first 20, and once that there are more."""
        self.count += 1
        if self.count <= _SHOWN_FAILURES:
            self._say(one_line(f"failed: {error}"))
        elif self.count == _SHOWN_FAILURES + 1:
            self._say("more failed; they are counted, and no longer shown")


class Heads:
    """The names of samples for people: the id that a user chose, else the question."""

    def __init__(self) -> None:
        self._questions: dict[str, str] = {}

    def note(self, result: Result) -> Result:
        """Return the result; if its id is a hash of its content, remember its question, if any."""
        if _KEY.fullmatch(result.id) and result.sample and result.sample.user_input:
            self._questions[result.id] = document_name(result.sample.user_input)
        return result

    def __getitem__(self, name: str) -> str:
        """Return the question noted for a hash, or the hash's beginning; another id as it is."""
        short = f"{name[:12]}…" if _KEY.fullmatch(name) else name
        return self._questions.get(name, short)


def one_line(text: str) -> str:
    """Return the text with each run of white space as one space, and none at its ends."""
    return " ".join(text.split())
