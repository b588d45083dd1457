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
from support.command_here import run_here

COMMANDS = {
    **dict.fromkeys(
        ("demo", "promptfoo-init", "score", "compare", "gate", "offenders", "report"), ()
    ),
    "trust": ("export-labels",),
    "ablation": ("plan", "report"),
}


def test_a_pipe_gets_the_version_and_help_in_ascii_that_lists_all_commands() -> None:
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout == f"noisesense {noisesense.__version__}\n"
    done = run()
    assert done.returncode == 0
    assert done.stdout.isascii() is True
    assert all(f"\n  {name} " in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_and_its_parts_have_help_of_at_most_80_columns(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_the_command_line_starts_without_frameworks_and_heavy_packages() -> None:
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


def test_score_has_at_most_24_options() -> None:
    """Its help included; the Python API has the others."""
    with command.make_context("score", ["data.jsonl"], help_option_names=["-h"]) as context:
        found = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    print(f"options of score: {len(found)}")
    assert 12 < len(found) <= 24


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_cli_extra_the_version_is_printed_all_the_same(missing: str) -> None:
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


OTHER = "irrelevant"


def test_results_are_gated_and_reported_by_commands_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two samples one has a wrong claim of two from a relevant chunk: a mean of 0.25."""
    known: list[Verdicts] = []
    for right in (False, True):
        known.append(Verdicts.from_matrices([right, True], [[True], [True]], [[True]]))
    results = tmp_path / "results.jsonl"
    write_results(results, [Result(str(i), score(each)) for i, each in enumerate(known)])
    for limit, mode, status in (("0.2", (), 1), ("0.3", (), 0), ("0.2", ("--mode", OTHER), 0)):
        done = run_here(capsys, "gate", results, "--fail-above", limit, *mode)
        assert done.status == status
    assert run_here(capsys, "report", results).status == 0
    page = (tmp_path / "results.html").read_text("utf-8")
    assert "1 of 4 claims is wrong and came from a retrieved document" in page
