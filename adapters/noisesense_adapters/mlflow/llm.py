"""A model by MLflow's URI, through the client that MLflow's own scorers use."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, TypeVar

from pydantic import BaseModel

from noisesense import StructuredLLM
from noisesense.judging.protocol import Choice, Usage
from noisesense_adapters.datasets.model import structured_llm
from noisesense_adapters.toolbox.failures import RequestRefusedError, call_model, made
from noisesense_adapters.toolbox.identity import identity
from noisesense_adapters.toolbox.replies import read_reply, spelled_out
from noisesense_adapters.toolbox.running import in_thread
from noisesense_adapters.toolbox.words import choice_in

S = TypeVar("S", bound=BaseModel)


class MLflowLLM:
    """A `noisesense.StructuredLLM` over a model URI of MLflow.

    MLflow's client reports no tokens: only calls are counted.

    Args:
        uri: e.g. ``"openai:/gpt-4.1-mini"``, ``"endpoints:/my-endpoint"`` or ``"databricks"``.

    Raises:
        JudgeError: MLflow does not know the model.
    """

    def __init__(self, uri: str) -> None:
        self.name, self.identity, self._in_words = uri, identity(uri=uri, temperature=0), False
        backend: Any = import_module("mlflow.genai.scorers.llm_backend")
        self._client = made(lambda: backend.ScorerLLMClient(uri), uri)

    def __repr__(self) -> str:
        return f"MLflowLLM({self.name!r})"

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """The reply as an instance of ``schema``, and that it was one call.

        Raises:
            ReplyError: a reply that is empty or does not fit.
            JudgeError: the model could not be called.
        """
        if not self._in_words:
            try:
                text = await self._call(prompt, response_format=schema)
                return read_reply(text, schema, Usage(calls=1)), Usage(calls=1)
            except RequestRefusedError:
                self._in_words = True
        usage = Usage(calls=1)
        return read_reply(await self._call(spelled_out(prompt, schema)), schema, usage), usage

    async def choose(self, prompt: str, words: Sequence[str]) -> tuple[Choice, Usage]:
        """See `noisesense.WordLLM`. The length of the reply is left to the model."""
        return choice_in(await self._call(prompt), words, Usage(calls=1))

    async def _call(self, prompt: str, **form: Any) -> str:
        messages = [{"role": "user", "content": prompt}]
        call = in_thread(lambda: self._client.complete(messages, temperature=0, **form))
        return str(await call_model(call, self.name, has_other_form=bool(form)) or "")


def bridge(model: object) -> StructuredLLM:
    """A model by MLflow's URI, or any other that a judge takes.

    Raises:
        InputError: neither.
        JudgeError: MLflow does not know the model.
    """
    if isinstance(model, str) and (":/" in model or model == "databricks"):
        try:
            return MLflowLLM(model)
        except ImportError:  # that client of MLflow's is not under a promise of stability
            provider, _, name = model.partition(":/")
            model = f"{provider}:{name}"
    return structured_llm(model)
