"""The README's code blocks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["BLOCKS", "README", "Block"]

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
_BLOCK = re.compile(r"^```(\w+)(?: title=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    language: str
    title: str | None
    text: str


BLOCKS = [Block(*match.groups()) for match in _BLOCK.finditer(README)]
