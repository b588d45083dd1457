"""DeepEval driven as its users drive it, quietly: test cases, `evaluate()`, scripted models."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.models import DeepEvalBaseLLM
from deepeval.models.llms import openai_model
from deepeval.test_case import LLMTestCase

from noisesense import Sample

# Its name before 4.2, kept as one that warns.
_names = vars(openai_model)
OpenAIModel: Any = _names.get("OpenAIModel") or _names["GPTModel"]


def case_of(sample: Sample, **fields: Any) -> LLMTestCase:
    """The sample as a test case; labels do not travel."""
    return LLMTestCase(
        input=sample.user_input,
        actual_output=sample.response,
        expected_output=sample.reference,
        retrieval_context=[chunk.text for chunk in sample.retrieved_contexts],
        **fields,
    )


@contextmanager
def _own_loop() -> Iterator[None]:
    """In a thread of its own `evaluate()` makes an event loop and never closes it."""
    if threading.current_thread() is threading.main_thread():
        yield
        return
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def run(
    cases: Sequence[LLMTestCase],
    metrics: Sequence[Any],
    *,
    run_async: bool = True,
    cache: bool = False,
    **errors: bool,
) -> list[Any]:
    """The results of `evaluate()` in the order of the cases (which must have names)."""
    with _own_loop():
        result = evaluate(
            list(cases),
            list(metrics),
            async_config=AsyncConfig(run_async=run_async),
            display_config=DisplayConfig(
                show_indicator=False, print_results=False, inspect_after_run=False
            ),
            cache_config=CacheConfig(write_cache=cache, use_cache=cache),
            error_config=ErrorConfig(**errors),
        )
    found = {tested.name: tested for tested in result.test_results}
    return [found[case.name] for case in cases]


def run_one(case: LLMTestCase, metric: Any, **options: Any) -> tuple[Any, Any]:
    """The result of one case under one metric, and the metric's data in it."""
    case.name = case.name or "the case"
    (result,) = run([case], [metric], **options)
    (data,) = result.metrics_data
    return result, data


class MindModel(DeepEvalBaseLLM):
    """A user's own model, without schema support, with a scripted mind."""

    identity = "scripted"  # for a store

    def __init__(self, mind: Any, name: str = "mind") -> None:
        self.mind = mind
        self.prompts: list[str] = []
        super().__init__(name)

    def load_model(self) -> Any:
        return self.mind

    def get_model_name(self) -> str:
        return str(self.name)

    def generate(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return str(self.mind.answer(prompt))

    async def a_generate(self, prompt: str) -> str:
        return self.generate(prompt)
