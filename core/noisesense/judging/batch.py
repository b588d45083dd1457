"""Judging through batch files: what a round asks, and the verdicts once it is answered."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

from noisesense.errors import InputError, JudgeError
from noisesense.judging.calls import identity_of, model_name
from noisesense.judging.llm import LLMJudge
from noisesense.judging.prompts import Answer, ChosenAnswer
from noisesense.judging.protocol import StructuredLLM, Usage
from noisesense.judging.store import StoredRequest, VerdictStore
from noisesense.verdicts.sample import Sample

S = TypeVar("S", bound=BaseModel)


class BatchRequest(NamedTuple):
    """One request of a round, which depends on no other of that round.

    Attributes:
        key: the store's key of the call, 64 hexadecimal digits: the request's id in any batch
            engine, by which its answer is known.
        prompt: the whole prompt, one message of a user.
        schema: the form of the reply, to be asked for as structured output.
        stored: what the store keeps of it until it is answered.
    """

    key: str
    prompt: str
    schema: type[BaseModel]
    stored: StoredRequest


class NamedModel:
    """A model that only a batch engine can ask.

    Args:
        name: the model's name as people know it.
        identity: all else that changes an answer: the engine, its options. See
            `noisesense.StructuredLLM`.
    """

    def __init__(self, name: str, identity: str = "") -> None:
        self.name, self.identity = name, identity or "batch"

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """Raises `JudgeError`: its answers come from a store."""
        raise JudgeError("a model for batch files cannot be asked directly")


class BatchLLM(NamedModel):
    """A model for `noisesense.LLMJudge` that answers from finished batch files, in a store.

    What the store has no answer to it notes in ``requests``, and the judge raises
    `AwaitingAnswerError`.

    Args:
        llm: the model that the batch engine asks.
    """

    def __init__(self, llm: StructuredLLM) -> None:
        super().__init__(model_name(llm, None, needed=True), identity_of(llm))
        self.requests: dict[str, BatchRequest] = {}

    def defer(self, key: str, prompt: str, schema: type[BaseModel], version: str) -> None:
        """To be asked in the next file."""
        stored = StoredRequest(key, "", schema.__name__, self.name, version)
        asked = Answer if schema is ChosenAnswer else schema
        self.requests.setdefault(key, BatchRequest(key, prompt, asked, stored))


class BatchJudge(LLMJudge):
    """A judge whose model answers in rounds: it asks nothing, and says what is to be asked.

    `judge_detailed` takes every answer from the store. Where one is missing it raises
    `AwaitingAnswerError`, and `take_requests` has all that can be asked before it comes. A lazy
    plan takes three rounds, a full one two, and every re-ask another one. Equal requests of
    several samples are one. `noisesense_adapters.batch` drives it over a dataset.

    Args:
        llm: a model with a ``name`` and an ``identity``, such as an adapter's, or a `NamedModel`.
        store: holds the answers, and what has been asked for.
        options: as `LLMJudge` takes them; ``check="auto"`` is for models that answer at once.
    """

    def __init__(self, llm: StructuredLLM, *, store: VerdictStore, **options: Any) -> None:
        if options.get("check") == "auto":
            hint = "judge one sample directly, and see the judge's form"
            raise InputError("'list' or 'each'", "'auto'", where="check", hint=hint)
        self._batch = BatchLLM(llm)
        super().__init__(self._batch, store=store, **options)

    def take_requests(self) -> list[BatchRequest]:
        """What the samples since the last time have left to ask."""
        taken = list(self._batch.requests.values())
        self._batch.requests.clear()
        return taken

    def exchange(self, samples: Iterable[Sample]) -> str:
        """A digest of this judge's settings and the samples: rounds of one exchange share it."""
        content = hashlib.sha256(f"{self.name}\0{self._batch.identity}".encode())
        for sample in samples:
            labels = [chunk.relevant for chunk in sample.retrieved_contexts]
            content.update(f"{sample.key} {labels}\n".encode())
        return content.hexdigest()[:32]
