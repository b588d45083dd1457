"""The benchmark runs and prints its two parts. How fast things are is not tested."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.broad


def test_the_benchmark_runs() -> None:
    command = [sys.executable, str(Path(__file__).with_name("core_cost.py")), "--runs", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"random tables +[\d.]+ +[\d.]+ \( *[\d.]+×\)", done.stdout)
    for case in ("verdicts in a recording", "judged, all in the store", "judged, 6 calls"):
        assert re.search(rf"ours, {case} +\d+ \( *[\d.]+×\)", done.stdout), case
