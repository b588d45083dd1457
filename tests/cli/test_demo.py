"""``noisesense demo`` in a process of its own: the documented figures, everywhere the same."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noisesense import RecordedJudge, score
from noisesense.fixtures import fixture_folder, reference_examples
from support.command import ROOTS, run
from support.command_here import run_here

# [documented, every place]: by hand, one incorrect claim of two or three in each example; it comes
# from a relevant chunk in mona-lisa and lic, from an irrelevant one in the others.
BY_RAGAS = {
    ("mona-lisa", "relevant"): ("0.5", "0.5000"),
    ("mona-lisa", "irrelevant"): ("-", "0.0000"),
    ("pride-and-prejudice", "relevant"): ("-", "0.0000"),
    ("pride-and-prejudice", "irrelevant"): ("0.5", "0.5000"),
    ("lic", "relevant"): ("0.3333", "0.3333"),
    ("lic", "irrelevant"): ("0.0", "0.0000"),
    ("lic-zh", "relevant"): ("0.333", "0.3333"),
    ("lic-zh", "irrelevant"): ("-", "0.0000"),
    ("capital-of-france", "relevant"): ("(0.5)", "0.0000"),
    ("capital-of-france", "irrelevant"): ("(0.5)", "0.5000"),
    ("machine-learning-language", "relevant"): ("(0.33)", "0.0000"),
    ("machine-learning-language", "irrelevant"): ("(0.33)", "0.3333"),
}
BY_PROMPTFOO = {
    ("capital-of-france", "relevant"): ("0.5", "0.5000"),
    ("capital-of-france", "irrelevant"): ("0.5", "0.5000"),
    ("machine-learning-language", "relevant"): ("0.33", "0.3333"),
    ("machine-learning-language", "irrelevant"): ("0.33", "0.3333"),
}
NOTHING_ELSE = ("ragas", "deepeval", "langsmith", "langfuse", "pydantic_evals", "mlflow")


@pytest.fixture
def nowhere(tmp_path: Path) -> dict[str, str]:
    """A PATH on which there is no promptfoo."""
    return {"PATH": str(tmp_path)}


def tables(printed: str) -> dict[str, dict[tuple[str, str], list[str]]]:
    """The printed rows, by definition, example and mode."""
    found: dict[str, dict[tuple[str, str], list[str]]] = {}
    for line in printed.partition("\n\n")[0].splitlines():
        if line.startswith("definition "):
            rows = found[line.split()[1]] = {}
        elif found:
            example, mode, *cells = line.split()
            rows[example, mode] = cells
    return found


def expected(*, frameworks: Callable[[str], list[str]]) -> Any:
    """The tables as they must be; ``frameworks`` gives the cells after the core's."""
    return {
        definition: {
            (example, mode): [documented, figure, *frameworks(figure)]
            for (example, mode), (documented, figure) in rows.items()
        }
        for definition, rows in (("ragas", BY_RAGAS), ("promptfoo", BY_PROMPTFOO))
    }


@pytest.mark.broad
def test_every_python_framework_agrees_offline_and_leaves_nothing_behind(
    tmp_path: Path, nowhere: dict[str, str]
) -> None:
    cwd, log = tmp_path / "cwd", tmp_path / "network.txt"
    cwd.mkdir()
    # What would make the frameworks report their runs to somebody.
    online = {
        "CONFIDENT_API_KEY": "canary",
        "LANGCHAIN_TRACING_V2": "true",
        "LANGSMITH_API_KEY": "canary",
        "RAGAS_DO_NOT_TRACK": "false",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "0",
        "HOME": str(tmp_path),
    }
    done = run("demo", cwd=cwd, network_log=log, env={**nowhere, **online})
    assert (done.returncode, done.stderr) == (0, "")
    assert tables(done.stdout) == expected(
        # ragas twice, DeepEval, LangSmith, Langfuse, pydantic-evals, MLflow
        frameworks=lambda figure: [figure] * 7
    )
    assert done.stdout.splitlines()[-1] == (
        "all 137 comparisons agree (not installed, so not compared: Promptfoo eval)"
    )
    assert "another definition, promptfoo" in done.stdout
    assert re.search(r"ragas \d+\.\d+\.\d+, deepeval \d+\.\d+\.\d+, ", done.stdout)
    assert "canary" not in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stdout.isascii()
    assert not log.exists(), log.read_text()
    assert list(cwd.iterdir()) == []


def test_without_frameworks_the_core_is_compared_and_the_rest_said(
    nowhere: dict[str, str],
) -> None:
    done = run("demo", hidden=NOTHING_ELSE, env=nowhere)
    assert done.returncode == 0
    assert tables(done.stdout) == expected(frameworks=lambda *_: [])
    assert "DeepEval evaluate: not installed. pip install 'noisesense[deepeval]'" in done.stdout
    # 16 rows by hand, 9 of them documented by the definition they are computed with.
    assert done.stdout.splitlines()[-1].startswith("all 25 comparisons agree (not installed")


def test_a_required_framework_that_is_not_there_is_a_failure(nowhere: dict[str, str]) -> None:
    arguments = ("--require", "pydantic-evals,deepeval", "--require", "promptfoo")
    hidden = [name for name in NOTHING_ELSE if name != "pydantic_evals"]
    done = run("demo", *arguments, hidden=hidden, env=nowhere)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "required but not installed: deepeval, promptfoo"


def test_an_unknown_framework_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    done = run_here(capsys, "demo", "--require", "trulens")
    assert done.status == 2
    assert done.err == (
        "error: --require: expected some of 'ragas', 'deepeval', 'langsmith', 'langfuse', "
        "'pydantic-evals', 'mlflow', 'promptfoo', got 'trulens'\n"
    )


def test_json(nowhere: dict[str, str]) -> None:
    done = run("demo", "--json", hidden=NOTHING_ELSE, env=nowhere)
    data = json.loads(done.stdout)
    assert data["agrees"] is True
    assert data["comparisons"] == 25
    assert [place["state"] for place in data["places"]] == ["compared", *["not installed"] * 8]
    rows = {(row["example"], row["mode"], row["definition"]): row for row in data["rows"]}
    assert len(rows) == 16
    row = rows["lic", "relevant", "ragas"]
    assert row["figures"]["core"] == row["expected"] == 1 / 3
    assert row["agrees"] == {"core": True}
    assert row["documented_agrees"] is True
    assert rows["capital-of-france", "relevant", "ragas"]["documented_agrees"] is None


@pytest.mark.parametrize(
    ("tampered", "differs"),
    [
        ({"documented": {"relevant": 0.6}}, "documented is 0.6, not 0.5000"),
        ({"expected": {"ragas": [0.25, 0.0]}}, "core gives 0.5000, not 0.2500"),
    ],
)
def test_a_figure_that_is_tampered_with_is_found(
    tmp_path: Path, nowhere: dict[str, str], tampered: dict[str, Any], differs: str
) -> None:
    shutil.copytree(ROOTS[0] / "noisesense", tmp_path / "noisesense")
    folder = tmp_path / "noisesense" / "compat_fixtures"
    shutil.copytree(fixture_folder(), folder, dirs_exist_ok=True)
    path = folder / "reference_examples.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["examples"][0].update(tampered)
    path.write_text(json.dumps(data), encoding="utf-8")
    done = run("demo", hidden=NOTHING_ELSE, roots=(tmp_path, *ROOTS), env=nowhere)
    assert done.returncode == 1
    assert f"Differs: mona-lisa, relevant, definition ragas: {differs}." in done.stdout
    assert re.search(r"^[12] of 25 comparisons differs?$", done.stdout.splitlines()[-1])
    assert re.search(r"^mona-lisa +relevant .*!0\.", done.stdout, re.MULTILINE)


@pytest.mark.skipif(os.name != "posix", reason="the stand-in is a shell script")
def test_ctrl_c_ends_quietly_and_takes_promptfoo_along(tmp_path: Path) -> None:
    command, pids = tmp_path / "promptfoo", tmp_path / "pids"
    # A worker beside it, as Promptfoo starts them.
    command.write_text(
        f"#!/bin/sh\nsleep 300 &\necho $$ $! > {pids}.new\nmv {pids}.new {pids}\nwait\n"
    )
    command.chmod(0o755)
    interrupted = {"TEST_INTERRUPTED_AT": "ragas", "TEST_INTERRUPTED_AFTER": str(pids)}
    done = run("demo", "--promptfoo", command, cwd=tmp_path, env=interrupted)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    deadline = time.monotonic() + 120  # a killed process ends when the system comes to it
    while any(map(runs, pids.read_text().split())) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not [pid for pid in pids.read_text().split() if runs(pid)]


def runs(pid: str) -> bool:
    """Is there such a process, other than one that has ended and waits to be collected?"""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    stat = Path("/proc", pid, "stat")
    return not stat.exists() or not stat.read_text().rpartition(") ")[2].startswith("Z")


@pytest.mark.skipif(os.name != "posix", reason="the stand-in is a shell script")
def test_a_promptfoo_that_gives_nothing_is_a_failure(tmp_path: Path) -> None:
    command = tmp_path / "promptfoo"
    command.write_text("#!/bin/sh\necho 'Node.js 18 is too old' >&2\nexit 3\n")
    command.chmod(0o755)
    done = run("demo", "--promptfoo", command, hidden=NOTHING_ELSE)
    assert done.returncode == 1
    said = "promptfoo eval ended with status 3: Node.js 18 is too old"
    assert f"Promptfoo eval: failed. {said}" in done.stdout
    assert done.stdout.splitlines()[-1] == "Promptfoo eval failed"


def test_save_writes_the_examples_as_a_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "verdicts.jsonl"
    done = run_here(capsys, "demo", "--save", path)
    assert done == (0, f"wrote 6 samples with verdicts to {path}\n", "")
    judge = RecordedJudge(path)
    for example in reference_examples():
        found = score(judge.lookup(example.sample))
        assert (found.relevant, found.irrelevant) == example.expected["ragas"]
    assert run_here(capsys, "score", path).status == 0


def test_save_overwrites_only_with_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "verdicts.jsonl"
    path.write_text("mine", encoding="utf-8")
    refused = run_here(capsys, "demo", "--save", path)
    assert (refused.status, refused.out) == (2, "")
    assert refused.err == (
        f"error: {path}: expected a new file, got one that exists. Hint: --force overwrites it\n"
    )
    assert path.read_text(encoding="utf-8") == "mine"
    assert run_here(capsys, "demo", "--save", path, "--force").status == 0
    assert len(path.read_text(encoding="utf-8").splitlines()) == 6
