"""The samples for the page's script: the rows of the table, and the details of each sample.

Each line is the base64 of some compressed JSON lines of rows, details or chunks. The page unpacks
rows when it opens, and details and chunks when a sample is opened. A chunk that several samples
share is stored once.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from noisesense import Chunk, ClaimOutcome, Result, Score
from noisesense.jsonl import to_json
from noisesense.scoring.definitions import MODES, modes_of
from noisesense.verdicts.form import ChunkForm

PACKED = 256
"""How many JSON lines are packed together; `detail.js` has the same number."""

_DIGITS = 6
"""Decimal places of values: more than the page shows, but few, to keep the file small."""


class _Packed:
    """JSON lines, compressed as they are added."""

    def __init__(self) -> None:
        self._packs: list[str] = []
        self._waiting: list[str] = []
        self.count = 0

    def add(self, data: Any) -> None:
        self._waiting.append(to_json(data))
        self.count += 1
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
    """Collects results. Row *i* and detail *i* are of sample *i*; details refer to chunks."""

    def __init__(self) -> None:
        self._rows = _Packed()
        self._details = _Packed()
        self._chunks = _Packed()
        self._numbers: dict[bytes, int] = {}

    def add(self, result: Result) -> None:
        self._rows.add(_row(result))
        self._details.add(self._detail(result))

    def elements(self) -> Iterator[str]:
        """Yield the lines of the page that hold the data."""
        blocks = {"rows": self._rows, "details": self._details, "chunks": self._chunks}
        for name, block in blocks.items():
            yield f'<script type="text/plain" id="{name}">'
            yield from block.packs()
            yield "</script>"

    def _detail(self, result: Result) -> dict[str, Any]:
        detail: dict[str, Any] = {
            "response": None,
            "reference": None,
            "chunks": [],
            "cluster": result.cluster,
            "judge": result.judge,
            "error": result.error,
            "unanswered": result.unanswered,
            "changes": [[each.text, each.of, each.change] for each in result.changes],
        }
        sample = result.sample
        if sample is not None:
            detail["response"] = sample.response
            detail["reference"] = sample.reference
            detail["chunks"] = [self._chunk(chunk, None) for chunk in sample.retrieved_contexts]
        if result.score is not None:
            detail |= self._verdicts(result.score)
        return detail

    def _verdicts(self, score: Score) -> dict[str, Any]:
        verdicts = score.verdicts
        relevance = score.chunk_relevance
        chunks = verdicts.chunks or (Chunk(text=""),) * len(relevance)
        references: list[dict[str, Any]] = []
        for claim in verdicts.reference_claims:
            references.append(
                {"text": claim.text, "by": claim.entailed_by, "open": claim.undetermined}
            )
        return {
            "reasons": [score.reason(mode) for mode in modes_of(score.definition)],
            "claims": [_claim(claim, score) for claim in score.claims],
            "references": references,
            "chunks": list(map(self._chunk, chunks, relevance)),
        }

    def _chunk(self, chunk: ChunkForm, relevant: bool | None) -> list[Any]:
        """Return the number of the chunk, its relevance, and whether that is a label."""
        data = {"text": chunk.text, "id": chunk.id}
        key = blake2b(to_json(data).encode(), digest_size=16).digest()
        number = self._numbers.setdefault(key, self._chunks.count)
        if number == self._chunks.count:
            self._chunks.add(data)
        return [number, relevant, chunk.relevant is not None]


def _row(result: Result) -> dict[str, Any]:
    """Return the row of a result. A mode has the ends of its range, or null."""
    row: dict[str, Any] = {
        "id": result.id,
        "question": None if result.sample is None else result.sample.user_input,
        "kinds": None,
        "changed": bool(result.changes),
    }
    row |= dict.fromkeys(MODES)
    score = result.score
    if score is None:
        return row
    row["kinds"] = score.partition
    for mode in MODES:
        bounds = score.bounds(mode)
        if bounds is not None:
            row[mode] = [round(end, _DIGITS) for end in bounds]
    return row


def _claim(claim: ClaimOutcome, score: Score) -> dict[str, Any]:
    verdict = score.verdicts.response_claims[claim.index]
    return {
        "text": claim.text,
        "kind": claim.category,
        "correct": claim.correct,
        "by": verdict.entailed_by,
        "open": verdict.undetermined,
        # Without the text, which is shown beside it.
        "sentence": replace(claim, text="").sentence,
    }
