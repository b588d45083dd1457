"""The data form read without pydantic, for a process that lives for one score.

Promptfoo starts a Python process for every assertion, and loading pydantic takes longer than all
the rest of it. What is plainly valid is read here. Anything else gives None and goes to the
models, which alone decide whether it is wrong, and say so; a property test holds the two equal.
"""

from __future__ import annotations

import json
from collections.abc import Set
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from noisesense.verdicts.form import MOST_UNLISTED, VerdictsBase, merged_chunk

_NONE: frozenset[str] = frozenset()


class PlainChunk(NamedTuple):
    """As `noisesense.Chunk`."""

    text: str
    relevant: bool | None = None
    id: str | None = None


class PlainClaim(NamedTuple):
    """As `noisesense.ResponseClaim`; ``correct`` means nothing in a claim of the reference."""

    text: str
    entailed_by: tuple[int, ...]
    undetermined: tuple[int, ...]
    correct: bool | None = None


@dataclass(frozen=True)
class PlainVerdicts(VerdictsBase):
    """As `noisesense.Verdicts`."""

    response_claims: tuple[PlainClaim, ...]
    reference_claims: tuple[PlainClaim, ...]
    chunks: tuple[PlainChunk, ...] | None


class PlainSample(NamedTuple):
    """What a recording finds a sample by, as `noisesense.Sample`."""

    user_input: str
    response: str
    reference: str
    retrieved_contexts: tuple[PlainChunk, ...]

    @property
    def texts(self) -> tuple[object, ...]:
        """The sample without its labels."""
        return (*self[:3], tuple(chunk.text for chunk in self.retrieved_contexts))


class _NotPlainError(Exception):
    """Not plainly valid: the models decide."""


def plain_verdicts(data: Any, contexts: Any = None) -> PlainVerdicts | None:
    """``Verdicts.model_validate(data)``, beside the contexts if they are given; None: unsure."""
    try:
        return _verdicts(data, None if contexts is None else _contexts(contexts))
    except _NotPlainError:
        return None


def plain_recorded(content: bytes, sample: Any) -> PlainVerdicts | None:
    """The verdicts a recording holds on the sample.

    None if it holds none, or if any of its lines is not plainly valid.
    """
    found: PlainVerdicts | None = None
    seen: set[tuple[object, ...]] = set()
    try:
        asked = _sample(sample)
        for line in content.splitlines():
            if line.strip():
                recorded, verdicts = _line(line)
                if recorded.texts in seen:
                    raise _NotPlainError
                seen.add(recorded.texts)
                if recorded.texts == asked.texts:
                    found = _beside(verdicts, asked.retrieved_contexts)
    except _NotPlainError:
        return None
    return found


def _line(line: bytes) -> tuple[PlainSample, PlainVerdicts]:
    try:
        data = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise _NotPlainError from None
    _check(_is_object(data, {"sample", "verdicts"}))
    sample = _sample(data["sample"])
    return sample, _verdicts(data["verdicts"], sample.retrieved_contexts)


def _sample(data: Any) -> PlainSample:
    _check(_is_object(data, {"response", "reference", "retrieved_contexts"}, {"user_input"}))
    response, reference = _text(data["response"]), _text(data["reference"])
    _check(response.strip() and reference.strip())
    contexts = _contexts(data["retrieved_contexts"])
    return PlainSample(_text(data.get("user_input", "")), response, reference, contexts)


def _contexts(data: Any) -> tuple[PlainChunk, ...]:
    contexts = _chunks(data)
    _check(contexts)
    return contexts


def _verdicts(data: Any, contexts: tuple[PlainChunk, ...] | None) -> PlainVerdicts:
    _check(_is_object(data, {"response_claims"}, {"reference_claims", "chunks"}))
    own = data.get("chunks")
    verdicts = PlainVerdicts(
        tuple(_claim(claim, {"correct"}) for claim in _list(data["response_claims"])),
        tuple(_claim(claim, _NONE) for claim in _list(data.get("reference_claims", []))),
        None if own is None else _chunks(own),
    )
    claims = (*verdicts.response_claims, *verdicts.reference_claims)
    count = MOST_UNLISTED if own is None else verdicts.chunk_count
    _check(all(j < count for c in claims for j in (*c.entailed_by[-1:], *c.undetermined[-1:])))
    return verdicts if contexts is None else _beside(verdicts, contexts)


def _beside(verdicts: PlainVerdicts, contexts: tuple[PlainChunk, ...]) -> PlainVerdicts:
    if verdicts.chunks is None:
        _check(verdicts.chunk_count <= len(contexts))
        merged = contexts
    else:
        _check(len(verdicts.chunks) == len(contexts))
        merged = tuple(map(_merged, verdicts.chunks, contexts))
    return PlainVerdicts(verdicts.response_claims, verdicts.reference_claims, merged)


def _merged(own: PlainChunk, context: PlainChunk) -> PlainChunk:
    chunk = merged_chunk(own, context)
    if chunk is None:
        raise _NotPlainError
    return PlainChunk(*chunk)


def _claim(data: Any, further: Set[str]) -> PlainClaim:
    _check(_is_object(data, {"text", "entailed_by", *further}, {"undetermined"}))
    yes, maybe = _positions(data["entailed_by"]), _positions(data.get("undetermined", []))
    correct = data.get("correct")
    _check(_is_label(correct) and not set(yes).intersection(maybe))
    return PlainClaim(_text(data["text"]), yes, maybe, correct)


def _chunks(data: Any) -> tuple[PlainChunk, ...]:
    return tuple(_chunk(chunk) for chunk in _list(data))


def _chunk(data: Any) -> PlainChunk:
    if type(data) is str:
        return PlainChunk(_text(data))
    _check(_is_object(data, {"text"}, {"relevant", "id"}))
    label, name = data.get("relevant"), data.get("id")
    _check(_is_label(label))
    return PlainChunk(_text(data["text"]), label, None if name is None else _text(name))


def _positions(data: Any) -> tuple[int, ...]:
    found = _list(data)
    _check(all(type(j) is int and j >= 0 for j in found) and len({*found}) == len(found))
    return tuple(sorted(found))


def _list(data: Any) -> list[Any]:
    _check(type(data) is list)
    return cast("list[Any]", data)


def _text(data: Any) -> str:
    _check(type(data) is str)
    return cast(str, data)


def _is_object(data: Any, required: Set[str], optional: Set[str] = _NONE) -> bool:
    return type(data) is dict and required <= data.keys() <= required | optional


def _is_label(data: Any) -> bool:
    return data is None or type(data) is bool


def _check(holds: object) -> None:
    if not holds:
        raise _NotPlainError
