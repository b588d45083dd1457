"""What is known of each sample: its claims, its chunks, and the answers to a plan."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import StrictStr

from noisesense.errors import InputError, describe, encodable
from noisesense.scoring.definitions import Truth
from noisesense.scoring.outcomes import Range
from noisesense.scoring.results import Result, results_in
from noisesense.scoring.scoring import Score
from noisesense.stats.clusters import cluster_of
from noisesense.stats.interval import mean_range
from noisesense.stats.offenders import document_of
from noisesense.verdicts.form import ResponseClaimForm
from noisesense.verdicts.sample import Chunk, ChunkLike, Line, Sample

VARIANTS = ("again", "without", "without-other")
"""What is asked by default."""

LEAVE_OUT = "leave-out-"


class Row(Line):
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
        """Return the row, JSON-ready. A chunk is a text, or with a label or an id an object."""
        chunks: list[Any] = []
        for chunk in self.retrieved_contexts:
            data = chunk.model_dump(exclude_defaults=True)
            chunks.append(data["text"] if len(data) == 1 else data)
        return self.model_dump() | {"retrieved_contexts": chunks}


class Answer(NamedTuple):
    """What became of a sample under a variant.

    Attributes:
        unsupported: the share of the response's claims that the reference does not support: 0 to 1
            where that was not asked or not told, None where it makes no claims.
        said: of each claim of the old response, from 0 to 1: does this one say it again?
    """

    unsupported: Range | None
    said: tuple[Range, ...]


@dataclass
class Case:
    """One sample of the results, and the answers to it by variant.

    Attributes:
        unit: the cluster that it is in.
        noisy: the positions of its claims that the reference does not support and a chunk entails.
        unexplained: of those that the reference does not support and no chunk entails.
        sources: the texts of the chunks that the noisy claims come from, or may come from.
    """

    id: str
    unit: Hashable
    sample: Sample
    score: Score
    noisy: list[int] = field(init=False)
    unexplained: list[int] = field(init=False)
    sources: set[str] = field(init=False)
    answers: dict[str, Answer] = field(init=False, default_factory=dict[str, Answer])

    def __post_init__(self) -> None:
        """Derive the rest from the score. A claim whose ``from_a_chunk`` is True is incorrect."""
        self.noisy = []
        self.unexplained = []
        self.sources = set()
        outcomes = zip(self.claims, self.score.outcomes, strict=True)
        for position, (claim, outcome) in enumerate(outcomes):
            if outcome.from_a_chunk:
                self.noisy.append(position)
                for chunk in (*claim.entailed_by, *claim.undetermined):
                    self.sources.add(self.sample.retrieved_contexts[chunk].text)
            elif claim.correct is False and outcome.from_a_chunk is False:
                self.unexplained.append(position)

    @property
    def seed(self) -> str:
        """The seed of all that is chosen at random for this sample."""
        return encodable(f"0 {self.id}")

    @property
    def claims(self) -> Sequence[ResponseClaimForm]:
        """The claims of the old response."""
        return self.score.verdicts.response_claims

    @property
    def chunks(self) -> Iterator[tuple[Chunk, Truth]]:
        """The sample's chunks, and whether each is relevant; None where that is not known."""
        return zip(self.sample.retrieved_contexts, self.score.chunk_relevance, strict=True)

    def chunks_without(self, texts: AbstractSet[str]) -> list[Chunk]:
        """Return the sample's chunks whose texts are not among these."""
        return [chunk for chunk in self.sample.retrieved_contexts if chunk.text not in texts]

    @property
    def documents(self) -> dict[str, int]:
        """The documents, each with the position of its first chunk."""
        documents: dict[str, int] = {}
        for position, chunk in enumerate(self.sample.retrieved_contexts):
            documents.setdefault(document_of(chunk), position)
        return documents

    @property
    def misleading(self) -> set[str]:
        """The documents that noisy claims come from, or may come from: those of `sources`."""
        chunks = self.sample.retrieved_contexts
        return {document_of(chunk) for chunk in chunks if chunk.text in self.sources}

    def chunks_of(self, position: int) -> set[str]:
        """Return the texts of all chunks of the document that the chunk at this position is of."""
        chunks = self.sample.retrieved_contexts
        document = document_of(chunks[position])
        return {chunk.text for chunk in chunks if document_of(chunk) == document}

    def unsupported(self, variant: str) -> Range | None:
        """Return `Answer.unsupported` under a variant; None without an answer, too."""
        answer = self.answers.get(variant)
        return None if answer is None else answer.unsupported

    def gone(self, variant: str, claims: Iterable[int]) -> Range | None:
        """Return the share of these claims, by position, that the variant's answer does not say.

        None without an answer or claims.
        """
        answer = self.answers.get(variant)
        if answer is None:
            return None
        said = mean_range([answer.said[claim] for claim in claims])
        return None if said is None else Range(1 - said.high, 1 - said.low)

    def others(self, followed: Iterable[int], taken: AbstractSet[str]) -> list[int]:
        """Return the positions of claims not followed that no chunk with a taken text entails."""
        texts = [chunk.text for chunk in self.sample.retrieved_contexts]
        others: list[int] = []
        for position, claim in enumerate(self.claims):
            entailing = {texts[chunk] for chunk in claim.entailed_by}
            if position not in followed and not entailing & taken:
                others.append(position)
        return others


def cases_of(results: Iterable[Result], left_out: Counter[str]) -> dict[str, Case]:
    """Return the cases by id. Counts in ``left_out`` the results that cannot be used.

    Raises:
        InputError: something else than results, an id that occurs twice among those that can be
            used, or none that can.
    """
    cases: dict[str, Case] = {}
    for result in results_in(results):
        sample = result.sample
        scored = result.score
        if sample is None or scored is None:
            left_out["results without texts or a score"] += 1
            continue
        if result.id in cases:
            raise InputError("each id once", describe(result.id), where="results")
        cases[result.id] = Case(result.id, cluster_of(result), sample, scored)
    if not cases:
        raise InputError("results with verdicts and texts", "none", where="results")
    return cases


def distractors(variant: str) -> int:
    """Return K of ``plus-K``; 0 for another variant. Raises `InputError` for an unknown one."""
    plus = re.fullmatch(r"plus-([1-9][0-9]{0,3})", variant)
    if plus is not None:
        return int(plus[1])
    if left_out(variant) is None and variant not in {*VARIANTS, "relevant-only"}:
        expected = "again, without, without-other, relevant-only, or plus-K with K from 1 to 9999"
        raise InputError(expected, repr(variant), where="variant")
    return 0


def left_out(variant: str) -> int | None:
    """Return I of ``leave-out-I``, a chunk's position; None for any other text."""
    position = variant.removeprefix(LEAVE_OUT)
    return int(position) if position != variant and position.isdecimal() else None
