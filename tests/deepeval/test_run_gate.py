"""A gate over all test cases of a run sees what is broken for all, and no single case shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from gates.runners import deepeval_cases
from gates.ways import WORKING, Judge, Judging, Row, honest
from noisesense import ReplyError, Result, RunGate, Sample, Verdicts, gate_run, summarize
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.deepeval_run import run

BROKEN: dict[str, Callable[[Row], Row]] = {
    "none-correct": lambda row: replace(row, response=f"Nonsense {row.number}."),
    "same-context": lambda row: replace(row, contexts=["About us."]),
    "same-answer": lambda row: replace(row, response='{"error": "timeout"}'),
}


def gated(rows: Sequence[Row], judging: Judging) -> RunGate:
    kept: list[Result] = []
    metric = NoiseSensitivityMetric(threshold=1, judge=Judge(judging), results=kept)
    run(deepeval_cases(rows), [metric])
    assert sorted(result.id for result in kept) == sorted(f"test case '{row.id}'" for row in rows)
    return gate_run(summarize(kept), 0.4, min_samples=len(rows))


def test_a_working_system_passes_the_gate_of_its_run() -> None:
    found = gated(WORKING, honest)
    assert found.passed, found.reason


@pytest.mark.parametrize("sign", BROKEN)
def test_a_system_broken_for_all_fails_the_gate_by_its_sign(sign: str) -> None:
    found = gated([BROKEN[sign](row) for row in WORKING], honest)
    assert not found.passed
    assert sign in found.reason


def test_cases_whose_judging_failed_fail_the_gate_and_are_counted() -> None:
    def silent(sample: Sample) -> Verdicts:
        raise ReplyError("the model refused")

    found = gated(WORKING[:3], silent)
    assert not found.passed
    assert "3 of 3" in found.reason
