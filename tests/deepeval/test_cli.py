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
from support.drawing import CALLS, DrawingMind
from support.server import ScriptedServer
from support.withheld import WAYS

ROOT = Path(__file__).parents[2]
QUESTION, CHUNK = "Who painted it?", "Leonardo painted it in the 16th century."
NOISY = "Leonardo painted it, in the 15th century."
TEST_FILE = f'''
import pytest
from deepeval import assert_test
from deepeval.test_case import LLMTestCase
from noisesense import RecordedJudge
from noisesense_adapters.deepeval import NoiseSensitivityMetric

METRICS = [
    NoiseSensitivityMetric(mode=mode, judge=RecordedJudge("verdicts.jsonl"), threshold=0.2)
    for mode in ("relevant", "irrelevant")
]

@pytest.mark.parametrize("run_async", [True, False])
@pytest.mark.parametrize("response", ["Leonardo painted it.", "{NOISY}"], ids=["clean", "noisy"])
def test_answer(response, run_async):
    case = LLMTestCase(
        input="{QUESTION}",
        actual_output=response,
        expected_output="{CHUNK}",
        retrieval_context=["{CHUNK}"],
    )
    assert_test(case, METRICS, run_async=run_async)
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's project: a test file and the recording beside it."""
    right = {"text": "Leonardo painted it", "correct": True, "entailed_by": [0]}
    wrong = {"text": "In the 15th century", "correct": False, "entailed_by": [0]}
    reference = [{"text": "Leonardo painted it", "entailed_by": [0]}]
    pairs = [
        (
            Sample(
                user_input=QUESTION,
                response=response,
                reference=CHUNK,
                retrieved_contexts=(CHUNK,),  # type: ignore[arg-type]
            ),
            Verdicts.model_validate({"response_claims": claims, "reference_claims": reference}),
        )
        for response, claims in (("Leonardo painted it.", [right]), (NOISY, [right, wrong]))
    ]
    write_recording(tmp_path / "verdicts.jsonl", pairs)
    (tmp_path / "test_rag.py").write_text(TEST_FILE, encoding="utf-8")
    return tmp_path


def _process(project: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # DeepEval's own plugin, and those it brings, are loaded here as they are for its users.
    environment = {k: v for k, v in os.environ.items() if k != "PYTEST_DISABLE_PLUGIN_AUTOLOAD"}
    paths = [str(ROOT / name) for name in ("core", "adapters", "tests")]
    paths.append(environment.get("PYTHONPATH", ""))
    environment.update(PYTHONPATH=os.pathsep.join(filter(None, paths)), COLUMNS="200", **variables)
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


_COLORS = re.compile(r"\x1b\[[0-9;]*m")
FAILURE = (
    "Metrics: Noise Sensitivity (relevant) (score: 0.5, threshold: 0.2, strict: False, "
    "error: None, reason: Noise sensitivity (relevant, definition ragas) is 0.5 (lower is better)"
)


@pytest.mark.broad
def test_assert_test_under_pytest(project: Path) -> None:
    done = _process(project, "pytest", "-p", "no:cacheprovider", "test_rag.py")

    assert "2 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count(FAILURE) >= 2
    assert done.returncode == 1


@pytest.mark.broad
def test_deepeval_test_run(project: Path) -> None:
    # The module is what the console script `deepeval` runs.
    done = _process(project, "deepeval.cli.main", "test", "run", "test_rag.py")

    printed = _COLORS.sub("", done.stdout)  # DeepEval has pytest print in colors
    assert "2 failed, 2 passed" in printed, printed + done.stderr
    assert FAILURE in printed
    assert "Passed: 2 | Failed: 2" in printed
    assert done.returncode == 1


_WITHHELD = """
import pytest
from deepeval import assert_test
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.deepeval_run import MindModel, case_of
from support.withheld import SAMPLE, WAYS, SpoiledMind

@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_withheld(way):
    metric = NoiseSensitivityMetric(model=MindModel(SpoiledMind(way)), threshold=0.2)
    assert_test(case_of(SAMPLE), [metric])
"""
_UNDEFINED = """
from deepeval import assert_test
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.deepeval_run import case_of
from support.withheld import SAMPLE

def test_no_claims():
    case = case_of(SAMPLE, metadata={"verdicts": {"response_claims": []}})
    assert_test(case, [NoiseSensitivityMetric()])
"""


def test_a_judge_that_withholds_verdicts_fails_every_test_of_a_test_run(tmp_path: Path) -> None:
    (tmp_path / "test_withheld.py").write_text(_WITHHELD, encoding="utf-8")

    done = _process(tmp_path, "deepeval.cli.main", "test", "run", "test_withheld.py")

    printed = _COLORS.sub("", done.stdout)
    assert f"{len(WAYS)} failed" in printed, printed + done.stderr
    assert "passed" not in printed.rpartition(f"{len(WAYS)} failed")[2].splitlines()[0]
    assert f"Passed: 0 | Failed: {len(WAYS)}" in printed
    assert printed.count("is undetermined: ") >= len(WAYS)
    assert "cannot be decided" in printed
    assert done.returncode == 1
    written = _run_file(tmp_path)
    (scores,) = written["metricsScores"]
    assert (scores["scores"], scores["passes"], scores["errors"]) == ([], 0, len(WAYS))


@pytest.mark.broad
def test_an_undefined_sample_fails_no_test_run(tmp_path: Path) -> None:
    (tmp_path / "test_undefined.py").write_text(_UNDEFINED, encoding="utf-8")

    done = _process(tmp_path, "deepeval.cli.main", "test", "run", "test_undefined.py")

    printed = _COLORS.sub("", done.stdout)
    assert done.returncode == 0, printed + done.stderr
    assert "NONE" in printed
    assert "undefined" in printed
    (case,) = _run_file(tmp_path)["testCases"]
    (data,) = case["metricsData"]
    assert (data.get("score"), data.get("success")) == (None, None)
    assert data["reason"].endswith("is undefined: the response has no claims.")


def _run_file(project: Path) -> Any:
    """What DeepEval keeps of its last run: valid JSON, so without NaN."""
    text = (project / ".deepeval" / ".latest_test_run.json").read_text(encoding="utf-8")
    run = json.loads(text, parse_constant=pytest.fail)["testRunData"]
    return json.loads(run, parse_constant=pytest.fail) if isinstance(run, str) else run


_REPEATED = """
import os
from deepeval import assert_test
from deepeval.models import LocalModel
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.deepeval_run import case_of
from support.drawing import SAMPLE

model = LocalModel("m", api_key="k", base_url=os.environ["SERVER"])
METRICS = [
    NoiseSensitivityMetric(mode=mode, model=model, threshold=1)
    for mode in ("relevant", "irrelevant")
]
CASE = case_of(SAMPLE)

def test_repeated():
    assert_test(CASE, METRICS)
"""


@pytest.mark.broad
def test_repetitions_of_a_test_run_ask_again(tmp_path: Path) -> None:
    (tmp_path / "test_repeated.py").write_text(_REPEATED, encoding="utf-8")

    with ScriptedServer(DrawingMind()) as server:
        command = ("deepeval.cli.main", "test", "run", "test_repeated.py", "-r", "4")
        done = _process(tmp_path, *command, SERVER=server.base_url)
        assert "4 passed" in _COLORS.sub("", done.stdout), done.stdout + done.stderr
        assert server.log.calls == 4 * CALLS

    cases = _run_file(tmp_path)["testCases"]
    scores = [tuple(data["score"] for data in case["metricsData"]) for case in cases]
    assert len(scores) == 4
    assert len(set(scores)) > 1
