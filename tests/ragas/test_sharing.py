"""Metrics share a judging within one run; the next run, or asking again, judges again."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from ragas import aevaluate

from noisesense.scoring.definitions import MODES
from noisesense_adapters.ragas import NoiseSensitivity
from support.drawing import CALLS, SAMPLE, DrawingMind
from support.ragas_llms import asked
from support.ragas_peer import ragas_row
from support.ragas_runs import COLUMNS, dataset
from support.server import ScriptedServer
from support.tables import random_pairs

RUNS = 5
Values = list[tuple[Any, Any]]
PAIRS = list(random_pairs(4))
SAMPLES = [sample for sample, _ in PAIRS]


def both(**options: Any) -> list[Any]:
    return [NoiseSensitivity(mode, **options) for mode in MODES]


async def _evaluations(llm: Any) -> Values:
    metrics = both()
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for _ in range(RUNS):
            rows = dataset([SAMPLE])
            result = await aevaluate(rows, metrics=metrics, llm=llm, show_progress=False)
            found.append(tuple(result.scores[0][name] for name in COLUMNS.values()))
    return found


async def _ascores(llm: Any) -> Values:
    metrics = both(llm=llm)
    found = []
    for _ in range(RUNS):
        first, second = [await metric.ascore(**ragas_row(SAMPLE)) for metric in metrics]
        found.append((first.value, second.value))
    return found


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        (_evaluations, "async client"),
        (_evaluations, "LangChain wrapped"),
        (_ascores, "sync client"),
    ],
)
def test_repeats_by_a_judge_that_draws(how: Callable[..., Any], kind: str) -> None:
    with ScriptedServer(DrawingMind()) as server:
        found: Values = asked(kind, server, how)
        assert server.log.calls == RUNS * CALLS
    for relevant, irrelevant in found:
        assert relevant.score == irrelevant.score
        assert {relevant.judgement.shared, irrelevant.judgement.shared} == {True, False}
    assert len({json.dumps(one.score.to_dict()) for one, _ in found}) > 2
