"""What `score` reads: the form of verdicts, and what follows from their claims and chunks.

The model `noisesense.Verdicts` has this form, and so has the light one below, which msgspec reads
where there are many or where pydantic would take too long: what is plainly valid. Anything else
gives None and goes to the models, which alone decide whether it is wrong, and say so; a property
test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypedDict, TypeVar

from msgspec import Meta, MsgspecError, Struct, convert
from msgspec.json import Decoder, decode, encode

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
    from hashlib import sha256  # not needed by a process that only scores

    try:
        canonical = encode(texts)
    except UnicodeEncodeError:  # half of a surrogate pair
        import json

        plain = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
        canonical = plain.encode("utf-8", "surrogatepass")
    return sha256(canonical).hexdigest()


Positions = tuple[Annotated[int, Meta(ge=0)], ...]


class LightChunk(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """As `noisesense.Chunk`."""

    text: str
    relevant: bool | None = None
    id: str | None = None


if TYPE_CHECKING:
    _Chunk = LightChunk
else:
    _Chunk = str | LightChunk  # a plain text, until `_chunks` reads it


class LightClaim(Struct, forbid_unknown_fields=True, gc=False):
    """As `noisesense.ReferenceClaim`."""

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
    chunks: tuple[_Chunk, ...] | None = None


class LightSample(Struct, forbid_unknown_fields=True, gc=False):
    """As `noisesense.Sample`."""

    response: str
    reference: str
    retrieved_contexts: tuple[_Chunk, ...]
    user_input: str = ""

    @property
    def key(self) -> str:
        """As of `noisesense.Sample`."""
        return key_of([*self.texts])

    @property
    def texts(self) -> tuple[object, ...]:
        """What a recording finds it by: the sample without its labels."""
        texts = tuple([chunk.text for chunk in _chunks(self.retrieved_contexts)])
        return self.user_input, self.response, self.reference, texts


class _Recorded(Struct, forbid_unknown_fields=True, gc=False):
    """A line of a recording."""

    sample: LightSample
    verdicts: LightVerdicts


class LightLine(Struct, forbid_unknown_fields=True, gc=False):
    """A line of a recording, or of results without their figures."""

    verdicts: LightVerdicts
    sample: LightSample | None = None
    id: str | None = None
    cluster: str | None = None

    @property
    def name(self) -> str:
        """As of a result."""
        return self.sample.key if self.id is None and self.sample else self.id or ""


_RECORDED, _LINES = Decoder(_Recorded), Decoder(LightLine)
L = TypeVar("L", _Recorded, LightLine)


class _NotPlainError(Exception):
    """Not plainly valid: the models decide."""


_NOT_PLAIN = (_NotPlainError, MsgspecError, ValueError, RecursionError)


def light_verdicts(data: Any, contexts: Any = None) -> LightVerdicts | None:
    """``Verdicts.model_validate(data)``, beside the contexts if they are given; None: unsure."""
    try:
        beside = None if contexts is None else _retrieved(convert(contexts, tuple[_Chunk, ...]))
        return _beside(convert(data, LightVerdicts), beside)
    except _NOT_PLAIN:
        return None


def light_lookup(content: bytes, sample: Any) -> LightVerdicts | None:
    """The verdicts that a recording (its lines) holds on the sample.

    None if it holds none, or if any of its lines is not plainly valid.
    """
    wanted, found = light_sample(sample), None
    seen: set[tuple[object, ...]] = set()
    for line in content.splitlines() if wanted else ():
        if not line.strip():
            continue
        recorded = _read(_RECORDED, line)
        if recorded is None or recorded.sample.texts in seen:
            return None
        seen.add(recorded.sample.texts)
        if wanted and recorded.sample.texts == wanted.texts:
            # Once more: labels of the recorded chunks are not the sample's.
            found = light_verdicts(decode(line)["verdicts"], sample["retrieved_contexts"])
    return found


def light_line(content: bytes | Mapping[str, Any]) -> LightLine | None:
    """The line, its verdicts beside its sample; None: unsure."""
    line = _read(_LINES, content)
    nameless = line is None or (line.sample is None and line.id is None)
    return None if nameless else line


def _read(decoder: Decoder[L], content: bytes | Mapping[str, Any]) -> L | None:
    try:
        if isinstance(content, bytes):
            line = decoder.decode(content)
        else:
            line = convert(content, decoder.type)
        contexts = None if line.sample is None else _settled(line.sample).retrieved_contexts
        _beside(line.verdicts, contexts)
    except _NOT_PLAIN:
        return None
    return line


def light_sample(data: Any) -> LightSample | None:
    """``Sample.model_validate(data)``; None: unsure."""
    try:
        return _sample(data)
    except _NOT_PLAIN:
        return None


def _sample(data: Any) -> LightSample:
    return _settled(convert(data, LightSample))


def _settled(sample: LightSample) -> LightSample:
    _check(sample.response.strip() and sample.reference.strip())
    sample.retrieved_contexts = _retrieved(sample.retrieved_contexts)
    return sample


def _chunks(listed: tuple[Any, ...]) -> tuple[LightChunk, ...]:
    return tuple([LightChunk(each) if type(each) is str else each for each in listed])


def _retrieved(listed: tuple[Any, ...]) -> tuple[LightChunk, ...]:
    chunks = _chunks(listed)
    # Nothing retrieved, as in a `noisesense.Sample`.
    return chunks if any(chunk.text.strip() for chunk in chunks) else ()


def _beside(verdicts: LightVerdicts, contexts: tuple[LightChunk, ...] | None) -> LightVerdicts:
    own = None if verdicts.chunks is None else _chunks(verdicts.chunks)
    chunks = own if contexts is None else contexts
    last = _ordered(verdicts)
    _check(last < (MOST_UNLISTED if chunks is None else len(chunks)))
    if own is not None and contexts is not None:
        _check(len(own) == len(contexts))
        merged = [merged_chunk(*pair) for pair in zip(own, contexts, strict=True)]
        _check(None not in merged)
        chunks = tuple([LightChunk(*each) for each in merged if each])
    verdicts.chunks = chunks
    return verdicts


def _ordered(verdicts: LightVerdicts) -> int:
    """Puts positions in order; the last that is named, -1 if none is."""
    last = -1
    for claim in (*verdicts.response_claims, *verdicts.reference_claims):
        yes, maybe = claim.entailed_by, claim.undetermined
        named = yes + maybe if maybe else yes
        if not named:
            continue
        if len(named) > 1:
            _check(len({*named}) == len(named))
            named = tuple(sorted(named))
            claim.entailed_by = tuple(sorted(yes)) if maybe else named
            if maybe:
                claim.undetermined = tuple(sorted(maybe))
        last = max(last, *named[-1:])
    return last


def _check(holds: object) -> None:
    if not holds:
        raise _NotPlainError
