"""ragas' own NoiseSensitivity, both APIs, driven through its public API with given verdicts.

Only the language model is scripted (`RagasMind`); decomposing, asking and computing is ragas'.
"""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

from noisesense.errors import InputError
from noisesense.scoring.definitions import Mode
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts
from noisesense_adapters.demo.ragas_mind import RagasMind, why_not_comparable
from noisesense_adapters.toolbox.extras import needs_extra

# Scripted runs are no use of ragas: they shall neither be counted nor touch the network.
os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

with needs_extra("ragas"):
    from langchain_core.outputs import Generation, LLMResult
    from ragas.llms.base import BaseRagasLLM, InstructorBaseRagasLLM
    from ragas.metrics.collections import NoiseSensitivity

    _ragas: Any = import_module("ragas")  # its own annotations are only partly known


Pairs = Iterable[tuple[Sample, Verdicts]]


class Mind(Protocol):
    """Whatever answers prompts, as `RagasMind` does."""

    def answer(self, prompt: str) -> str: ...


def legacy_scores(pairs: Pairs, mode: Mode, *, mind: Mind | None = None) -> list[float]:
    """The column ``noise_sensitivity(mode=…)`` of one ragas ``evaluate()`` over all samples.

    NaN where ragas gives NaN or fails (it logs why).

    Args:
        pairs: the samples with the verdicts that ragas' model gives.
        mode: which of the two figures.
        mind: answers in place of a truthful `RagasMind`; the verdicts are then not used.

    Raises:
        InputError: verdicts on which ragas cannot be compared (`why_not_comparable`), or texts
            that `RagasMind` cannot tell apart.
    """
    pairs = list(pairs)
    answers = mind or _truthful(pairs)
    with _quiet():
        result = _ragas.evaluate(
            _ragas.EvaluationDataset.from_list([ragas_row(sample) for sample, _ in pairs]),
            metrics=[_ragas.metrics.NoiseSensitivity(mode=mode, llm=_Llm(answers))],
            show_progress=False,
        )
    return [float(value) for value in result[f"noise_sensitivity(mode={mode})"]]


def collections_scores(pairs: Pairs, mode: Mode, *, mind: Mind | None = None) -> list[float]:
    """What ``await ragas.metrics.collections.NoiseSensitivity(…).ascore(…)`` gives by sample.

    As `legacy_scores`, but where ragas raises, so does this: a ValueError for a reference without
    claims.
    """
    pairs = list(pairs)
    metric = NoiseSensitivity(llm=_StructuredLlm(mind or _truthful(pairs)), mode=mode)

    async def score_all() -> Sequence[Any]:
        rows = [ragas_row(sample) for sample, _ in pairs]
        return await asyncio.gather(*(metric.ascore(**row) for row in rows))

    with _quiet():
        return [float(result.value) for result in asyncio.run(score_all())]


def _truthful(pairs: Pairs) -> RagasMind:
    for k, (sample, verdicts) in enumerate(pairs):
        problem = why_not_comparable(verdicts.beside(sample))
        if problem:
            raise InputError("verdicts that ragas can be given", problem, where=f"pair {k}")
    return RagasMind(pairs)


def ragas_row(sample: Sample) -> dict[str, Any]:
    """The sample as ragas' columns."""
    texts = [chunk.text for chunk in sample.retrieved_contexts]
    return {**sample.model_dump(), "retrieved_contexts": texts}


class _Llm(BaseRagasLLM):
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


class _StructuredLlm(InstructorBaseRagasLLM):
    is_async = True

    def __init__(self, mind: Mind) -> None:
        self._mind = mind

    def generate(self, prompt: str, response_model: type[Any]) -> Any:
        return response_model.model_validate_json(self._mind.answer(prompt))

    async def agenerate(self, prompt: str, response_model: type[Any]) -> Any:
        return self.generate(prompt, response_model)


@contextmanager
def _quiet() -> Generator[None, None, None]:
    """Without ragas' advice to use other APIs, and numpy's about a mean of no claims."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
