"""A store never mixes DeepEval's models."""

from __future__ import annotations

from typing import Any

from noisesense_adapters.deepeval.llm import DeepEvalLLM
from support.deepeval_run import OpenAIModel
from support.identities import KEY, URL, check_identities


def deepeval(key: str = KEY, **options: Any) -> DeepEvalLLM:
    own = {
        name: options.pop(name) for name in ("model", "base_url", "temperature") if name in options
    }
    given = {"model": "gpt-4o", "base_url": URL, **own}
    if given["model"] == "other":
        given["model"] = "gpt-4.1"
    options["api_key"] = key
    return DeepEvalLLM(OpenAIModel(api_key=key, generation_kwargs=options, **given))


def test_each_option_that_changes_an_answer_and_no_key_is_in_the_identity() -> None:
    check_identities(deepeval)
