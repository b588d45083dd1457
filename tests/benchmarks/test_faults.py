"""The fault table runs as a command, and fails where a bridge is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, str(Path(__file__).with_name("faults.py")), "--bridge", "openai"]


@pytest.mark.broad
def test_a_part_of_the_table() -> None:
    done = subprocess.run(
        [*COMMAND, "--kind", "ids ", "--every", "60"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row[:16].strip(): row[16:].split() for row in done.stdout.splitlines()}
    assert rows["ids as text"] == ["exact", "6", "6"]
    assert rows["ids from 0"] == ["open", "14", "14"]
    assert rows["ids 0 to N"] == ["open", "14", "14"]
    for name in ("WRONG:", "RAW:", "too many:"):
        assert [line.split()[-1] for line in done.stdout.splitlines() if name in line] == ["0"]
