"""Noise sensitivity as a DeepEval metric.

>>> from noisesense import RecordedJudge
>>> from noisesense_adapters.deepeval import NoiseSensitivityMetric
>>> metric = NoiseSensitivityMetric(judge=RecordedJudge("verdicts.jsonl"))  # doctest: +SKIP
>>> metric.measure(test_case)  # doctest: +SKIP
0.5
"""

from noisesense_adapters.extras import needs_extra

with needs_extra("deepeval"):
    from noisesense_adapters.deepeval.llm import DeepEvalLLM
    from noisesense_adapters.deepeval.metric import NoiseRobustnessMetric, NoiseSensitivityMetric

__all__ = ["DeepEvalLLM", "NoiseRobustnessMetric", "NoiseSensitivityMetric"]
