"""The steps of an evaluation: what is read, made and asked, and what is not."""

from __future__ import annotations

import asyncio
from typing import NoReturn

import pytest

from noisesense import Sample, UndefinedScoreError, Usage, Verdicts
from noisesense.judging.protocol import Judgement
from noisesense_adapters.evaluate.evaluator import Evaluator, Given, Settings

# One claim, not in the reference, from the only chunk, which has the reference's claim: 1.0.
NOISY = Verdicts.from_matrices([False], [[True]], [[True]])
SAMPLE = Sample(user_input="Q?", response="A.", reference="R.", retrieved_contexts=["C."])


class Judge:
    name = "ours"

    def __init__(self, verdicts: Verdicts = NOISY, unanswered: int = 0) -> None:
        self.verdicts = verdicts
        self.unanswered = unanswered
        self.asked = 0

    async def judge_detailed(self, sample: Sample) -> Judgement:
        self.asked += 1
        return Judgement(self.verdicts, Usage(calls=3), self.unanswered)

    async def judge(self, sample: Sample) -> Verdicts:
        return (await self.judge_detailed(sample)).verdicts


def no_judge() -> NoReturn:
    raise AssertionError("a judge is made")


class TextsUnread:
    """A row whose texts are not read, as Promptfoo's need not be where verdicts are given."""

    verdicts = NOISY

    @property
    def sample(self) -> Sample:
        raise AssertionError("the texts are read")


def test_given_verdicts_need_neither_judge_nor_texts() -> None:
    evaluator = Evaluator(Settings(), no_judge)
    for found in (
        asyncio.run(evaluator.evaluate(TextsUnread())),
        evaluator.evaluate_blocking(TextsUnread()),
    ):
        assert found.score.relevant == 1.0
        assert found.judge == "given verdicts"
        assert found.asked is None
        assert found.judgement == Judgement(NOISY)


def test_nothing_retrieved_needs_no_judge_unless_the_definition_counts_without_chunks() -> None:
    without = Given(SAMPLE.model_copy(update={"retrieved_contexts": ()}))
    found = Evaluator(Settings(), no_judge).evaluate_blocking(without)
    assert found.score.status("relevant") == "undefined"
    assert found.judge == "none"
    judge = Judge(Verdicts.from_matrices([False], [[]], [[]]))
    # All incorrect claims count, whatever they come from: 1 of 1.
    found = Evaluator(Settings("validmind"), lambda: judge).evaluate_blocking(without)
    assert found.score.relevant == 1.0
    assert judge.asked == 1


def test_what_an_undefined_score_has_cost_is_in_its_error() -> None:
    judge = Judge(Verdicts(response_claims=()))
    evaluator = Evaluator(Settings(empty="error"), lambda: judge)
    with pytest.raises(UndefinedScoreError) as caught:
        evaluator.evaluate_blocking(Given(SAMPLE))
    assert caught.value.within("row 1").usage == Usage(calls=3)


def test_metrics_of_a_run_share_a_judging_and_one_metric_measures_anew() -> None:
    judge = Judge()
    run = Judge()  # any object is a run

    async def both() -> list[bool]:
        found = [
            await Evaluator(settings, lambda: judge, metric).evaluate(Given(SAMPLE), run)
            for metric, settings in (("a", Settings()), ("b", Settings()), ("a", Settings()))
        ]
        return [each.judgement.shared for each in found]

    assert asyncio.run(both()) == [False, True, False]
    assert judge.asked == 2
