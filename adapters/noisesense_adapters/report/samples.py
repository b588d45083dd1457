"""The samples as the page's script reads them: rows of the table, and a detail for each.

Rows are one JSON document, read when the page opens. Details are JSON lines; one is read when its
sample is opened. A text that several samples share is stored once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from noisesense import Chunk, ClaimOutcome, Result, Score
from noisesense.jsonl import to_json
from noisesense.scoring.definitions import MODES, Mode
from noisesense.verdicts.form import ChunkForm

_DIGITS = 6
"""Of values: more than the page shows, and few enough to keep the file small."""


class Samples:
    """Collects results. ``rows[i]`` and ``details[i]`` are of sample *i*, ``texts`` of all."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.details: list[str] = []
        self._texts: dict[str, int] = {}

    @property
    def texts(self) -> list[str]:
        """The chunks' distinct texts; details name them by position."""
        return list(self._texts)

    def add(self, result: Result) -> None:
        self.rows.append(_row(result))
        self.details.append(to_json(self._detail(result)))

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

    def _chunk(self, chunk: ChunkForm, relevant: bool | None) -> dict[str, Any]:
        data: dict[str, Any] = {
            "text": self._texts.setdefault(chunk.text, len(self._texts)),
            "relevant": relevant,
        }
        if chunk.id is not None:
            data["id"] = chunk.id
        if chunk.relevant is not None:
            data["labeled"] = True
        return data


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
