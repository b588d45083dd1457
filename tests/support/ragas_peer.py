"""ragas' own NoiseSensitivity of its collections, driven through its API with given verdicts.

Only the language model is scripted (`RagasMind`); decomposing, asking and computing is ragas'.
"""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from noisesense.errors import InputError
from noisesense.scoring.definitions import Mode
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts
from support.ragas_mind import RagasMind, why_not_comparable

# Scripted runs are no use of ragas: they shall neither be counted nor touch the network.
os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

from ragas.llms.base import InstructorBaseRagasLLM
from ragas.metrics.collections import NoiseSensitivity

Pairs = Iterable[tuple[Sample, Verdicts]]


class Mind(Protocol):
    """Whatever answers prompts, as `RagasMind` does."""

    def answer(self, prompt: str) -> str: ...


def collections_scores(pairs: Pairs, mode: Mode, *, mind: Mind | None = None) -> list[float]:
    """What ``await ragas.metrics.collections.NoiseSensitivity(…).ascore(…)`` gives by sample.

    Where ragas raises, so does this: a ValueError for a reference without claims.

    Args:
        pairs: the samples with the verdicts that ragas' model gives.
        mode: which of the two figures.
        mind: answers in place of a truthful `RagasMind`; the verdicts are then not used.

    Raises:
        InputError: verdicts on which ragas cannot be compared (`why_not_comparable`), or texts
            that `RagasMind` cannot tell apart.
    """
    pairs = list(pairs)
    metric = NoiseSensitivity(llm=_StructuredLlm(mind or truthful(pairs)), mode=mode)

    async def score_all() -> Sequence[Any]:
        rows = [ragas_row(sample) for sample, _ in pairs]
        return await asyncio.gather(*(metric.ascore(**row) for row in rows))

    with unwarned():
        return [float(result.value) for result in asyncio.run(score_all())]


def truthful(pairs: Pairs) -> RagasMind:
    for k, (sample, verdicts) in enumerate(pairs):
        problem = why_not_comparable(verdicts.beside(sample))
        if problem:
            raise InputError("verdicts that ragas can be given", problem, where=f"pair {k}")
    return RagasMind(pairs)


def ragas_row(sample: Sample) -> dict[str, Any]:
    """The sample as ragas' columns."""
    texts = [chunk.text for chunk in sample.retrieved_contexts]
    return {**sample.model_dump(), "retrieved_contexts": texts}


class _StructuredLlm(InstructorBaseRagasLLM):
    is_async = True

    def __init__(self, mind: Mind) -> None:
        self._mind = mind

    def generate(self, prompt: str, response_model: type[Any]) -> Any:
        return response_model.model_validate_json(self._mind.answer(prompt))

    async def agenerate(self, prompt: str, response_model: type[Any]) -> Any:
        return self.generate(prompt, response_model)


@contextmanager
def unwarned() -> Generator[None, None, None]:
    """Without ragas' advice to use other APIs, and numpy's about a mean of no claims."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
