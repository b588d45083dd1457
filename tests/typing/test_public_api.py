"""The public types, as mypy and pyright see them. Running it shows that they tell the truth.

Lines marked as errors must be errors: an unused mark is one itself.
"""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel
from typing_extensions import assert_type

from noisesense import (
    Chunk,
    ClaimOutcome,
    Counts,
    DefinitionName,
    InputError,
    Judge,
    Judgement,
    LLMJudge,
    Matrices,
    Partition,
    Range,
    RecordedJudge,
    ReferenceClaim,
    ReplyError,
    ResponseClaim,
    Sample,
    Score,
    StructuredLLM,
    Usage,
    Verdicts,
    VerdictStore,
    read_recording,
    score,
    write_recording,
)
from noisesense.judging.prompts import Budget, Prompts
from noisesense.judging.sharing import judge_once
from noisesense.judging.store import StoredCalls
from noisesense.verdicts.recording import Recorded

S = TypeVar("S", bound=BaseModel)


def test_verdicts() -> None:
    verdicts = Verdicts.from_matrices([True, None], [[True], [False]], [[True]], [None])
    assert_type(verdicts, Verdicts)
    assert_type(verdicts.response_claims, tuple[ResponseClaim, ...])
    assert_type(verdicts.reference_claims, tuple[ReferenceClaim, ...])
    assert_type(verdicts.chunks, tuple[Chunk, ...] | None)
    assert_type(verdicts.response_claims[0].correct, bool | None)
    assert_type(verdicts.to_matrices(), Matrices)
    assert_type(Verdicts.from_matrices(**verdicts.to_matrices()), Verdicts)
    assert_type(Verdicts.model_validate({"response_claims": []}), Verdicts)
    assert_type(Verdicts.model_validate_json('{"response_claims": []}'), Verdicts)


def test_lists_and_texts_are_read_where_tuples_and_chunks_are_kept() -> None:
    sample = Sample(response="r", reference="g", retrieved_contexts=["c", Chunk(text="d")])
    assert_type(sample.retrieved_contexts, tuple[Chunk, ...])
    plain = {"text": "a", "correct": None, "entailed_by": [0]}
    verdicts = Verdicts(
        response_claims=[ResponseClaim(text="a", correct=None, entailed_by=(0,)), plain],
        reference_claims=[ReferenceClaim(text="b", entailed_by=(), undetermined=(1,))],
        chunks=["c", "d"],
    )
    assert_type(verdicts.response_claims, tuple[ResponseClaim, ...])
    assert verdicts.response_claims[0] == verdicts.response_claims[1]
    with pytest.raises(InputError):
        Sample(response="r", reference="g", retrieved_contexts=[1])  # type: ignore[list-item]
    with pytest.raises(InputError):
        Sample(response="r", retrieved_contexts=["c"])  # type: ignore[call-arg]


def test_scores() -> None:
    result = score(Verdicts.from_matrices([False], [[True]], [[True]]), definition="paper")
    assert_type(result, Score)
    assert_type(result.relevant, float | None)
    assert_type(result.value("relevant"), float | None)
    assert_type(result.bounds("irrelevant"), Range | None)
    assert_type(result.counts("relevant"), Counts | None)
    assert_type(result.partition, Partition)
    assert_type(result.claims, tuple[ClaimOutcome, ...])
    assert_type(result.definition, DefinitionName)
    assert_type(result.to_dict(), dict[str, Any])


def test_misspelt_arguments_are_errors() -> None:
    verdicts = Verdicts(response_claims=())
    with pytest.raises(InputError):
        score(verdicts, definition="ragsa")  # type: ignore[arg-type]
    with pytest.raises(InputError):
        score(verdicts).value("both")  # type: ignore[arg-type]
    with pytest.raises(InputError):
        score({"response_claims": []})  # type: ignore[arg-type]
    with pytest.raises(InputError):
        ResponseClaim(text="a", correct="no", entailed_by=())  # type: ignore[arg-type]


class _Refusing:
    """A user's model: nothing to inherit from."""

    name = "refusing"

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        raise ReplyError("refused", Usage(calls=1))


def test_a_model_behind_a_judge(tmp_path: Path) -> None:
    llm: StructuredLLM = _Refusing()
    sample = Sample(response="It is.", reference="It is not.", retrieved_contexts=["It may be."])
    with VerdictStore(tmp_path / "verdicts.db") as store:
        prompts = Prompts(version="mine")
        budget = Budget(claims=20)
        judge = LLMJudge(llm, plan="full", store=store, prompts=prompts, budget=budget)
        assert_type(judge.usage, Usage)
        with pytest.raises(ReplyError):
            assert_type(asyncio.run(judge.judge_detailed(sample)), Judgement)
        with pytest.raises(ReplyError):
            assert_type(asyncio.run(judge.judge(sample)), Verdicts)
        assert_type(store.stats(), list[StoredCalls])
    with pytest.raises(ValueError, match="plan"):
        LLMJudge(llm, plan="eager")  # type: ignore[arg-type]


class _Own:
    """A user's judge, likewise."""

    async def judge(self, sample: Sample) -> Verdicts:
        return Verdicts(response_claims=())


def test_judges(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    sample = Sample(response="r", reference="g", retrieved_contexts=(Chunk(text="c"),))
    write_recording(path, [(sample, Verdicts(response_claims=()))])
    own: Judge = _Own()
    recorded: Judge = RecordedJudge(path)
    for judge in (own, recorded):
        judgement = asyncio.run(judge_once(judge, sample, metric="mine"))
        assert_type(judgement, Judgement)
        assert_type(judgement.usage, Usage)
        assert_type(judgement.verdicts, Verdicts)
    assert_type(read_recording(str(path)), Iterator[Recorded])
    assert_type(RecordedJudge(path).lookup(sample), Verdicts)
    none: StructuredLLM = own  # type: ignore[assignment]
    assert none
