"""The light form of verdicts, which `score` reads as it does the models; what both forms share.

The light form has the fields of the model `noisesense.Verdicts`, without pydantic. msgspec reads
it where there are many verdicts or where pydantic would take too long: what is plainly valid.
Anything else gives None and goes to the models, which alone decide whether it is wrong, and say
so; a property test holds the two equal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from operator import lt
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypedDict

from msgspec import Meta, MsgspecError, Struct, convert
from msgspec.json import Decoder

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
    """As `noisesense.Chunk`, which is frozen, as all models are."""

    text: str
    relevant: bool | None
    id: str | None


class ClaimForm(Protocol):
    """As `noisesense.ReferenceClaim`; both lists of positions ascend."""

    text: str
    entailed_by: tuple[int, ...]
    undetermined: tuple[int, ...]


class ResponseClaimForm(ClaimForm, Protocol):
    """As `noisesense.ResponseClaim`."""

    correct: bool | None


class VerdictsForm(Protocol):
    """What a `Score` is made of, and keeps: `noisesense.Verdicts` or `LightVerdicts`."""

    @property
    def response_claims(self) -> Sequence[ResponseClaimForm]: ...
    @property
    def reference_claims(self) -> Sequence[ClaimForm]: ...
    @property
    def chunks(self) -> Sequence[ChunkForm] | None: ...
    @property
    def chunk_count(self) -> int: ...
    def to_matrices(self) -> Matrices: ...


class VerdictsBase:
    """What follows from the claims and chunks of either form."""

    __slots__ = ()

    @property
    def named_chunks(self: Any) -> int:
        """One more than the last position that a claim names."""
        last = -1
        for claim in (*self.response_claims, *self.reference_claims):
            for named in (claim.entailed_by, claim.undetermined):
                if named and named[-1] > last:
                    last = named[-1]
        return last + 1

    @property
    def chunk_count(self: Any) -> int:
        """The number of chunks; if they are left out, of those that the claims name."""
        return self.named_chunks if self.chunks is None else len(self.chunks)

    def to_matrices(self: Any) -> Matrices:
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


def _row(claim: ClaimForm, count: int) -> list[Cell]:
    row: list[Cell] = [False] * count
    for j in claim.entailed_by:
        row[j] = True
    for j in claim.undetermined:
        row[j] = None
    return row


class SampleBase:
    """What follows from the texts of either form of a sample."""

    __slots__ = ()

    @property
    def texts(self: Any) -> tuple[str, str, str, tuple[str, ...]]:
        """What a recording finds it by; not labels and ids, which some hosts cannot carry."""
        contexts = tuple([chunk.text for chunk in self.retrieved_contexts])
        return self.user_input, self.response, self.reference, contexts

    # A plain property: pydantic's model_copy would carry a cached value over to other content.
    @property
    def key(self) -> str:
        """SHA-256 of the texts."""
        from hashlib import sha256  # not needed by a process that only scores

        text = json.dumps(self.texts, ensure_ascii=False, separators=(",", ":"))
        # Half of a surrogate pair, as a broken tokenizer leaves it, has no UTF-8 otherwise.
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


Positions = tuple[Annotated[int, Meta(ge=0)], ...]


class LightChunk(Struct, forbid_unknown_fields=True, gc=False):
    """As `noisesense.Chunk`."""

    text: str
    relevant: bool | None = None
    id: str | None = None


if TYPE_CHECKING:
    _Chunks = tuple[LightChunk, ...]
else:
    _Chunks = tuple[str | LightChunk, ...]  # plain texts, until `_chunks` reads them


class LightClaim(Struct, forbid_unknown_fields=True, gc=False):
    """As `noisesense.ReferenceClaim`. Both lists ascend: whoever makes one sees to it."""

    text: str
    entailed_by: Positions
    undetermined: Positions = ()


class LightResponseClaim(LightClaim, kw_only=True, forbid_unknown_fields=True, gc=False):
    """As `noisesense.ResponseClaim`."""

    correct: bool | None


class LightVerdicts(VerdictsBase, Struct, forbid_unknown_fields=True, gc=False):
    """As `noisesense.Verdicts`."""

    response_claims: tuple[LightResponseClaim, ...]
    reference_claims: tuple[LightClaim, ...] = ()
    chunks: _Chunks | None = None

    def set_beside(self, contexts: _Chunks | None) -> None:
        """Take the sample's chunks, if there is one. The models merge chunks that differ."""
        # Here, not where a claim is made: a call a claim is what reading many lines would cost.
        last = -1
        for claim in (*self.response_claims, *self.reference_claims):
            sure, open_ = claim.entailed_by, claim.undetermined
            if len(sure) > 1:
                _check(all(map(lt, sure, sure[1:])))
            if sure and sure[-1] > last:
                last = sure[-1]
            if open_:
                _check(all(map(lt, open_, open_[1:])) and {*sure}.isdisjoint(open_))
                last = max(last, open_[-1])
        own = None if self.chunks is None else _chunks(self.chunks)
        self.chunks = own if contexts is None else contexts
        count = MOST_UNLISTED if self.chunks is None else len(self.chunks)
        _check(last < count and (own is None or own == self.chunks))


class LightSample(SampleBase, Struct, forbid_unknown_fields=True, gc=False):
    """As `noisesense.Sample`."""

    response: str
    reference: str
    retrieved_contexts: _Chunks
    user_input: str = ""

    def __post_init__(self) -> None:
        _check(self.response.strip() and self.reference.strip())
        self.retrieved_contexts = _retrieved(self.retrieved_contexts)


class LightLine(Struct, forbid_unknown_fields=True, gc=False):
    """A line of a recording, or of results without their figures; with an id or a sample."""

    verdicts: LightVerdicts
    sample: LightSample | None = None
    id: str | None = None
    cluster: str | None = None

    def __post_init__(self) -> None:
        _check(self.id is not None or self.sample)
        self.verdicts.set_beside(None if self.sample is None else self.sample.retrieved_contexts)


_LINES = Decoder(LightLine)
_NOT_PLAIN = (MsgspecError, ValueError, RecursionError)


def light_verdicts(data: Any, contexts: Any = None) -> LightVerdicts | None:
    """``Verdicts.model_validate(data)``, beside the contexts if they are given; None: unsure."""
    try:
        verdicts = convert(data, LightVerdicts)
        beside = None if contexts is None else _retrieved(convert(contexts, _Chunks))
        verdicts.set_beside(beside)
    except _NOT_PLAIN:
        return None
    return verdicts


def light_line(content: bytes | Mapping[str, Any]) -> LightLine | None:
    """The line, its verdicts beside its sample; None: unsure."""
    try:
        if isinstance(content, bytes):
            return _LINES.decode(content)
        return convert(content, LightLine)
    except _NOT_PLAIN:
        return None


def _chunks(listed: tuple[Any, ...]) -> tuple[LightChunk, ...]:
    return tuple([LightChunk(each) if type(each) is str else each for each in listed])


def _retrieved(listed: tuple[Any, ...]) -> tuple[LightChunk, ...]:
    chunks = _chunks(listed)
    for chunk in chunks:
        if chunk.text.strip():
            return chunks
    return ()  # nothing retrieved, as in a `noisesense.Sample`


def _check(holds: object) -> None:
    if not holds:
        raise ValueError("not plainly valid")
