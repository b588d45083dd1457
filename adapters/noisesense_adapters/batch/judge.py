"""Judging through batch files: what a round asks, and the verdicts once it is answered."""

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
    """One request of a round, which depends on no other of that round.

    Attributes:
        key: the store's key of the call, 64 hexadecimal digits: the request's id in any batch
            engine, by which its answer is known.
        prompt: the whole prompt, one message of a user.
        schema: the form of the reply, to be asked for as structured output.
    """

    key: str
    prompt: str
    schema: type[BaseModel]


class _BatchLLM:
    """A model whose answers come from a store; what the store has not is noted."""

    def __init__(self, name: str, identity: str) -> None:
        self.name, self.identity = name, identity
        self.requests: dict[str, BatchRequest] = {}

    async def generate(self, prompt: str, schema: type[Any]) -> Any:
        raise JudgeError("a model for batch files cannot be asked directly")

    def defer(self, key: str, prompt: str, schema: type[BaseModel]) -> None:
        """To be asked in the next file."""
        asked = Answer if schema is ChosenAnswer else schema
        self.requests[key] = BatchRequest(key, prompt, asked)


class BatchJudge(LLMJudge):
    """A judge whose model answers in rounds: it asks nothing, and says what is to be asked.

    `judge_detailed` takes every answer from the store. Where one is missing it raises
    `AwaitingAnswerError`, and `take_requests` has all that can be asked before it comes. A lazy
    plan takes three rounds, a full one two, and every re-ask another one. Equal requests of
    several samples are one. `noisesense_adapters.batch` drives it over a dataset.

    Args:
        model: the model's name as people know it.
        identity: all else that changes an answer: the engine, its options. See
            `noisesense.StructuredLLM`.
        store: holds the answers, and what has been asked for.
        options: as `LLMJudge` takes them; ``check="auto"`` is for models that answer at once.
    """

    def __init__(
        self, model: str, identity: str = "batch", *, store: VerdictStore, **options: Any
    ) -> None:
        if options.get("check") == "auto":
            hint = "judge one sample directly, and see the judge's form_reason"
            raise InputError("'list' or 'each'", "'auto'", where="check", hint=hint)
        self._llm = _BatchLLM(model, identity)
        super().__init__(self._llm, store=store, **options)

    def take_requests(self) -> list[BatchRequest]:
        """What the samples since the last time have left to ask."""
        taken = list(self._llm.requests.values())
        self._llm.requests.clear()
        return taken

    def exchange(self, samples: Iterable[Sample]) -> str:
        """A digest of this judge's settings and the samples: rounds of one exchange share it."""
        content = hashlib.sha256(f"{self.name}\0{self._llm.identity}".encode())
        for sample in samples:
            content.update(f"{sharing_key(sample)}\n".encode())
        return content.hexdigest()[:32]
