"""What `score` reads: the form of verdicts, and what follows from their claims and chunks.

The model `noisesense.Verdicts` has this form; a host that cannot afford pydantic may read the same
data its own way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol, TypedDict

Cell = bool | None

MOST_UNLISTED = 100_000
"""Chunks that verdicts may name without listing them; each takes room in scores and tables."""


class Matrices(TypedDict):
    """The arguments of `Verdicts.from_matrices`: R response and G reference claims, C chunks."""

    reference_to_response: list[Cell]
    chunks_to_response: list[list[Cell]]
    chunks_to_reference: list[list[Cell]] | None
    relevant: list[Cell] | None


class ChunkForm(Protocol):
    """As `noisesense.Chunk`."""

    @property
    def text(self) -> str: ...
    @property
    def relevant(self) -> bool | None: ...
    @property
    def id(self) -> str | None: ...


class ClaimForm(Protocol):
    """As `noisesense.ReferenceClaim`; both lists of positions ascend."""

    @property
    def text(self) -> str: ...
    @property
    def entailed_by(self) -> tuple[int, ...]: ...
    @property
    def undetermined(self) -> tuple[int, ...]: ...


class ResponseClaimForm(ClaimForm, Protocol):
    """As `noisesense.ResponseClaim`."""

    @property
    def correct(self) -> bool | None: ...


class _Parts(Protocol):
    @property
    def response_claims(self) -> Sequence[ResponseClaimForm]: ...
    @property
    def reference_claims(self) -> Sequence[ClaimForm]: ...
    @property
    def chunks(self) -> Sequence[ChunkForm] | None: ...


class VerdictsForm(_Parts, Protocol):
    """What a `Score` is made of, and keeps."""

    @property
    def chunk_count(self) -> int: ...
    def to_matrices(self) -> Matrices: ...


class VerdictsBase:
    """Makes a `VerdictsForm` of what has its claims and chunks."""

    __slots__ = ()

    @property
    def chunk_count(self: _Parts) -> int:
        """The number of chunks. If they are left out, one more than the last position named."""
        if self.chunks is not None:
            return len(self.chunks)
        claims = (*self.response_claims, *self.reference_claims)
        named = (c[-1] for claim in claims for c in (claim.entailed_by, claim.undetermined) if c)
        return max(named, default=-1) + 1

    def to_matrices(self: VerdictsForm) -> Matrices:
        """The same verdicts as tables: ``Verdicts.from_matrices(**v.to_matrices())`` reads them.

        Texts do not travel in tables.
        """
        count = self.chunk_count
        labels: list[Cell] = [chunk.relevant for chunk in self.chunks or ()]
        unlabeled: list[Cell] = [None] * count
        return {
            "reference_to_response": [claim.correct for claim in self.response_claims],
            "chunks_to_response": [_row(claim, count) for claim in self.response_claims],
            "chunks_to_reference": [_row(claim, count) for claim in self.reference_claims],
            # Always present, so that a table without claims keeps its number of chunks.
            "relevant": labels or unlabeled,
        }


def nothing_retrieved(verdicts: VerdictsForm) -> bool:
    """Are there no chunks, or only blank ones?

    A blank chunk is one of a table without texts if no claim has a text either, if it is labeled,
    or if a verdict names it.
    """
    claims = (*verdicts.response_claims, *verdicts.reference_claims)
    for claim in claims:  # mostly the first ones tell
        if claim.entailed_by or claim.undetermined:
            return False
    chunks = verdicts.chunks or ()
    if any(chunk.relevant is not None or chunk.text.strip() for chunk in chunks):
        return False
    return not chunks or any(claim.text for claim in claims)


def _row(claim: ClaimForm, count: int) -> list[Cell]:
    row: list[Cell] = [False] * count
    for j in claim.entailed_by:
        row[j] = True
    for j in claim.undetermined:
        row[j] = None
    return row


def positions(row: Sequence[Cell]) -> dict[str, tuple[int, ...]]:
    """The cells of a claim's row as the two fields of the claim."""
    return {
        "entailed_by": tuple(j for j, cell in enumerate(row) if cell),
        "undetermined": tuple(j for j, cell in enumerate(row) if cell is None),
    }


def merged_chunk(own: ChunkForm, context: ChunkForm) -> tuple[str, bool | None, str | None] | None:
    """Text, label and id of a chunk in the verdicts and of the sample's context at its position.

    The context's label and id win where it has them. None if the two have different texts.
    """
    if own.text not in ("", context.text):
        return None
    label = own.relevant if context.relevant is None else context.relevant
    return context.text, label, context.id or own.id


def key_of(texts: list[Any]) -> str:
    """A sample's key, of question, response, reference and the list of chunks' texts."""
    from hashlib import sha256  # neither is needed by a process that only scores

    from msgspec.json import encode

    try:
        canonical = encode(texts)
    except UnicodeEncodeError:  # half of a surrogate pair
        plain = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
        canonical = plain.encode("utf-8", "surrogatepass")
    return sha256(canonical).hexdigest()
