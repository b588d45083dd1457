"""``noisesense promptfoo-init``: what it writes is what it says it is.

That Promptfoo runs the example is tested beside the assertion itself.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.command_here import run_here

Capsys = pytest.CaptureFixture[str]
FILES = {"promptfooconfig.yaml", "verdicts.jsonl", "noise_sensitivity.py"}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_example_says_how_it_is_run(tmp_path: Path, capsys: Capsys) -> None:
    folder = tmp_path / "my example"
    done = run_here(capsys, "promptfoo-init", folder)
    assert done.status == 0
    assert done.err == ""
    assert names(folder) == FILES
    said = (f"cd '{folder}'", f"export PROMPTFOO_PYTHON={sys.executable}", "npx promptfoo eval")
    assert [part for part in said if part not in done.out] == []


def test_overwrites_only_when_told(tmp_path: Path, capsys: Capsys) -> None:
    name = "verdicts.jsonl"
    (tmp_path / name).write_text("mine")
    refused = run_here(capsys, "promptfoo-init", tmp_path)
    assert refused.status == 2
    assert refused.out == ""
    assert names(tmp_path) == {name}
    assert refused.err.startswith(f"error: {tmp_path}: expected a folder without {name}")
    assert (tmp_path / name).read_text() == "mine"
    assert run_here(capsys, "promptfoo-init", tmp_path, "--force").status == 0
    assert (tmp_path / name).read_text() != "mine"
    nowhere = run_here(capsys, "promptfoo-init", tmp_path / name / "folder")
    assert nowhere.status == 2
    assert nowhere.err.count("\n") == 1
