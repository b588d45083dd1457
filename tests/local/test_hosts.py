"""The local judge in hosts that take a ``judge=``, each through its own way in."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from deepeval.test_case import LLMTestCase

from noisesense import Sample, score
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from noisesense_adapters.langfuse import noise_sensitivity as langfuse_evaluator
from noisesense_adapters.local import LocalJudge
from noisesense_adapters.ragas import NoiseSensitivity

SAMPLE = Sample(
    user_input="Which color?",
    response="The tower is red. The sea is blue.",
    reference="The tower is red.",
    retrieved_contexts=["The tower is red.", "The sea is blue."],
)


class Same:
    """A text entails what it says word for word."""

    name = "same"

    def entails(self, premises: Sequence[str], claims: Sequence[str]) -> list[float]:
        return [float(claim in premise) for premise, claim in zip(premises, claims, strict=True)]


@pytest.fixture
def judge() -> LocalJudge:
    """The second claim is incorrect, and comes from an irrelevant chunk: 1/2 irrelevant noise."""
    return LocalJudge(Same())


def test_by_itself(judge: LocalJudge) -> None:
    found = score(asyncio.run(judge.judge(SAMPLE)))
    assert (found.relevant, found.irrelevant) == (0.0, 0.5)


def test_ragas(judge: LocalJudge) -> None:
    metric = NoiseSensitivity(mode="irrelevant", judge=judge)
    result = asyncio.run(
        metric.ascore(
            user_input=SAMPLE.user_input,
            response=SAMPLE.response,
            reference=SAMPLE.reference,
            retrieved_contexts=[chunk.text for chunk in SAMPLE.retrieved_contexts],
        )
    )
    assert result.value == 0.5


@pytest.mark.usefixtures("offline")
def test_deepeval(judge: LocalJudge) -> None:
    metric = NoiseSensitivityMetric(threshold=0.2, mode="irrelevant", judge=judge)
    case = LLMTestCase(
        input=SAMPLE.user_input,
        actual_output=SAMPLE.response,
        expected_output=SAMPLE.reference,
        retrieval_context=[chunk.text for chunk in SAMPLE.retrieved_contexts],
    )
    assert metric.measure(case, _show_indicator=False) == 0.5
    assert metric.success is False


def test_langfuse(judge: LocalJudge) -> None:
    evaluator = langfuse_evaluator(judge=judge)
    found = asyncio.run(
        evaluator(
            input=SAMPLE.user_input,
            output={
                "answer": SAMPLE.response,
                "contexts": [chunk.text for chunk in SAMPLE.retrieved_contexts],
            },
            expected_output=SAMPLE.reference,
            metadata={},
        )
    )
    values = {each.name: each.value for each in found}
    assert values["noise_sensitivity_irrelevant"] == 0.5
    assert values["noise_sensitivity_relevant"] == 0.0
