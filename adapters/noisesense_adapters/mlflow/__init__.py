"""Noise sensitivity as a scorer for ``mlflow.genai.evaluate``. Needs the extra ``mlflow``."""

from noisesense_adapters.mlflow.metric import MLflowLLM, NoiseSensitivity, run_summary

__all__ = ["MLflowLLM", "NoiseSensitivity", "run_summary"]
