"""The light form of verdicts: read without pydantic, for whoever reads many or must start fast.

What is plainly valid is read here. Anything else gives None and goes to the models, which alone
decide whether it is wrong, and say so; a property test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from msgspec import Meta, MsgspecError, Struct, convert, json

from noisesense.verdicts.form import MOST_UNLISTED, VerdictsBase, key_of, merged_chunk

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


_RECORDED, _LINES = json.Decoder(_Recorded), json.Decoder(LightLine)
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
            found = light_verdicts(json.decode(line)["verdicts"], sample["retrieved_contexts"])
    return found


def light_line(content: bytes | Mapping[str, Any]) -> LightLine | None:
    """The line, its verdicts beside its sample; None: unsure."""
    line = _read(_LINES, content)
    nameless = line is None or (line.sample is None and line.id is None)
    return None if nameless else line


def _read(decoder: json.Decoder[L], content: bytes | Mapping[str, Any]) -> L | None:
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
