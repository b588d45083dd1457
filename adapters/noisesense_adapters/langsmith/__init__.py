"""Noise sensitivity in LangSmith's experiments and beside openevals' evaluators.

Needs only the core, and a model or a recording for the verdicts. Evaluators are plain functions
there, so that nothing of LangSmith is imported.
"""

from noisesense_adapters.langsmith.metric import noise_sensitivity, noise_sensitivity_summary

__all__ = ["noise_sensitivity", "noise_sensitivity_summary"]
