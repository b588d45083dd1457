"""Tables in Markdown: a row says something only beside the heads of its columns."""

from __future__ import annotations

import re

_RULE = re.compile(r"[ \t|:]*-[-|: \t]*")


def rows_with_heads(text: str) -> dict[str, str]:
    """Each row of the text's tables, and what it says beside the heads.

    ``| Arlen | 12 |`` below ``| Town | People |`` is ``Town: Arlen, People: 12``.
    """
    rows: dict[str, str] = {}
    heads: list[str] = []
    lines = [line.strip() for line in text.splitlines()]
    for at, line in enumerate(lines):
        below = lines[at + 1 : at + 2]
        if "|" not in line:
            heads = []
        elif below and _RULE.fullmatch(below[0]):
            heads = cells(line)
        elif heads and not _RULE.fullmatch(line):
            pairs = zip(heads, cells(line), strict=False)
            rows[line] = ", ".join(f"{head}: {cell}" for head, cell in pairs if cell)
    return rows


def cells(row: str) -> list[str]:
    """Those of a row or of a table's head."""
    return [cell.strip() for cell in row.strip("|").split("|")]
