"""What every command shares: help, version, errors of one line, nothing loaded too early."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import noisesense
from support.command import environment, run
from support.command_here import run_here

COMMANDS = (
    *("demo", "schema", "promptfoo-init", "store", "batch"),
    *("score", "compare", "offenders", "trust", "sensitivity", "stability", "ablation"),
)


def test_version() -> None:
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout == f"noisesense {noisesense.__version__}\n"


def test_help_names_every_command_and_is_plain_in_a_pipe() -> None:
    done = run("--help")
    assert done.returncode == 0
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout
    # Every line of help is short enough to be shown whole.
    assert "..." not in done.stdout.partition("Commands:")[2]
    assert done.stdout.isascii()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = run_here(capsys, command, "--help")
    assert done.status == 0
    assert f"Usage: noisesense {command}" in done.out


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("trust", ("export-labels", "import-labels")),
        ("ablation", ("plan", "report", "run")),
        ("batch", ("export", "import")),
        ("store", ("show", "merge", "prune")),
    ],
)
def test_help_of_each_part(
    command: str, parts: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = run_here(capsys, command, "--help").out
    for part in parts:
        assert f"\n  {part} " in shown
        done = run_here(capsys, command, part, "--help")
        assert (done.status, done.out.startswith(f"Usage: noisesense {command}")) == (0, True)


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_cli_extra_one_line_says_what_to_install(missing: str) -> None:
    done = run("demo", hidden=[missing])
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        f"error: the package '{missing}' is not installed. Hint: pip install 'noisesense[cli]'\n"
    )


def test_an_unknown_option_is_told_without_a_traceback() -> None:
    done = run("demo", "--nonsense")
    assert done.returncode == 2
    assert re.search("No such option.*--nonsense", done.stderr)
    assert "Traceback" not in done.stderr


def test_starting_loads_no_framework() -> None:
    code = (
        "import sys; from noisesense_adapters.cli import app; "
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    heavy = {"ragas", "deepeval", "langchain_core", "openai", "numpy", "pandas", "sqlite3"}
    assert "click" in done.stdout.split()
    assert heavy.isdisjoint(done.stdout.split())


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_traceback(closed: str) -> None:
    """`noisesense score x >&-` ended with AttributeError."""
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m noisesense_adapters.cli schema {closed}', sys.executable],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "noisesense_adapters.cli", "schema"],
        env=environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert "Traceback" not in done.stderr
