"""`assert_test` under pytest and `deepeval test run`, as processes of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from noisesense import Sample, Verdicts, write_recording
from support.withholding import UNDETERMINED

ROOT = Path(__file__).parents[2]
CHUNK = "Leonardo painted it in the 16th century."
CLEAN, NOISY = "Leonardo painted it.", "Leonardo painted it, in the 15th century."
RECORDED = f'''
import pytest
from deepeval import assert_test
from deepeval.test_case import LLMTestCase
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.deepeval_run import MindModel, case_of
from support.withholding import UNDETERMINED, WithholdingMind

METRICS = [
    NoiseSensitivityMetric(mode=mode, judge="verdicts.jsonl", threshold=0.2)
    for mode in ("relevant", "irrelevant")
]

@pytest.mark.parametrize("run_async", [True, False])
@pytest.mark.parametrize("response", ["{CLEAN}", "{NOISY}"], ids=["clean", "noisy"])
def test_answer(response, run_async):
    case = LLMTestCase(
        input="Who painted it?",
        actual_output=response,
        expected_output="{CHUNK}",
        retrieval_context=["{CHUNK}"],
    )
    assert_test(case, METRICS, run_async=run_async)
'''
WITHHELD = """
@pytest.mark.parametrize("case", UNDETERMINED, ids=lambda case: case.id)
def test_withheld(case):
    metric = NoiseSensitivityMetric(model=MindModel(WithholdingMind()), threshold=0.2)
    assert_test(case_of(case.sample), [metric])

def test_no_claims():
    case = case_of(UNDETERMINED[0].sample, metadata={"verdicts": {"response_claims": []}})
    assert_test(case, [NoiseSensitivityMetric()])
"""
FAILURE = (
    "Metrics: Noise Sensitivity (relevant) (score: 0.5, threshold: 0.2, strict: False, "
    "error: None, reason: Noise sensitivity (relevant, definition ragas) is 0.5 (lower is better)"
)


def ran(project: Path, test: str, *command: str) -> tuple[int, str]:
    """Status and output of a command over a user's test file and the recording beside it."""
    rows = ((CLEAN, [True], [[True]]), (NOISY, [True, False], [[True], [True]]))
    pairs = []
    for response, correct, entailed in rows:
        texts = {"user_input": "Who painted it?", "response": response, "reference": CHUNK}
        sample = Sample.model_validate({**texts, "retrieved_contexts": [CHUNK]})
        pairs.append((sample, Verdicts.from_matrices(correct, entailed, [[True]])))
    write_recording(project / "verdicts.jsonl", pairs)
    (project / "test_rag.py").write_text(test, encoding="utf-8")
    # DeepEval's own plugin, and those it brings, are loaded here as they are for its users.
    environment = {k: v for k, v in os.environ.items() if k != "PYTEST_DISABLE_PLUGIN_AUTOLOAD"}
    paths = [str(ROOT / name) for name in ("core", "adapters", "tests")]
    paths.append(environment.get("PYTHONPATH", ""))
    environment.update(PYTHONPATH=os.pathsep.join(filter(None, paths)), COLUMNS="200")
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    # DeepEval has pytest print in colors.
    return done.returncode, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


# The module is what the console script `deepeval` runs.
TEST_RUN = ("deepeval.cli.main", "test", "run", "test_rag.py")


def run_file(project: Path) -> Any:
    """What DeepEval keeps of its last run: valid JSON, so without NaN."""
    text = (project / ".deepeval" / ".latest_test_run.json").read_text(encoding="utf-8")
    run = json.loads(text, parse_constant=pytest.fail)["testRunData"]
    return json.loads(run, parse_constant=pytest.fail) if isinstance(run, str) else run


def test_deepeval_test_run_passes_only_what_is_known_to(tmp_path: Path) -> None:
    """Clean and noisy answers, a judge that withholds verdicts, and a response without claims."""
    status, printed = ran(tmp_path, RECORDED + WITHHELD, *TEST_RUN)

    failed = 2 + len(UNDETERMINED)
    assert f"{failed} failed, 3 passed" in printed, printed
    assert f"Passed: 3 | Failed: {failed}" in printed
    assert FAILURE in printed
    assert printed.count("is undetermined: ") >= len(UNDETERMINED)
    assert status == 1
    cases = run_file(tmp_path)["testCases"]
    data = [data for case in cases for data in case["metricsData"]]
    (undefined,) = [each for each in data if "is undefined" in each["reason"]]
    assert (undefined.get("score"), undefined.get("success")) == (None, None)
    unknown = [each for each in data if "is undetermined" in each["reason"]]
    assert len(unknown) == len(UNDETERMINED)
    assert {(each.get("score"), each["success"]) for each in unknown} == {(None, False)}


@pytest.mark.broad
def test_assert_test_under_pytest(tmp_path: Path) -> None:
    status, printed = ran(tmp_path, RECORDED, "pytest", "-p", "no:cacheprovider", "test_rag.py")
    assert "2 failed, 2 passed" in printed, printed
    assert printed.count(FAILURE) >= 2
    assert status == 1
