"""The verdicts of one sample while they are being asked for: which cells, and what came back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from noisesense.llm_judge.verify import Answers, Premise
from noisesense.sample import Chunk, Sample
from noisesense.verdicts import ReferenceClaim, ResponseClaim, Verdicts

__all__ = ["Table"]


class Table:
    """Filled step by step. Claims have ids: the response's are 1 to R, the reference's go on
    from R + 1."""

    def __init__(self, sample: Sample, *, full: bool) -> None:
        self.sample = sample
        self.full = full
        self._response: Sequence[str] = ()
        self._reference: Sequence[str] = ()
        self._correct: Mapping[int, bool | None] = {}
        self._checked = asyncio.Event()
        self._by_text: Mapping[str, Answers] = {}
        self._reference_failed = False

    @property
    def needs_reference_claims(self) -> bool:
        """Labels win: with a label on every chunk nobody asks what the reference claims."""
        return self.full or any(chunk.relevant is None for chunk in self.sample.retrieved_contexts)

    @property
    def response_claims(self) -> dict[int, str]:
        """By id."""
        return dict(enumerate(self._response, start=1))

    @property
    def _reference_claims(self) -> dict[int, str]:
        return dict(enumerate(self._reference, start=len(self._response) + 1))

    def add_response_claims(self, claims: Sequence[str]) -> None:
        self._response = claims

    def add_reference_claims(self, claims: Sequence[str] | None) -> None:
        """None: every reply was unusable, so the unlabelled chunks' relevance stays open."""
        self._reference = claims or ()
        self._reference_failed = claims is None

    def add_correctness(self, answers: Answers) -> None:
        self._correct = answers
        self._checked.set()

    def chunk_premises(self) -> dict[str, Premise]:
        """What each distinct chunk text is to be asked. A blank one entails nothing.

        A claim whose correctness stayed undetermined may be incorrect, and is asked about.
        """
        doubtful = {
            number: claim
            for number, claim in self.response_claims.items()
            if self.full or self._correct[number] is not True
        }
        if not doubtful and not self.full:
            return {}
        premises: dict[str, Premise] = {}
        unlabelled = {
            chunk.text for chunk in self.sample.retrieved_contexts if chunk.relevant is None
        }
        for chunk in self.sample.retrieved_contexts:
            asked = dict(doubtful)
            if self.full or chunk.relevant is None:
                asked.update(self._reference_claims)
            if asked and chunk.text.strip():
                before = premises.get(chunk.text, Premise(chunk.text, {}))
                # Equal chunks, one of them labelled: the longer list holds the shorter.
                longer = max(before.claims, asked, key=len)
                deciding = partial(self._deciding, chunk.text in unlabelled)
                premises[chunk.text] = Premise(chunk.text, longer, deciding)
        return premises

    async def _deciding(self, unlabelled: bool, answers: Mapping[int, bool]) -> set[int]:
        """The claims that the score hangs on, by what is known of a chunk so far.

        An open cell of the reference leaves the chunk's relevance open, and with it every
        incorrect claim from that chunk; one that is known to be entailed settles it.
        """
        await self._checked.wait()
        claims = {
            number for number in self.response_claims if self._correct.get(number) is not True
        }
        if unlabelled and not any(answers.get(number) for number in self._reference_claims):
            claims.update(self._reference_claims)
        return claims

    def add_chunks(self, answers: Mapping[str, Answers]) -> None:
        self._by_text = answers

    @property
    def unanswered(self) -> int:
        """Cells that were asked and stayed open; an unusable list of claims counts as one."""
        correctness = sum(cell is None for cell in self._correct.values())
        chunks = [self._by_text.get(chunk.text, {}) for chunk in self.sample.retrieved_contexts]
        cells = sum(cell is None for answers in chunks for cell in answers.values())
        return correctness + cells + self._reference_failed

    def verdicts(self) -> Verdicts:
        """Everything that is known; cells without an answer, asked or not, are undetermined."""
        chunks = self.sample.retrieved_contexts
        return Verdicts(
            response_claims=tuple(
                ResponseClaim(text=text, correct=self._correct[number], **self._cells(number))
                for number, text in self.response_claims.items()
            ),
            reference_claims=tuple(
                ReferenceClaim(text=text, **self._cells(number))
                for number, text in self._reference_claims.items()
            ),
            chunks=chunks,
        )

    def _cells(self, claim: int) -> dict[str, tuple[int, ...]]:
        cells = [self._cell(chunk, claim) for chunk in self.sample.retrieved_contexts]
        return {
            "entailed_by": _positions(cell is True for cell in cells),
            "undetermined": _positions(cell is None for cell in cells),
        }

    def _cell(self, chunk: Chunk, claim: int) -> bool | None:
        if not chunk.text.strip():
            return False
        return self._by_text.get(chunk.text, {}).get(claim)


def _positions(which: Iterable[bool]) -> tuple[int, ...]:
    return tuple(j for j, holds in enumerate(which) if holds)
