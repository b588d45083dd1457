"""Any LangChain chat model as the judge's model: ``judge(ChatOpenAI(model="gpt-4o-mini"))``.

Needs the extra ``langchain``, or nothing more than the package the model comes from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noisesense_adapters.toolbox.extras import needs_extra

with needs_extra("langchain", "langchain_core"):
    from noisesense_adapters.langchain.llm import LangChainLLM

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig

    from noisesense import LLMJudge

__all__ = ["LangChainLLM", "judge"]


def judge(model: BaseChatModel, config: RunnableConfig | None = None, **options: Any) -> LLMJudge:
    """``LLMJudge(LangChainLLM(model, config), **options)``: a judge from a LangChain chat model.

    Give one judge to all metrics over the same samples: they share what it says.
    """
    from noisesense import LLMJudge

    return LLMJudge(LangChainLLM(model, config), **options)
