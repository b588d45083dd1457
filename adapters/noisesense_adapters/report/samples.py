"""The samples as the page's script reads them: rows of the table, and a detail for each.

Rows, details and chunks are packed: each line is the base64 of some compressed JSON lines. Rows
are unpacked when the page opens, the others when a sample among them is opened. A chunk that
several samples share is stored once.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from noisesense import Chunk, ClaimOutcome, Result, Score
from noisesense.jsonl import to_json
from noisesense.scoring.definitions import MODES, Mode
from noisesense.verdicts.form import ChunkForm

_DIGITS = 6
"""Of values: more than the page shows, and few enough to keep the file small."""


PACKED = 256
"""How many lines are packed together: `detail.js` has the same number."""


class Packed:
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

    def packs(self) -> list[str]:
        """All packs."""
        if self._waiting:
            self._pack()
        return self._packs

    def _pack(self) -> None:
        text = zlib.compress("\n".join(self._waiting).encode())
        self._packs.append(base64.b64encode(text).decode())
        self._waiting.clear()


class Samples:
    """Collects results. Row and detail *i* are of sample *i*; details name chunks by number."""

    def __init__(self) -> None:
        self.rows, self.details, self.chunks = Packed(), Packed(), Packed()
        self._numbers: dict[bytes, int] = {}

    def add(self, result: Result) -> None:
        self.rows.add(_row(result))
        self.details.add(self._detail(result))

    def _detail(self, result: Result) -> dict[str, Any]:
        detail: dict[str, Any] = {}
        sample = result.sample
        if sample is not None:
            detail |= {"response": sample.response, "reference": sample.reference}
        for name in ("cluster", "judge", "error"):
            if (value := getattr(result, name)) is not None:
                detail[name] = value
        if result.unanswered:
            detail["unanswered"] = result.unanswered
        if result.score is not None:
            detail |= self._verdicts(result.score)
        elif sample is not None:
            detail["chunks"] = [self._chunk(c, None) for c in sample.retrieved_contexts]
        return detail

    def _verdicts(self, score: Score) -> dict[str, Any]:
        verdicts, relevance = score.verdicts, score.chunk_relevance
        chunks = verdicts.chunks or (Chunk(text=""),) * len(relevance)
        return {
            "reasons": [score.reason(mode) for mode in MODES if score.counts(mode) is not None],
            "claims": [_claim(c, score) for c in score.claims],
            "references": [
                {"text": c.text, "by": c.entailed_by, "open": c.undetermined}
                for c in verdicts.reference_claims
            ],
            "chunks": [self._chunk(c, r) for c, r in zip(chunks, relevance, strict=True)],
        }

    def _chunk(self, chunk: ChunkForm, relevant: bool | None) -> list[Any]:
        """Its number, its relevance, and whether that is a label."""
        data = {"text": chunk.text} if chunk.id is None else {"text": chunk.text, "id": chunk.id}
        key = blake2b(to_json(data).encode(), digest_size=16).digest()
        number = self._numbers.setdefault(key, self.chunks.count)
        if number == self.chunks.count:
            self.chunks.add(data)
        return [number, relevant, chunk.relevant is not None]


def _row(result: Result) -> dict[str, Any]:
    row: dict[str, Any] = {"id": result.id}
    if result.sample is not None and result.sample.user_input:
        row["question"] = result.sample.user_input
    score = result.score
    if score is None:
        return {**row, "failed": True}
    row["kinds"] = list(score.partition)
    for mode in MODES:
        row |= _value(score, mode)
    return row


def _value(score: Score, mode: Mode) -> dict[str, Any]:
    value, bounds = score.value(mode), score.bounds(mode)
    data: dict[str, Any] = {mode: None if value is None else round(value, _DIGITS)}
    if bounds is not None and score.status(mode) == "undetermined":
        data[f"{mode}_bounds"] = [round(end, _DIGITS) for end in bounds]
    return data


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
