"""``score --workers``: whatever ends one of the processes, all of them end, and it says why."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from noisesense import InputError, score
from noisesense.scoring.results import Result
from noisesense_adapters.datasets import recorded
from support.command import environment
from support.tables import random_pairs

# The command, its processes stopped by the system as soon as they exist, so that each signal comes
# while it waits for them.
DRIVER = """
import signal, subprocess
from noisesense_adapters.cli import main
from noisesense_adapters.datasets import recorded

class Stopped(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.send_signal(signal.SIGSTOP)
        numbers.append(self.pid)

def answer(part, process):
    if numbers:
        print(*numbers, flush=True)
        numbers.clear()
    return awaited(part, process)

numbers = []
awaited, recorded._answer = recorded._answer, answer
recorded._PART_SIZE = recorded._BLOCK = 1000
recorded.subprocess.Popen = Stopped
main()
"""


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines.jsonl"
    results = (
        Result(f"{i}", score(verdicts.beside(sample)), sample=sample)
        for i, (sample, verdicts) in enumerate(random_pairs(40, seed=1))
    )
    path.write_text("".join(f"{result.to_json()}\n" for result in results))
    return path


@contextmanager
def waiting(path: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """The command, and the numbers of the processes that it waits for."""
    command = [sys.executable, "-c", DRIVER, "score", str(path), "--workers", "2", "--json"]
    process = subprocess.Popen(
        command,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,  # as a shell does it: an interrupt goes to the whole group
    )
    assert process.stdout is not None
    numbers = list(map(int, process.stdout.readline().split()))
    try:
        yield process, numbers
    finally:
        for number in (process.pid, *numbers):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Status and output. The output ends with the last process that could write to it."""
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_an_interrupt_ends_them_all(lines: Path) -> None:
    with waiting(lines) as (process, numbers):
        # Or they would write of it, each at its own place.
        assert process.pid not in map(os.getpgid, numbers)
        os.killpg(process.pid, signal.SIGINT)
        assert ended(process) == (130, "", "")


@pytest.mark.parametrize(
    "how", [pytest.param(signal.SIGTERM, marks=pytest.mark.broad), signal.SIGKILL]
)
def test_they_end_with_the_first(lines: Path, how: signal.Signals) -> None:
    with waiting(lines) as (process, numbers):
        process.send_signal(how)
        assert process.wait(120) == -how
        for number in numbers:
            os.kill(number, signal.SIGCONT)
        assert ended(process) == (-how, "", "")


def test_one_that_is_killed_is_an_error(lines: Path) -> None:
    with waiting(lines) as (process, numbers):
        os.kill(numbers[1], signal.SIGCONT)
        os.kill(numbers[0], signal.SIGKILL)
        assert ended(process) == (
            2,
            "",
            "error: workers: expected processes that run to their end, got one ended by SIGKILL."
            " Hint: is there enough memory for so many?\n",
        )


def test_a_broken_pipe_of_windows_is_the_same_error() -> None:
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(InputError, match="one ended by exit status 3"), recorded._alive(process):
        raise OSError(errno.EINVAL, "Invalid argument")


@pytest.mark.broad
def test_nothing_is_lost_while_they_are_stopped(lines: Path) -> None:
    with waiting(lines) as (process, numbers):
        for number in numbers:
            os.kill(number, signal.SIGCONT)
        status, out, err = ended(process)
    assert (status, err) == (0, "")
    assert json.loads(out)["samples"] == 40
