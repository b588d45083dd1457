"""Every snippet of the README is run, in its order, and prints what the README says it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisesense import RecordedJudge
from noisesense.fixtures import reference_examples
from support.command import environment, run
from support.mind import Mind
from support.promptfoo_cli import evaluate, install, npm_cache
from support.readme import BLOCKS, README, Block
from support.server import ScriptedServer


def python_blocks() -> Iterator[tuple[str, str]]:
    """Each Python snippet with the text block that shows its output."""
    for block, following in zip(BLOCKS, [*BLOCKS[1:], Block("", None, "")], strict=True):
        if block.language == "python" and block.title is None:
            yield block.text, following.text if following.language == "text" else ""


def titled(title: str) -> str:
    return next(block.text for block in BLOCKS if block.title == title)


def run_beside_model(
    command: list[str], folder: Path, recording: Path, env: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run it with a model on loopback, which it asks, that knows the recorded verdicts."""
    judge = RecordedJudge(recording)
    with ScriptedServer(Mind([(s, judge.lookup(s)) for s in judge.samples])) as server:
        endpoint = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_BASE": server.base_url}
        done = subprocess.run(
            command,
            cwd=folder,
            env={**env, **endpoint},
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert server.log.calls > 0
    return done


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which all Python snippets ran, one after another, as one program."""
    folder = tmp_path_factory.mktemp("readme")
    marker = "=== next snippet ==="
    program = f"\nprint({marker!r})\n".join(code for code, _ in python_blocks())
    recording = folder / "known.jsonl"
    first = next(code for code, _ in python_blocks())
    (folder / "first.py").write_text(first.replace("verdicts.jsonl", recording.name), "utf-8")
    env = {
        **environment(),
        "OPENAI_API_KEY": "no-key-is-needed-on-loopback",
        "RAGAS_DO_NOT_TRACK": "true",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
        "DEEPEVAL_DISABLE_DOTENV": "1",
    }
    subprocess.run([sys.executable, "first.py"], cwd=folder, env=env, check=True)
    (folder / "program.py").write_text(program, "utf-8")
    done = run_beside_model([sys.executable, "program.py"], folder, recording, env)
    (folder / "outputs.json").write_text(json.dumps(done.stdout.split(f"{marker}\n")), "utf-8")
    return folder


def test_python_snippets_print_what_the_readme_shows(session: Path) -> None:
    outputs = json.loads((session / "outputs.json").read_text("utf-8"))
    expected = [output for _, output in python_blocks()]
    assert len(expected) >= 6
    assert [output.strip() for output in outputs] == [output.strip() for output in expected]


def test_promptfoo_snippet(session: Path, request: pytest.FixtureRequest) -> None:
    for title in ("noise_sensitivity.py", "promptfooconfig.yaml"):
        (session / title).write_text(titled(title), "utf-8")
    evaluate(install("v0.121", npm_cache(request.config)), session)
    [result] = json.loads((session / "out.json").read_text("utf-8"))["results"]["results"]
    grading = result["gradingResult"]
    assert grading["score"] == 0.5
    assert grading["pass"] is False
    assert result["namedScores"]["noise_sensitivity_relevant"] == 0.5
    assert result["namedScores"]["noise_sensitivity_irrelevant"] == 0.0


def test_the_commands_on_a_dataset(session: Path) -> None:
    commands = next(block.text for block in BLOCKS if "noisesense score" in block.text)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = run_beside_model(
        ["bash", "-e", "-c", commands],
        session,
        session / "verdicts.jsonl",
        {**environment(), "OPENAI_API_KEY": "no-key-is-needed-on-loopback", "PATH": path},
    )
    assert done.stdout.count("relevant") > 5
    for name in ("results.jsonl", "judged.jsonl", "report.html", "plots.png"):
        assert (session / name).stat().st_size > 0


def test_the_demo_prints_the_table_in_the_readme() -> None:
    printed = run("demo").stdout.split("\n\n")[0].splitlines()
    shown = next(block.text for block in BLOCKS if block.language == "text").splitlines()
    # The last column is Promptfoo's, which may not be installed here.
    width = shown[1].index("Promptfoo") if "Promptfoo" in shown[1] else shown[0].index("Promptfoo")
    assert [line[:width].rstrip() for line in printed] == [line[:width].rstrip() for line in shown]


def test_the_table_of_definitions_is_what_the_examples_give() -> None:
    for example in reference_examples():
        cells = [
            " / ".join("–" if value is None else f"{value:.4g}" for value in values)
            for values in example.expected.values()
        ]
        assert f"| {example.id} | {' | '.join(cells)} |" in README
