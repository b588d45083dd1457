"""What became of the response claims: one by one, by kind and by mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from noisesense.scoring.definitions import Category
from noisesense.scoring.records import Record

_MAX_TEXT = 120
_WRONG = "is not supported by the reference"


class Partition(NamedTuple):
    """How many response claims are of each kind; the five add up to the number of claims.

    The partition does not depend on the definition.
    """

    correct: int
    relevant: int
    """Incorrect and entailed by a relevant chunk."""
    irrelevant: int
    """Incorrect, entailed by an irrelevant chunk and by no relevant one."""
    hallucination: int
    """Incorrect and entailed by no chunk."""
    undetermined: int
    """More than one of the above is still possible."""

    @property
    def total(self) -> int:
        """The number of response claims."""
        return sum(self)

    def share(self, category: Category) -> float | None:
        """The part of all response claims that is of this kind; None without claims."""
        return getattr(self, category) / self.total if self.total else None


class Counts(NamedTuple):
    """What one mode counted: ``noisy <= determined <= total`` response claims.

    The bounds are ``noisy / total`` and ``highest / total``.
    """

    noisy: int
    determined: int
    total: int

    @property
    def undetermined(self) -> int:
        """Claims of which it is not known whether they count."""
        return self.total - self.determined

    @property
    def highest(self) -> int:
        """The claims counted if all that are undetermined count."""
        return self.noisy + self.undetermined


@dataclass(frozen=True)
class ClaimOutcome(Record):
    """What became of one response claim, with the chunks that explain it (zero-based)."""

    _derived = ("sentence",)

    index: int
    text: str
    category: Category
    correct: bool | None
    relevant: bool | None
    """Counted by the relevant mode of the score's definition? None: undetermined."""
    irrelevant: bool | None
    """Counted by the irrelevant mode? None: undetermined, or the definition has no such mode."""
    relevant_chunks: tuple[int, ...]
    """Relevant chunks that entail it."""
    irrelevant_chunks: tuple[int, ...]
    """Irrelevant chunks that entail it."""
    unlabelled_chunks: tuple[int, ...]
    """Chunks that entail it and whose relevance is undetermined."""
    undetermined_chunks: tuple[int, ...]
    """Chunks of which it is undetermined whether they entail it."""

    @property
    def from_a_chunk(self) -> bool | None:
        """Is it incorrect and entailed by a chunk, relevant or not? None: it is open."""
        entailing = self.relevant_chunks or self.irrelevant_chunks or self.unlabelled_chunks
        if self.correct or not (entailing or self.undetermined_chunks):
            return False
        return True if self.correct is False and entailing else None

    @property
    def sentence(self) -> str:
        """In words, e.g. ``Claim 1 "…" is supported by the reference.``"""
        return f"{_name(self)} {_outcome(self)}."


def _outcome(claim: ClaimOutcome) -> str:
    if claim.category == "correct":
        return "is supported by the reference"
    if claim.category == "relevant":
        also = claim.irrelevant_chunks
        rest = f", also from irrelevant {_chunks(also)}" if also else ""
        return f"{_WRONG} and comes from relevant {_chunks(claim.relevant_chunks)}{rest}"
    if claim.category == "irrelevant":
        return f"{_WRONG} and comes from irrelevant {_chunks(claim.irrelevant_chunks)}"
    if claim.category == "hallucination":
        return f"{_WRONG}, and no retrieved chunk entails it"
    gaps = ["whether the reference entails it"] if claim.correct is None else []
    if chunks := claim.undetermined_chunks:
        gaps.append(f"whether {_chunks(chunks)} {'entails' if len(chunks) == 1 else 'entail'} it")
    if chunks := claim.unlabelled_chunks:
        gaps.append(f"whether {_chunks(chunks)} {'is' if len(chunks) == 1 else 'are'} relevant")
    return f"is undetermined: there is no verdict on {' nor on '.join(gaps)}"


def _name(claim: ClaimOutcome) -> str:
    text = " ".join(claim.text.split())
    if len(text) > _MAX_TEXT:
        text = text[: _MAX_TEXT - 1] + "…"
    return f'Claim {claim.index} "{text}"' if text else f"Claim {claim.index}"


def _chunks(positions: tuple[int, ...]) -> str:
    if len(positions) == 1:
        return f"chunk {positions[0]}"
    return f"chunks {', '.join(map(str, positions[:-1]))} and {positions[-1]}"
