"""The samples for the page's script: the rows of the table, and the details of each sample.

Each line is the base64 of some compressed JSON lines of rows or details. The page unpacks rows
when it opens, and details when a sample is opened.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from noisesense import Result
from noisesense.jsonl import to_json
from noisesense.scoring.definitions import modes_of

PACKED = 256
"""How many JSON lines are packed together; `detail.js` has the same number."""


class _Packed:
    """JSON lines, compressed as they are added."""

    def __init__(self) -> None:
        self._packs: list[str] = []
        self._waiting: list[str] = []

    def add(self, data: Any) -> None:
        self._waiting.append(to_json(data))
        if len(self._waiting) == PACKED:
            self._pack()

    def _pack(self) -> None:
        text = zlib.compress("\n".join(self._waiting).encode())
        self._packs.append(base64.b64encode(text).decode())
        self._waiting.clear()

    def packs(self) -> list[str]:
        if self._waiting:
            self._pack()
        return self._packs


class Samples:
    """Collects results. Row *i* and detail *i* are of sample *i*."""

    def __init__(self) -> None:
        self._rows = _Packed()
        self._details = _Packed()

    def add(self, result: Result) -> None:
        """Add the line of a results file, and what the score says of its claims."""
        line = result.to_dict()
        row = {
            "id": result.id,
            "question": None if result.sample is None else result.sample.user_input,
            "bounds": line.get("bounds"),
            "partition": line.get("partition"),
            "changed": bool(result.changes),
        }
        self._rows.add(row)
        score = result.score
        if score is not None:
            line["relevance"] = score.chunk_relevance
            line["reasons"] = [score.reason(mode) for mode in modes_of(score.definition)]
            line["kinds"] = [claim.category for claim in score.claims]
            # Without the text, which is shown beside it.
            line["sentences"] = [replace(claim, text="").sentence for claim in score.claims]
        self._details.add(line)

    def elements(self) -> Iterator[str]:
        """Yield the lines of the page that hold the data."""
        for name, block in {"rows": self._rows, "details": self._details}.items():
            yield f'<script type="text/plain" id="{name}">'
            yield from block.packs()
            yield "</script>"
