"""Every way to withhold a verdict, in DeepEval: measure, evaluate, assert_test, its test run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
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

ROOT = Path(__file__).parents[2]


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


@pytest.mark.parametrize("include_reason", [True, False], ids=["reason", "no reason"])
@pytest.mark.parametrize("async_mode", [True, False], ids=["async", "sync"])
def test_measure(async_mode: bool, include_reason: bool) -> None:
    """Without reasons, what is undetermined is said all the same."""
    model, wrong = OwnModel(), ""
    both = metrics(model, async_mode=async_mode, include_reason=include_reason)
    for case in CASES:
        test_case = case_of(case.sample)
        for mode, metric in zip(MODES, both, strict=True):
            number = metric.measure(test_case, _show_indicator=False)
            assert number == metric.score
            assert metric.error is None
            assert metric.is_successful() is metric.success
            wrong += wrong_with(
                case, mode, number=number, passed=metric.success, words=str(metric.reason)
            )
    assert wrong == ""


@few_or_all
@pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])
def test_evaluate(  # the fixture is imported
    loop: asyncio.AbstractEventLoop,  # noqa: F811
    run_async: bool,
    cases: tuple[Case, ...],
) -> None:
    tests = [case_of(case.sample, name=case.id) for case in cases]
    with ScriptedServer(mind(), script=script) as server:
        # One for all calls: the many DeepEval would make cost most of the time.
        client = DefaultAsyncHttpxClient()
        model = (
            OpenAIModel("gpt-4o", api_key="k", base_url=server.base_url, async_http_client=client)
            if run_async
            else OwnModel()
        )
        results = run(tests, metrics(model), run_async=run_async)
        loop.run_until_complete(client.aclose())
    wrong = ""
    for case, result in zip(cases, results, strict=True):
        for mode, data in zip(MODES, result.metrics_data, strict=True):
            assert data.error is None
            wrong += wrong_with(
                case, mode, number=data.score, passed=data.success, words=str(data.reason)
            )
        assert result.success is passes(case)
    assert wrong == ""


def passes(case: Case) -> bool:
    return all(case.expected(mode).passes for mode in MODES)


def wrong_with_failure(case: Case, told: str | None) -> str:
    """Of a test of both modes, and of the words it failed with."""
    if (told is None) is not passes(case):
        return f"{case.id}: {'passed' if told is None else told}\n"
    wrong = ""
    for mode in MODES:
        found = re.search(
            rf"Noise Sensitivity \({mode}\) \(score: (\S+), .*?reason: (.*?)"
            r"(?=, Noise Sensitivity \(\w+\) \(score|$)",
            told or "",
            re.DOTALL,
        )
        assert bool(found) is (told is not None and not case.expected(mode).passes), case.id
        if found:
            number = None if found[1] == "None" else float(found[1])
            wrong += wrong_with(case, mode, number=number, words=found[2])
    return wrong


@few_or_all
@pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])
def test_assert_test(run_async: bool, cases: tuple[Case, ...]) -> None:
    both, wrong = metrics(OwnModel()), ""
    for case in cases:
        told = None
        try:
            assert_test(case_of(case.sample), both, run_async=run_async)
        except AssertionError as error:
            told = str(error)
        wrong += wrong_with_failure(case, told)
    assert wrong == ""


TEST_FILE = """
import json
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from deepeval import assert_test
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase
from noisesense_adapters.deepeval import NoiseSensitivityMetric

CASES, URL, LIMIT = json.loads(Path("cases.json").read_text("utf-8"))


class OurModel(DeepEvalBaseLLM):
    def load_model(self):
        return self

    def get_model_name(self):
        return "ours"

    def generate(self, prompt):
        body = {"model": "ours", "messages": [{"role": "user", "content": prompt}]}
        request = Request(URL + "/chat/completions", json.dumps(body).encode())
        with urlopen(request, timeout=300) as response:
            message = json.load(response)["choices"][0]["message"]
        return message["content"] or ""

    async def a_generate(self, prompt):
        return self.generate(prompt)


METRICS = [
    NoiseSensitivityMetric(mode=mode, model=OurModel(), threshold=LIMIT)
    for mode in ("relevant", "irrelevant")
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_answer(number):
    assert_test(LLMTestCase(**CASES[number]), METRICS)
"""


@pytest.mark.broad
def test_deepeval_test_run(tmp_path: Path) -> None:
    fields = ("input", "actual_output", "expected_output", "retrieval_context")
    chosen = [case for case in CASES if case.table in ("irrelevant", "clean", "at the limit")]
    (tmp_path / "test_rag.py").write_text(TEST_FILE, encoding="utf-8")
    with ScriptedServer(mind(), script=script) as server:
        rows = [{name: getattr(case_of(case.sample), name) for name in fields} for case in chosen]
        document = json.dumps([rows, server.base_url, LIMIT])
        (tmp_path / "cases.json").write_text(document, encoding="utf-8")
        done = _process(tmp_path)
    printed = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    told: dict[int, str | None] = dict.fromkeys(range(len(chosen)))
    # What pytest prints of each failed test, below its name.
    for section in re.split(r"^_+ test_answer\[", printed, flags=re.MULTILINE)[1:]:
        number, _, rest = section.partition("]")
        told[int(number)] = rest.partition("E   AssertionError: ")[2].partition("\n")[0]
    wrong = [wrong_with_failure(case, told[i]) for i, case in enumerate(chosen)]
    assert "".join(wrong) == "", printed + done.stderr
    failed = sum(not passes(case) for case in chosen)
    assert f"{failed} failed, {len(chosen) - failed} passed" in printed
    assert f"Passed: {len(chosen) - failed} | Failed: {failed}" in printed
    assert done.returncode == 1


def _process(project: Path) -> subprocess.CompletedProcess[str]:
    # DeepEval's own plugin, and those it brings, are loaded here as they are for its users.
    environment = {k: v for k, v in os.environ.items() if k != "PYTEST_DISABLE_PLUGIN_AUTOLOAD"}
    paths = [str(ROOT / "core"), str(ROOT / "adapters"), environment.get("PYTHONPATH", "")]
    environment.update(
        PYTHONPATH=os.pathsep.join(filter(None, paths)),
        COLUMNS="200",
        PYTEST_ADDOPTS="-p no:cacheprovider --tb=short",
    )
    return subprocess.run(
        [sys.executable, "-m", "deepeval.cli.main", "test", "run", "test_rag.py"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
