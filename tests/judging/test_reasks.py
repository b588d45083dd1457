"""Asking again: first for what the score hangs on, the last time for nothing else."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Collection
from random import Random
from typing import TypeVar

import pytest

from noisesense import LLMJudge, Sample, Verdicts, score
from noisesense.judging import plan as verify
from noisesense.judging.planned import Plan
from support.mind import Mind, data_of
from support.scripted_llm import ScriptedLLM
from support.tables import Shape, random_pairs

T = TypeVar("T")

R1, R2, R3 = (f"response claim {i}" for i in (1, 2, 3))
G1, G2, G3 = (f"reference claim {i}" for i in (1, 2, 3))


def judged(
    correct: list[bool],
    chunk: list[bool],
    given: list[list[str]],
    *,
    label: bool | None = None,
    plan: Plan = "lazy",
) -> list[list[str]]:
    """What one chunk is asked about in each call, where each reply has only these claims.

    Args:
        chunk: which of the reference's three claims the chunk entails; it entails no other.
    """
    truth = Verdicts.from_matrices(
        correct,
        [[False]] * 3,
        [[entailed] for entailed in chunk],
        [label],
        response_claims=[R1, R2, R3],
        reference_claims=[G1, G2, G3],
        chunks=["the chunk"],
    )
    sample = Sample(
        user_input="question?",
        response="the response",
        reference="the reference",
        retrieved_contexts=truth.chunks or (),
    )
    mind = Mind([(sample, truth)])
    asked: list[list[str]] = []

    def answer(prompt: str) -> str:
        data, reply = data_of(prompt), mind.answer(prompt)
        if data.get("premise") != "the chunk":
            return reply
        asked.append([*data["claims"].values()])
        wanted = given[len(asked) - 1]
        ids = [int(number) for number, text in data["claims"].items() if text in wanted]
        said = [item for item in json.loads(reply)["verdicts"] if item["id"] in ids]
        return json.dumps({"verdicts": said})

    asyncio.run(LLMJudge(ScriptedLLM(answer), plan=plan).judge(sample))
    return asked


ALL = [R1, R2, R3, G1, G2, G3]


def test_all_of_the_reference_decides_until_one_claim_is_known_to_be_entailed() -> None:
    assert judged([False] * 3, [False] * 3, [[R1, G1], [G2], []]) == [
        ALL,
        [R2, R3, G2, G3],
        [R2, R3, G3],
    ]


def test_one_entailed_claim_of_the_reference_settles_the_rest() -> None:
    """The last call asks for the open claims alone, though the chunk's other cells are open."""
    assert judged([False] * 3, [False, True, False], [[R1, G2], [], []]) == [
        ALL,
        [R2, R3, G1, G3],
        [R2, R3],
    ]


def test_the_rest_is_asked_for_once_all_that_decides_is_known() -> None:
    assert judged([False] * 3, [False, True, False], [[R1, R2, R3, G2], [], []]) == [
        ALL,
        [G1, G3],
        [G1, G3],
    ]


def test_in_the_full_plan_correct_claims_and_a_labelled_chunks_reference_come_last() -> None:
    unlabelled = judged([True, False, True], [False] * 3, [[R1], [], []], plan="full")
    assert unlabelled == [ALL, [R2, G1, G2, G3, R3], [R2, G1, G2, G3]]
    labelled = judged([True, False, True], [False] * 3, [[R1], [], []], plan="full", label=True)
    assert labelled == [ALL, [R2, R3, G1, G2, G3], [R2]]


def test_after_a_reply_that_is_no_answer_everything_is_asked_as_before() -> None:
    """Which claims come first matters to a model that answers some of them."""
    asked = judged([True, False, True], [False] * 3, [[], [], []], plan="full")
    assert asked == [ALL, ALL, [R2, G1, G2, G3]]


PAIRS = list(
    random_pairs(80, shape=Shape(response_claims=(3, 5), reference_claims=(4, 7), chunks=(2, 3)))
)


def determined(plan: Plan, order: str, most: int) -> tuple[int, int]:
    """Scores that are determined, and calls, with a model of at most so many verdicts a reply.

    Args:
        order: which it gives: the first of those it was asked for, or any.
    """
    mind = Mind(PAIRS)
    seen: Counter[str] = Counter()

    def curt(prompt: str) -> str:
        reply = json.loads(mind.answer(prompt))
        if "claims" in reply:
            return json.dumps(reply)
        said = reply["verdicts"]
        premise = data_of(prompt)["premise"]
        if order == "any":
            said = Random(f"{premise} {seen[premise]}").sample(said, min(most, len(said)))
            seen[premise] += 1
        return json.dumps({"verdicts": said[:most]})

    count = calls = 0
    for sample, truth in PAIRS:
        judge = LLMJudge(ScriptedLLM(curt), plan=plan)
        found = score(asyncio.run(judge.judge(sample)))
        calls += judge.usage.calls
        for mode in ("relevant", "irrelevant"):
            value = found.value(mode)
            count += value is not None
            assert value in (None, score(truth).value(mode))
    return count, calls


@pytest.mark.parametrize(("plan", "order"), [("full", "first"), ("full", "any"), ("lazy", "any")])
def test_more_scores_are_determined_for_the_same_calls(
    monkeypatch: pytest.MonkeyPatch, plan: Plan, order: str
) -> None:
    async def all_decide(_: object, answers: object, missing: Collection[T]) -> set[T]:
        return set(missing)

    found, calls = determined(plan, order, 3)
    monkeypatch.setattr(verify._Batch, "deciding", all_decide)
    before, calls_before = determined(plan, order, 3)
    assert found > before
    assert calls == calls_before
