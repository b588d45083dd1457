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
from support.ragas_runs import COLUMNS
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
def test_evaluate(cases: tuple[Case, ...], caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedServer(mind(), script=script) as server, caplog.at_level(logging.INFO):
        metrics = [NoiseSensitivity(mode) for mode in MODES]
        result = evaluated_by("async client", server, [case.sample for case in cases], metrics)
    wrong = ""
    for case, row in zip(cases, result.scores, strict=True):
        for mode in MODES:
            number = row[COLUMNS[mode]]
            assert isinstance(number, ScoredFloat) is case.usable
            told = number.reason if case.usable else None
            wrong += wrong_with_value(case, mode, number, told)
    assert wrong == ""
    table = result.to_pandas()
    for mode in MODES:
        none = [math.isnan(row[COLUMNS[mode]]) for row in result.scores]  # each was looked at
        assert table[COLUMNS[mode]].isna().tolist() == none
        # What a person sees: how many rows have no number, and what the mean can be.
        (line,) = {message for message in caplog.messages if "rows have no number" in message}
        assert f"{COLUMNS[mode]}: {sum(none)} of {len(cases)} rows" in line
    # ragas logs one line for each row that failed. asyncio may log what an earlier test left.
    unusable = len(MODES) * sum(not case.usable for case in cases)
    logged = [each.getMessage() for each in caplog.records if each.name == "ragas.executor"]
    assert sum("no usable" in message for message in logged) == unusable


@few_or_all
def test_the_collections_api(cases: tuple[Case, ...]) -> None:
    async def work(model: Any) -> list[Any]:
        metrics = [NoiseSensitivity(mode, llm=model) for mode in MODES]
        return await asyncio.gather(
            *(metric.ascore(**ragas_row(case.sample)) for case in cases for metric in metrics),
            return_exceptions=True,
        )

    with ScriptedServer(mind(), script=script) as server:
        found = asked("LangChain", server, work)
    wrong = ""
    cells = [(case, mode) for case in cases for mode in MODES]
    for (case, mode), result in zip(cells, found, strict=True):
        if isinstance(result, ReplyError):
            assert not case.usable
            wrong += wrong_with(case, mode, words=str(result))
            continue
        assert isinstance(result, MetricResult), result
        wrong += wrong_with_value(case, mode, result.value, str(result.reason))
        value = result.traces["output"]["value"]
        assert math.isnan(result.value) if value is None else result.value == value
    assert wrong == ""
