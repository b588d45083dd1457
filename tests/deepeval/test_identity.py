"""A store never mixes DeepEval's models."""

from __future__ import annotations

from typing import Any

from deepeval.models import AzureOpenAIModel

from noisesense_adapters.deepeval.llm import DeepEvalLLM
from support.deepeval_run import MindModel, OpenAIModel
from support.identities import KEY, URL, check_identities, told


def deepeval(key: str = KEY, **options: Any) -> DeepEvalLLM:
    own = {
        name: options.pop(name) for name in ("model", "base_url", "temperature") if name in options
    }
    given = {"model": "gpt-4o", "base_url": URL, **own}
    if given["model"] == "other":
        given["model"] = "gpt-4.1"
    options["api_key"] = key
    return DeepEvalLLM(OpenAIModel(api_key=key, generation_kwargs=options, **given))


def test_every_option_that_changes_an_answer_and_no_key() -> None:
    check_identities(deepeval)


def test_azure() -> None:
    models = []
    for version, name in (("1", "a"), ("2", "a"), ("1", "b")):
        endpoint: Any = {"base_url": "https://x.example", "api_version": version}
        azure = AzureOpenAIModel("gpt-4o", deployment_name=name, api_key=KEY, **endpoint)
        models.append(told(DeepEvalLLM(azure)))
    assert len({*models}) == 3
    assert KEY not in repr(models)


def test_a_model_of_ones_own() -> None:
    """Its class, and options of the usual names; a counter is none. Or its ``identity``."""

    class Own(MindModel):
        def __init__(self, temperature: float, secret: str) -> None:
            self.temperature, self.api_key, self.asked = temperature, secret, len(secret)
            super().__init__(None, "own")

    assert told(DeepEvalLLM(Own(0, "a"))) == told(DeepEvalLLM(Own(0, "other")))
    assert told(DeepEvalLLM(Own(0, "a"))) != told(DeepEvalLLM(Own(1, "a")))
    first = Own(0, "a")
    second = Own(0, "a")
    first.identity = "quantized to 4 bits"
    second.identity = "quantized to 8 bits"  # type: ignore[attr-defined]
    assert told(DeepEvalLLM(first)) != told(DeepEvalLLM(second))
