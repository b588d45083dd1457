"""Metrics over one test case agree with one judging; asked again, they judge again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from noisesense import VerdictStore
from noisesense.scoring.definitions import MODES
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.deepeval_run import CountingJudge, MindModel, SilentOnChunks, case_of, run
from support.drawing import CALLS, SAMPLE, DrawingMind
from support.faults import mind, pairs

ROUNDS = 5
Metrics = list[NoiseSensitivityMetric]


def both(**arguments: Any) -> Metrics:
    return [NoiseSensitivityMetric(mode=mode, **arguments) for mode in MODES]


def _measure(case: Any, metrics: Metrics) -> list[Any]:
    for metric in metrics:
        metric.measure(case, _show_indicator=False)
    return metrics


def _a_measure(case: Any, metrics: Metrics) -> list[Any]:
    async def together() -> None:
        await asyncio.gather(*(m.a_measure(case, _show_indicator=False) for m in metrics))

    asyncio.get_event_loop_policy().get_event_loop().run_until_complete(together())
    return metrics


ROUNDS_OF: dict[str, Callable[[Any, Metrics], list[Any]]] = {
    "measure": _measure,
    "a_measure": _a_measure,
    "evaluate": lambda case, metrics: list(run([case], metrics)[0].metrics_data),
}
each_round = pytest.mark.parametrize("one_round", ROUNDS_OF.values(), ids=ROUNDS_OF.keys())
Round = Callable[[Any, Metrics], list[Any]]


def claims_of(data: Any) -> str:
    """The verdicts on all claims, as both modes report them."""
    return str(data.verbose_logs).partition("Verdicts:")[2].partition("Judge:")[0]


@each_round
def test_repeats_measure_the_judge_and_modes_agree(one_round: Round) -> None:
    case = case_of(SAMPLE, name="a")
    seen = []
    model = MindModel(DrawingMind())
    metrics = both(model=model)
    for i in range(1, ROUNDS + 1):
        # The same metrics, or new ones over the same model.
        metrics = both(model=model) if i == ROUNDS else metrics
        relevant, irrelevant = one_round(case, metrics)
        assert len(model.prompts) == i * CALLS
        assert claims_of(relevant) == claims_of(irrelevant)
        logs = relevant.verbose_logs + irrelevant.verbose_logs
        assert logs.count(f"Judge: {CALLS} calls for all metrics of this test case") == 1
        seen.append((relevant.score, irrelevant.score, claims_of(relevant)))
    assert [len({*each}) > 1 for each in zip(*seen, strict=True)] == [True] * 3
    assert len({verdicts for _, _, verdicts in seen}) == ROUNDS


@each_round
def test_test_cases_do_not_share_and_a_store_carries_over(one_round: Round) -> None:
    """Not even if their texts are the same."""
    judge = CountingJudge(pairs())
    for i, metric in enumerate([*both(judge=judge), *both(judge=judge)], 1):
        one_round(case_of(pairs()[0][0], name="a"), [metric])
        assert len(judge.asked) == i

    model = MindModel(DrawingMind())
    store = VerdictStore("verdicts.db")
    case = case_of(SAMPLE, name="a")
    rounds = [one_round(case, both(model=model, store=store)) for _ in range(3)]
    assert len(model.prompts) == CALLS
    assert len({claims_of(data) for both_modes in rounds for data in both_modes}) == 1


def test_what_was_left_open_is_asked_again_of_a_judge_that_was_repaired() -> None:
    model = MindModel(SilentOnChunks())
    case = case_of(pairs()[0][0])
    relevant, irrelevant = both(model=model)
    assert relevant.measure(case, _show_indicator=False) is None
    model.mind = mind()
    for metric in (irrelevant, relevant):
        assert metric.measure(case, _show_indicator=False) == pytest.approx(1 / 3)
