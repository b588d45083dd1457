"""Every way to withhold a verdict, through both of ragas' APIs and three kinds of model."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import Any

import pytest
from ragas.metrics.result import MetricResult

from noisesense import Mode, ReplyError
from noisesense.scoring.definitions import MODES
from noisesense_adapters.ragas import NoiseSensitivity, ScoredFloat
from support.ragas_llms import asked, evaluated_by
from support.ragas_peer import ragas_row
from support.ragas_runs import COLUMNS, same
from support.server import ScriptedServer
from support.withholding import Case, few_or_all, mind, script, wrong_with


def wrong_with_value(case: Case, mode: Mode, number: float, told: str | None) -> str:
    """As `wrong_with`; but ragas has no number for a reference without claims.

    Where the list of them is unusable nobody knows whether there are any, and a host of ragas may
    say so: "undetermined", not that there are none.
    """
    maybe_none = case.usable and "reference" in case.way.lists
    if maybe_none and math.isnan(number) and "undetermined" in str(told):
        return f"{case.id}, {mode}: {told}\n" if "makes no claims" in str(told) else ""
    return wrong_with(case, mode, number=number, words=told)


@few_or_all
def test_evaluate_gives_what_every_completion_gives(
    cases: tuple[Case, ...], caplog: pytest.LogCaptureFixture
) -> None:
    with ScriptedServer(mind(), script=script) as server, caplog.at_level(logging.INFO):
        metrics = [NoiseSensitivity(mode) for mode in MODES]
        samples = [case.sample for case in cases]
        result = evaluated_by("async client", server, samples, metrics)
    for mode in MODES:
        check_column(result, mode, cases)
    # ragas logs one line for each row that failed. asyncio may log what an earlier test left.
    unusable = len(MODES) * sum(not case.usable for case in cases)
    logged = [each.getMessage() for each in caplog.records if each.name == "ragas.executor"]
    assert sum("no usable" in message for message in logged) == unusable


def check_column(result: Any, mode: Mode, cases: tuple[Case, ...]) -> None:
    name = COLUMNS[mode]
    figures = [row[name] for row in result.scores]
    wrong = ""
    for case, number in zip(cases, figures, strict=True):
        wrong += wrong_in_evaluate(case, mode, number)
    assert wrong == ""
    assert result.to_pandas()[name].isna().tolist() == [*map(math.isnan, figures)]


def wrong_in_evaluate(case: Case, mode: Mode, number: float) -> str:
    assert isinstance(number, ScoredFloat) is case.usable
    told = number.reason if isinstance(number, ScoredFloat) else None
    return wrong_with_value(case, mode, number, told)


@few_or_all
def test_the_collections_api_gives_what_every_completion_gives(cases: tuple[Case, ...]) -> None:
    cells = [(case, mode) for case in cases for mode in MODES]

    async def work(model: Any) -> list[Any]:
        metrics = {mode: NoiseSensitivity(mode, llm=model) for mode in MODES}
        asking = [metrics[mode].ascore(**ragas_row(case.sample)) for case, mode in cells]
        return await asyncio.gather(*asking, return_exceptions=True)

    with ScriptedServer(mind(), script=script) as server:
        found = asked("LangChain", server, work)
    wrong = ""
    for (case, mode), result in zip(cells, found, strict=True):
        assert isinstance(result, MetricResult if case.usable else ReplyError), result
        if case.usable:
            wrong += wrong_with_value(case, mode, result.value, str(result.reason))
            kept = result.traces["output"]["value"]
            assert same(kept, result.value)
        else:
            wrong += wrong_with(case, mode, words=str(result))
    assert wrong == ""
