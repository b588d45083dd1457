"""Metrics share a judging within one run; the next run, or asking again, judges again."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from noisesense import VerdictStore
from noisesense.scoring.definitions import MODES
from noisesense_adapters.ragas import NoiseSensitivity
from support.faults import CALLS, pairs
from support.mind import Mind
from support.ragas_llms import asked
from support.ragas_peer import ragas_row
from support.ragas_runs import COLUMNS, CountingJudge, dataset, evaluated
from support.server import ScriptedServer
from support.tables import random_pairs

(SAMPLE, VERDICTS), *_ = pairs()
RUNS = 5


class DrawingMind(Mind):
    """Says of each response claim and chunk what it draws at random; the rest is true."""

    def __init__(self, seed: int) -> None:
        super().__init__([(SAMPLE, VERDICTS)])
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def verdicts(self, premise: str, claims: dict[int, str]) -> dict[int, bool]:
        said = super().verdicts(premise, claims)
        with self._lock:
            return {
                i: self._random.random() < 0.5
                if premise.startswith("Passage") and "says claim" in claims[i]
                else cell
                for i, cell in said.items()
            }


Values = list[tuple[Any, Any]]


async def _five_evaluations(llm: Any) -> Values:
    from ragas import aevaluate

    metrics: list[Any] = [NoiseSensitivity(mode) for mode in MODES]
    found: Values = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"aevaluate\(\) is", DeprecationWarning)
        warnings.filterwarnings("ignore", "LangchainLLMWrapper is", DeprecationWarning)
        for _ in range(RUNS):
            result = await aevaluate(
                dataset([SAMPLE]), metrics=metrics, llm=llm, show_progress=False
            )
            (row,) = result.scores
            found.append((row[COLUMNS["relevant"]], row[COLUMNS["irrelevant"]]))
    return found


async def _five_ascores(llm: Any) -> Values:
    metrics = [NoiseSensitivity(mode, llm) for mode in MODES]
    found: Values = []
    for _ in range(RUNS):
        first, second = [await metric.ascore(**ragas_row(SAMPLE)) for metric in metrics]
        found.append((first.value, second.value))
    return found


async def _five_scores(llm: Any) -> Values:
    metrics = [NoiseSensitivity(mode, llm) for mode in MODES]

    def score() -> Values:
        found: Values = []
        for _ in range(RUNS):
            first, second = [metric.score(**ragas_row(SAMPLE)) for metric in metrics]
            found.append((first.value, second.value))
        return found

    return await asyncio.to_thread(score)


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        (_five_evaluations, "async client"),
        (_five_evaluations, "sync client"),
        (_five_evaluations, "LangChain"),
        (_five_evaluations, "LangChain wrapped"),
        (_five_ascores, "async client"),
        (_five_ascores, "LangChain"),
        (_five_scores, "sync client"),
    ],
)
def test_five_evaluations_by_a_judge_that_draws(how: Callable[..., Any], kind: str) -> None:
    with ScriptedServer(DrawingMind(seed=1)) as server:
        found: Values = asked(kind, server, how)
        assert server.log.calls == RUNS * CALLS
    for relevant, irrelevant in found:
        assert relevant.score == irrelevant.score
        assert {relevant.judgement.shared, irrelevant.judgement.shared} == {True, False}
    assert len({(float(one), float(other)) for one, other in found}) > 1
    assert len({json.dumps(one.report["claims"]) for one, _ in found}) > 2


def test_a_store_is_what_carries_over(tmp_path: Any) -> None:
    async def work(llm: Any) -> Values:
        metrics = [
            NoiseSensitivity(mode, llm, store=VerdictStore(tmp_path / "store")) for mode in MODES
        ]
        found = [await metric.ascore(**ragas_row(SAMPLE)) for metric in metrics for _ in "12"]
        return [each.value for each in found]

    with ScriptedServer(DrawingMind(seed=1)) as server:
        found = asked("async client", server, work)
        assert server.log.calls == CALLS
    assert len({value.report["claims"][2]["sentence"] for value in found}) == 1


def test_share_false_asks_for_each_metric() -> None:
    given = list(random_pairs(5))
    judge = CountingJudge(given, seconds=0.001)
    metrics = [NoiseSensitivity(mode, judge=judge, share=False) for mode in MODES]
    result = evaluated([sample for sample, _ in given], metrics)
    assert len(judge.asked) == 2 * 5
    assert not any(value.judgement.shared for row in result.scores for value in row.values())


def test_rows_of_equal_texts_are_judged_each() -> None:
    given = list(random_pairs(1))
    judge = CountingJudge(given, seconds=0.001)
    evaluated([given[0][0]] * 3, [NoiseSensitivity(mode, judge=judge) for mode in MODES])
    assert len(judge.asked) == 3


def test_one_evaluation_leaves_nothing_to_the_next() -> None:
    given = list(random_pairs(4))
    judge = CountingJudge(given)
    for mode in MODES:
        evaluated([sample for sample, _ in given], [NoiseSensitivity(mode, judge=judge)])
    assert len(judge.asked) == 2 * 4


def test_evaluations_at_once_share_nothing() -> None:
    from ragas import aevaluate

    given = list(random_pairs(4))
    judge = CountingJudge(given, seconds=0.01)
    metrics: list[Any] = [NoiseSensitivity(mode, judge=judge) for mode in MODES]
    samples = dataset([sample for sample, _ in given])

    async def main() -> None:
        runs = [aevaluate(samples, metrics=metrics, show_progress=False) for _ in "123"]
        await asyncio.gather(*runs)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"aevaluate\(\) is", DeprecationWarning)
        asyncio.run(main())
    assert len(judge.asked) == 3 * 4
