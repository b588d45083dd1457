"""Lines for a terminal or a pipe.

Nothing is printed that a terminal obeys, or that it cannot encode, and no line is wider than it.
"""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import NoReturn, TextIO

PIPE_CLOSED = 128 + 13
"""The exit status of a Unix tool whose reader is gone: 128 and the number of SIGPIPE."""

# Control characters, line separators, marks of the direction of text, and half surrogate pairs.
_OBEYED = re.compile("[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Write the text in one line, with characters that a terminal would obey as escapes."""
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


_MEASURE = 100
"""Longer lines of prose are hard to read."""


def columns(stream: TextIO) -> int | None:
    """Measure how wide a line may be: the terminal, or ``COLUMNS``. None in a pipe."""
    if "COLUMNS" in os.environ or stream.isatty():
        return min(get_terminal_size().columns, _MEASURE)
    return None


def fold(line: str, stream: TextIO) -> str:
    """Make the line fit the stream, between words where it is too wide."""
    text = visible(line)
    width = columns(stream)
    if width is None or len(text) <= width:
        return text
    indent = text[: len(text) - len(text.lstrip())]
    # A word longer than the line is a path, which stays whole.
    wrapper = TextWrapper(
        width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return wrapper.fill(text)


def show(line: str, stream: TextIO) -> None:
    """Print a line, folded."""
    print(fold(line, stream), file=stream)


def prepare_streams() -> None:
    """Let stdout and stderr take every character. A closed one (``>&-``) discards its output."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # Windows redirects to cp1252


def pipe_closed() -> NoReturn:
    """End the process because nobody reads its output any more (``| head -1``)."""
    # Discard what is still to be written, or Python would report an error at exit.
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
                continue
            os.dup2(nowhere, stream.fileno())
    sys.exit(PIPE_CLOSED)
