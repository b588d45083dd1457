"""Inspect, Phoenix and Opik: the gate over each one's ``run_summary``, and their own averages.

Over every fourth row, as Inspect takes most of a second for twenty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gates.runners import Ended, check, gated
from gates.ways import WAYS, WORKING, AnyJudge, Judging, Row, honest, judge_by
from noisesense import Summary
from support.row_hosts import OPIKS_CLIENT, by_inspect, by_opik, by_phoenix_in_turn, opik_offline

pytestmark = pytest.mark.filterwarnings(OPIKS_CLIENT)


@pytest.fixture(scope="module", autouse=True)
def offline() -> Iterator[None]:
    with opik_offline():
        yield


class Run(NamedTuple):
    """A run's honest figures, and the host's own averages that are numbers."""

    summary: Summary
    averages: list[float]


def numbers(values: Iterable[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]


def phoenix(rows: Sequence[Row], judging: AnyJudge, folder: Path) -> Run:
    """With the mean of the dataframe that Phoenix uploads as annotations."""
    from phoenix.evals.utils import to_annotation_dataframe

    from noisesense_adapters.phoenix import NoiseSensitivity, run_summary

    dataframe = by_phoenix_in_turn(given(rows), NoiseSensitivity(judge=judge_by(judging)))
    spans = dataframe.assign(span_id=[str(number) for number in range(len(dataframe))])
    annotations = to_annotation_dataframe(dataframe=spans)
    averages: list[float] = []
    if not annotations.empty:
        averages = list(annotations.groupby("annotation_name")["score"].mean())
    return Run(run_summary(dataframe), numbers(averages))


def opik(rows: Sequence[Row], judging: AnyJudge, folder: Path) -> Run:
    from noisesense_adapters.opik import NoiseSensitivity, run_summary

    result = by_opik(given(rows), NoiseSensitivity(judge=judge_by(judging)))
    statistics = result.aggregate_evaluation_scores()
    return Run(run_summary(result.test_results), numbers(of.mean for of in statistics.values()))


def inspect(rows: Sequence[Row], judging: AnyJudge, folder: Path) -> Run:
    from noisesense_adapters.inspect_ai import noise_sensitivity, run_summary

    log = by_inspect(given(rows), noise_sensitivity(judge=judge_by(judging)), folder)
    scores = log.results.scores if log.results is not None else []
    return Run(run_summary(log), numbers(score.metrics["mean"].value for score in scores))


Host = Callable[[Sequence[Row], Judging, Path], Run]
HOSTS: list[Host] = [phoenix, opik, inspect]
each_host = pytest.mark.parametrize("host", HOSTS)


def given(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {
            "input": row.question,
            "output": row.response,
            "expected_output": row.reference,
            "contexts": row.contexts,
            "error": row.error,
        }
        for row in rows
        if row.number % 4 == 0
    ]


@each_host
def test_the_working_system_passes_and_its_averages_are_right(host: Host, tmp_path: Path) -> None:
    """Two of five answers have one noisy claim of three: 2 / 5 · 1 / 3 = 2 / 15."""
    run = host(WORKING, honest, tmp_path)
    assert gated(run.summary, len(WORKING) // 4).passed
    assert sorted(run.averages) == [pytest.approx(0), pytest.approx(2 / 15)]


@each_host
@pytest.mark.parametrize("name", WAYS)
def test_no_broken_system_passes_in_silence(host: Host, name: str, tmp_path: Path) -> None:
    def gate(rows: list[Row], judging: Judging) -> Ended:
        return gated(host(rows, judging, tmp_path).summary, len(WORKING) // 4)

    check(name, gate)


UNMEASURED = [
    "nothing retrieved",
    "only 'I do not know.'",
    "no answers",
    "no references",
    "a judge out of reach",
    "a judge that says nothing",
    "a judge that finds no claims",
]
"""Of each row nothing can be told."""


@each_host
@pytest.mark.parametrize("name", UNMEASURED)
def test_where_nothing_is_measured_no_average_is_a_number(
    host: Host, name: str, tmp_path: Path
) -> None:
    """A host that took what is missing for 0 would show a perfect system."""
    way = WAYS[name]
    run = host(way.rows(), way.judging, tmp_path)
    assert run.averages == []
