"""Every gate over what a system did: in the real host, with a scripted judge."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gates.ways import WAYS, WORKING, AnyJudge, Judging, Row, Way, honest, judge_by, samples_of
from noisesense import JudgeError, ReplyError, Summary, gate_run
from noisesense.scoring.definitions import MODES
from noisesense_adapters.datasets.score import score_dataset
from support.command_here import run_here
from support.datasets import write_jsonl
from support.pages import ROOT, blocks_of
from support.promptfoo_cli import evaluate, install
from support.server import ScriptedServer

LIMIT = 0.4
"""A noisy answer alone has 1 / 3; the working system's mean is 0.1."""


class Ended(NamedTuple):
    """How a gate ended, and all that a person sees of it."""

    passed: bool
    shown: str = ""


def check(name: str, gate: Callable[[list[Row], Judging], Ended]) -> None:
    """No way to break a system passes in silence.

    A gate passes if it ends as passed; what ends the run (an error of the system, of the host, of
    ours) is no pass. Whatever passes has to show what is missing.
    """
    way = WAYS[name]
    try:
        ended = gate(way.rows(), way.judging)
    except Exception as error:  # noqa: BLE001 - whatever ends a run fails a job
        ended = Ended(False, str(error))
    assert not (ended.passed and not way.names), f"it passed, and shows {ended.shown!r}"
    assert not ended.passed or re.search(way.names, ended.shown), ended.shown


# ------------------------------------------------------------------ files


def scored(rows: Sequence[Row], judging: Judging, folder: Path, name: str = "results") -> Path:
    """The results file of a run."""
    lines = [
        {
            "id": row.id,
            "user_input": row.question,
            "response": row.response,
            "reference": row.reference,
            "retrieved_contexts": row.contexts,
        }
        for row in rows
    ]
    data = write_jsonl(folder / f"{name}-rows.jsonl", lines)
    out = folder / f"{name}.jsonl"
    score_dataset(data, judge=judge_by(judging), out=out)
    return out


def by_score(
    rows: list[Row], judging: Judging, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Ended:
    path = scored(rows, judging, folder)
    expected = str(len(WORKING))
    done = run_here(capsys, "score", path, "--fail-above", str(LIMIT), "--expect", expected)
    return Ended(done.status == 0, done.out + done.err)


def by_compare(
    rows: list[Row], judging: Judging, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Ended:
    before = scored(WORKING, honest, folder, "baseline")
    after = scored(rows, judging, folder)
    done = run_here(capsys, "compare", before, after, "--fail-if-worse", "--margin", "0.05")
    return Ended(done.status == 0, done.out + done.err)


PAGE = ROOT / "adapters" / "noisesense_adapters" / "cli" / "flaky.md"


@cache
def recipe() -> str:
    """The page's test of one run, for as many questions as there are here."""
    (code,) = (block.text for block in blocks_of(PAGE) if block.title == "test_noise.py")
    changed, times = re.subn(r"QUESTIONS = \d+", f"QUESTIONS = {len(WORKING)}", code)
    assert times == 1
    return changed


def by_recipe(
    rows: list[Row], judging: Judging, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Ended:
    scored(rows, judging, folder)
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(compile(recipe(), "test_noise.py", "exec"), names)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            names["test_noise_stays_within_the_limit"]()
        except AssertionError as error:
            return Ended(False, str(error))
    return Ended(True, "\n".join(str(each.message) for each in warned))


def gated(summary: Summary, samples: int) -> Ended:
    """As the pages of the hosts have it."""
    found = gate_run(summary, LIMIT, min_samples=samples)
    return Ended(found.passed, found.reason)


# ------------------------------------------------------------------ hosts of runs


def by_ragas(rows: list[Row], judging: AnyJudge) -> Ended:
    from noisesense_adapters.ragas import NoiseSensitivity, summarize
    from support.ragas_runs import evaluated

    data = [
        {
            "user_input": row.question,
            "response": row.response,
            "reference": row.reference,
            "retrieved_contexts": row.contexts,
        }
        for row in rows
        if not row.error  # the system gave no row
    ]
    metrics = [NoiseSensitivity(mode, judge=judge_by(judging)) for mode in MODES]
    return gated(summarize(evaluated(data, metrics)), len(WORKING))


def by_mlflow(rows: list[Row], judging: AnyJudge) -> Ended:
    """Every fourth row: MLflow writes some twenty a second to its database."""
    few = [row for row in rows if row.number % 4 == 0]
    return gated(mlflow_run(few, judging), len(WORKING) // 4)


def mlflow_run(rows: Sequence[Row], judging: AnyJudge) -> Summary:
    import mlflow

    from noisesense_adapters.mlflow import NoiseSensitivity, run_summary

    known = {row.number: row for row in rows}

    @mlflow.trace(span_type="RETRIEVER")
    def retrieve(number: int) -> Any:
        if known[number].error:
            raise ConnectionError(known[number].error)
        return known[number].contexts

    @mlflow.trace
    def application(question: str, number: int) -> Any:
        retrieve(number)
        return known[number].response

    data = [
        {
            "inputs": {"question": row.question, "number": row.number},
            "expectations": {"expected_response": row.reference},
        }
        for row in known.values()
    ]
    scorer = NoiseSensitivity(judge=judge_by(judging))
    result = mlflow.genai.evaluate(data=data, predict_fn=application, scorers=[scorer])
    return run_summary(result.run_id)


# ------------------------------------------------------------------ hosts of cases

CASES = (0, 19)
"""The rows that a gate of single cases gets: of every way to break some, the first is broken."""


def cases_of(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.number in CASES]


def deepeval_cases(rows: Sequence[Row]) -> list[Any]:
    from deepeval.test_case import LLMTestCase

    return [
        LLMTestCase(
            name=row.id,
            input=row.question,
            actual_output=row.response,
            expected_output=row.reference,
            retrieval_context=row.contexts,
        )
        for row in rows
    ]


def by_deepeval(rows: list[Row], judging: AnyJudge) -> Ended:
    """As the page's pytest example: both modes, and what is undefined fails."""
    from noisesense_adapters.deepeval import NoiseSensitivityMetric
    from support.deepeval_run import run

    metrics = [
        NoiseSensitivityMetric(threshold=LIMIT, mode=mode, judge=judge_by(judging))
        for mode in MODES
    ]
    if failed := [row.error for row in cases_of(rows) if row.error]:
        raise ConnectionError(failed[0])  # the system itself, in the test
    results = run(deepeval_cases(cases_of(rows)), metrics)
    reasons = [str(data.reason) for result in results for data in result.metrics_data]
    return Ended(all(result.success for result in results), "\n".join(reasons))


_PROVIDER = """
const answers = require("./answers.json");
module.exports = class {
  id() { return "system"; }
  async callApi(prompt) {
    const { answer, error } = answers[prompt];
    return error ? { error } : { output: answer };
  }
};
"""
_CLOSED = "http://127.0.0.1:9/v1"


class _Refusing:
    """A model that answers every prompt alike."""

    def answer(self, prompt: str) -> str:
        return "I cannot help with that."


def promptfoo_runs(cache: Path, folder: Path) -> dict[str, Ended]:
    """One ``promptfoo eval`` of all ways, and how each ended: passed if all its tests passed."""
    every = {"working": Way(lambda: WORKING), **WAYS}
    answers: dict[str, Any] = {}
    tests: list[Any] = []
    with ScriptedServer(_Refusing()) as server:
        for name, way in every.items():
            for row in cases_of(way.rows()):
                key = f"{name}: {row.number}"
                answers[key] = {"answer": row.response, "error": row.error}
                tests.append(_promptfoo_test(key, row, way.judging, server.base_url))
        shim = "from noisesense_adapters.promptfoo import get_assert\n"
        (folder / "noise.py").write_text(shim, encoding="utf-8")
        (folder / "provider.cjs").write_text(_PROVIDER, encoding="utf-8")
        (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
        config = {"prompts": ["{{key}}"], "providers": ["file://provider.cjs"], "tests": tests}
        (folder / "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")
        found = evaluate(install("v0.123", cache), folder, env={"OPENAI_API_KEY": "none"})
    ended: dict[str, Ended] = {}
    for name, way in every.items():
        keys = [f"{name}: {row.number}" for row in cases_of(way.rows())]
        ended[name] = _promptfoo_ended([found.rows[key] for key in keys])
    return ended


def _promptfoo_test(key: str, row: Row, judging: Judging, base_url: str) -> dict[str, Any]:
    """With the verdicts of the judge; where it refuses or fails, a model is to be asked."""
    given: dict[str, Any] = {"key": key, "query": row.question}
    if row.reference:
        given["reference"] = row.reference
    if row.contexts is not None:
        given["contextChunks"] = [{"text": text} for text in row.contexts]
    judge = {"model": "m", "baseUrl": base_url, "maxRetries": 0, "maxReasks": 0}
    for sample in samples_of([row]).values():
        try:
            given["verdicts"] = judging(sample).model_dump(mode="json", exclude={"chunks"})
        except ReplyError:
            pass  # the server's model refuses
        except JudgeError:
            judge["baseUrl"] = _CLOSED
    asserted: list[Any] = []
    for mode in MODES:
        config = {"mode": mode, "maxNoise": LIMIT, "judge": judge}
        asserted.append({"type": "python", "value": "file://noise.py", "config": config})
    return {"description": key, "vars": given, "assert": asserted}


def _promptfoo_ended(results: list[Any]) -> Ended:
    shown: list[str] = []
    for result in results:
        graded = result.get("gradingResult") or {}
        shown.append(f"{graded.get('reason')} {graded.get('componentResults')}")
    passed = bool(results) and all(result["success"] for result in results)
    return Ended(passed, "\n".join(shown))
