"""What every command shares: help, version, errors of one line, nothing loaded too early."""

from __future__ import annotations

import subprocess
import sys

import pytest

import noisesense
from support.command import environment, run
from support.command_here import assert_error, run_here

COMMANDS = {
    **dict.fromkeys(("demo", "schema", "promptfoo-init", "score", "compare"), ()),
    **dict.fromkeys(("offenders", "sensitivity", "stability"), ()),
    "trust": ("export-labels", "import-labels"),
    "ablation": ("plan", "report", "run"),
    "store": ("show", "merge", "prune"),
}


def test_version_and_help_in_a_pipe() -> None:
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout == f"noisesense {noisesense.__version__}\n"
    for arguments in ((), ("--help",), ("-h",)):
        done = run(*arguments)
        assert done.returncode == 0
        assert done.stdout.isascii() is True
        assert all(f"\n  {name} " in done.stdout for name in COMMANDS)
        # Every line of help is short enough to be shown whole.
        assert "..." not in done.stdout.partition("Commands:")[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run_here(capsys, command, "--help")
    assert shown.status == 0
    assert f"Usage: noisesense {command}" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    for part in COMMANDS[command]:
        assert f"\n  {part} " in shown.out
        done = run_here(capsys, command, part, "--help")
        assert done.status == 0
        assert done.out.startswith(f"Usage: noisesense {command}")


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_cli_extra_one_line_says_what_to_install(missing: str) -> None:
    done = run("demo", hidden=[missing])
    said = (
        f"error: the package '{missing}' is not installed. Hint: pip install 'noisesense[cli]'\n"
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == said


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


# By what was typed: what the one line says.
MISTYPED = {
    "scor": "No such command 'scor'. Did you mean 'score'? Hint: noisesense --help",
    "trust labels.csv": "No such command 'labels.csv'. Hint: noisesense trust --help",
    "trust --on": "Option '--on' requires an argument. Hint: noisesense trust --help",
    "store shw": "No such command 'shw'. Did you mean 'show'? Hint: noisesense store --help",
    "score x.csv --fail-abov 1": "--fail-above",
}


@pytest.mark.parametrize("typed", MISTYPED)
def test_what_was_mistyped_is_named(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = run_here(capsys, *typed.split())
    assert_error(done, [MISTYPED[typed]])
    assert "?." not in done.err


def test_a_shell_completes_commands_and_options() -> None:
    for words, wanted in (("noisesense of", "offenders"), ("noisesense score --dry", "--dry-run")):
        env = {"_NOISESENSE_COMPLETE": "bash_complete", "COMP_WORDS": words}
        done = run(env={**env, "COMP_CWORD": str(len(words.split()) - 1)})
        assert done.returncode == 0
        assert done.stdout == f"plain,{wanted}\n"


def test_the_help_names_the_statuses_and_fits_a_terminal() -> None:
    lines = run("--help").stdout.splitlines()
    assert "    1    failed: a check failed" in lines
    assert max(map(len, lines)) <= 80
