"""Noise sensitivity as an evaluator of pydantic-evals. Needs the extra ``pydantic-evals``."""

from noisesense_adapters.pydantic_evals.llm import PydanticAILLM
from noisesense_adapters.pydantic_evals.metric import NoiseSensitivity, NoiseSensitivitySummary

__all__ = ["NoiseSensitivity", "NoiseSensitivitySummary", "PydanticAILLM"]
