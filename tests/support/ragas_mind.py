"""The language model's side of ragas' own noise sensitivity, answered from true verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from noisesense.errors import InputError, describe, located
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import ReferenceClaim, ResponseClaim, Verdicts


def why_not_comparable(verdicts: Verdicts) -> str | None:
    """Why ragas' own metric cannot be compared on these verdicts, in words; None if it can.

    Where the reference has no claims and no chunk has a label, it can: neither has a number.
    """
    if not _determined(verdicts):
        return "some verdicts are undetermined; ragas knows only yes and no"
    labeled = any(chunk.relevant is not None for chunk in verdicts.chunks or ())
    if labeled and not verdicts.reference_claims:
        return "there are labels but no reference claims, without which ragas fails"
    derived = {j for claim in verdicts.reference_claims for j in claim.entailed_by}
    for j, chunk in enumerate(verdicts.chunks or ()):
        if chunk.relevant is not None and chunk.relevant != (j in derived):
            return "a chunk's label differs from its verdicts; ragas knows no labels"
    return None


def _determined(verdicts: Verdicts) -> bool:
    claims: list[ResponseClaim | ReferenceClaim] = [
        *verdicts.response_claims,
        *verdicts.reference_claims,
    ]
    known = all(claim.correct is not None for claim in verdicts.response_claims)
    return known and not any(claim.undetermined for claim in claims)


class RagasMind:
    """Answers every prompt of ragas' NoiseSensitivity, old API and collections, truthfully.

    A prompt is recognized by the texts in it: nothing is remembered between calls, so that it
    can stand behind an HTTP server and answer in any order.

    Args:
        pairs: the samples, with the verdicts to answer with.
        reason: the reason given for each verdict; ragas does not use it.

    Raises:
        InputError: an undetermined verdict, or two samples with the same texts but different
            verdicts.
    """

    def __init__(self, pairs: Iterable[tuple[Sample, Verdicts]], *, reason: str = "") -> None:
        self._reason = reason
        self._statements: dict[tuple[str, str], tuple[str, ...]] = {}
        self._verdicts: dict[tuple[tuple[str, ...], str], tuple[bool, ...]] = {}
        for k, (sample, verdicts) in enumerate(pairs):
            with located(f"pair {k}"):
                self._learn(k, sample, verdicts.beside(sample))

    def _learn(self, k: int, sample: Sample, verdicts: Verdicts) -> None:
        if not _determined(verdicts):
            raise InputError("verdicts that are yes or no", "undetermined ones")
        response = _texts(verdicts.response_claims, f"response claim of sample {k}")
        reference = _texts(verdicts.reference_claims, f"reference claim of sample {k}")
        _put(self._statements, (sample.user_input, sample.response), response)
        _put(self._statements, (sample.user_input, sample.reference), reference)
        correct = tuple(bool(claim.correct) for claim in verdicts.response_claims)
        _put(self._verdicts, (response, sample.reference), correct)
        for j, chunk in enumerate(sample.retrieved_contexts):
            _put(self._verdicts, (response, chunk.text), _row(verdicts.response_claims, j))
            _put(self._verdicts, (reference, chunk.text), _row(verdicts.reference_claims, j))

    def answer(self, prompt: str) -> str:
        """The JSON text that ragas expects as the reply to this prompt of its own."""
        request = _input_of(prompt)
        if "statements" not in request:
            claims = self._statements.get((request["question"], request["answer"]))
            if claims is None:
                raise LookupError("no sample has this question and text")
            return json.dumps({"statements": claims}, ensure_ascii=False)
        statements = tuple(request["statements"])
        verdicts = self._verdicts.get((statements, request["context"])) if statements else ()
        if verdicts is None:
            raise LookupError("no sample has these statements and this context")
        rows = [
            {"statement": statement, "reason": self._reason, "verdict": int(verdict)}
            for statement, verdict in zip(statements, verdicts, strict=True)
        ]
        return json.dumps({"statements": rows}, ensure_ascii=False)


def _input_of(prompt: str) -> dict[str, Any]:
    """The input at the end of a ragas prompt; inside its JSON a newline is always escaped."""
    marker = "\ninput: "
    start = prompt.rfind(marker)
    if start < 0:
        raise LookupError("not one of the prompts of ragas' NoiseSensitivity")
    request: dict[str, Any] = json.JSONDecoder().raw_decode(prompt, start + len(marker))[0]
    return request


def _texts(claims: Iterable[ResponseClaim | ReferenceClaim], name: str) -> tuple[str, ...]:
    return tuple(claim.text or f"{name}, number {i}" for i, claim in enumerate(claims))


def _row(claims: Iterable[ResponseClaim | ReferenceClaim], chunk: int) -> tuple[bool, ...]:
    return tuple(chunk in claim.entailed_by for claim in claims)


def _put(known: dict[Any, Any], key: tuple[Any, str], value: tuple[Any, ...]) -> None:
    if known.setdefault(key, value) != value:
        raise InputError(
            "texts that tell the answers apart",
            f"two answers to the same question about {describe(key[1])}",
            hint="the same texts were given different verdicts",
        )
