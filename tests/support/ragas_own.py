"""ragas' own NoiseSensitivity in `evaluate()`, with given verdicts: its older API."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from langchain_core.outputs import Generation, LLMResult
from ragas.llms.base import BaseRagasLLM

from noisesense.scoring.definitions import Mode
from support.ragas_peer import Mind, Pairs, ragas_row, truthful, unwarned

_ragas: Any = import_module("ragas")


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
    answers = mind or truthful(pairs)
    with unwarned():
        result = _ragas.evaluate(
            _ragas.EvaluationDataset.from_list([ragas_row(sample) for sample, _ in pairs]),
            metrics=[_ragas.metrics.NoiseSensitivity(mode=mode, llm=_Llm(answers))],
            show_progress=False,
        )
    return [float(value) for value in result[f"noise_sensitivity(mode={mode})"]]


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
