"""Noise sensitivity as a ragas metric: one class for ``evaluate()`` and for ``ascore()``.

>>> from noisesense import RecordedJudge
>>> from noisesense_adapters.ragas import NoiseSensitivity
>>> judge = RecordedJudge("verdicts.jsonl")  # doctest: +SKIP
>>> evaluate(dataset, metrics=[NoiseSensitivity(judge=judge)])  # doctest: +SKIP
{'noise_sensitivity(mode=relevant)': 0.3333}
"""

from noisesense_adapters._extras import needs_extra

with needs_extra("ragas", "ragas", "langchain_core", "langchain_community", "instructor"):
    from noisesense_adapters.ragas._llm import RagasLLM
    from noisesense_adapters.ragas._metric import NoiseSensitivity
from noisesense_adapters.ragas._rows import VerdictsInRows, rubrics
from noisesense_adapters.ragas._value import ScoredFloat, summarize

__all__ = [
    "NoiseSensitivity",
    "RagasLLM",
    "ScoredFloat",
    "VerdictsInRows",
    "rubrics",
    "summarize",
]
