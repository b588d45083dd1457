"""The public types, as mypy and pyright see them. Running it shows that they tell the truth.

Lines marked as errors must be errors: an unused mark is one itself.
"""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import asyncio
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
    ReferenceClaim,
    ReplyError,
    ResponseClaim,
    Sample,
    Score,
    StructuredLLM,
    Usage,
    Verdicts,
    score,
)

S = TypeVar("S", bound=BaseModel)


def test_verdicts_are_made_and_come_back_from_their_matrices_the_same() -> None:
    verdicts = Verdicts.from_matrices([True, None], [[True], [False]], [[True]], [None])
    assert_type(verdicts, Verdicts)
    assert_type(verdicts.response_claims, tuple[ResponseClaim, ...])
    assert_type(verdicts.reference_claims, tuple[ReferenceClaim, ...])
    assert_type(verdicts.chunks, tuple[Chunk, ...] | None)
    assert_type(verdicts.response_claims[0].correct, bool | None)
    assert_type(verdicts.to_matrices(), Matrices)
    assert assert_type(Verdicts.from_matrices(**verdicts.to_matrices()), Verdicts) == verdicts
    assert_type(Verdicts.model_validate({"response_claims": []}), Verdicts)
    assert_type(Verdicts.model_validate_json('{"response_claims": []}'), Verdicts)


def test_lists_and_texts_are_read_where_tuples_and_chunks_are_kept() -> None:
    sample = Sample(response="r", reference="g", retrieved_contexts=["c", Chunk(text="d")])
    kept = assert_type(sample.retrieved_contexts, tuple[Chunk, ...])
    assert kept == (Chunk(text="c"), Chunk(text="d"))
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


def test_a_score_gives_values_and_bounds_typed_for_mypy_and_pyright() -> None:
    result = score(Verdicts.from_matrices([False], [[True]], [[True]]), definition="paper")
    assert_type(result, Score)
    assert assert_type(result.relevant, float | None) == 1.0
    assert assert_type(result.value("relevant"), float | None) == 1.0
    assert assert_type(result.bounds("irrelevant"), Range | None) == (0.0, 0.0)
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


class _Own:
    """A user's judge, likewise."""

    async def judge(self, sample: Sample) -> Verdicts:
        return Verdicts(response_claims=())


def test_a_users_model_and_judge_need_no_base_class() -> None:
    llm: StructuredLLM = _Refusing()
    own: Judge = _Own()
    sample = Sample(response="It is.", reference="It is not.", retrieved_contexts=["It may be."])
    judge = LLMJudge(llm, plan="full")
    assert_type(judge.usage, Usage)
    with pytest.raises(ReplyError):
        assert_type(asyncio.run(judge.judge_detailed(sample)), Judgement)
    assert_type(asyncio.run(own.judge(sample)), Verdicts)
    none: StructuredLLM = own  # type: ignore[assignment]
    assert none
    with pytest.raises(ValueError, match="plan"):
        LLMJudge(llm, plan="eager")  # type: ignore[arg-type]
