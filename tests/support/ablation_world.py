"""A world in which every verdict is known: for tests and benchmarks of `noisesense.ablation`.

A claim is a sentence (or whatever else is found in a text), and a text entails those it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from noisesense import JudgeError, Result, Sample, Verdicts, score
from noisesense.judging.protocol import Entailment, Usage
from noisesense.verdicts.sample import Chunk


def sentences(text: str) -> list[str]:
    return [part.strip() for part in text.split(".") if part.strip()]


def verdicts(sample: Sample, claims_of: Callable[[str], list[str]] = sentences) -> Verdicts:
    said = claims_of(sample.response)
    wanted = claims_of(sample.reference)
    chunks = [claims_of(chunk.text) for chunk in sample.retrieved_contexts]
    return Verdicts.from_matrices(
        [claim in wanted for claim in said],
        [[claim in chunk for chunk in chunks] for claim in said],
        [[claim in chunk for chunk in chunks] for claim in wanted],
        response_claims=said,
        reference_claims=wanted,
    ).with_sample(sample)


class Mind:
    """A judge that reads sentences, and counts what it is asked."""

    def __init__(
        self,
        *,
        open_texts: str = "",
        broken: bool = False,
        claims_of: Callable[[str], list[str]] = sentences,
    ) -> None:
        self._claims_of = claims_of
        self.judged: list[Sample] = []
        self.checked: list[tuple[str, tuple[str, ...]]] = []
        self._open = open_texts
        self._broken = broken

    async def judge(self, sample: Sample) -> Verdicts:
        self.judged.append(sample)
        if self._broken:
            raise JudgeError("no key")
        return verdicts(sample, self._claims_of)

    async def entailment(
        self, texts: list[str], claims: list[str], *, question: str = ""
    ) -> Entailment:
        self.checked += [(text, tuple(claims)) for text in texts]
        if self._broken:
            raise JudgeError("no key")
        cells = [[self._entails(text, claim) for text in texts] for claim in claims]
        return Entailment(cells, Usage(calls=len(texts)), 0)

    def _entails(self, text: str, claim: str) -> bool | None:
        is_open = bool(self._open) and self._open in text
        return None if is_open else claim in self._claims_of(text)


def repeating(_: str, contexts: list[str]) -> str:
    """A system that repeats whatever chunk it is given."""
    return ". ".join(contexts) or "nothing is known"


def run_of(wrong: Sequence[int], more: Sequence[str] = ()) -> list[Result]:
    """Samples of one right chunk and one with so many wrong claims; the answer repeats both.
    ``more`` chunks are the same in all."""
    results: list[Result] = []
    for i, count in enumerate(wrong):
        lies = ". ".join(f"wrong {i} {k}" for k in range(count))
        sample = Sample(
            user_input=f"question {i}",
            response=f"right {i}. {lies}",
            reference=f"right {i}",
            retrieved_contexts=[
                Chunk(text=f"right {i}", id=f"good-{i}"),
                Chunk(text=lies, id=f"bad-{i}"),
                *(Chunk(text=text) for text in more),
            ],
        )
        results.append(Result(f"s{i}", score(verdicts(sample)), sample=sample))
    return results
