"""Every way to withhold a verdict, in DeepEval: measure, evaluate, assert_test."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from deepeval import assert_test
from deepeval.models import DeepEvalBaseLLM
from openai import DefaultAsyncHttpxClient

from noisesense.scoring.definitions import MODES
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.deepeval_fixtures import loop, offline  # noqa: F401
from support.deepeval_run import OpenAIModel, case_of, run
from support.server import ScriptedServer
from support.withholding import CASES, LIMIT, Case, few_or_all, mind, reply, script, wrong_with


class OwnModel(DeepEvalBaseLLM):
    """A user's own model, without a network: text in, text out."""

    def load_model(self) -> Any:
        return self

    def get_model_name(self) -> str:
        return "own"

    def generate(self, prompt: str) -> str:
        said = reply(prompt)
        return "" if said.refusal else said.text

    async def a_generate(self, prompt: str) -> str:
        return self.generate(prompt)


def metrics(model: Any, **options: Any) -> list[Any]:
    return [
        NoiseSensitivityMetric(mode=mode, model=model, threshold=LIMIT, **options)
        for mode in MODES
    ]


@pytest.mark.parametrize("async_mode", [True, False], ids=["async", "sync"])
def test_measure_shows_and_passes_what_every_completion_does(async_mode: bool) -> None:
    """Without reasons, what is undetermined is said all the same."""
    model = OwnModel()
    wrong = ""
    both = metrics(model, async_mode=async_mode, include_reason=False)
    for case in CASES:
        test_case = case_of(case.sample)
        for mode, metric in zip(MODES, both, strict=True):
            number = metric.measure(test_case, _show_indicator=False)
            assert number == metric.score
            assert metric.error is None
            assert metric.is_successful() is metric.success
            words = str(metric.reason)
            wrong += wrong_with(case, mode, number=number, passed=metric.success, words=words)
    assert wrong == ""


@few_or_all
@pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])
def test_evaluate_shows_and_passes_what_every_completion_does(  # the fixture is imported
    loop: asyncio.AbstractEventLoop,  # noqa: F811
    run_async: bool,
    cases: tuple[Case, ...],
) -> None:
    tests = [case_of(case.sample, name=case.id) for case in cases]
    with ScriptedServer(mind(), script=script) as server:
        # One for all calls: the many DeepEval would make cost most of the time.
        client = DefaultAsyncHttpxClient()
        endpoint = {"api_key": "k", "base_url": server.base_url, "async_http_client": client}
        model = OpenAIModel("gpt-4o", **endpoint) if run_async else OwnModel()
        results = run(tests, metrics(model), run_async=run_async)
        loop.run_until_complete(client.aclose())
    wrong = ""
    for case, result in zip(cases, results, strict=True):
        for mode, data in zip(MODES, result.metrics_data, strict=True):
            assert data.error is None
            shown: Any = {"number": data.score, "passed": data.success}
            wrong += wrong_with(case, mode, words=str(data.reason), **shown)
        assert result.success is passes(case)
    assert wrong == ""


def passes(case: Case) -> bool:
    return all(case.expected(mode).passes for mode in MODES)


@few_or_all
@pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])
def test_assert_test_passes_only_what_every_completion_passes(
    run_async: bool, cases: tuple[Case, ...]
) -> None:
    both = metrics(OwnModel())
    passing = set[str]()
    for case in cases:
        with contextlib.suppress(AssertionError):
            assert_test(case_of(case.sample), both, run_async=run_async)
            passing.add(case.id)
    assert passing == {case.id for case in cases if passes(case)}
