"""Lines for a terminal or a pipe.

Nothing is printed that a terminal obeys, or that it cannot encode, and no line is wider than it.
"""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TextIO

# Control characters, line separators, marks of the direction of text, and half surrogate pairs.
_OBEYED = re.compile("[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Return the text in one line: what a terminal would obey, such as a line end, is escaped."""
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


_MEASURE = 100
"""Longer lines of prose are hard to read."""


def columns(stream: TextIO) -> int | None:
    """Return how wide a line may be: as the terminal or ``COLUMNS`` says, at most 100.

    None in a pipe without ``COLUMNS``.
    """
    if "COLUMNS" in os.environ or stream.isatty():
        return min(get_terminal_size().columns, _MEASURE)
    return None


def fold(line: str, stream: TextIO) -> str:
    """Return the line as `visible` has it, broken between words where it is too wide."""
    text = visible(line)
    width = columns(stream)
    if width is None or len(text) <= width:
        return text
    # A word longer than the line is a path, which stays whole.
    return fill(text, width, break_long_words=False, break_on_hyphens=False)


def show(line: str, stream: TextIO) -> None:
    """Print a line as `fold` has it."""
    print(fold(line, stream), file=stream)


def prepare_streams() -> None:
    """Let stdout and stderr take every character. A closed one (``>&-``) discards its output."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # Windows redirects to cp1252
