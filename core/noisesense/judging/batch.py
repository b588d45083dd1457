"""Judging through batch files: what a round asks, and the verdicts once it is answered."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from noisesense.errors import InputError, JudgeError
from noisesense.judging.calls import (
    AwaitingAnswerError,
    CallResult,
    CallRunner,
    ModelCall,
    SampleRun,
    digest,
    identity_of,
    read_stored,
)
from noisesense.judging.llm import LLMJudge
from noisesense.judging.prompts import Claims, PackedVerdicts, VerdictList
from noisesense.judging.protocol import Judgement, StructuredLLM, Usage
from noisesense.judging.records import StoredRequest
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts

if TYPE_CHECKING:
    from noisesense.judging.store import VerdictStore

S = TypeVar("S", bound=BaseModel)
A = TypeVar("A")

FORMS: dict[str, type[BaseModel]] = {
    form.__name__: form for form in (Claims, VerdictList, PackedVerdicts)
}
"""What replies look like, by the name that a request is stored with."""


@dataclass(frozen=True)
class BatchRequest:
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


@dataclass(frozen=True)
class _RoundRunner(CallRunner):
    """Answers calls from the store, and notes those that it has not.

    Attempts count over all rounds as they count within one run of a judge: a reply that was
    unusable is asked again in other words, and the last one is not asked again.
    """

    requests: dict[str, BatchRequest] = field(default_factory=dict[str, BatchRequest])

    async def call(
        self,
        run: SampleRun,
        attempts: range,
        model_call: Callable[[int], Awaitable[ModelCall[S, A]]],
    ) -> CallResult[A]:
        """See `CallRunner`. Raises `AwaitingAnswerError` where the store has no reply yet."""
        call, store = await model_call(attempts[0]), self.store
        assert store is not None  # as `BatchJudge` has one
        key = self.key(run, call)
        stored = store.get(key, unanswered=True)
        if stored is None:
            self.requests.setdefault(key, self._request(key, run, call))
            raise AwaitingAnswerError(call.step)
        answer = None if stored.reply is None else read_stored(store, call, stored)
        if answer is None and stored.answered:
            store.mark_unanswered([key])
        self._count(run, Usage(cached_calls=1, reasks=int(call.attempt > 0)))
        return CallResult(answer, call.attempt, from_model=True)

    def _request(self, key: str, run: SampleRun, call: ModelCall[S, A]) -> BatchRequest:
        stored = StoredRequest(
            key=key,
            exchange="",
            model=self.model,
            identity=digest(run.identity),
            version=self.version,
            step=call.step,
            vote=call.vote,
            sample_key=run.sample_key,
            label=run.label,
            form=call.schema.__name__,
        )
        return BatchRequest(key, call.prompt, call.schema, stored)


class BatchJudge(LLMJudge):
    """A judge whose model answers in rounds: it asks nothing, and says what is to be asked.

    `judge_detailed` takes every answer from the store. Where one is missing it raises
    `AwaitingAnswerError`, and `take_requests` has all that can be asked before it comes. A lazy
    plan takes three rounds, a full one two, and every re-ask another one. Equal requests of
    several samples are one. `noisesense_adapters.batch` drives it over a dataset.

    Args:
        llm: a model with a ``name`` and an ``identity``, such as an adapter's, or a `NamedModel`.
        store: holds the answers, and what has been asked for.
        options: as `LLMJudge` takes them.
    """

    def __init__(self, llm: StructuredLLM, *, store: VerdictStore, **options: Any) -> None:
        self._requests: dict[str, BatchRequest] = {}
        super().__init__(llm, store=store, **options)

    def _runner(self, runner: CallRunner) -> CallRunner:
        return _RoundRunner(**vars(runner), requests=self._requests)

    def take_requests(self) -> list[BatchRequest]:
        """What the samples since the last time have left to ask."""
        taken = list(self._requests.values())
        self._requests.clear()
        return taken

    def exchange(self, samples: Iterable[Sample]) -> str:
        """A digest of this judge's settings and the samples: rounds of one exchange share it."""
        content = hashlib.sha256(f"{self.name}\0{identity_of(self._llm)}".encode())
        for sample in samples:
            labels = [chunk.relevant for chunk in sample.retrieved_contexts]
            content.update(f"{sample.key} {labels}\n".encode())
        return content.hexdigest()[:32]


class StoredJudge:
    """The verdicts that a store holds on samples judged to the end, without a call.

    Args:
        store: that judged them.

    Raises:
        InputError: several models have judged with it, or none.
        StoreError: it is damaged.
    """

    def __init__(self, store: VerdictStore) -> None:
        samples = store.samples()
        models = sorted({f"{each.model}, options {each.identity[:8]}" for each in samples})
        if len(models) != 1:
            hint = "noisesense store export --model M writes one model's verdicts"
            got = " and ".join(models) if models else "none"
            expected = "samples judged to the end, by one model"
            raise InputError(expected, got, where=str(store.path), hint=hint if models else "")
        self._path = store.path
        self._by_key = {(each.sample.key, _labels(each.sample)): each for each in samples}
        newest = samples[-1]
        self.name = (
            f"{newest.model}, {newest.settings}, prompts {newest.version}, "
            f"options {newest.identity[:8]}"
        )

    async def judge(self, sample: Sample) -> Verdicts:
        """The stored verdicts. Raises as `judge_detailed`."""
        return (await self.judge_detailed(sample)).verdicts

    async def judge_detailed(self, sample: Sample) -> Judgement:
        """The stored verdicts, with the number of cells that stayed without an answer.

        Raises:
            InputError: the sample was not judged to the end.
        """
        stored = self._by_key.get((sample.key, _labels(sample)))
        if stored is None:
            hint = "noisesense batch export asks what is missing, and names samples that failed"
            expected = "a sample judged to the end, in the store"
            raise InputError(expected, "none", where=str(self._path), hint=hint)
        return Judgement(stored.verdicts.beside(sample), unanswered=stored.unanswered)


def _labels(sample: Sample) -> tuple[bool | None, ...]:
    return tuple(chunk.relevant for chunk in sample.retrieved_contexts)
