"""``noisesense promptfoo-init``: the files, the next command, and nothing overwritten.

That Promptfoo runs them is tested beside the assertion itself.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support.command import run
from support.command_here import run_here

FILES = {"promptfooconfig.yaml", "verdicts.jsonl", "noise_sensitivity.py"}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_writes_into_a_new_folder_and_says_how_to_run_it(tmp_path: Path) -> None:
    folder = tmp_path / "my example"
    done = run("promptfoo-init", folder, env={"PATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    assert names(folder) == FILES
    wrote, _, rest = done.stdout.partition("\n\n")
    assert {Path(line.removeprefix("wrote ")) for line in wrote.splitlines()} == {
        folder / name for name in FILES
    }
    # There is no `python` on this PATH, nor a promptfoo.
    assert [line.strip() for line in rest.splitlines()[2:]] == [
        f"cd '{folder}'",
        f"export PROMPTFOO_PYTHON={sys.executable}",
        "npx promptfoo eval",
    ]


def test_writes_here_by_default(tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = run("promptfoo-init", cwd=tmp_path, env={"PATH": path})
    assert done.returncode == 0
    assert names(tmp_path) == FILES
    assert "cd " not in done.stdout
    assert "PROMPTFOO_PYTHON" not in done.stdout


@pytest.mark.parametrize("name", sorted(FILES))
def test_overwrites_only_when_told(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text("mine")
    refused = run_here(capsys, "promptfoo-init", tmp_path)
    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith(f"error: {tmp_path}: expected a folder without {name}")
    assert names(tmp_path) == {name}
    assert (tmp_path / name).read_text() == "mine"
    done = run_here(capsys, "promptfoo-init", tmp_path, "--force")
    assert done.status == 0
    assert (tmp_path / name).read_text() != "mine"


def test_a_folder_that_cannot_be_made_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    done = run_here(capsys, "promptfoo-init", tmp_path / "file" / "folder")
    assert done.status == 2
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
