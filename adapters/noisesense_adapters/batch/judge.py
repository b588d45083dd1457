"""A judge that collects its requests for a batch and takes the answers from the store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from pydantic import BaseModel

from noisesense.errors import InputError, JudgeError
from noisesense.judging.llm import LLMJudge
from noisesense.judging.prompts import Answer, ChosenAnswer
from noisesense.judging.sharing import sharing_key
from noisesense.judging.store import VerdictStore
from noisesense.verdicts.sample import Sample


class BatchRequest(NamedTuple):
    """One request of a round, independent of the others.

    Attributes:
        key: the store's key of the call, 64 hexadecimal digits; the batch engine returns it as
            the request's id.
        prompt: the whole prompt, as one user message.
        schema: the schema of the reply, for structured output.
    """

    key: str
    prompt: str
    schema: type[BaseModel]


class _BatchLLM:
    """A model whose answers come from a store; it collects the requests without an answer."""

    def __init__(self, name: str, identity: str) -> None:
        self.name = name
        self.identity = identity
        self.requests: dict[str, BatchRequest] = {}

    async def generate(self, prompt: str, schema: type[Any]) -> Any:
        raise JudgeError("a model for batch files cannot be asked directly")

    def defer(self, key: str, prompt: str, schema: type[BaseModel]) -> None:
        """Collect a request for the next round."""
        if schema is ChosenAnswer:
            schema = Answer
        self.requests[key] = BatchRequest(key, prompt, schema)


class BatchJudge(LLMJudge):
    """A judge whose model answers in rounds; it calls no model itself.

    `judge_detailed` takes the answers from the store. If one is missing, it raises
    `AwaitingAnswerError`, and `take_requests` returns all requests that can be made by then. A
    lazy plan takes three rounds, a full one two, and each re-ask another one. Several samples may
    share a request. `export_batch` runs the judge over a dataset.

    Args:
        model: the model's name.
        identity: everything else that changes an answer, such as the engine and its options; see
            `noisesense.StructuredLLM`.
        store: holds the answers and the open requests.
        options: options of `LLMJudge`, but not ``check="auto"``.
    """

    def __init__(
        self, model: str, identity: str = "batch", *, store: VerdictStore, **options: Any
    ) -> None:
        if options.get("check") == "auto":
            hint = "judge one sample directly, and see the judge's form_reason"
            raise InputError("'list' or 'each'", "'auto'", where="check", hint=hint)
        if not model:
            raise InputError("a model's name", "an empty text", where="model")
        self._llm = _BatchLLM(model, identity)
        super().__init__(self._llm, store=store, **options)

    def take_requests(self) -> list[BatchRequest]:
        """Return the requests collected since the last call."""
        requests = list(self._llm.requests.values())
        self._llm.requests.clear()
        return requests

    def exchange(self, samples: Iterable[Sample]) -> str:
        """A digest of this judge's settings and the samples; all their rounds have the same."""
        content = hashlib.sha256(f"{self.name}\0{self._llm.identity}".encode())
        for sample in samples:
            content.update(f"{sharing_key(sample)}\n".encode())
        return content.hexdigest()[:32]
