"""Verdicts from a language model, for one assertion's process."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from noisesense.errors import InputError
from noisesense.judge import Judge, Judgement
from noisesense.llm_judge import LLMJudge
from noisesense.sample import Sample
from noisesense.sharing import judge_for, judge_once
from noisesense.store import VerdictStore
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.promptfoo._endpoint import Endpoint, choose_endpoint
from noisesense_adapters.promptfoo._inputs import Inputs
from noisesense_adapters.promptfoo._settings import Settings

__all__ = ["judge"]

T = TypeVar("T")


def judge(
    inputs: Inputs, settings: Settings, config: dict[str, Any], context: dict[str, Any]
) -> Judgement:
    """Judge the assertion's sample.

    Raises:
        InputError: something is missing or wrong.
        JudgeError: the model could not be asked, or gave no usable list of claims.
    """
    sample = Sample.model_validate(inputs.sample)
    endpoint = choose_endpoint(config, context)
    # In one process (a test of one's own, say) two different assertions on a sample judge it once.
    asked = judge_for("promptfoo", endpoint, lambda: _make(endpoint))
    return _run(judge_once(asked, sample, metric=("promptfoo", settings)))


def _make(endpoint: Endpoint) -> Judge:
    params = {} if endpoint.temperature is None else {"temperature": endpoint.temperature}
    llm = OpenAILLM(
        endpoint.model,
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        params=params,
        **dict(endpoint.llm),
    )
    try:
        store = None if endpoint.store is None else VerdictStore(endpoint.store)
        return LLMJudge(llm, store=store, **dict(endpoint.judge))
    except InputError as error:
        raise error.within("config.judge") from None


def _run(work: Coroutine[Any, Any, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # Called from an async wrapper: its loop is busy waiting for us.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
