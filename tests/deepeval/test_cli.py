"""`deepeval test run`, as a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.command import environment

TESTS = """
import pytest
from deepeval import assert_test
from deepeval.test_case import LLMTestCase
from noisesense_adapters.deepeval import NoiseSensitivityMetric

CLEAN = {"text": "Leonardo painted it", "correct": True, "entailed_by": [0]}
NOISY = {"text": "in the 15th century", "correct": False, "entailed_by": [0]}
CLAIMS = {
    "clean": [CLEAN],
    "noisy": [CLEAN, NOISY],
    "undetermined": [{**CLEAN, "correct": None}],
    "no claims": [],
}

@pytest.mark.parametrize("run_async", [True, False])
@pytest.mark.parametrize("claims", CLAIMS)
def test_answer(claims, run_async):
    reference = [{"text": "Leonardo painted it", "entailed_by": [0]}]
    case = LLMTestCase(
        input="Who painted it?",
        actual_output="Leonardo, in the 15th century.",
        expected_output="Leonardo.",
        retrieval_context=["Leonardo painted it in the 16th century."],
        metadata={
            "verdicts": {"response_claims": CLAIMS[claims], "reference_claims": reference}
        },
    )
    metrics = [NoiseSensitivityMetric(mode=mode) for mode in ("relevant", "irrelevant")]
    assert_test(case, metrics, run_async=run_async)
"""
FAILURE = (
    "Metrics: Noise Sensitivity (relevant) (score: 0.5, threshold: 0.2, strict: False, "
    "error: None, reason: Noise sensitivity (relevant, definition ragas) is 0.5 (lower is better)"
)


def run_file(folder: Path) -> Any:
    """What DeepEval keeps of its last run: valid JSON, so without NaN."""
    text = (folder / ".deepeval" / ".latest_test_run.json").read_text("utf-8")
    run = json.loads(text, parse_constant=pytest.fail)["testRunData"]
    return json.loads(run, parse_constant=pytest.fail) if isinstance(run, str) else run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("deepeval")


@pytest.fixture(scope="module")
def done(folder: Path) -> subprocess.CompletedProcess[str]:
    """Clean and noisy answers, one whose verdict is open, and one without claims."""
    (folder / "test_rag.py").write_text(TESTS, encoding="utf-8")
    # DeepEval's own plugin, and those it brings, are loaded here as they are for its users.
    variables = {**os.environ, **environment(), "COLUMNS": "200"}
    variables.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)
    # The module is what the console script `deepeval` runs.
    command = [sys.executable, "-m", "deepeval.cli.main", "test", "run", "test_rag.py"]
    return subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=300
    )


def test_deepeval_test_run_passes_only_what_is_known_to(
    done: subprocess.CompletedProcess[str],
) -> None:
    # DeepEval has pytest print in colors.
    printed = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    assert "6 failed, 2 passed" in printed, printed
    assert "Passed: 2 | Failed: 6" in printed
    assert FAILURE in printed
    assert done.returncode == 1


@pytest.mark.usefixtures("done")
def test_deepevals_kept_run_has_numbers_only_where_one_is_known(folder: Path) -> None:
    run = run_file(folder)
    found: dict[str, set[Any]] = {}
    for case in run["testCases"]:
        for data in case["metricsData"]:
            _, _, told = data["reason"].partition(" is ")
            word = re.split("[:. ]", told)[0]
            status = word if word.startswith("un") else "a number"
            found.setdefault(status, set()).add((data.get("score"), data.get("success")))
    assert found == {
        "a number": {(0.0, True), (0.5, False)},
        "undetermined": {(None, False)},
        "undefined": {(None, False)},
    }
    # DeepEval's own figures are over what has a number.
    (scores,) = [each for each in run["metricsScores"] if "(relevant)" in each["metric"]]
    assert sorted(scores["scores"]) == [0.0, 0.0, 0.5, 0.5]
