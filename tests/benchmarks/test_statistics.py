"""The benchmarks of statistics run and print their tables. What they measure is not tested."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.broad


def _run(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(Path(__file__).with_name(name)), *options]
    return subprocess.run(command, capture_output=True, text=True)


def test_coverage_runs() -> None:
    # One data set says nothing about coverage, so the exit status is not looked at.
    done = _run("coverage.py", "--datasets", "1", "--resamples", "100", "--processes", "2")
    assert done.stderr == ""
    assert len(re.findall(r"in % of 1 data sets a row", done.stdout)) == 10
    assert re.search(r"relevant +300( +(0|100)\.0){6}", done.stdout)
    assert re.search(r"\d+ figures out of their range", done.stdout)


def test_flaky_gate_runs() -> None:
    done = _run("flaky_gate.py", "--repeats", "6", "--seeds", "2")
    assert done.stderr == ""
    # At the limit the plain gate fails by turns; the confident one warns.
    at_limit = re.findall(r"\+0\.00 +(\d+)% +(\d+)% +(\d+)% +(\d+)% +(\d+)%", done.stdout)
    assert len(at_limit) == 2
    for row in at_limit:
        fails, flips, confident_fails, confident_flips, warns = map(int, row)
        assert 0 < fails < 100
        assert flips > 0
        assert (confident_fails, confident_flips, warns) == (0, 0, 100)


def test_throughput_runs() -> None:
    done = _run("throughput.py", "--samples", "2000")
    assert done.stderr == ""
    for way in ("noisesense score", "noisesense, read_results"):
        assert re.search(rf"{way} +2,000( +[\d.,]+){{5}}", done.stdout)
    assert "the same means: True; ours the same to the last bit: True" in done.stdout
