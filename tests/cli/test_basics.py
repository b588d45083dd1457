"""What every command shares: help, version, errors of one line, nothing loaded too early."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

import noisesense
from noisesense import Result, Verdicts, score, write_results
from noisesense_adapters.cli.score import command
from support.command import environment, run
from support.command_here import assert_error, run_here

COMMANDS = {
    **dict.fromkeys(("demo", "promptfoo-init", "score", "compare", "offenders"), ()),
    "trust": ("export-labels",),
    "ablation": ("plan", "report", "run"),
    "store": ("show",),
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
    "scor": "No such command 'scor'. Hint: noisesense --help",
    "trust labels.csv": "No such command 'labels.csv'. Hint: noisesense trust --help",
    "trust --on": "Option '--on' requires an argument. Hint: noisesense --help",
    "store shw": "No such command 'shw'. Hint: noisesense store --help",
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


def test_score_has_at_most_24_options() -> None:
    """Its help included; the Python API has the others."""
    with command.make_context("score", ["data.jsonl"], help_option_names=["-h"]) as context:
        found = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    print(f"options of score: {len(found)}")
    assert 12 < len(found) <= 24


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_a_bare_install_prints_its_version(missing: str) -> None:
    assert run("--version", hidden=[missing]).stdout == f"noisesense {noisesense.__version__}\n"


def test_the_package_runs_as_the_command_does() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "noisesense", "--version"],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"noisesense {noisesense.__version__}\n"


def test_results_are_gated_and_reported_by_commands_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two samples one has a wrong claim of two from a relevant chunk: a mean of 0.25."""
    known: list[Verdicts] = []
    for right in (False, True):
        known.append(Verdicts.from_matrices([right, True], [[True], [True]], [[True]]))
    results = tmp_path / "results.jsonl"
    write_results(results, [Result(str(i), score(each)) for i, each in enumerate(known)])
    above = run_here(capsys, "gate", results, "--fail-above", "0.2")
    assert above.status == 1
    assert above.err == "check failed: the relevant mean, 0.2500, is above 0.2\n"
    below = run_here(capsys, "gate", results, "--fail-above", "0.3")
    assert below.status == 0
    assert below.err == "check passed: no mean is above 0.3\n"
    one_mode = run_here(capsys, "gate", results, "--fail-above", "0.2", "--mode", "irrelevant")
    assert one_mode.status == 0
    done = run_here(capsys, "report", results)
    assert done.status == 0
    assert done.err == f"wrote {tmp_path / 'results.html'}\n"
    page = (tmp_path / "results.html").read_text("utf-8")
    assert "1 of 4 claims is wrong and came from a retrieved document" in page
