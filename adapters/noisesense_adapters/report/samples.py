"""The samples as the page's script reads them: rows of the table, and a detail for each.

Rows, details and chunks are packed: each line is the base64 of some compressed JSON lines. Rows
are unpacked when the page opens, the others when a sample among them is opened. A chunk that
several samples share is stored once.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

from noisesense import Chunk, ClaimOutcome, ModeSummary, Result, Score
from noisesense.jsonl import to_json
from noisesense.scoring.definitions import MODES, Mode
from noisesense.scoring.outcomes import extent
from noisesense.stats.compare import ModeComparison
from noisesense.stats.resampling import quantile_of_counts
from noisesense.verdicts.form import ChunkForm

NO_VALUES = "No sample has a value: there is nothing to draw."

MODE_WORDS: dict[Mode, str] = {
    "relevant": "The right document was retrieved, but it misled: "
    "claims that a relevant chunk supports and the reference does not.",
    "irrelevant": "A document that does not help misled: "
    "claims that irrelevant chunks support and the reference does not.",
}


class Kind(NamedTuple):
    name: str
    words: str


KINDS = {
    "correct": Kind("correct", "entailed by the reference"),
    "relevant": Kind("relevant noise", "in a relevant chunk, and not in the reference"),
    "irrelevant": Kind("irrelevant noise", "in irrelevant chunks only, and not in the reference"),
    "hallucination": Kind("hallucination", "found neither in the reference nor in a chunk"),
    "undetermined": Kind("undetermined", "the judge left its kind open"),
}


_CHANGE = {
    "worse": ", worse",
    "better": ", better",
    "same": ", the same within the margin",
    "undecided": ", which may be chance",
}


def since(name: str, modes: list[ModeComparison]) -> str:
    """What changed since an earlier run."""
    parts = [
        f"{mode.mode} {extent(mode.mean_a)} → {extent(mode.mean_b)} "
        f"({extent(mode.difference, '+.3f')}{_CHANGE[mode.decision]})"
        for mode in modes
        if mode.mean_a and mode.mean_b and mode.difference
    ]
    return f"Since {name}: {', '.join(parts) or 'nothing to compare'}."


def histogram_words(mode: ModeSummary, counts: list[int]) -> str:
    """The text alternative of a histogram."""
    bins = [f"{i / 10:.1f} to {(i + 1) / 10:.1f}: {n}" for i, n in enumerate(counts) if n]
    if missing := left_out(mode):
        bins.append(f"undetermined: {missing}")
    samples = mode.determined + mode.undetermined
    return f"Histogram, {mode.mode} mode, {samples} samples by value. {'; '.join(bins)}."


def left_out(mode: ModeSummary) -> int:
    """How many samples have no value to draw because the judge left it open."""
    samples = mode.determined + mode.undetermined
    return samples - sum(times for _, times in mode.distribution)


def box_words(modes: list[ModeSummary]) -> str:
    return f"Box plots. {'; '.join(map(_box, modes))}."


def _box(mode: ModeSummary) -> str:
    at = partial(quantile_of_counts, mode.distribution)
    mean = f"mean {extent(mode.mean, '.2f')}, " if mode.mean else ""
    missing = left_out(mode)
    excluded = f", without {missing} undetermined" if missing else ""
    return (
        f"{mode.mode}{excluded}: lowest {at(0):.2f}, lower quartile {at(0.25):.2f}, "
        f"median {at(0.5):.2f}, {mean}upper quartile {at(0.75):.2f}, highest {at(1):.2f}"
    )


def boxes_caption(modes: list[ModeSummary]) -> str:
    """What the box plots show, and which samples they cannot."""
    mean = ", mean (◆)" if any(not left_out(mode) for mode in modes) else ""
    caption = f"Quartiles{mean} and samples beyond 1.5 × IQR (○)"
    missing = [f"{count:,} {mode.mode}" for mode in modes if (count := left_out(mode))]
    if not missing:
        return caption
    return f"{caption}, of determined samples; undetermined and left out: {', '.join(missing)}"


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
