"""Any OpenAI-compatible endpoint as the judge's model: ``LLMJudge(OpenAILLM("gpt-4o-mini"))``.

Needs the extra ``openai``; the client library is imported when the model is first asked.
"""

from __future__ import annotations

from noisesense_adapters.openai.llm import OpenAILLM

__all__ = ["OpenAILLM"]
