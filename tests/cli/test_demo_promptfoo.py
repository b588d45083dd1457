"""``noisesense demo`` with the real Promptfoo beside the Python frameworks: all of them agree."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from noisesense.fixtures import reference_examples
from support.command import run
from support.promptfoo_cli import VERSIONS, install, npm_cache

PLACE = "Promptfoo eval"
EVERYTHING = ("--require", "ragas,deepeval,promptfoo")


@pytest.fixture(scope="module", params=VERSIONS)
def commands(request: pytest.FixtureRequest) -> Path:
    """The folder of Promptfoo's commands."""
    return install(request.param, npm_cache(request.config))


@pytest.mark.broad
def test_all_places_agree_without_the_network(commands: Path, tmp_path: Path) -> None:
    cwd, log = tmp_path / "cwd", tmp_path / "network.txt"
    cwd.mkdir()
    online = {"HOME": str(tmp_path), "PROMPTFOO_DISABLE_TELEMETRY": "0"}
    promptfoo = commands / "promptfoo"
    done = run(
        *("demo", "--json", *EVERYTHING, "--promptfoo", promptfoo),
        cwd=cwd,
        network_log=log,
        env=online,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    data = json.loads(done.stdout)
    # 6 cases by ragas' definition and 2 by promptfoo's, in two modes, in 9 places; 9 documented
    # figures.
    assert data["comparisons"] == 8 * 2 * 9 + 9
    assert data["verdict"] == "all 153 comparisons agree"
    expected = {
        (example.id, mode, definition): example.expected[definition][column]
        for example in reference_examples()
        for column, mode in enumerate(("relevant", "irrelevant"))
        for definition in dict.fromkeys(("ragas", example.documented_definition))
    }
    figures = {
        (row["example"], row["mode"], row["definition"]): row["figures"][PLACE]
        for row in data["rows"]
    }
    assert figures == pytest.approx(expected, abs=1e-9)
    assert not log.exists(), log.read_text()
    assert list(cwd.iterdir()) == []


@pytest.mark.broad
def test_it_is_found_on_path_and_in_node_modules(commands: Path, tmp_path: Path) -> None:
    hidden = ["ragas", "deepeval", "langsmith", "langfuse", "pydantic_evals", "mlflow"]
    path = os.pathsep.join([str(commands), os.environ["PATH"]])
    on_path = run("demo", "--require", "promptfoo", hidden=hidden, env={"PATH": path})
    assert on_path.returncode == 0, on_path.stdout
    beside = run("demo", "--require", "promptfoo", hidden=hidden, cwd=commands.parents[1])
    assert beside.returncode == 0, beside.stdout
