"""The light form of verdicts: read without pydantic, for whoever reads many or must start fast.

What is plainly valid is read here. Anything else gives None and goes to the models, which alone
decide whether it is wrong, and say so; a property test holds the two equal.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from noisesense.verdicts.form import MOST_UNLISTED, VerdictsBase, merged_chunk


class LightChunk(NamedTuple):
    """As `noisesense.Chunk`."""

    text: str
    relevant: bool | None = None
    id: str | None = None


class LightClaim(NamedTuple):
    """As `noisesense.ResponseClaim`; ``correct`` means nothing in a claim of the reference."""

    text: str
    entailed_by: tuple[int, ...]
    undetermined: tuple[int, ...] = ()
    correct: bool | None = None


class _Parts(NamedTuple):
    response_claims: tuple[LightClaim, ...]
    reference_claims: tuple[LightClaim, ...] = ()
    chunks: tuple[LightChunk, ...] | None = None


class LightVerdicts(VerdictsBase, _Parts):
    """As `noisesense.Verdicts`."""

    __slots__ = ()


class LightSample(NamedTuple):
    """As `noisesense.Sample`."""

    user_input: str
    response: str
    reference: str
    retrieved_contexts: tuple[LightChunk, ...]

    @property
    def texts(self) -> tuple[object, ...]:
        """What a recording finds it by: the sample without its labels."""
        return (*self[:3], tuple(chunk.text for chunk in self.retrieved_contexts))


class _NotPlainError(Exception):
    """Not plainly valid: the models decide."""


def light_verdicts(data: Any, contexts: Any = None) -> LightVerdicts | None:
    """``Verdicts.model_validate(data)``, beside the contexts if they are given; None: unsure."""
    try:
        return _beside(_verdicts(data), None if contexts is None else _contexts(contexts))
    except _NotPlainError:
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
        try:
            data: dict[str, Any] = json.loads(line.decode())
        except (ValueError, RecursionError):
            return None
        pair = light_recorded(data) if type(data) is dict and len(data) == 2 else None
        if pair is None or pair[0] is None or pair[0].texts in seen:
            return None
        seen.add(pair[0].texts)
        if wanted and pair[0].texts == wanted.texts:
            found = light_verdicts(data["verdicts"], sample["retrieved_contexts"])
    return found


def light_recorded(
    data: dict[str, Any],
) -> tuple[LightSample | None, LightVerdicts] | None:
    """The sample, if there is one, and the verdicts beside it, of a line; None: unsure."""
    try:
        verdicts = _verdicts(data.get("verdicts"))
        sample = None if data.get("sample") is None else _sample(data["sample"])
        return sample, _beside(verdicts, None if sample is None else sample.retrieved_contexts)
    except _NotPlainError:
        return None


def light_sample(data: Any) -> LightSample | None:
    """``Sample.model_validate(data)``; None: unsure."""
    try:
        return _sample(data)
    except _NotPlainError:
        return None


# From here on, parameters have the type that is expected; whether they are of it is checked first.


def _sample(data: dict[str, Any]) -> LightSample:
    _check(type(data) is dict and len(data) in (3, 4))
    user_input: Any = data.get("user_input", "")
    response: Any = data.get("response")
    reference: Any = data.get("reference")
    _check(len(data) == 3 + ("user_input" in data) and "retrieved_contexts" in data)
    _check(type(user_input) is type(response) is type(reference) is str)
    _check(response.strip() and reference.strip())
    return LightSample(user_input, response, reference, _contexts(data["retrieved_contexts"]))


def _contexts(data: list[Any]) -> tuple[LightChunk, ...]:
    chunks = _chunks(data)
    # Nothing retrieved, as in a `noisesense.Sample`.
    return chunks if any(chunk.text.strip() for chunk in chunks) else ()


def _verdicts(data: Any) -> LightVerdicts:
    fields: dict[str, Any] = data
    _check(type(fields) is dict and "response_claims" in fields)
    claims: list[Any] = fields["response_claims"]
    others: list[Any] | tuple[()] = fields.get("reference_claims", ())
    own = fields.get("chunks")
    _check(len(fields) == 1 + ("reference_claims" in fields) + ("chunks" in fields))
    chunks = None if own is None else _chunks(own)
    _check(type(claims) is list and (others == () or type(others) is list))
    response = tuple(_response_claim(claim) for claim in claims)
    verdicts = LightVerdicts(response, tuple(_claim(claim) for claim in others), chunks)
    if chunks is not None:
        _check(_last(verdicts) < len(chunks))
    return verdicts


def _last(verdicts: LightVerdicts) -> int:
    """The last position that is named; -1 if none is."""
    last = -1
    for claims in (verdicts.response_claims, verdicts.reference_claims):
        for _, yes, maybe, _ in claims:
            if yes and yes[-1] > last:
                last = yes[-1]
            if maybe and maybe[-1] > last:
                last = maybe[-1]
    return last


def _beside(verdicts: LightVerdicts, contexts: tuple[LightChunk, ...] | None) -> LightVerdicts:
    response, reference, own = verdicts
    if own is None:
        _check(_last(verdicts) < (MOST_UNLISTED if contexts is None else len(contexts)))
    if contexts is None:
        return verdicts
    if own is None:
        return LightVerdicts(response, reference, contexts)
    _check(len(own) == len(contexts))
    return LightVerdicts(response, reference, tuple(map(_merged, own, contexts)))


def _merged(own: LightChunk, context: LightChunk) -> LightChunk:
    chunk = merged_chunk(own, context)
    if chunk is None:
        raise _NotPlainError
    return LightChunk(*chunk)


def _response_claim(data: dict[str, Any]) -> LightClaim:
    correct = data.get("correct", "") if type(data) is dict else ""
    if correct is not None and type(correct) is not bool:
        raise _NotPlainError
    return _claim(data, 3, correct)


def _claim(data: dict[str, Any], fields: int = 2, correct: bool | None = None) -> LightClaim:
    if type(data) is not dict:
        raise _NotPlainError
    text, yes, maybe = data.get("text"), data.get("entailed_by"), data.get("undetermined", _NONE)
    if maybe is not _NONE:
        fields += 1
        maybe = _positions(maybe)
    if len(data) != fields or type(text) is not str:
        raise _NotPlainError
    yes = _positions(yes)
    if maybe and yes and {*yes}.intersection(maybe):
        raise _NotPlainError
    return LightClaim(text, yes, maybe, correct)


def _chunks(data: list[Any]) -> tuple[LightChunk, ...]:
    _check(type(data) is list)
    return tuple(map(_chunk, data))


def _chunk(data: dict[str, Any] | str) -> LightChunk:
    if type(data) is str:
        return LightChunk(data)
    if type(data) is not dict or type(text := data.get("text")) is not str:
        raise _NotPlainError
    if len(data) == 1:
        return LightChunk(text)
    label, name = data.get("relevant"), data.get("id")
    _check(len(data) == 1 + ("relevant" in data) + ("id" in data))
    _check((label is None or type(label) is bool) and (name is None or type(name) is str))
    return LightChunk(text, label, name)


def _positions(listed: list[Any] | None) -> tuple[int, ...]:
    if type(listed) is not list:
        raise _NotPlainError
    if not listed:
        return _NONE
    if len(listed) > 1:
        if {*map(type, listed)} != _WHOLE or len({*listed}) < len(listed):
            raise _NotPlainError
        listed = sorted(listed)
    elif type(listed[0]) is not int:
        raise _NotPlainError
    if listed[0] < 0:
        raise _NotPlainError
    return tuple(listed)


_NONE: tuple[int, ...] = ()
_WHOLE = {int}


def _check(holds: object) -> None:
    if not holds:
        raise _NotPlainError
