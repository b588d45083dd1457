"""A light form of verdicts without pydantic, and what it shares with the models.

The light form has the fields of `noisesense.Verdicts`, and `score` takes either. msgspec reads it
where there are many verdicts or a process must start fast. It reads only what is plainly valid.
Anything else gives None and is left to the models, which word every error; a property test keeps
the two forms equal.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypedDict

from msgspec import Meta, MsgspecError, Struct, convert
from msgspec.json import Decoder

from noisesense.errors import InputError, describe

Cell = bool | None

MOST_UNLISTED = 100_000
"""The limit of chunk positions where chunks are not listed: each takes room in scores."""


class Matrices(TypedDict):
    """The arguments of `Verdicts.from_matrices`: R response and G reference claims, C chunks."""

    reference_to_response: list[Cell]
    chunks_to_response: list[list[Cell]]
    chunks_to_reference: list[list[Cell]] | None
    relevant: list[Cell] | None


class ChunkForm(Protocol):
    """Same as `noisesense.Chunk`."""

    text: str
    relevant: bool | None
    id: str | None


class ClaimForm(Protocol):
    """Same as `noisesense.ReferenceClaim`; both lists of chunks' positions ascend."""

    text: str
    entailed_by: tuple[int, ...]
    undetermined: tuple[int, ...]
    """The chunks of which nobody said whether they entail it."""


class ResponseClaimForm(ClaimForm, Protocol):
    """Same as `noisesense.ResponseClaim`."""

    correct: bool | None


class VerdictsForm(Protocol):
    """What `score` takes: `noisesense.Verdicts` or `LightVerdicts`."""

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
    """Properties of either form of verdicts."""

    __slots__ = ()

    @property
    def chunk_count(self: Any) -> int:
        """The number of chunks; if they are left out, one more than the last position in a claim.

        0 if they are left out and no claim names any.
        """
        if self.chunks is not None:
            return len(self.chunks)
        last = -1
        for claim in (*self.response_claims, *self.reference_claims):
            for positions in (claim.entailed_by, claim.undetermined):
                if positions and positions[-1] > last:
                    last = positions[-1]
        return last + 1

    def to_matrices(self: Any) -> Matrices:
        """Return tables without texts, which `noisesense.Verdicts.from_matrices` reads.

        All four are lists: without reference claims ``chunks_to_reference`` is empty, and without
        labels ``relevant`` has None for each chunk.

        They do not tell that chunks are blank, or not listed: read again, a sample of which
        nothing was retrieved may count as measured.
        """
        count = self.chunk_count
        labels: list[Cell] = [chunk.relevant for chunk in self.chunks or ()]
        unlabeled: list[Cell] = [None] * count
        return {
            "reference_to_response": [claim.correct for claim in self.response_claims],
            "chunks_to_response": [_row(claim, count) for claim in self.response_claims],
            "chunks_to_reference": [_row(claim, count) for claim in self.reference_claims],
            # Also without labels: a table without claims keeps its number of chunks.
            "relevant": labels or unlabeled,
        }


def _row(claim: ClaimForm, count: int) -> list[Cell]:
    row: list[Cell] = [False] * count
    for j in claim.entailed_by:
        row[j] = True
    for j in claim.undetermined:
        row[j] = None
    return row


def check_positions(verdicts: VerdictsForm) -> None:
    """Raise `InputError` if a claim names a chunk twice, or one that there is not.

    Also if its positions do not ascend. Where chunks are left out, any below 100,000 will do.
    Negative ones are left to those who read the fields.
    """
    count = MOST_UNLISTED if verdicts.chunks is None else len(verdicts.chunks)
    sides = {"response": verdicts.response_claims, "reference": verdicts.reference_claims}
    # A call per claim is most of the time of reading, so plain claims take none.
    for side, claims in sides.items():
        for i, claim in enumerate(claims):
            last = -1
            for position in claim.entailed_by:
                last = position if position > last else count
            if last >= count or claim.undetermined:
                _check_claim(claim, count, f"{side} claim {i}")


def _check_claim(claim: ClaimForm, count: int, where: str) -> None:
    named = claim.entailed_by + claim.undetermined
    if len({*named}) < len(named):
        twice = min(j for j in named if named.count(j) > 1)
        expected = "each chunk position once, in entailed_by or in undetermined"
        raise InputError(expected, f"chunk {describe(twice)} twice", where=where)
    if max(named) >= count:
        got = f"chunk {describe(max(named))}"
        hint = "they are counted from 0"
        raise InputError(f"chunk positions below {count}", got, where=where, hint=hint)
    for positions in (claim.entailed_by, claim.undetermined):
        if positions != tuple(sorted(positions)):
            raise InputError("ascending positions", describe(positions), where=where)


class SampleBase:
    """Properties of either form of a sample."""

    __slots__ = ()

    @property
    def texts(self: Any) -> tuple[str, str, str, tuple[str, ...]]:
        """The question, response, reference and chunks' texts, by which a recording is searched.

        Not the chunks' labels and ids, which some hosts cannot carry.
        """
        contexts = tuple([chunk.text for chunk in self.retrieved_contexts])
        return self.user_input, self.response, self.reference, contexts

    # Not cached: pydantic's model_copy would carry the value over to other content.
    @property
    def key(self) -> str:
        """SHA-256 of `texts`, in hexadecimal."""
        from hashlib import sha256  # not needed by a process that only scores

        text = json.dumps(self.texts, ensure_ascii=False, separators=(",", ":"))
        # Half of a surrogate pair, as a broken tokenizer leaves it, has no UTF-8 otherwise.
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


Positions = tuple[Annotated[int, Meta(ge=0)], ...]


class LightChunk(Struct, forbid_unknown_fields=True, gc=False):
    """Same as `noisesense.Chunk`."""

    text: str
    relevant: bool | None = None
    id: str | None = None


if TYPE_CHECKING:
    _Chunks = tuple[LightChunk, ...]
else:
    _Chunks = tuple[str | LightChunk, ...]  # as read; `_chunks` turns texts into chunks


class LightClaim(Struct, forbid_unknown_fields=True, gc=False):
    """Same as `noisesense.ReferenceClaim`. The caller keeps both lists in ascending order."""

    text: str
    entailed_by: Positions
    undetermined: Positions = ()


class LightResponseClaim(LightClaim, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Same as `noisesense.ResponseClaim`."""

    correct: bool | None


class _NotPlainError(ValueError):
    """Left to the models, which say what is wrong."""


class LightVerdicts(VerdictsBase, Struct, forbid_unknown_fields=True, gc=False):
    """Same as `noisesense.Verdicts`."""

    response_claims: tuple[LightResponseClaim, ...]
    reference_claims: tuple[LightClaim, ...] = ()
    chunks: _Chunks | None = None

    def set_beside(self, contexts: _Chunks | None) -> None:
        """Make the sample's chunks these verdicts' own, in place, and check the positions.

        Args:
            contexts: the sample's chunks; None if there is no sample: they keep their own then.

        Raises:
            ValueError: they have other chunks than the sample, by text, label or id. (The models
                merge them.)
            InputError: as `check_positions` raises.
        """
        own = None if self.chunks is None else _chunks(self.chunks)
        self.chunks = own if contexts is None else contexts
        _check(own is None or own == self.chunks)
        check_positions(self)


class LightSample(SampleBase, Struct, forbid_unknown_fields=True, gc=False):
    """Same as `noisesense.Sample`."""

    response: str
    reference: str
    retrieved_contexts: _Chunks
    user_input: str = ""

    def __post_init__(self) -> None:
        _check(self.response.strip() and self.reference.strip())
        self.retrieved_contexts = _retrieved(self.retrieved_contexts)


_EXACT_BELOW = 2**53
"""From here on, one float may be two whole numbers."""


def as_name(value: Any) -> Any:
    """Return an id or a cluster as its text: of the numbers ``2`` and ``2.0``, ``"2"``.

    pandas makes numbers of texts of digits, floats where a column has gaps, and NaN of a gap: for
    NaN this returns None. Anything else (a text, None, 2.5, True, a float of 2**53 or more) is
    returned as it is; what is no name is for the reader to refuse.
    """
    if type(value) is int:
        return str(value)
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if value.is_integer() and abs(value) < _EXACT_BELOW:
            return str(int(value))
    return value


if TYPE_CHECKING:
    _Name = str
else:
    _Name = str | int | float  # as read; `as_name` turns numbers into texts


class LightLine(Struct, forbid_unknown_fields=True, gc=False):
    """A line of a recording, or of a results file without figures. It has an id or a sample.

    Its verdicts take over the sample's chunks; ids and clusters that are numbers become texts.
    """

    verdicts: LightVerdicts
    sample: LightSample | None = None
    id: _Name | None = None
    cluster: _Name | None = None

    def __post_init__(self) -> None:
        if type(self.id) is not str:
            self.id = _name(self.id)
        if type(self.cluster) is not str:
            self.cluster = _name(self.cluster)
        _check(self.id is not None or self.sample)
        contexts = None if self.sample is None else self.sample.retrieved_contexts
        self.verdicts.set_beside(contexts)


_LINES = Decoder(LightLine)
_NOT_PLAIN = (MsgspecError, ValueError, RecursionError)


def light_verdicts(data: Any, contexts: Any = None) -> LightVerdicts | None:
    """Read verdicts, with these contexts as their chunks if given; None if not plainly valid.

    None, too, if they list chunks of their own that differ from the contexts. Contexts that are
    all blank are no chunks.
    """
    try:
        verdicts = convert(data, LightVerdicts)
        if contexts is not None:
            contexts = _retrieved(convert(contexts, _Chunks))
        verdicts.set_beside(contexts)
    except _NOT_PLAIN:
        return None
    return verdicts


def light_line(content: bytes | Mapping[str, Any]) -> LightLine | None:
    """Read a line, JSON or a mapping; its verdicts get its sample's chunks.

    None if it is not plainly valid.
    """
    try:
        if isinstance(content, bytes):
            return _LINES.decode(content)
        return convert(content, LightLine)
    except _NOT_PLAIN:
        return None


def _chunks(listed: tuple[Any, ...]) -> tuple[LightChunk, ...]:
    return tuple([LightChunk(item) if type(item) is str else item for item in listed])


def _name(value: Any) -> str | None:
    """Same as `as_name`, but refuses what is neither text nor None then."""
    name: str | None = as_name(value)
    _check(name is None or type(name) is str)
    return name


def _retrieved(listed: tuple[Any, ...]) -> tuple[LightChunk, ...]:
    """Return the chunks, texts among them as chunks; none if all are blank."""
    chunks = _chunks(listed)
    for chunk in chunks:
        if chunk.text.strip():
            return chunks
    return ()  # nothing retrieved, as in a `noisesense.Sample`


def _check(holds: object) -> None:
    if not holds:
        raise _NotPlainError
