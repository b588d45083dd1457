"""Noise sensitivity as an evaluator of pydantic-evals. Needs the extra ``pydantic-evals``."""

from noisesense_adapters.pydantic_evals.metric import (
    NoiseSensitivity,
    NoiseSensitivitySummary,
    PydanticAILLM,
)

__all__ = ["NoiseSensitivity", "NoiseSensitivitySummary", "PydanticAILLM"]
