"""The samples as the page's script reads them: rows of the table, and a detail for each.

Rows, details and chunks are packed: each line is the base64 of some compressed JSON lines. Rows
are unpacked when the page opens, the others when a sample among them is opened. A chunk that
several samples share is stored once.
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
from noisesense.scoring.definitions import MODES
from noisesense.verdicts.form import ChunkForm

PACKED = 256
"""How many lines are packed together: `detail.js` has the same number."""

_DIGITS = 6
"""Of values: more than the page shows, and few enough to keep the file small."""


class _Packed:
    """JSON lines, compressed as they come."""

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
    """Collects results. Row and detail *i* are of sample *i*; details name chunks by number."""

    def __init__(self) -> None:
        self._rows, self._details, self._chunks = _Packed(), _Packed(), _Packed()
        self._numbers: dict[bytes, int] = {}

    def add(self, result: Result) -> None:
        self._rows.add(_row(result))
        self._details.add(self._detail(result))

    def elements(self) -> Iterator[str]:
        """The lines of the page that hold the data."""
        for name, block in (
            ("rows", self._rows),
            ("details", self._details),
            ("chunks", self._chunks),
        ):
            yield f'<script type="text/plain" id="{name}">'
            yield from block.packs()
            yield "</script>"

    def _detail(self, result: Result) -> dict[str, Any]:
        sample, score = result.sample, result.score
        detail: dict[str, Any] = {
            "response": sample and sample.response,
            "reference": sample and sample.reference,
            "chunks": [self._chunk(c, None) for c in sample.retrieved_contexts] if sample else [],
            "cluster": result.cluster,
            "judge": result.judge,
            "error": result.error,
            "unanswered": result.unanswered,
        }
        return detail if score is None else detail | self._verdicts(score)

    def _verdicts(self, score: Score) -> dict[str, Any]:
        verdicts, relevance = score.verdicts, score.chunk_relevance
        chunks = verdicts.chunks or (Chunk(text=""),) * len(relevance)
        return {
            "reasons": [score.reason(mode) for mode in MODES if score.counts(mode) is not None],
            "claims": [_claim(claim, score) for claim in score.claims],
            "references": [
                {"text": c.text, "by": c.entailed_by, "open": c.undetermined}
                for c in verdicts.reference_claims
            ],
            "chunks": [self._chunk(c, r) for c, r in zip(chunks, relevance, strict=True)],
        }

    def _chunk(self, chunk: ChunkForm, relevant: bool | None) -> list[Any]:
        """Its number, its relevance, and whether that is a label."""
        data = {"text": chunk.text, "id": chunk.id}
        key = blake2b(to_json(data).encode(), digest_size=16).digest()
        number = self._numbers.setdefault(key, self._chunks.count)
        if number == self._chunks.count:
            self._chunks.add(data)
        return [number, relevant, chunk.relevant is not None]


def _row(result: Result) -> dict[str, Any]:
    """A mode's value is its two ends, null where it is undefined; a failed sample has no kinds."""
    score = result.score
    row: dict[str, Any] = {
        "id": result.id,
        "question": result.sample and result.sample.user_input,
        "kinds": score and score.partition,
    }
    for mode in MODES:
        bounds = score and score.bounds(mode)
        row[mode] = bounds and [round(end, _DIGITS) for end in bounds]
    return row


def _claim(claim: ClaimOutcome, score: Score) -> dict[str, Any]:
    verdict = score.verdicts.response_claims[claim.index]
    return {
        "text": claim.text,
        "kind": claim.category,
        "correct": claim.correct,
        "by": verdict.entailed_by,
        "open": verdict.undetermined,
        # The text stands beside it: the sentence need not repeat it.
        "sentence": replace(claim, text="").sentence,
    }
