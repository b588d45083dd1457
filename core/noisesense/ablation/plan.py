"""What the user's system is asked: the samples' noisy claims, and other chunks for them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pydantic import StrictStr

from noisesense.errors import InputError, check_whole, describe
from noisesense.scoring.records import Range
from noisesense.scoring.results import Result, result_in
from noisesense.scoring.scoring import Score
from noisesense.verdicts.model import Model
from noisesense.verdicts.sample import Chunk, ChunkLike, Sample

VARIANTS = ("again", "without", "relevant-only", "plus-2")
CLAIMS = {"again", "without"}
"""Of these only whether the noisy claims are said again is asked."""
_PLUS = re.compile(r"plus-([1-9][0-9]{0,3})")


class Row(Model):
    """One row of the plan, and of the answers."""

    id: StrictStr
    variant: StrictStr
    user_input: StrictStr
    retrieved_contexts: tuple[ChunkLike, ...]
    response: StrictStr | None = None

    @property
    def place(self) -> str:
        return f"{self.id}, {self.variant}"

    @property
    def texts(self) -> list[str]:
        return [chunk.text for chunk in self.retrieved_contexts]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready. A chunk is its text, or an object where it has a label or an id."""
        chunks = [c.model_dump(exclude_defaults=True) for c in self.retrieved_contexts]
        texts = [c["text"] if len(c) == 1 else c for c in chunks]
        return self.model_dump() | {"retrieved_contexts": texts, "response": self.response or ""}


@dataclass
class Case:
    """One sample of the results, and what became of it under each variant."""

    result: Result
    sample: Sample
    score: Score
    noisy: list[int]
    sources: set[int]
    said: dict[str, list[Range]] = field(default_factory=dict[str, "list[Range]"])
    noise: dict[str, Range] = field(default_factory=dict[str, Range])

    @property
    def unit(self) -> str:
        return self.result.cluster or self.result.id

    @property
    def claims(self) -> list[str]:
        return [self.score.claims[i].text for i in self.noisy]


def noise_of(scored: Score) -> Range | None:
    """Between what the share of noisy claims lies; None without claims."""
    sure = maybe = 0
    for claim in scored.claims:
        entailing = claim.relevant_chunks or claim.irrelevant_chunks or claim.unlabelled_chunks
        if claim.correct is True or not (entailing or claim.undetermined_chunks):
            continue
        maybe += 1
        sure += claim.correct is False and bool(entailing)
    total = len(scored.claims)
    return Range(sure / total, maybe / total) if total else None


def cases_of(results: Iterable[Result], left_out: Counter[str]) -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for result in map(result_in, results):
        if result.score is None or result.sample is None:
            left_out["results without a score" if result.sample else "results without texts"] += 1
            continue
        if result.id in cases:
            raise InputError("each id once", describe(result.id), where="results")
        scored, sample = result.score, result.sample
        claims = scored.verdicts.response_claims
        noisy = [i for i, c in enumerate(claims) if c.correct is False and c.entailed_by]
        texts = [chunk.text for chunk in sample.retrieved_contexts]
        # What the judge left open may be a source too, and equal texts are one.
        entailing = {
            texts[j] for i in noisy for j in (*claims[i].entailed_by, *claims[i].undetermined)
        }
        sources = {j for j, text in enumerate(texts) if text in entailing}
        case = cases[result.id] = Case(result, sample, scored, noisy, sources)
        if (noise := noise_of(scored)) is not None:
            case.noise[""] = noise
    if not cases:
        raise InputError("results with verdicts and texts", "none", where="results")
    return cases


def distractors(variant: str) -> int:
    """K of ``plus-K``; 0 for another variant. Raises `InputError` for an unknown one."""
    if match := _PLUS.fullmatch(variant):
        return int(match[1])
    if variant not in VARIANTS:
        raise InputError(
            "'again', 'without', 'relevant-only' or 'plus-K'", describe(variant), where="variant"
        )
    return 0


def _pool(case: Case, cases: Iterable[Case]) -> list[Chunk]:
    """The other samples' chunks that hold nothing of this sample's reference, each text once.

    A chunk that is, or may be, relevant to the same question or reference does; so does one that
    holds the reference, or one of its claims, word for word.
    """
    own = case.sample
    wanted = [own.reference, *(c.text for c in case.score.verdicts.reference_claims)]
    holding = {chunk.text for chunk in own.retrieved_contexts}
    pool: dict[str, Chunk] = {}
    for other in cases:
        same = other.sample.user_input == own.user_input or other.sample.reference == own.reference
        for chunk, relevant in zip(
            other.sample.retrieved_contexts, other.score.chunk_relevance, strict=True
        ):
            if same and relevant is not False:
                holding.add(chunk.text)
            if chunk.text.strip():
                pool.setdefault(chunk.text, chunk)
    return [
        chunk.model_copy(update={"relevant": False})
        for text, chunk in sorted(pool.items())
        if text not in holding and not any(each and each in text for each in wanted)
    ]


def contexts_of(case: Case, variant: str, cases: Iterable[Case], seed: int) -> list[Chunk] | None:
    """The variant's chunks; None where it says nothing about the sample."""
    chunks = list(case.sample.retrieved_contexts)
    count = distractors(variant)
    if variant in CLAIMS:
        kept = [c for j, c in enumerate(chunks) if variant == "again" or j not in case.sources]
        return kept if case.noisy else None
    if "" not in case.noise:
        return None
    if not count:
        relevance = case.score.chunk_relevance
        unclear = None in relevance or True not in relevance or all(relevance)
        return None if unclear else [c for c, yes in zip(chunks, relevance, strict=True) if yes]
    pool = _pool(case, cases)
    if len(pool) < count:
        raise InputError(
            f"{count} chunks of other samples that hold nothing of the reference",
            str(len(pool)),
            where=f"{case.result.id}, {variant}",
            hint="ask for fewer distractors, or give more samples",
        )
    random = Random(f"{seed} {case.result.id}")  # plus-4 holds the distractors of plus-2
    random.shuffle(pool)
    for chunk in pool[:count]:
        chunks.insert(random.randint(0, len(chunks)), chunk)
    return chunks


def plan(
    results: Iterable[Result], variants: Sequence[str] = VARIANTS, seed: int = 0
) -> list[dict[str, Any]]:
    """What to ask the system: a row for each sample and variant, in the results' order.

    ``again`` and ``without`` are asked of samples with noisy claims only; ``relevant-only`` where
    some chunks are relevant and some are not (where all are, nothing would change).

    Args:
        results: with verdicts and texts, as `noisesense.read_results` gives them.
        variants: ``"again"``, ``"without"``, ``"relevant-only"``, ``"plus-K"``.
        seed: of the distractors and their places.

    Returns:
        JSON-ready rows with ``id``, ``variant``, ``user_input``, ``retrieved_contexts`` and an
        empty ``response`` to fill in. A distractor is an object with ``"relevant": false``.

    Raises:
        InputError: nothing to plan from, an unknown variant, or too few chunks of other samples.
    """
    return [row.to_dict() for row in rows_of(cases_of(results, Counter()), variants, seed)]


def rows_of(cases: dict[str, Case], variants: Sequence[str], seed: int) -> list[Row]:
    check_whole(seed, 0, "seed")
    for variant in variants:
        distractors(variant)
    found = (
        (case, variant, contexts_of(case, variant, cases.values(), seed))
        for case in cases.values()
        for variant in dict.fromkeys(variants)
    )
    return [
        Row(
            id=case.result.id,
            variant=variant,
            user_input=case.sample.user_input,
            retrieved_contexts=tuple(chunks),
        )
        for case, variant, chunks in found
        if chunks is not None
    ]
