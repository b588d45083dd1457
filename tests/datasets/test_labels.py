"""Labeled claims, and a judge asked about them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from noisesense import InputError, JudgeError, LLMJudge, Result, Sample, Usage, Verdicts, score
from noisesense.judging.protocol import Entailment, EntailmentJudge
from noisesense_adapters.datasets.labels import judge_labels
from support.mind import Mind
from support.scripted_llm import ScriptedLLM
from support.tables import Shape, random_pairs

PAIRS = [
    pair
    for pair in random_pairs(12, shape=Shape(response_claims=(1, 4), undetermined=0.1))
    if pair[1].response_claims
]


def test_a_model_is_asked_about_the_claims_as_they_are() -> None:
    labels = [
        Result(f"r{i}", score(verdicts.with_sample(sample)), sample=sample)
        for i, (sample, verdicts) in enumerate(PAIRS)
    ]
    judge = LLMJudge(ScriptedLLM(Mind(PAIRS).answer), max_reasks=0)
    assert isinstance(judge, EntailmentJudge)
    told: list[str | None] = []
    failed = Result("no labels", error="no reply")
    judged = judge_labels([*labels, failed], judge, concurrency=3, on_done=told.append)
    assert told == [None] * len(labels)
    for each in judged.samples:
        # The mind says exactly what the labels say, and nothing where they are open.
        ours = each.judge.to_matrices()
        theirs = each.labels.to_matrices()
        for name in ("reference_to_response", "chunks_to_response", "chunks_to_reference"):
            assert ours[name] == theirs[name]
    assert judged.usage.calls == judge.usage.calls > 0


def test_no_samples_at_once_are_an_error() -> None:
    """None was asked, and all labels were lost without a word."""
    with pytest.raises(InputError, match="concurrency: expected a whole number of 1 or more"):
        judge_labels([], Scripted(), concurrency=0)


def test_labels_of_a_sample_without_chunks_are_those_of_its_reference() -> None:
    sample = Sample(response="r", reference="g", retrieved_contexts=[])
    claims = [{"text": "a", "correct": True, "entailed_by": []}]
    reference = [{"text": "b", "entailed_by": []}]
    labels = Verdicts.model_validate(
        {"response_claims": claims, "reference_claims": reference, "chunks": []}
    )
    (judged,) = judge_labels([Result("x", score(labels), sample=sample)], Scripted()).samples
    assert judged.judge.to_matrices()["reference_to_response"] == [True]


def test_the_reference_is_asked_as_the_answer_to_its_question_and_chunks_alone() -> None:
    sample = Sample(
        user_input="Which herb?", response="r", reference="g", retrieved_contexts=["c", "d"]
    )
    labels = Verdicts.from_matrices(
        [True, None],
        [[True, None], [False, True]],
        [[True, False]],
        response_claims=["a", "b"],
        reference_claims=["x"],
    ).with_sample(sample)
    judge = Scripted()
    judge_labels([Result("1", score(labels), sample=sample)], judge)
    of_reference = (("g",), ("a", "b"), "Which herb?")
    of_chunks = (("c", "d"), ("a", "b", "x"), "")
    assert judge.questions == [of_reference, of_chunks]


class Scripted:
    """Says yes, and fails on some samples."""

    def __init__(self, fails: Sequence[int] = ()) -> None:
        self.fails = fails
        self.asked = 0
        self.questions: list[tuple[tuple[str, ...], tuple[str, ...], str]] = []

    async def entailment(
        self, texts: Sequence[str], claims: Sequence[str], *, question: str = ""
    ) -> Entailment:
        self.asked += 1
        self.questions.append((tuple(texts), tuple(claims), question))
        if self.asked - 1 in self.fails:
            raise JudgeError("no answer")
        cells = [[True] * len(texts)] * len(claims)
        return Entailment(cells, Usage(calls=1), 0)


TABLE = Verdicts.from_matrices([None], [[True, None]], response_claims=["a"], chunks=["b", "c"])


def test_a_sample_that_cannot_be_judged_is_counted_and_told() -> None:
    told: list[str | None] = []
    labels = [Result(str(i), score(TABLE)) for i in range(4)]
    judged = judge_labels(labels, Scripted((0, 2)), concurrency=1, on_done=told.append)
    assert told == ["no answer", None, "no answer", None]
    assert [each.judge is None for each in judged.samples] == [True, False, True, False]
    assert judged.usage.calls == 2


def test_labels_without_texts() -> None:
    table = Verdicts.from_matrices([None], [[True]])
    with pytest.raises(InputError, match="sample 'x': expected texts to judge"):
        judge_labels([Result("x", score(table))], Scripted())
