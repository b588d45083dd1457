"""What the user's system is asked: the samples' noisy claims, and other chunks for them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from pydantic import StrictStr

from noisesense.errors import InputError, describe, located
from noisesense.scoring.outcomes import Range
from noisesense.scoring.results import Result, result_in
from noisesense.scoring.scoring import Score
from noisesense.verdicts.sample import Chunk, ChunkLike, Model, Sample

VARIANTS = ("again", "without", "relevant-only", "plus-2")
CLAIMS = {"again", "without"}
"""Of these only whether the noisy claims are said again is asked."""


class Row(Model):
    """One row of the plan, and of the answers."""

    id: StrictStr
    variant: StrictStr
    user_input: StrictStr
    retrieved_contexts: tuple[ChunkLike, ...]
    response: StrictStr | None = ""

    @property
    def place(self) -> str:
        return f"{self.id}, {self.variant}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready. A chunk is its text, or an object where it has a label or an id."""
        chunks = [c.model_dump(exclude_defaults=True) for c in self.retrieved_contexts]
        texts = [c["text"] if len(c) == 1 else c for c in chunks]
        return self.model_dump() | {"retrieved_contexts": texts}


@dataclass
class Case:
    """One sample of the results, and what became of it under each variant."""

    id: str
    unit: str
    sample: Sample
    score: Score

    def __post_init__(self) -> None:
        claims = zip(self.score.verdicts.response_claims, self.score.claims, strict=True)
        self.noisy = [claim for claim, outcome in claims if outcome.from_a_chunk]
        # By variant. Of `CLAIMS`: was each noisy claim said again? Of others, and of "", the
        # results themselves: the noise of the response, or nothing where it makes no claims.
        self.found = defaultdict[str, list[Range]](list, {"": self.noise(self.score)})

    @staticmethod
    def noise(scored: Score) -> list[Range]:
        """Between what the share of noisy claims lies; nothing without claims."""
        return [scored.from_chunks.bounds] if scored.claims else []

    def both(self, one: str, other: str) -> Iterator[tuple[Range, Range]]:
        return zip(self.found[one], self.found[other], strict=False)


def cases_of(results: Iterable[Result], left_out: Counter[str]) -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for result in map(result_in, results):
        sample, scored = result.sample, result.score
        if scored is None or sample is None:
            left_out["results without a score" if sample else "results without texts"] += 1
            continue
        if result.id in cases:
            raise InputError("each id once", describe(result.id), where="results")
        cases[result.id] = Case(result.id, result.cluster or result.id, sample, scored)
    if not cases:
        raise InputError("results with verdicts and texts", "none", where="results")
    return cases


def distractors(variant: str) -> int:
    """K of ``plus-K``; 0 for another variant. Raises `InputError` for an unknown one."""
    plus = re.fullmatch(r"plus-([1-9][0-9]{0,3})", variant)
    if plus is None and variant not in VARIANTS:
        raise InputError("again, without, relevant-only, plus-K", repr(variant), where="variant")
    return int(plus[1]) if plus else 0


def _pool(case: Case, cases: Iterable[Case]) -> list[Chunk]:
    """The other samples' chunks that hold nothing of this sample's reference, each text once.

    A chunk that is, or may be, relevant to the same question or reference does; so does one that
    holds the reference, or one of its claims, word for word.
    """
    own, pool = case.sample, dict[str, Chunk]()
    unfit = {chunk.text for chunk in own.retrieved_contexts}
    claims = [claim.text for claim in case.score.verdicts.reference_claims]
    wanted = [text for text in (own.reference, *claims) if text]
    for each in cases:
        other, relevance = each.sample, each.score.chunk_relevance
        same = other.user_input == own.user_input or other.reference == own.reference
        for chunk, relevant in zip(other.retrieved_contexts, relevance, strict=True):
            held = (same and relevant is not False) or any(text in chunk.text for text in wanted)
            if held or not chunk.text.strip():
                unfit.add(chunk.text)
            pool.setdefault(chunk.text, chunk)
    return [pool[text].model_copy(update={"relevant": False}) for text in sorted({*pool} - unfit)]


def kept_chunks(case: Case, variant: str) -> list[Chunk] | None:
    """The sample's own chunks that stay; None where the variant says nothing about it."""
    chunks, relevance = case.sample.retrieved_contexts, case.score.chunk_relevance
    if variant in CLAIMS:
        # What the judge left open may be a source too, and equal texts are one.
        sources = {chunks[j].text for c in case.noisy for j in (*c.entailed_by, *c.undetermined)}
        kept = [c for c in chunks if variant == "again" or c.text not in sources]
        return kept if case.noisy else None
    if distractors(variant):
        return [*chunks] if case.found[""] else None
    kept = [chunk for chunk, relevant in zip(chunks, relevance, strict=True) if relevant]
    return kept if case.found[""] and {*relevance} == {True, False} else None


def contexts_of(case: Case, variant: str, cases: Iterable[Case], seed: int) -> list[Chunk] | None:
    """The variant's chunks; None where it says nothing about the sample."""
    count, chunks = distractors(variant), kept_chunks(case, variant)
    if not count or chunks is None:
        return chunks
    pool = _pool(case, cases)
    if len(pool) < count:
        expected = f"{count} chunks of other samples (or fewer variants), without the reference"
        raise InputError(expected, str(len(pool)), where=f"{case.id}, {variant}")
    random = Random(f"{seed} {case.id}")  # plus-4 holds the distractors of plus-2
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
    cases = cases_of(results, Counter())
    rows = [
        Row(id=c.id, variant=v, user_input=c.sample.user_input, retrieved_contexts=tuple(chunks))
        for c in cases.values()
        for v in dict.fromkeys(variants)
        if (chunks := contexts_of(c, v, cases.values(), seed)) is not None
    ]
    return [row.to_dict() for row in rows]


def matched(cases: dict[str, Case], answered: Iterable[Any]) -> Iterator[tuple[Case, Row]]:
    """The answers with their samples. Raises `InputError` for one that answers something else."""
    seen: set[str] = set()
    for number, data in enumerate(answered, start=1):
        with located(f"answer {number}"):
            row = Row.model_validate(data)
            count, case = distractors(row.variant), cases.get(row.id)
            if case is None:
                raise InputError("an id of the results", describe(row.id))
        with located(row.place):
            if row.place in seen:
                raise InputError("one answer", "another one")
            seen.add(row.place)
            kept, given = kept_chunks(case, row.variant), row.retrieved_contexts
            own, all_ = (Counter(chunk.text for chunk in each or ()) for each in (kept, given))
            fits = kept is not None and own <= all_ and all_.total() == own.total() + count
            if not fits or row.user_input != case.sample.user_input:
                expected = "question and contexts as in a plan of these results"
                raise InputError(expected, f"others, for {describe(row.user_input)}")
        yield case, row
