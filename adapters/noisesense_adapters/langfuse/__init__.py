"""Noise sensitivity in Langfuse's experiments. Needs the extra ``langfuse``."""

from noisesense_adapters.langfuse.metric import noise_sensitivity, noise_sensitivity_run

__all__ = ["noise_sensitivity", "noise_sensitivity_run"]
