"""The page on gates in CI: its workflow and its pytest example pass and fail."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from noisesense import Result, Sample, Verdicts, score, write_results
from support.command import environment
from support.datasets import write_jsonl
from support.mind import Mind
from support.pages import ROOT, blocks_of
from support.server import ScriptedServer

PAGE = ROOT / "adapters" / "noisesense_adapters" / "cli" / "flaky.md"
TITLED = {block.title: block.text for block in blocks_of(PAGE) if block.title}
SAMPLES = 60


def pairs(noisy: int, version: str = "now") -> Iterator[tuple[Sample, Verdicts]]:
    """Of 60 answers with four claims each, the first so many have two noisy claims."""
    for i in range(SAMPLES):
        wrong = 2 if i < noisy else 0
        claims = [f"Claim {n} of {i}, {version}." for n in range(4)]
        chunk = {"text": f"The guide to {i}.", "relevant": True}
        sample = Sample(
            user_input=f"Question {i}?",
            response=" ".join(claims),
            reference=f"The answer to {i}.",
            retrieved_contexts=[chunk],
        )
        known = [
            {"text": text, "correct": n >= wrong, "entailed_by": [0]}
            for n, text in enumerate(claims)
        ]
        yield sample, Verdicts(response_claims=known, chunks=[chunk])


def write(path: Path, noisy: int, version: str = "now") -> None:
    """The results of judging those answers."""
    judged = ((sample, score(verdicts)) for sample, verdicts in pairs(noisy, version))
    write_results(path, (Result(s.key, found, sample=s) for s, found in judged))


STEPS = ("Score", "Compare with the pinned baseline")
# Noisy samples before and now, of 60; a half of each one's claims. The limit is a mean of 0.4.
CASES: dict[str, tuple[int, int, int, int]] = {
    # name: before, now, status of the score step, status of the compare step
    "clean": (6, 6, 0, 0),
    "at the limit": (48, 48, 0, 0),
    "above the limit": (60, 60, 1, 0),
    "worse": (6, 36, 0, 1),
    "worse and above": (6, 60, 1, 1),
}


def commit(folder: Path) -> None:
    """A repository of its own, with all that is in the folder."""
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "Pin the baseline"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


@pytest.mark.parametrize(
    "case",
    [*(pytest.param(name, marks=pytest.mark.broad) for name in [*CASES][:-1]), "worse and above"],
)
def test_the_pages_workflow_fails_what_is_above_the_limit_or_worse(
    case: str, tmp_path: Path
) -> None:
    before, now, scored, compared = CASES[case]
    checkout = cloned(before, now, tmp_path)
    score_step, compare_step = steps_run(checkout, now)
    statuses = [score_step.returncode, compare_step.returncode]
    assert statuses == [scored, compared], score_step.stderr + compare_step.stderr
    is_near = "too few to tell whether the relevant mean is above 0.4" in score_step.stderr
    assert is_near == (case == "at the limit")
    assert (checkout / "report.html").exists()
    is_worse = case in ("worse", "worse and above")
    failed = [line for line in compare_step.stderr.splitlines() if "failed" in line]
    assert any("in correct claims" in line for line in failed) == is_worse
    # Nothing but a commit renews the baseline.
    state = ["git", "status", "--porcelain", "baseline.jsonl"]
    assert subprocess.run(state, cwd=checkout, check=True, capture_output=True).stdout == b""


def cloned(before: int, now: int, folder: Path) -> Path:
    """A checkout of a repository with a pinned baseline and the answers to be judged."""
    pinned = folder / "pinned"
    pinned.mkdir()
    write(pinned / "baseline.jsonl", before, "before")
    rows = [sample.model_dump(mode="json") for sample, _ in pairs(now)]
    write_jsonl(pinned / "answers.jsonl", rows)
    commit(pinned)
    checkout = folder / "checkout"
    subprocess.run(["git", "clone", "-q", pinned, checkout], check=True)
    return checkout


def steps_run(checkout: Path, now: int) -> list[subprocess.CompletedProcess[str]]:
    """The workflow's steps that judge and compare, over a model that knows the truth."""
    workflow: dict[str, Any] = yaml.safe_load(TITLED["noise.yml"])
    (job,) = workflow["jobs"].values()
    done: list[subprocess.CompletedProcess[str]] = []
    with ScriptedServer(Mind(list(pairs(now)))) as server:
        env = {**environment(), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
        env |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.base_url}
        how: dict[str, Any] = {"cwd": checkout, "env": env, "encoding": "utf-8"}
        for step in job["steps"]:
            if step.get("name") in STEPS:
                command = ["bash", "-e", "-c", step["run"]]
                done.append(subprocess.run(command, capture_output=True, **how))
    return done


@pytest.mark.parametrize("name", [*CASES][:4])
def test_the_pages_pytest_example_fails_above_the_limit_or_worse(
    name: str, tmp_path: Path
) -> None:
    before, now, scored, compared = CASES[name]
    write(tmp_path / "baseline.jsonl", before, "before")
    write(tmp_path / "results.jsonl", now)
    (tmp_path / "test_noise.py").write_text(TITLED["test_noise.py"], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_noise.py"],
        cwd=tmp_path, env={**environment(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, encoding="utf-8",
    )  # fmt: skip
    for test, status in (
        ("test_noise_stays_within_the_limit", scored),
        ("test_not_worse_than_before", compared),
    ):
        assert (f"FAILED test_noise.py::{test}" in done.stdout) == bool(status), done.stdout
    assert ("too few to tell whether the relevant mean is above 0.4" in done.stdout) == (
        name == "at the limit"
    )
