"""ragas' own NoiseSensitivity, driven through both of its APIs with given verdicts.

Only the language model is scripted (`RagasMind`); decomposing, asking and computing is ragas'.
"""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from noisesense import Mode, Sample
from support.ragas_mind import Pairs, RagasMind

# Scripted runs are no use of ragas: they shall neither be counted nor touch the network.
os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

import ragas
from langchain_core.outputs import Generation, LLMResult
from ragas.llms.base import BaseRagasLLM, InstructorBaseRagasLLM
from ragas.metrics.collections import NoiseSensitivity


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
    """
    pairs = list(pairs)
    metric = NoiseSensitivity(llm=_StructuredLlm(mind or RagasMind(pairs)), mode=mode)

    async def score_all() -> Sequence[Any]:
        rows = [ragas_row(sample) for sample, _ in pairs]
        return await asyncio.gather(*(metric.ascore(**row) for row in rows))

    with unwarned():
        return [float(result.value) for result in asyncio.run(score_all())]


def legacy_scores(pairs: Pairs, mode: Mode, *, mind: Mind | None = None) -> list[float]:
    """The column ``noise_sensitivity(mode=…)`` of one ragas ``evaluate()`` over all samples.

    NaN where ragas gives NaN or fails (it logs why). The arguments are those of
    `collections_scores`.
    """
    pairs = list(pairs)
    llm = _TextLlm(mind or RagasMind(pairs))
    with unwarned():
        result = ragas.evaluate(
            ragas.EvaluationDataset.from_list([ragas_row(sample) for sample, _ in pairs]),
            metrics=[ragas.metrics.NoiseSensitivity(mode=mode, llm=llm)],
            show_progress=False,
        )
    return [float(value) for value in result[f"noise_sensitivity(mode={mode})"]]


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


class _TextLlm(BaseRagasLLM):
    def __init__(self, mind: Mind) -> None:
        super().__init__()
        self._mind = mind

    def generate_text(self, prompt: Any, *args: Any, **kwargs: Any) -> LLMResult:
        text = self._mind.answer(prompt.to_string())
        return LLMResult(generations=[[Generation(text=text)]])

    async def agenerate_text(self, prompt: Any, *args: Any, **kwargs: Any) -> LLMResult:
        return self.generate_text(prompt)

    def is_finished(self, response: LLMResult) -> bool:
        return True


@contextmanager
def unwarned() -> Generator[None, None, None]:
    """Without ragas' advice to use other APIs, and numpy's about a mean of no claims."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
